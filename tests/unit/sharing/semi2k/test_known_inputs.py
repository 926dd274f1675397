"""Parts of a matrix that a party of ``semi2k`` knows: results, messages, what they reveal, and the meter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from cofit import Party
from cofit.arithmetic import Z64, Z128, FixedPoint, Place, PowerOfTwoRing, RingArray
from cofit.errors import InvalidInputError, TransportError
from cofit.secret import InputFacts
from cofit.sharing import SCHEMES, Scheme, Share, scheme_named
from cofit.sharing.held import HeldShare
from cofit.sharing.known_inputs import assembled, components_of, layout_of
from cofit.sharing.meter import Meter
from cofit.sharing.regions import KnownShare, joined_regions
from cofit.sharing.semi2k.party import Semi2k
from support.pairwise import pairwise
from support.runs import run_scheme

RNG = np.random.default_rng(77)
SEED = bytes(range(32))
LENGTHS = (3, 2, 4)
WIDTH = 5
CONSTANT = -9

Holders = tuple[int | None, ...]


def elements(ring: PowerOfTwoRing, *shape: int) -> RingArray:
    drawn = [int.from_bytes(RNG.bytes(ring.element_bytes), "little", signed=True) for _ in range(math.prod(shape))]
    return ring.from_int(np.array(drawn, dtype=object).reshape(shape))


def owned(
    s: Scheme, ring: PowerOfTwoRing, blocks: Sequence[RingArray], holders: Holders, axis: int, constant: bool
) -> Share:
    """The joint matrix of owners, each a party (its rank) or none, as a run would put it together."""
    places: list[Place] = []
    start = 0
    for block in blocks:
        part = slice(start, start + block.shape[axis])
        places.append((part, slice(0, block.shape[1])) if axis == 0 else (slice(0, block.shape[0]), part))
        start = part.stop
    rows, cols = (start, blocks[0].shape[1]) if axis == 0 else (blocks[0].shape[0], start)

    def pieces() -> object:
        for block, holder, place in zip(blocks, holders, places, strict=True):
            sent = components_of(scheme_named("semi2k"), s.spec, ring, block, SEED, holder)
            mine = {
                c.facts.name: memoryview(b"".join(bytes(part) for part in c.content()))
                for c in sent
                if s.rank in c.facts.ranks
            }
            yield assembled(type(s), s.spec, ring, block.shape, s.rank, mine, holder), place

    column = (ring.from_int(np.array(CONSTANT)), (slice(None), slice(cols, cols + 1))) if constant else None
    return s.expand_joined(ring, (rows, cols + constant), pieces(), column)  # type: ignore[arg-type]


def blocks_of(ring: PowerOfTwoRing, axis: int, count: int = 3) -> list[RingArray]:
    return [elements(ring, n, WIDTH) if axis == 0 else elements(ring, WIDTH, n) for n in LENGTHS[:count]]


def joint_of(ring: PowerOfTwoRing, blocks: Sequence[RingArray], axis: int, constant: bool) -> RingArray:
    joint = np.concatenate(blocks, axis=axis)
    column = ring.from_int(np.full((len(joint), 1), CONSTANT))
    return np.concatenate([joint, column], axis=1) if constant else joint


def all_holders(parties: int) -> list[Holders]:
    """Two parties: any two owners in all their ways; three: those that differ in kind."""
    if parties == 2:
        return pairwise(*3 * [(None, 0, 1)])
    return [(0, 1, 2), (2, 1, 0), (None, 2, 1), (1, None, 1), (2, 2, None), (1, 1, 1)]


CASES = [(n, holders) for n in (2, 3) for holders in all_holders(n)]
every_case = pytest.mark.parametrize(
    ("case", "axis", "constant", "ring"), pairwise(CASES, (0, 1), (False, True), (Z64, Z128)), ids=str
)


# --- results --------------------------------------------------------------------------------------------------------


@every_case
def test_products_with_what_parties_know(
    case: tuple[int, Holders], axis: int, constant: bool, ring: PowerOfTwoRing
) -> None:
    parties, holders = case
    blocks = blocks_of(ring, axis)
    x = joint_of(ring, blocks, axis, constant)
    w, v, m, y = (elements(ring, *shape) for shape in ((x.shape[1],), (len(x),), (x.shape[1], 2), x.shape))

    def program(s: Scheme) -> dict[str, RingArray | None]:
        whole = owned(s, ring, blocks, holders, axis, constant)
        before = s.refresh(whole)
        held = s.hold(whole)
        back = held.map(np.transpose)
        assert isinstance(held, HeldShare)
        assert isinstance(back, HeldShare)
        values = [s.input(0, v if s.rank == 0 else None, ring, v.shape) for v in (w, v, m, y)]
        row, column, matrix, other = values
        shares = {
            "joined": before,
            "held": held,
            "vector": s.matmul(held, row),
            "again": s.matmul(held, row, plus=column),
            "transposed": s.matmul(back, column),
            "and back": s.matmul(back.map(np.transpose), row),
            "matrix": s.matmul(held, matrix),
            "inner": s.inner(held, other),
            "squares": s.inner(held, held),
            "squares of columns": s.inner(back, back),
            "rows": s.matmul(held.map(lambda part: part[1:3]), row),
            "on the right": s.matmul(column, held),
            "element-wise": s.mul(held, other),
        }
        return {name: s.open(share) for name, share in shares.items()}

    def plain(a: RingArray, b: RingArray) -> RingArray:
        return ring.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b))

    squares = ring.inner_sum([x], [x])
    columns = ring.inner_sum([np.ascontiguousarray(x.T)], [np.ascontiguousarray(x.T)])
    want = {
        "joined": x,
        "held": x,
        "vector": plain(x, w),
        "again": ring.add(plain(x, w), v),
        "transposed": plain(x.T, v),
        "and back": plain(x, w),
        "matrix": plain(x, m),
        "inner": ring.inner_sum([x], [y]),
        "squares": squares,
        "squares of columns": columns,
        "rows": plain(x[1:3], w),
        "on the right": plain(v, x),
        "element-wise": ring.mul(x, y),
    }
    for result in run_scheme("semi2k", program, parties=parties).results:
        assert list(result) == list(want)
        for name, values in want.items():
            np.testing.assert_array_equal(result[name], values, name)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_party_has_its_own_values_and_zeros_elsewhere(axis: int, constant: bool) -> None:
    blocks = blocks_of(Z64, axis, 2)
    x = joint_of(Z64, blocks, axis, constant)

    def program(s: Scheme) -> RingArray:
        return owned(s, Z64, blocks, (1, 0), axis, constant).parts[0]

    first, second = run_scheme("semi2k", program).results
    cut_at = LENGTHS[0]
    known_to_0 = (slice(cut_at, None), slice(None)) if axis == 0 else (slice(None), slice(cut_at, None))
    expected = np.zeros_like(x)
    expected[known_to_0] = x[known_to_0]
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, Z64.sub(x, expected))


def test_a_party_that_holds_nothing_of_a_region_has_no_mask_of_it() -> None:
    blocks = blocks_of(Z64, 0)

    def program(s: Scheme) -> tuple[list[Place], int]:
        held = s.hold(owned(s, Z64, blocks, (0, None, 1), 0, True))
        assert isinstance(held, HeldShare)
        return [place for place, _ in held.mask.pieces], held.mask.known

    rows = [slice(0, 3), slice(3, 5), slice(5, 9)]
    everything = slice(0, WIDTH + 1)
    first, second = run_scheme("semi2k", program).results
    assert first == ([(rows[0], everything), (rows[1], everything)], 7 * (WIDTH + 1))
    assert second == ([(rows[1], everything), (rows[2], everything)], 7 * (WIDTH + 1))


# --- messages -------------------------------------------------------------------------------------------------------


@every_case
def test_holding_sends_what_is_known_once(
    case: tuple[int, Holders], axis: int, constant: bool, ring: PowerOfTwoRing
) -> None:
    parties, holders = case
    blocks = blocks_of(ring, axis)
    run = run_scheme(
        "semi2k", lambda s: s.hold(owned(s, ring, blocks, holders, axis, constant)) and None, parties=parties
    )
    sizes = [block.size + (len(block) if constant and (axis == 0 or i == 2) else 0) for i, block in enumerate(blocks)]
    for rank, counts in enumerate(run.traffic):
        sent = sum(size for size, holder in zip(sizes, holders, strict=True) if holder in (None, rank))
        assert counts.total.bytes_sent == (parties - 1) * sent * ring.element_bytes
    assert run.dealer is not None and run.dealer.total.bytes_sent == 0


def test_what_two_parties_know_goes_both_ways_at_once() -> None:
    rows = 2 * (1 << 20) // 8 // 64 + 1
    shapes = [(rows, 64), (100, 64)]

    def program(s: Scheme) -> None:
        blocks = [Z64.zeros(shape) for shape in shapes]
        s.hold(owned(s, Z64, blocks, (0, 1), 0, False))

    run = run_scheme("semi2k", program)
    assert [counts.total.rounds for counts in run.traffic] == [1, 3]
    assert [counts.total.bytes_sent for counts in run.traffic] == [rows * 64 * 8, 100 * 64 * 8]


@pytest.mark.parametrize("holders", [(0, 1, 0), (None, 1, 1), (None, None, None)], ids=str)
def test_products_send_what_they_send_without(holders: Holders) -> None:
    blocks = blocks_of(Z64, 0)

    def program(s: Scheme) -> None:
        held = s.hold(owned(s, Z64, blocks, holders, 0, True))
        with s.label("products"):
            z = s.matmul(held, s.constant(Z64, Z64.zeros((WIDTH + 1,))), 5)
            s.matmul(held.map(np.transpose), z)
            s.inner(held, held)

    run = run_scheme("semi2k", program)
    sent = sum(
        counts[label].bytes_sent
        for counts in (*run.traffic, *([] if run.dealer is None else [run.dealer]))
        for label in counts
        if label.startswith("products/")
    )
    n, d = 9, WIDTH + 1
    assert sent == 8 * ((2 * d + n + 4 * n) + (2 * n + d) + n)


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
@pytest.mark.parametrize("holder", [None, 0, 1])
def test_components_go_to_the_holder_alone_or_as_the_scheme_shares_them(scheme: str, holder: int | None) -> None:
    kind = scheme_named(scheme)
    spec, values = kind.info.spec(), elements(Z64, 4, 3)
    if holder is not None and holder >= spec.parties:
        pytest.skip("there is no such party")
    facts = layout_of(kind, spec, Z64, values.shape, holder)
    sent = components_of(kind, spec, Z64, values, SEED, holder)
    assert tuple(c.facts for c in sent) == facts
    contents = [b"".join(bytes(part) for part in c.content()) for c in sent]
    assert [len(content) for content in contents] == [fact.size for fact in facts]
    if kind.info.knows_inputs and holder is not None:
        assert [fact.ranks for fact in facts] == [(holder,)]
        assert contents == [values.tobytes()]
    else:
        assert facts == kind.inputs(spec).layout(Z64, values.shape)
        if kind.info.secret:
            assert all(values.tobytes() not in content for content in contents)


@pytest.mark.parametrize("holder", [-1, 2, 7])
def test_a_holder_must_be_a_party(holder: int) -> None:
    with pytest.raises(InvalidInputError, match="'holder' parameter"):
        layout_of(Semi2k, Semi2k.info.spec(2), Z64, (2, 2), holder)


def test_only_the_holder_has_values() -> None:
    values = elements(Z64, 2, 2)
    for rank, given in ((0, values), (1, None)):
        with pytest.raises(InvalidInputError, match="rank 1"):
            Semi2k.inputs(Semi2k.info.spec(2)).known(Z64, (2, 2), rank, 1, given)
    with pytest.raises(InvalidInputError, match="shape"):
        Semi2k.inputs(Semi2k.info.spec(2)).known(Z64, (2, 3), 1, 1, values)
    with pytest.raises(InvalidInputError, match="rep3"):
        scheme_named("rep3").inputs(scheme_named("rep3").info.spec()).known(Z64, (2, 2), 0, 0, values)


# --- members that do not agree --------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [0, 1, 2])
@pytest.mark.parametrize(
    "holders",
    [
        ((0, 1, 1), (0, 1, 0)),
        ((0, 1, 1), (None, 1, 1)),
        ((0, 1, 1), (0, 0, 1)),
        ((0, 1), (1, 0)),  # as many elements from everybody, and as many draws: only the digest tells
    ],
    ids=str,
)
def test_a_member_that_thinks_otherwise_is_noticed(holders: tuple[Holders, Holders], odd: int) -> None:
    def program(s: Scheme) -> None:
        mine = holders[1] if s.rank == odd else holders[0]
        shape = (3 * len(mine), WIDTH)
        places: list[Place] = [(slice(3 * i, 3 * i + 3), slice(0, WIDTH)) for i in range(len(mine))]
        regions = joined_regions(shape, list(zip(places, mine, strict=True)), None)
        assert regions is not None
        held = s.hold(KnownShare(Z64, (Z64.zeros(shape),), regions))
        s.open(s.matmul(held, s.constant(Z64, Z64.zeros((WIDTH,)))))

    with pytest.raises(TransportError):
        run_scheme("semi2k", program)


# --- the meter ------------------------------------------------------------------------------------------------------


@every_case
def test_the_meter_agrees_with_the_run(
    case: tuple[int, Holders], axis: int, constant: bool, ring: PowerOfTwoRing
) -> None:
    parties, holders = case
    blocks = blocks_of(ring, axis)

    def steps(s: Scheme, held: Share) -> None:
        z = s.matmul(held, s.constant(ring, ring.zeros(held.shape[1:])), 5)
        s.matmul(held.map(np.transpose), z)

    def program(s: Scheme) -> None:
        steps(s, s.hold(owned(s, ring, blocks, holders, axis, constant)))

    run = run_scheme("semi2k", program, parties=parties)
    meter = Meter(Semi2k, Semi2k.info.spec(parties))
    shape = tuple(int(n) for n in joint_of(ring, blocks, axis, constant).shape)
    starts = [0, *np.cumsum([block.shape[axis] for block in blocks]).tolist()]
    places: list[Place] = [
        (slice(a, b), slice(0, WIDTH)) if axis == 0 else (slice(0, WIDTH), slice(a, b))
        for a, b in itertools.pairwise(starts)
    ]
    dealt = [
        meter.inputs(meter.spec).assemble(ring, block.shape, 0, {})
        if holder is None
        else meter.inputs(meter.spec).known(ring, block.shape, 0, holder, None)
        for block, holder in zip(blocks, holders, strict=True)
    ]
    column = (ring.zeros(()), (slice(None), slice(shape[1] - 1, shape[1]))) if constant else None
    share = meter.expand_joined(ring, shape, zip(dealt, places, strict=True), column)
    before = meter.tally
    steps(meter, meter.hold(share))
    assert (meter.tally - before).bytes == run.everything().bytes_sent
    waits = {counts.total.rounds for counts in run.traffic}
    assert (meter.tally - before).rounds == max(waits)


def test_the_meter_counts_fewer_multiply_adds() -> None:
    def counted(holders: Holders) -> int:
        meter = Meter(Semi2k, Semi2k.info.spec(2))
        places: list[Place] = [(slice(0, 30), slice(0, 7)), (slice(30, 70), slice(0, 7))]
        regions = joined_regions((70, 7), list(zip(places, holders, strict=True)), None)
        blank = meter.constant(Z64, Z64.zeros((70, 7)))
        held = meter.hold(blank if regions is None else KnownShare(Z64, blank.parts, regions))
        meter.matmul(held, meter.constant(Z64, Z64.zeros((7,))))
        return meter.tally.multiply_adds

    assert counted((None, None)) == 2 * 490
    assert counted((0, 1)) == 490 + 245
    assert counted((0, None)) == 490 + 280 + 105


# --- inputs of a party ----------------------------------------------------------------------------------------------


def test_inputs_of_what_was_held_are_there_and_cut_out_when_asked_for() -> None:
    blocks = blocks_of(Z64, 0, 2)
    facts = {
        "a": {"x": InputFacts(blocks[0].shape, FixedPoint(0, Z64), 100)},
        "b": {"x": InputFacts(blocks[1].shape, FixedPoint(0, Z64), 100)},
    }
    small = [Z64.from_int(np.arange(block.size).reshape(block.shape)) for block in blocks]

    def program(s: Scheme) -> list[object]:
        party = Party(s, facts)
        for holder, (owner, block) in enumerate(zip(facts, small, strict=True)):
            values = block if s.rank == holder else None
            party.take(owner, "x", s.inputs(s.spec).known(Z64, block.shape, s.rank, holder, values))
        x = party.joined([("a", "x"), ("b", "x")], 0, constant=3, held=True)
        assert isinstance(x._share, HeldShare)
        assert [joint is x for joint, _ in party._pieces.values()] == [True, True], "there are copies"
        assert party.joined([("a", "x"), ("b", "x")], 0, constant=3, held=True) is x
        return [party.open(value, reason="test") for value in (party.input("b", "x"), party.input("a", "x"), x)]

    for second, first, joint in run_scheme("semi2k", program).results:
        np.testing.assert_array_equal(first, Z64.to_int(small[0]))
        np.testing.assert_array_equal(second, Z64.to_int(small[1]))
        np.testing.assert_array_equal(joint, np.column_stack([np.concatenate([first, second]), np.full(5, 3)]))
