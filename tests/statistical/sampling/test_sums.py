"""Sums of tables: all tables of a draw, and all draws, have random bits of their own.

Two tables with the law (0.7, 0.1, 0.1, 0.1) side by side, so that a draw shows what each of them gave: three slots of
four go to the number 0 six times of ten, which is where bits in common show.
"""

from __future__ import annotations

from itertools import product

import pytest

from cofit import Z64, Party, SecretArray
from cofit.sampling import sums
from cofit.sampling.sums import TableSum, draw_sums
from cofit.sampling.tables import alias_table, rounded_weights
from statistical.sampling.broken_bits import share_among_draws, share_among_tables
from statistical.sampling.checks import AMOUNTS_OF_ALL, Values, chi_square, draws, neighbours, unrelated
from support.chance import PValues, accept, reject

SHARES = [7, 1, 1, 1]
PRECISION = 20
TABLE = alias_table(rounded_weights(SHARES, PRECISION + 2), PRECISION)
LAW = TableSum((TABLE, TABLE), (0, 2), (2, 2), 0, 15)
JOINT = {a + 4 * b: SHARES[a] * SHARES[b] / 100 for a, b in product(range(4), repeat=2)}


def two(party: Party, count: int) -> SecretArray:
    (drawn,) = draw_sums(party, [(LAW, count)], Z64)
    return drawn


def battery(values: Values) -> PValues:
    return {
        "joint values": chi_square(values, JOINT),
        "tables": unrelated(values % 4, values >> 2),
        **neighbours(values),
        **{f"zeros, {name}": p for name, p in neighbours((values % 4 == 0).astype(int)).items()},
    }


@pytest.mark.parametrize("few", [0, 1 << 30], ids=["as numbers", "bit by bit"])
@pytest.mark.parametrize(("scheme", "count"), AMOUNTS_OF_ALL)
def test_two_tables(scheme: str, count: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_FEW_BITS", few)
    accept(battery(draws(two, scheme, count)))


@pytest.mark.parametrize("width", [2, PRECISION], ids=["slots", "words"])
def test_tables_with_random_bits_in_common_are_noticed(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    share_among_tables(monkeypatch, lambda asked: asked == width)
    reject(battery(draws(two, "clear", 20_000)))


@pytest.mark.parametrize("lanes", [1, 64])
def test_draws_with_random_bits_in_common_are_noticed(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    share_among_draws(monkeypatch, lanes)
    reject(battery(draws(two, "clear", 20_000)))


def test_a_coin_whose_words_have_three_bits_is_noticed() -> None:
    coarse = alias_table(rounded_weights(SHARES, 3), 1)
    law = TableSum((coarse, coarse), (0, 2), (2, 2), 0, 15)
    reject(battery(draws(lambda party, n: draw_sums(party, [(law, n)], Z64)[0], "clear", 20_000)))
