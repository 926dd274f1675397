"""Draws of sums of tables: the circuit for every slot and every word, several tables and laws at once, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, Party, SecretArray, run_local
from cofit.sampling import sums
from cofit.sampling.sums import TableSum, _subset_products, draw_sums
from cofit.sampling.tables import Table, alias_table, rounded_weights
from cofit.secret.circuits import run
from unit.sampling.draws import SCHEMES, all_words, binary, cost, feed, opened
from unit.sampling.laws import of_sum, of_table
from unit.sampling.test_first_one import ands

RNG = np.random.default_rng(17)


@pytest.fixture(params=["bit by bit", "as numbers"])
def conversion(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws and many become integers in different ways."""
    monkeypatch.setattr(sums, "_FEW_BITS", 1 << 30 if request.param == "bit by bit" else 0)


def random_table(precision: int, bits: int) -> Table:
    shares = [int(share) for share in RNG.integers(1, 1 << 40, 1 << bits) >> RNG.integers(0, 30, 1 << bits)]
    return alias_table(rounded_weights(shares, precision + bits), precision)


def whole(tables: Sequence[Table], places: Sequence[int], offset: int = 0) -> TableSum:
    widths = tuple(table.index_bits for table in tables)
    largest = sum(((1 << width) - 1) << place for place, width in zip(places, widths, strict=True)) + abs(offset)
    return TableSum(tuple(tables), tuple(places), widths, offset, largest)


def only(party: Party, law: TableSum, count: int) -> SecretArray:
    (drawn,) = draw_sums(party, [(law, count)], Z64)
    return drawn


def padded(numbers: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole words of 64 lanes; the last number fills up."""
    numbers = np.asarray(numbers)
    return np.pad(numbers, (0, -len(numbers) % 64), mode="edge")


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("conversion")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("precision", "bits"), [(1, 2), (2, 2), (3, 3), (5, 3), (5, 4), (7, 5), (4, 6), (3, 7), (2, 8), (2, 9), (1, 11)]
)
def test_every_slot_and_every_word_gives_exactly_the_law(
    scheme: str, precision: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, words = random_table(precision, bits), 1 << precision
    slots = np.repeat(np.arange(1 << bits), words)
    feed(monkeypatch, binary(padded(slots), bits), binary(padded(np.tile(np.arange(words), 1 << bits)), precision))
    values = opened(lambda party: only(party, whole([table], [0]), len(slots)), scheme).astype(int)
    for slot, drawn in enumerate(values.reshape(1 << bits, words)):
        own, alias = table.own[slot], table.alias[slot]
        expected = Counter({slot: own}) + Counter({alias: words - own})
        assert Counter(drawn.tolist()) == expected
    assert Counter(values.tolist()) == {v: w for v, w in enumerate(of_table(table).weights) if w}


@pytest.mark.usefixtures("conversion")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("places", [(0, 0), (0, 1), (0, 2), (3, 0)], ids=str)
def test_all_pairs_of_draws_of_two_tables_give_exactly_the_law_of_their_sum(
    scheme: str, places: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """2^10 lanes: slot and word of the first table in the lower five bits, those of the second in the others."""
    precision, bits, lanes = 2, 3, np.arange(1 << 10)
    law = whole([random_table(precision, bits), random_table(precision, bits)], places, -5)
    first, second = lanes & 31, lanes >> 5
    slots, words = np.concatenate([first, second]) & 7, np.concatenate([first, second]) >> 3
    feed(monkeypatch, binary(slots, bits), binary(words, precision))
    values = opened(lambda party: only(party, law, len(lanes)), scheme).astype(int)
    exact = of_sum(law)
    assert Counter(values.tolist()) == {x: w for x, w in zip(exact.points, exact.weights, strict=True) if w}


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("conversion")
@pytest.mark.parametrize("scheme", [*SCHEMES, "rep4", "repn", "semi2k", "shamir"])
@pytest.mark.parametrize("precision", [1, 3, 20, 63, 100])
def test_every_law_of_one_draw_has_its_own_tables(scheme: str, precision: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws of 1, 70, 64 and 130 draws; tables that say where they are: every slot goes to one number, always."""
    bits, sizes = 5, [1, 70, 64, 130]
    laws, expected = [], []
    lanes = [-(-size // 64) * 64 for size in sizes]
    slots = RNG.integers(0, 1 << bits, (2, sum(lanes)))
    starts = np.cumsum([0, *lanes])
    for size, start in zip(sizes, starts, strict=False):
        targets = RNG.integers(0, 1 << bits, (2, 1 << bits))
        tables = [Table(precision, (0,) * (1 << bits), tuple(row.tolist())) for row in targets]
        laws.append((whole(tables, (0, 3), -7), size))
        here = slots[:, start : start + size]
        expected.append((targets[0][here[0]] + 8 * targets[1][here[1]] - 7).tolist())
    random = RNG.integers(0, 2, (precision, slots.size), dtype=np.uint8)
    feed(monkeypatch, binary(slots.reshape(-1), bits), random)

    def program(party: Party) -> list[list[int]]:
        drawn = draw_sums(party, laws, Z128)
        return [party.open(one, reason="test").astype(int).tolist() for one in drawn]

    assert next(iter(run_local(program, scheme=scheme).results.values())) == expected


@pytest.mark.usefixtures("conversion")
def test_bits_that_do_not_count_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(3, (0,) * 8, tuple(range(8)))
    slots = np.arange(64) % 8
    feed(monkeypatch, binary(slots, 3), np.zeros((3, 64), np.uint8))
    values = opened(lambda party: only(party, TableSum((table,), (1,), (2,), 0, 6), 64))
    assert values.tolist() == (2 * (slots % 4)).tolist()


@pytest.mark.usefixtures("conversion")
def test_limits_are_those_of_the_law() -> None:
    law = whole([random_table(4, 3), random_table(4, 3)], (0, 4), -60)
    narrow = TableSum(law.tables, law.places, law.widths, law.offset, 40)

    def program(party: Party) -> list[int]:
        return [only(party, one, 3).integer_limit for one in (law, narrow)]

    assert next(iter(run_local(program, scheme="clear").results.values())) == [119 + 60, 40]
    assert (law.digits, law.shape) == (7, (4, 3, (0, 4), (3, 3)))


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6])
def test_all_products_of_bits(bits: int) -> None:
    products = opened(lambda party: run(_subset_products(all_words(party, bits))))
    sets = np.arange(1 << bits)
    assert (products == (sets[None, :] & sets[:, None] == sets[:, None])).all()


def product_ands(bits: int) -> int:
    lower, upper = bits // 2, bits - bits // 2
    return (1 << lower) - lower - 1 + (1 << upper) - upper - 1


def addition_ands(width: int) -> int:
    """Of the last addition, modulo 2^width, of a number and the mask: generate signals below it, then Sklansky."""
    count = 0
    for level in range((width - 2).bit_length()):
        upper = [i for i in range(width - 1) if i >> level & 1]
        count += len(upper) + sum((i >> level << level) - 1 >= 1 << level for i in upper)
    return count


def table_rounds(precision: int, bits: int) -> int:
    """Products of half of the slot's bits and the lookup, beside the first ones; then result after result; the move."""
    now = (bits - bits // 2 - 1).bit_length() + 1
    found, left, leaf = 0, precision, True
    while leaf or left > 1:
        size = min(left, 4)
        groups = -(-left // size)
        found += [0, 0, 1, 2, 2][size if leaf or groups > 1 else size - 1]
        now = max(now, found) + 1
        left, leaf = groups, False
    return now + 1


@pytest.mark.parametrize(("precision", "bits"), [(64, 12), (64, 9), (64, 2), (16, 7), (5, 3), (1, 2), (100, 11)])
def test_cost_with_rep3(precision: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table: products of the slot's bits, its numbers, the coin, the move. Then the number, and the mask of one
    digit more, are added (its top digit meets nothing: no AND), opened (2 words a digit), and unmasked (4 elements)."""
    table = product_ands(bits) + precision + bits + ands(precision, secret=True) + bits
    law, width = whole([random_table(precision, bits)], [0]), bits + 1
    added = bits + addition_ands(width)
    made = table_rounds(precision, bits)
    assert cost(lambda party: only(party, law, 64)) == (made + 2, 3 * 8 * table + 3 * bits * 64 * 8), "bit by bit"
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    rounds = made + 1 + (bits - 1).bit_length() + 2
    sent = 64 * (3 * (table + added) + 2 * width) // 8 + 64 * 4 * 8
    assert cost(lambda party: only(party, law, 64)) == (rounds, sent)
    if precision == 64 and bits in (9, 12):
        assert (made, table) == (8, {12: 305, 9: 222}[bits]), "as documented"


def test_few_bits_are_converted_one_by_one_and_many_as_numbers() -> None:
    """2^17 bits of eight tables of 2^2 slots are few, those of a word more are many."""
    law = whole([random_table(1, 2)] * 8, range(0, 16, 2))
    few, many = ((1 << 17) // 16, (1 << 17) // 16 + 64)
    assert cost(lambda party: only(party, law, few))[1] > 4 * cost(lambda party: only(party, law, many))[1]


@pytest.mark.usefixtures("conversion")
def test_many_laws_take_no_more_rounds_than_one() -> None:
    laws = [(whole([random_table(16, 4), random_table(16, 4)], (0, 2)), 64) for _ in range(3)]
    rounds, sent = cost(lambda party: draw_sums(party, laws[:1], Z64))
    assert cost(lambda party: draw_sums(party, laws, Z64)) == (rounds, 3 * sent)
