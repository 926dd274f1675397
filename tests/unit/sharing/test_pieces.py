"""Some rows of dealt values: to the last bit those of the whole, at every party of every scheme."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit.arithmetic import F61, INTEGER_RINGS, Z64, Z128, IntegerRing, Place, Ring, RingArray, Shape
from cofit.arithmetic import mapped as mapped_module
from cofit.arithmetic.engine import LOCAL
from cofit.arithmetic.prg import derive_seed
from cofit.errors import InvalidInputError, ProtocolError
from cofit.roles.files.share_files import shares_on_disk
from cofit.sharing import ComponentFacts, DealtShare, Scheme, Share, Spec, dealer_of
from cofit.sharing.known_inputs import assembled, components_of, layout_of
from cofit.sharing.pieces import assembled_rows, component_range
from cofit.sharing.regions import KnownShare
from cofit.sharing.shamir.inputs import DealtToGroups
from cofit.sharing.summands import DealtSummands
from support.pairwise import pairwise
from support.rejecting import REJECTING
from support.runs import connected
from support.schemes import EVERY, form

FORMS = (*EVERY, "semi2k/3", "shamir/4", "shamir/5/1", "shamir/6", "shamir/7", "repn/5", "repn/7", "clear/1")
RINGS = (*INTEGER_RINGS.values(), REJECTING)
SHAPES = ((7,), (7, 3), (5, 2, 3), (4, 1), (3, 0), (0, 4), (1,))
HOLDERS = (None, 0, -1)
SEED = bytes(range(32))
LARGE = (2500, 37)  # beyond every chunk and piece in which seeds are expanded


def named(ring: Ring) -> str:
    return "rejecting" if ring is REJECTING else ring.name


def elements(ring: IntegerRing, shape: Shape, seed: int = 5) -> RingArray:
    rng = np.random.default_rng([seed, *shape])
    return ring.from_int(rng.integers(-(1 << 40), 1 << 40, shape))


def holder_of(spec: Spec, holder: int | None) -> int | None:
    return None if holder is None else holder % spec.parties


def dealt_components(
    kind: type[Scheme], spec: Spec, values: RingArray, ring: Ring, holder: int | None
) -> dict[ComponentFacts, bytes]:
    sent = components_of(kind, spec, ring, values, derive_seed(SEED, f"{values.shape}"), holder)
    return {c.facts: b"".join(bytes(piece) for piece in c.content()) for c in sent}


def sides(kind: type[Scheme], spec: Spec) -> list[tuple[type[Scheme], int]]:
    """All members of a run that assemble: the parties, and a dealer."""
    parties = [(kind, rank) for rank in range(spec.parties)]
    return [*parties, (dealer_of(spec.name), spec.parties)] if spec.dealer else parties


def whole_of(
    side: type[Scheme], spec: Spec, ring: Ring, shape: Shape, rank: int, contents: Mapping[ComponentFacts, bytes],
    holder: int | None,
) -> DealtShare:  # fmt: skip
    mine = {facts.name: memoryview(content) for facts, content in contents.items() if rank in facts.ranks}
    return assembled(side, spec, ring, shape, rank, mine, holder)


def rows_of(
    side: type[Scheme], spec: Spec, ring: Ring, shape: Shape, rank: int, contents: Mapping[ComponentFacts, bytes],
    holder: int | None, rows: slice,
) -> DealtShare:  # fmt: skip
    """What a shard makes of what its head sends it: copies of ranges, and of seeds."""
    mine = {
        facts.name: memoryview(bytes(memoryview(content)[component_range(facts, shape, rows)]))
        for facts, content in contents.items()
        if rank in facts.ranks
    }
    return assembled_rows(side, spec, ring, shape, rank, mine, holder, rows)


def assert_rows(piece: Share, whole: Share, rows: slice) -> None:
    assert piece.ring is whole.ring
    assert len(piece.parts) == len(whole.parts)
    for part, of in zip(piece.parts, whole.parts, strict=True):
        assert part.shape == (rows.stop - rows.start, *of.shape[1:])
        np.testing.assert_array_equal(part, of[rows])


def all_rows(length: int) -> list[slice]:
    return [slice(a, b) for a, b in itertools.combinations_with_replacement(range(length + 1), 2)]


# --- one value --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ring", "shape", "holder"),
    pairwise(FORMS, RINGS, SHAPES, HOLDERS),
    ids=lambda value: named(value) if isinstance(value, Ring) else str(value),
)
def test_rows_of_a_share_are_the_share_of_the_rows(
    name: str, ring: IntegerRing, shape: Shape, holder: int | None
) -> None:
    kind, spec = form(name)
    keeper = holder_of(spec, holder)
    contents = dealt_components(kind, spec, elements(ring, shape), ring, keeper)
    for side, rank in sides(kind, spec):
        whole = whole_of(side, spec, ring, shape, rank, contents, keeper)
        expanded = whole.expand()
        for rows in all_rows(shape[0]):
            piece = rows_of(side, spec, ring, shape, rank, contents, keeper, rows)
            assert type(piece) is type(whole)
            assert getattr(piece, "holder", None) == getattr(whole, "holder", None)
            assert_rows(piece.expand(), expanded, rows)


@pytest.mark.parametrize("ring", RINGS, ids=named)
@pytest.mark.parametrize("name", FORMS)
def test_rows_of_a_large_value(name: str, ring: IntegerRing) -> None:
    kind, spec = form(name)
    contents = dealt_components(kind, spec, elements(ring, LARGE), ring, None)
    for side, rank in sides(kind, spec)[-2:]:
        whole = whole_of(side, spec, ring, LARGE, rank, contents, None).expand()
        for rows in (slice(0, 1201), slice(1201, 2500), slice(2411, 2411), slice(2499, 2500)):
            assert_rows(rows_of(side, spec, ring, LARGE, rank, contents, None, rows).expand(), whole, rows)


@pytest.mark.parametrize("name", ["rep3", "rep4", "semi2k", "pair", "shamir/5", "repn/5"])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_nothing_before_the_rows_is_drawn(name: str, ring: IntegerRing) -> None:
    """The last rows of a value that nobody could expand; seeds are checked against the definition of the stream."""
    kind, spec = form(name)
    shape, rows = (1 << 50, 3), slice((1 << 50) - 3, (1 << 50) - 1)
    for rank in range(spec.parties):
        mine = [facts for facts in layout_of(kind, spec, ring, shape, None) if rank in facts.ranks]
        ranges = {facts: component_range(facts, shape, rows) for facts in mine}
        seeds = {facts.name: SEED for facts in mine if facts.name.startswith("seed_")}
        received = {f.name: memoryview(seeds.get(f.name, bytes(r.stop - r.start))) for f, r in ranges.items()}
        dealt = assembled_rows(kind, spec, ring, shape, rank, received, None, rows)
        assert dealt.expand().shape == (2, 3)
        summands = dealt.summands if isinstance(dealt, DealtToGroups) else dealt
        assert isinstance(summands, DealtSummands)
        drawn = [part for part in summands.expand().parts if part.any()] if ring is Z64 else []
        assert all(part.tobytes() == by_definition(rows.start * 3 * 8, 48) for part in drawn)
        assert ring is not Z64 or len(drawn) == len(seeds)


def by_definition(start: int, nbytes: int) -> bytes:
    cipher = Cipher(algorithms.AES256(SEED), modes.ECB()).encryptor()
    blocks = range(start // 16, (start + nbytes) // 16 + 1)
    return b"".join(cipher.update(i.to_bytes(16, "big")) for i in blocks)[start % 16 :][:nbytes]


# --- several owners, joined -------------------------------------------------------------------------------------


@contextmanager
def members(name: str) -> Iterator[list[Scheme]]:
    """The sides of a run that are not set up: expanding is local."""
    kind, spec = form(name)
    names = tuple(f"party-{i}" for i in range(spec.parties))
    dealer = "dealer" if spec.dealer else None
    meshes = connected((*names, *([dealer] if dealer else [])), "memory", spec.agreed)
    try:
        yield [
            side(mesh, names, dealer, spec) for (side, _), mesh in zip(sides(kind, spec), meshes.values(), strict=True)
        ]
    finally:
        for mesh in meshes.values():
            mesh.close()


def places_along(axis: int, shapes: Sequence[Shape]) -> tuple[Shape, list[Place]]:
    places: list[Place] = []
    end = 0
    for shape in shapes:
        places.append(tuple(slice(end, end + n) if at == axis else slice(0, n) for at, n in enumerate(shape)))
        end += shape[axis]
    return tuple(end if at == axis else n for at, n in enumerate(shapes[0])), places


def joint(
    s: Scheme, ring: IntegerRing, axis: int, shapes: Sequence[Shape], dealt: Sequence[DealtShare], constant: bool
) -> Share:
    shape, places = places_along(axis, shapes)
    column = None
    if constant:
        column = ring.from_int(np.array(-9)), (slice(None), slice(shape[1], shape[1] + 1))
        shape = (shape[0], shape[1] + 1)
    return s.expand_joined(ring, shape, zip(list(dealt), places, strict=True), column)


def in_room(
    s: Scheme, ring: Ring, shape: Shape, contents: Mapping[ComponentFacts, bytes], holder: int | None, rows: slice,
    room: dict[str, memoryview],
) -> DealtShare:  # fmt: skip
    """As ``rows_of``; what is dealt in full comes to lie behind that of the owner before, as in a ``Room``."""
    mine = {}
    for facts, content in contents.items():
        if s.rank in facts.ranks:
            part = memoryview(content)[component_range(facts, shape, rows)]
            if not facts.name.startswith("seed_"):
                left = room[facts.name]
                room[facts.name], target = left[len(part) :], left[: len(part)]
                target[:] = part
                part = target
            mine[facts.name] = part
    return assembled_rows(type(s), s.spec, ring, shape, s.rank, mine, holder, rows)


CHOSEN = (
    (
        (slice(0, 4), slice(2, 6), slice(7, 11)),
        (slice(3, 3), slice(5, 6), slice(0, 1)),
        (slice(1, 9), slice(0, 0), slice(3, 10)),
        (slice(2, 2), slice(0, 0), slice(11, 11)),
        (slice(0, 9), slice(0, 6), slice(0, 11)),
    ),
    tuple((slice(*ends),) * 3 for ends in ((0, 4), (4, 9), (7, 8), (5, 5), (0, 9))),
)
"""By axis, rows of three owners that a shard has."""


@pytest.mark.parametrize(
    ("name", "ring", "axis", "mapped", "together", "known", "constant"),
    pairwise(FORMS, RINGS, (0, 1), (False, True), (False, True), (False, True), (False, True)),
    ids=lambda value: named(value) if isinstance(value, Ring) else str(value),
)
def test_rows_of_joined_values(
    name: str,
    ring: IntegerRing,
    axis: int,
    mapped: bool,
    together: bool,
    known: bool,
    constant: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Joined by rows, a shard has its rows of every owner; by columns, the same rows of all of them."""
    monkeypatch.setattr(mapped_module, "BLOCK_BYTES", 300)  # of about four rows
    kind, spec = form(name)
    shapes = [(9, 5), (6, 5), (11, 5)] if axis == 0 else [(9, 2), (9, 1), (9, 4)]
    holders = [holder_of(spec, holder) if known else None for holder in (0, None, -1)]
    owners = [
        dealt_components(kind, spec, elements(ring, shape, i), ring, holder)
        for i, (shape, holder) in enumerate(zip(shapes, holders, strict=True))
    ]
    facts = list(zip(shapes, owners, holders, strict=True))
    with members(name) as sides_of_run, shares_on_disk(tmp_path) as files:
        for s in sides_of_run:
            s.engine = files if mapped else LOCAL
            args = (type(s), spec, ring)
            everything = [whole_of(*args, shape, s.rank, owned, holder) for shape, owned, holder in facts]
            whole = joint(s, ring, axis, shapes, everything, constant)
            for chosen in CHOSEN[axis]:
                sizes = [(rows.stop - rows.start, shape[1]) for rows, shape in zip(chosen, shapes, strict=True)]
                total = sum(map(math.prod, sizes)) * ring.element_bytes
                received = np.empty(total, np.uint8)
                room = dict.fromkeys((f.name for owned in owners for f in owned), received.data)
                dealt = [
                    in_room(s, ring, shape, owned, holder, rows, room)
                    if together and not known
                    else rows_of(*args, shape, s.rank, owned, holder, rows)
                    for (shape, owned, holder), rows in zip(facts, chosen, strict=True)
                ]
                piece = joint(s, ring, axis, sizes, dealt, constant)
                starts = [place[0].start for place in places_along(0, shapes)[1]] if axis == 0 else [0]
                picked = [i for start, rows in zip(starts, chosen, strict=False) for i in _shifted(rows, start)]
                for part, of in zip(piece.parts, whole.parts, strict=True):
                    np.testing.assert_array_equal(part, of[picked])
                if isinstance(whole, KnownShare) and piece.parts[0].size:
                    assert isinstance(piece, KnownShare)
                    assert _known_cells(piece) == [_known_cells(whole)[i] for i in picked]


def _shifted(rows: slice, start: int) -> range:
    return range(start + rows.start, start + rows.stop)


def _known_cells(share: KnownShare) -> list[list[int | None]]:
    """Who knows every element."""
    cells: list[list[int | None]] = [[-1] * share.shape[1] for _ in range(share.shape[0])]
    for region in share.regions:
        for i, j in itertools.product(*(range(part.start, part.stop) for part in region.place)):
            cells[i][j] = region.holder
    return cells


def test_what_was_received_in_its_place_stays_there() -> None:
    kind, spec = form("rep3")
    shape, rank = (8, 5), 1
    owners = [dealt_components(kind, spec, elements(Z64, shape, i), Z64, None) for i in range(2)]
    received = np.zeros(7 * 5 * 8, np.uint8)
    room = {"x_2": received.data}
    with members("rep3") as sides_of_run:
        s = sides_of_run[rank]
        dealt = [
            in_room(s, Z64, shape, owned, None, rows, room)
            for owned, rows in zip(owners, (slice(2, 6), slice(5, 8)), strict=True)
        ]
        share = joint(s, Z64, 0, [(4, 5), (3, 5)], dealt, constant=False)
    assert [np.shares_memory(part, received) for part in share.parts] == [False, True]


# --- which bytes ------------------------------------------------------------------------------------------------


def test_of_a_seed_all_bytes_and_of_elements_those_of_the_rows() -> None:
    """Also where elements take as many bytes as a seed."""
    kind, spec = form("rep3")
    first, second, explicit = layout_of(kind, spec, Z64, (4,), None)
    assert explicit.size == first.size == second.size == 32
    for rows in all_rows(4):
        assert component_range(first, (4,), rows) == component_range(second, (4,), rows) == slice(0, 32)
        assert component_range(explicit, (4,), rows) == slice(8 * rows.start, 8 * rows.stop)
    (values,) = layout_of(form("semi2k").kind, form("semi2k").spec, Z128, (6, 3), 1)
    assert component_range(values, (6, 3), slice(2, 5)) == slice(2 * 48, 5 * 48)
    assert component_range(ComponentFacts("x_0", (0,), 0), (0, 3), slice(0, 0)) == slice(0, 0)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_shards_have_every_byte_once(name: str, holder: int | None) -> None:
    kind, spec = form(name)
    for facts, content in dealt_components(kind, spec, elements(Z64, (9, 2)), Z64, holder_of(spec, holder)).items():
        shards = [content[component_range(facts, (9, 2), slice(9 * k // 4, 9 * (k + 1) // 4))] for k in range(4)]
        assert shards == [content] * 4 if facts.name.startswith("seed_") else b"".join(shards) == content


def test_other_bytes_than_those_are_refused() -> None:
    kind, spec = form("rep3")
    contents = dealt_components(kind, spec, elements(Z64, (6, 2)), Z64, None)
    mine = {facts.name: memoryview(content) for facts, content in contents.items() if 1 in facts.ranks}
    for rows in (slice(0, 3), slice(4, 4)):
        with pytest.raises(ValueError, match="reshape"):
            assembled_rows(kind, spec, Z64, (6, 2), 1, mine, None, rows)
    short = {**mine, "x_2": mine["x_2"][:16], "seed_1": mine["seed_1"][:31]}
    with pytest.raises(InvalidInputError, match="32 bytes long"):
        assembled_rows(kind, spec, Z64, (6, 2), 1, short, None, slice(0, 1)).expand()


def test_what_is_no_element_is_refused_by_the_shard_that_gets_it() -> None:
    kind, spec = form("rep3")
    contents = dealt_components(kind, spec, elements(F61, (4, 1)), F61, None)
    contents = {f: c if f.name != "x_2" else c[:16] + b"\xff" * 8 + c[24:] for f, c in contents.items()}
    rows_of(kind, spec, F61, (4, 1), 1, contents, None, slice(0, 2)).expand()
    with pytest.raises(ProtocolError, match="no element"):
        rows_of(kind, spec, F61, (4, 1), 1, contents, None, slice(2, 3))


BAD_ROWS = [slice(-1, 2), slice(-2, -1), slice(0, 8), slice(8, 8), slice(4, 3), slice(0, 4, 2), slice(3, 0, -1)]


@pytest.mark.parametrize(
    "rows", [*BAD_ROWS, slice(None, 3), slice(2, None), slice(0.0, 2), slice(False, True)], ids=str
)
def test_what_are_no_rows_is_refused(rows: slice) -> None:
    kind, spec = form("rep3")
    for facts in layout_of(kind, spec, Z64, (7, 2), None):
        with pytest.raises(InvalidInputError, match=r"'rows' parameter of a piece.*stop <= 7"):
            component_range(facts, (7, 2), rows)
    with pytest.raises(InvalidInputError, match=r"'rows' parameter of a piece.*stop <= 7"):
        assembled_rows(kind, spec, Z64, (7, 2), 0, {}, None, rows)


def test_a_number_has_no_rows_and_facts_must_fit_the_shape() -> None:
    kind, spec = form("rep3")
    *_, explicit = layout_of(kind, spec, Z64, (), None)
    with pytest.raises(InvalidInputError, match="'shape' parameter of a piece"):
        component_range(explicit, (), slice(0, 1))
    with pytest.raises(InvalidInputError, match="'facts' parameter of component_range"):
        component_range(explicit, (3,), slice(0, 1))
    with pytest.raises(InvalidInputError, match="'facts' parameter of component_range"):
        component_range(explicit, (0, 2), slice(0, 0))
