"""Forms of shared bits with two parties: against their plain evaluation, also where they are cut into pieces."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import unpack
from cofit.arithmetic.integers import Words
from cofit.sharing import Scheme
from cofit.sharing.bit_forms import BitForm, Dot, Each, Lookup, Outer, SideBySide, Spread
from cofit.sharing.packed_bits import words_of
from cofit.sharing.pair import products
from cofit.sharing.pair.meter import PairMeter
from cofit.sharing.pair.party import Pair
from cofit.sharing.tally import Tally
from support.forms import FORMS
from support.runs import Run
from unit.sharing.pair.pair_runs import Bits, given_bits, run_pair

RNG = np.random.default_rng(12)
CHOSEN = RNG.integers(0, 1 << 7, (140, 4), dtype=np.uint64)
CHOSEN[:, 2] = 0
CHOSEN[5:9] = 0
MORE: dict[str, tuple[BitForm, int, int]] = {
    "outer, 130 results a row": (Outer(), 2, 130),
    "spread, 257 results a row": (Spread(257), 2, 514),
    "dot of one group": (Dot(300), 300, 300),
    "lookup, rows of no use": (Lookup(7, [(2, CHOSEN)]), 4, 7),
    "side by side, 1 to 200 results": (
        SideBySide(((1, 200, Outer()), (2, 2, Each()), (3, 3, Outer()), (2, 256, Spread(128)), (4, 4, Dot(4)))),
        12,
        465,
    ),
    "no rows": (Each(), 0, 0),
}
EVERY = {**FORMS, **MORE}
GROUPS: list[list[tuple[list[int], list[int]]]] = [
    [([0], [0])],
    [([0, 1], [2]), ([3], [0, 1, 2])],
    [([2, 2, 0], [1, 1]), ([1], [3]), ([0, 1, 2, 3], [0])],
    [([0], list(range(4)) * 40)],
    [([], [1, 2]), ([3], [3])],
]


def words_for(name: str) -> int:
    return 2 if "no use" in name else 1


def run_form(form: BitForm, lefts: int, rights: int, words: int) -> tuple[Run[Words], Bits]:
    """A run that opens the form of random operands, and what it should give."""
    count = 64 * words - 5
    a, b = (RNG.integers(0, 2, (2, rows, count), dtype=np.uint8) for rows in (lefts, rights))
    plain = [BITS.zeros((rows, words)) for rows in (lefts, rights)]
    for whole, both in zip(plain, (a, b), strict=True):
        octets = np.zeros((len(whole), 64 * words), np.uint8)
        octets[:, :count] = both[0] ^ both[1]
        whole[:] = np.packbits(octets, axis=1, bitorder="little").view(np.uint64)

    def program(s: Pair) -> Words:
        share = s.boolean.bilinear(given_bits(s, *a), given_bits(s, *b), form)
        return words_of(share).parts[0]

    return run_pair(program), unpack(form.apply(*plain), count)


def tally_of(form: BitForm, lefts: int, rights: int, words: int) -> Tally:
    meter = PairMeter(Pair)
    count = 64 * words - 5
    before = meter.tally
    a, b = (meter.boolean.constant(np.zeros((rows, count), np.uint8)) for rows in (lefts, rights))
    meter.boolean.bilinear(a, b, form)
    return meter.tally - before


def check(form: BitForm, lefts: int, rights: int, words: int) -> None:
    run, wanted = run_form(form, lefts, rights, words)
    got = run.results[0] ^ run.results[1]
    np.testing.assert_array_equal(unpack(got, 64 * words - 5), wanted)
    counted = tally_of(form, lefts, rights, words)
    assert (counted.bytes, counted.rounds) == (
        run.everything().bytes_sent,
        max(counts.total.rounds for counts in run.traffic),
    )


@pytest.mark.parametrize("name", EVERY)
def test_forms_are_their_plain_evaluation_and_cost_what_the_meter_says(name: str) -> None:
    check(*EVERY[name], words_for(name))


@pytest.mark.parametrize("name", [name for name in EVERY if name != "no rows"])
def test_forms_in_many_pieces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings of three bits, and two words of transfers at once."""
    monkeypatch.setattr(products, "MOST_PLANES", 3)
    monkeypatch.setattr(products, "MOST_WORDS", 2)
    check(*EVERY[name], words_for(name))


@pytest.mark.parametrize("name", EVERY)
def test_batches_have_every_row_and_result_once(name: str) -> None:
    form, lefts, rights = EVERY[name]
    reached = form.reached(lefts, rights)
    found = [
        (part.row, place) for batch in products.batches(reached, 1) for part in batch for place in part.reached(reached)
    ]
    assert sorted(found) == sorted((row, place) for row, places in enumerate(reached) for place in places)
    for batch in products.batches(reached, 1):
        assert len({part.bits for part in batch}) == 1
        assert batch[0].bits <= products.MOST_PLANES


def test_a_row_chooses_once_for_128_results() -> None:
    """64 transfers a word, row and piece of 128 results, whatever the form is."""
    for name, (form, lefts, rights) in EVERY.items():
        parts = [part for batch in products.batches(form.reached(lefts, rights), 1) for part in batch]
        rows = form.reached(lefts, rights)
        assert len(parts) == sum(math.ceil(len(places) / 128) for places in rows), name


# --- products of groups ----------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_groups_are_ands_of_their_rows(groups: list[tuple[list[int], list[int]]]) -> None:
    a, b = RNG.integers(0, 2, (2, 2, 4, 70), dtype=np.uint8)

    def program(s: Scheme) -> object:
        return s.boolean.open(s.boolean.products(given_bits(s, *a), given_bits(s, *b), groups))

    x, y = a[0] ^ a[1], b[0] ^ b[1]
    wanted = [x[i] & y[j] for rows, others in groups for i in rows for j in others]
    for got in run_pair(program).results:
        np.testing.assert_array_equal(got, np.array(wanted))


def test_in_a_group_the_side_with_fewer_rows_chooses() -> None:
    """One row of transfers each way, whichever operand it is in."""
    bits = np.zeros((2, 5, 64), np.uint8)

    def taken(groups: list[tuple[list[int], list[int]]]) -> list[int]:
        def program(s: Pair) -> int:
            s.boolean.products(given_bits(s, *bits), given_bits(s, *bits), groups)
            return s._transfers._sent

        return list(run_pair(program).results)

    every = list(range(5))
    assert taken([([0], every)]) == taken([(every, [0])]) == [64, 64]
    assert taken([([0, 1], every), (every, [3])]) == [192, 192]
