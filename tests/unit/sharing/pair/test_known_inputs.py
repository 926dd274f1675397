"""Parts of a matrix that a party of ``pair`` knows: results, half of the messages, and nothing encrypted in vain."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.sharing import Scheme, Share
from cofit.sharing.pair import rules
from cofit.sharing.pair.held import PairHeld, crossed, known_regions, square_steps
from cofit.sharing.pair.meter import PairMeter
from cofit.sharing.pair.party import Pair
from cofit.sharing.pair.rlwe.client import key_bytes
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import parameters_for
from cofit.sharing.regions import KnownShare, Region
from support.runs import Run
from support.schemes import also_slow
from unit.sharing.pair.pair_runs import Integers, elements, given, numbers, run_pair, some

RNG = np.random.default_rng(405)
SMALL = parameters_for(64)
ROWS, COLS = 9, 6
Holders = tuple[int | None, ...]
ALL_HOLDERS: list[Holders] = [(1, 0), (0, None, 1), (0, 1), (0, 0), (1, 1), (None, 0), (1, None), (None, None)]
KEYS = 2 * key_bytes(SMALL)


@pytest.fixture(autouse=True)
def always_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of a few elements are multiplied under encryption."""
    monkeypatch.setattr(rules, "_FEWEST", 12)


def regions_of(holders: Holders, axis: int) -> tuple[Region, ...]:
    """Parts of about the same size, of rows or of columns."""
    ends = np.linspace(0, (ROWS, COLS)[axis], len(holders) + 1).astype(int).tolist()
    parts = [slice(*pair) for pair in itertools.pairwise(ends)]
    return tuple(
        Region((part, slice(0, COLS)) if axis == 0 else (slice(0, ROWS), part), holder)
        for part, holder in zip(parts, holders, strict=True)
    )


def summands(ring: PowerOfTwoRing, regions: tuple[Region, ...]) -> tuple[Integers, list[RingArray]]:
    """A matrix; the one who knows a region has it, the other one has zeros there."""
    own = some(RNG, ring, 2, ROWS, COLS)
    for region in regions:
        if region.holder is not None:
            own[1 - region.holder][region.place] = 0
    return (own[0] + own[1]) % (1 << ring.bits), [elements(ring, each) for each in own]


def known(s: Scheme, ring: PowerOfTwoRing, x: list[RingArray], regions: tuple[Region, ...]) -> Share:
    return KnownShare(ring, (x[s.rank],), regions)


# --- results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ring", [Z64, pytest.param(Z128, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("holders", also_slow(ALL_HOLDERS[:2], *((each,) for each in ALL_HOLDERS[2:])), ids=str)
def test_products_with_what_parties_know(holders: Holders, axis: int, ring: PowerOfTwoRing) -> None:
    regions = regions_of(holders, axis)
    x, x_ = summands(ring, regions)
    w, v, m = (some(RNG, ring, 2, *shape) for shape in ((COLS,), (ROWS,), (COLS, 2)))

    def program(s: Pair) -> dict[str, Any]:
        share = known(s, ring, x_, regions)
        row, column, wide = (given(s, ring, *(elements(ring, each) for each in own)) for own in (w, v, m))
        matrix = s.hold(share, 2)
        back = matrix.map(np.transpose)
        block, turned = matrix.block((slice(2, 7), slice(1, 5))), back.block((slice(1, 5), slice(2, 7)))
        assert isinstance(block, PairHeld) and isinstance(turned, PairHeld)
        shares = {
            "vector": s.matmul(matrix, row),
            "matrix": s.matmul(matrix, wide),
            "more than foreseen": s.matmul(matrix, row),
            "transposed": s.matmul(back, column),
            "on the right": s.matmul(column, matrix),
            "block": s.matmul(block, s.select(row, slice(1, 5))),
            "block of the transpose": s.matmul(turned, s.select(column, slice(2, 7))),
            "squares of a block": s.inner(block, block),
            "squares": s.inner(matrix, matrix),
            "squares of columns": s.inner(back, back),
            "squares without holding": s.inner(share, share),
            "not held": s.matmul(share, row),
            "element-wise": s.mul(share, share),
        }
        return {name: numbers(ring, opened) for name, share in shares.items() if (opened := s.open(share)) is not None}

    w_, v_, m_ = (own[0] + own[1] for own in (w, v, m))
    cut = x[2:7, 1:5]
    wanted = {
        "vector": x.dot(w_),
        "matrix": x.dot(m_),
        "more than foreseen": x.dot(w_),
        "transposed": x.T.dot(v_),
        "on the right": v_.dot(x),
        "block": cut.dot(w_[1:5]),
        "block of the transpose": cut.T.dot(v_[2:7]),
        "squares of a block": (cut * cut).sum(axis=1),
        "squares": (x * x).sum(axis=1),
        "squares of columns": (x * x).sum(axis=0),
        "squares without holding": (x * x).sum(axis=1),
        "not held": x.dot(w_),
        "element-wise": x * x,
    }
    for result in run_pair(program).results:
        assert list(result) == list(wanted)
        for name, values in wanted.items():
            np.testing.assert_array_equal(result[name], values % (1 << ring.bits), name)


# --- what is sent ----------------------------------------------------------------------------------------


def both_ways(packing: MatrixPacking | RowsPacking) -> int:
    return packing.request_bytes + packing.reply_bytes


def counted(steps: Callable[[Scheme, Share], object], holders: Holders, axis: int) -> tuple[Run[Any], int]:
    """A run, and its bytes, which the meter must know, as it must know the rounds."""
    regions = regions_of(holders, axis)
    _, x = summands(Z64, regions)
    run = run_pair(lambda s: steps(s, s.hold(known(s, Z64, x, regions))) and None)
    meter = PairMeter(Pair)
    blank = meter.constant(Z64, Z64.zeros((ROWS, COLS)))
    steps(meter, meter.hold(KnownShare(Z64, blank.parts, regions)))
    assert meter.tally.bytes == run.everything().bytes_sent
    assert meter.tally.rounds == max(counts.total.rounds for counts in run.traffic)
    return run, run.everything().bytes_sent


def product(s: Scheme, x: Share) -> object:
    return s.matmul(x, s.constant(Z64, Z64.zeros(x.shape[1:])))


def transposed(s: Scheme, x: Share) -> object:
    return product(s, x.map(np.transpose))


def squares(s: Scheme, x: Share) -> object:
    return s.inner(x, x)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("holders", also_slow([(0, 1), (1, None)], *((each,) for each in ALL_HOLDERS)), ids=str)
def test_one_product_for_each_region_that_is_known_and_two_for_others(holders: Holders, axis: int) -> None:
    regions = regions_of(holders, axis)
    for steps, turned in ((product, False), (transposed, True)):
        cost = 0
        for region in regions:
            rows, inner = region.shape[::-1] if turned else region.shape
            cost += (2 if region.holder is None else 1) * both_ways(MatrixPacking(rows, inner, 1, SMALL))
        assert counted(steps, holders, axis)[1] == KEYS + cost + 2 * (ROWS if turned else COLS) * 8


def test_half_of_it_is_saved_where_two_hospitals_have_their_rows() -> None:
    """As many results and columns in either half."""
    regions = [Region((slice(0, 8), slice(0, 4)), 0), Region((slice(8, 16), slice(0, 4)), 1)]
    nobody = [Region(region.place, None) for region in regions]
    sizes = [
        sum(both_ways(MatrixPacking(*block.sizes, 20, SMALL)) for block in crossed(each, transposed=False))
        for each in (regions, nobody)
    ]
    assert 2 * sizes[0] == sizes[1]


@pytest.mark.parametrize("holders", also_slow([(0, 1)], ((1, 0),), ((1, 1),)), ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_squares_of_what_is_known_send_nothing(holders: Holders, axis: int) -> None:
    assert counted(squares, holders, axis)[1] == 0


def test_squares_of_the_rest_are_of_the_rest_only() -> None:
    (_, (rows, columns), _) = (region.shape for region in regions_of((0, None, 1), 0))
    halves = [-(-rows // 2), rows // 2]
    assert counted(squares, (0, None, 1), 0)[1] == KEYS + sum(both_ways(RowsPacking(n, columns, SMALL)) for n in halves)


@pytest.mark.parametrize("holder", [0, 1])
def test_where_one_party_knows_all_it_encrypts_nothing(holder: int) -> None:
    """The other one asks, and it replies: nothing is encrypted for it to multiply."""
    run, _ = counted(product, (holder,), 0)
    (sizes,) = [crossed(regions_of((holder,), 0), transposed=False)]
    assert [block.server for block in sizes] == [holder]
    packing = MatrixPacking(ROWS, COLS, 1, SMALL)
    holds, asks = run.traffic[holder], run.traffic[1 - holder]
    assert holds.get_or_zero("prepare/request").bytes_sent == 0
    assert asks.get_or_zero("prepare/request").bytes_sent == packing.request_bytes
    assert holds.get_or_zero("prepare/reply").bytes_sent == packing.reply_bytes
    assert asks.get_or_zero("prepare/reply").bytes_sent == 0


def test_regions_of_rows_are_lost_where_they_would_be_wrong() -> None:
    """A transpose that is used as an ordinary matrix has regions that nobody knows."""
    regions = regions_of((0, 1), 0)

    def program(s: Pair) -> tuple[list[Any], list[Any]]:
        matrix = s.hold(known(s, Z64, summands(Z64, regions)[1], regions))
        assert isinstance(matrix, PairHeld)
        return [r.holder for r in known_regions(matrix)], [r.holder for r in known_regions(matrix.map(np.transpose))]

    assert run_pair(program).results == [([0, 1], [None])] * 2
    assert square_steps(regions) == []
