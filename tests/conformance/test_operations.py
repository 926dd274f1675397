"""Every operation of every scheme, in every ring, against the cleartext twin; and all of them over every mesh.

What an operation computes does not depend on what carries its messages. So operations run in memory, one test for a
scheme and a ring; and one program that has them all runs over TLS and over links that delay messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.errors import InvalidInputError, RingMismatchError, ShapeError
from cofit.sharing import Scheme, Share
from support.runs import run_scheme
from support.schemes import EVERY, MORE, REST, also_slow, form, with_rings

RNG = np.random.default_rng(20)


def random_elements(ring: PowerOfTwoRing, *shape: int, magnitude_bits: int | None = None) -> RingArray:
    bits = ring.bits - 1 if magnitude_bits is None else magnitude_bits
    values = [
        int.from_bytes(RNG.bytes(ring.element_bytes), "little") % (2 << bits) - (1 << bits)
        for _ in range(int(np.prod(shape)))
    ]
    return ring.from_int(np.array(values, dtype=object).reshape(shape))


Opened = dict[str, RingArray | None]


def both(
    scheme: str, mesh: str, program: Callable[[Scheme], Opened], ring: PowerOfTwoRing
) -> Iterator[tuple[str, npt.NDArray[np.object_], npt.NDArray[np.object_]]]:
    """By name: what all parties of ``scheme`` opened, and what the cleartext twin opened."""
    golden = run_scheme("clear", program).results[0]
    opened = run_scheme(scheme, program, mesh=mesh).results
    for name, expected in golden.items():
        assert expected is not None
        decoded = [ring.to_int(own).astype(object) for one in opened if (own := one[name]) is not None]
        assert len(decoded) == len(opened)
        for other in decoded[1:]:
            np.testing.assert_array_equal(other, decoded[0], name)
        yield name, decoded[0], ring.to_int(expected).astype(object)


def from_first(s: Scheme, ring: PowerOfTwoRing, values: RingArray) -> Share:
    return s.input(0, values if s.rank == 0 else None, ring, values.shape)


_WEIGHTS = np.random.default_rng(3).integers(-(1 << 60), 1 << 60, (2, 9))
OPERATIONS: dict[str, Callable[[Scheme, Share, Share], Share]] = {
    "add": lambda s, a, b: s.add(a, b),
    "sub": lambda s, a, b: s.sub(a, b),
    "neg": lambda s, a, b: s.neg(a),
    "mul": lambda s, a, b: s.mul(a, b),
    "mul by a row": lambda s, a, b: s.mul(a, b.map(lambda part: part[:1])),
    "matmul": lambda s, a, b: s.matmul(a, b.map(np.transpose)),
    "matvec": lambda s, a, b: s.matmul(a, b.map(lambda part: part[0])),
    "transposed matvec": lambda s, a, b: s.matmul(a.map(np.transpose), b.map(lambda part: part[:, 0])),
    "inner product": lambda s, a, b: s.matmul(a.map(lambda p: p[0]), b.map(lambda p: p[0])),
    "inner products of rows": lambda s, a, b: s.inner(a, b),
    "inner products of columns": lambda s, a, b: s.inner(a.map(np.transpose), b.map(np.transpose)),
    "squared norms": lambda s, a, b: s.inner(a, a),
    "squared distances": lambda s, a, b: s.squared_distances(a, b.map(lambda part: part[0])),
    "squared distances of a view": lambda s, a, b: s.squared_distances(
        a.map(np.transpose), b.map(lambda part: part[:, 0])
    ),
    "weighed bits": lambda s, a, b: s.weighed_bits(s.to_bits(a, 9), a.ring.from_int(_WEIGHTS), a.ring),
    "inner product of vectors": lambda s, a, b: s.inner(a.map(lambda p: p[0]), b.map(lambda p: p[0])),
    "add public": lambda s, a, b: s.add_public(a, a.ring.from_int(np.arange(5))),
    "mul public": lambda s, a, b: s.mul_public(a, a.ring.from_int(np.arange(5))),
    "matmul public": lambda s, a, b: s.matmul_public(a, a.ring.from_int(np.arange(5))),
    "rmatmul public": lambda s, a, b: s.rmatmul_public(a.ring.from_int(np.arange(4)), a),
    "constant": lambda s, a, b: s.add(a, s.constant(a.ring, a.ring.from_int(np.full((4, 5), -7)))),
    "sum": lambda s, a, b: a.map(lambda part: a.ring.sum(part, axis=0)),
}


def check_operations(scheme: str, mesh: str, ring: PowerOfTwoRing) -> None:
    """Every operation gives what the twin gives, exactly."""
    a, b = random_elements(ring, 4, 5), random_elements(ring, 4, 5)

    def program(s: Scheme) -> Opened:
        x, y = from_first(s, ring, a), from_first(s, ring, b)
        return {name: s.open(operation(s, x, y)) for name, operation in OPERATIONS.items()}

    for name, got, golden in both(scheme, mesh, program, ring):
        np.testing.assert_array_equal(got, golden, name)


def check_truncating_operations(scheme: str, mesh: str, ring: PowerOfTwoRing) -> None:
    """Every operation that divides by a power of two gives what the twin gives, or one more."""
    half = (ring.bits - 2) // 2 - 2
    a, b = random_elements(ring, 40, 5, magnitude_bits=half), random_elements(ring, 40, 5, magnitude_bits=half)

    def program(s: Scheme) -> Opened:
        x, y = from_first(s, ring, a), from_first(s, ring, b)
        shares = {
            "truncate": s.truncate(x, 7),
            "mul": s.mul(x, y, shift=half),
            "inner": s.inner(x, y, shift=half),
            "matmul": s.matmul(x, y.map(lambda part: part[0]), shift=half),
        }
        return {name: s.open(share) for name, share in shares.items()}

    for name, got, golden in both(scheme, mesh, program, ring):
        assert set((got - golden).flat) <= {0, 1}, name


def test_every_operation_equals_the_cleartext_twin(scheme: str, ring: PowerOfTwoRing) -> None:
    check_operations(scheme, "memory", ring)


def test_truncating_operations_are_the_twin_or_one_more(scheme: str, ring: PowerOfTwoRing) -> None:
    check_truncating_operations(scheme, "memory", ring)


@pytest.mark.parametrize("mesh", ["tls", "faulty"])
def test_everything_over_real_and_slow_links(scheme: str, mesh: str) -> None:
    ring = (Z64, Z128)[(EVERY.index(scheme) + (mesh == "tls")) % 2]  # what links carry are bytes
    check_operations(scheme, mesh, ring)
    check_truncating_operations(scheme, mesh, ring)
    check_inputs(scheme, mesh, ring)
    check_joining(scheme, mesh, ring, axis=0)
    check_random_bits(scheme, mesh, ring)
    check_boolean_operations(scheme, mesh)


@pytest.mark.parametrize(
    ("form_of_it", "ring"),
    also_slow([(name, (Z64, Z128)[i % 2]) for i, name in enumerate(MORE)], *with_rings((*MORE, *REST), (Z64, Z128))),
    ids=str,
)
def test_everything_with_more_parties_smaller_thresholds_and_another_route(
    form_of_it: str, ring: PowerOfTwoRing
) -> None:
    check_operations(form_of_it, "memory", ring)
    check_truncating_operations(form_of_it, "memory", ring)
    check_inputs(form_of_it, "memory", ring)
    check_joining(form_of_it, "memory", ring, axis=1)
    check_random_bits(form_of_it, "memory", ring)
    check_boolean_operations(form_of_it, "memory")


def test_inputs_from_every_party_and_from_an_owner(scheme: str, ring: PowerOfTwoRing) -> None:
    check_inputs(scheme, "memory", ring)


def check_inputs(scheme: str, mesh: str, ring: PowerOfTwoRing) -> None:
    dealt = {"x": (ring, random_elements(ring, 3, 4)), "empty": (ring, ring.zeros((0, 4)))}
    own = [random_elements(ring, 2) for _ in range(form(scheme).spec.parties)]

    def program(s: Scheme) -> list[RingArray | None]:
        first = s.receive_input("owner", ring, (3, 4)).expand()
        empty = s.receive_input("owner", ring, (0, 4)).expand()
        rest = [s.input(rank, own[rank] if s.rank == rank else None, ring, (2,)) for rank in range(len(own))]
        return [s.open(share) for share in (first, empty, *rest)]

    expected = [dealt["x"][1], dealt["empty"][1], *own]
    for opened in run_scheme(scheme, program, mesh=mesh, deal=dealt).results:
        for got, want in zip(opened, expected, strict=True):
            assert got is not None
            np.testing.assert_array_equal(got, want)


@pytest.mark.in_turn(3)
def test_an_owners_large_matrix_arrives_over_many_messages(scheme: str, mesh: str) -> None:
    values = Z64.from_int(RNG.integers(-(1 << 62), 1 << 62, (500, 701)))

    def program(s: Scheme) -> RingArray | None:
        return s.open(s.receive_input("owner", Z64, values.shape).expand())

    for opened in run_scheme(scheme, program, mesh=mesh, deal={"x": (Z64, values)}).results:
        assert opened is not None
        np.testing.assert_array_equal(opened, values)


@pytest.mark.parametrize("axis", [0, 1])
def test_dealt_shares_are_expanded_into_their_places(scheme: str, ring: PowerOfTwoRing, axis: int) -> None:
    check_joining(scheme, "memory", ring, axis)


def check_joining(scheme: str, mesh: str, ring: PowerOfTwoRing, axis: int) -> None:
    shapes = [(3, 4), (2, 4), (0, 4), (1, 4)] if axis == 0 else [(4, 3), (4, 2), (4, 0), (4, 1)]
    dealt = {f"x{i}": (ring, random_elements(ring, *shape)) for i, shape in enumerate(shapes)}
    whole = np.concatenate([values for _, values in dealt.values()], axis=axis)
    ends = np.cumsum([shape[axis] for shape in shapes]).tolist()
    places = [slice(end - shape[axis], end) for end, shape in zip(ends, shapes, strict=True)]

    def program(s: Scheme) -> RingArray | None:
        received = [s.receive_input("owner", ring, shape) for shape in shapes]
        alone = received[0].expand()
        index = [(place, slice(0, 4)) if axis == 0 else (slice(None), place) for place in places]
        pieces = zip(received, index, strict=True)
        column = (slice(None), slice(whole.shape[1], whole.shape[1] + 1))
        wider = (whole.shape[0], whole.shape[1] + 1)
        share = s.expand_joined(ring, wider, pieces, (ring.from_int(np.array(-9)), column))
        for part, joint in zip(alone.parts, share.parts, strict=True):
            np.testing.assert_array_equal(joint[index[0]], part)
        return s.open(share)

    for opened in run_scheme(scheme, program, mesh=mesh, deal=dealt).results:
        assert opened is not None
        np.testing.assert_array_equal(opened[:, :-1], whole)
        assert set(ring.to_int(opened[:, -1]).tolist()) == {-9}


@pytest.mark.parametrize("receivers", [[0], [1], [-1], [0, -1], [1, -1]])
def test_opening_to_some_parties_only(scheme: str, ring: PowerOfTwoRing, receivers: list[int]) -> None:
    values = random_elements(ring, 6)
    receivers = sorted({rank % form(scheme).spec.parties for rank in receivers})

    def program(s: Scheme) -> RingArray | None:
        return s.open(from_first(s, ring, values), receivers)

    run = run_scheme(scheme, program)
    for rank, opened in enumerate(run.results):
        if rank in receivers:
            assert opened is not None
            np.testing.assert_array_equal(opened, values)
        else:
            assert opened is None


def test_boolean_operations(scheme: str) -> None:
    check_boolean_operations(scheme, "memory")


def check_boolean_operations(scheme: str, mesh: str) -> None:
    a, b = RNG.integers(0, 2, (5, 130), dtype=np.uint8), RNG.integers(0, 2, (5, 130), dtype=np.uint8)

    def program(s: Scheme) -> list[npt.NDArray[np.uint8] | None]:
        x = s.boolean.input(0, a if s.rank == 0 else None, 5, 130)
        y = s.boolean.input(1, b if s.rank == 1 else None, 5, 130)
        results = (
            s.boolean.xor(x, y),
            s.boolean.and_(x, y),
            s.boolean.not_(x),
            s.boolean.select_rows(x, [3, 1]),
            s.boolean.stack_rows([x, y]),
        )
        constant = s.boolean.xor(x, s.boolean.constant(b))
        return [s.boolean.open(r) for r in (*results, constant)]

    expected = [a ^ b, a & b, 1 - a, a[[3, 1]], np.concatenate([a, b]), a ^ b]
    for opened in run_scheme(scheme, program, mesh=mesh).results:
        for got, want in zip(opened, expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_random_bits_are_the_same_in_both_worlds(scheme: str, ring: PowerOfTwoRing) -> None:
    check_random_bits(scheme, "memory", ring)


def check_random_bits(scheme: str, mesh: str, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> tuple[npt.NDArray[np.uint8] | None, RingArray | None]:
        bits = s.boolean.random(3, 500)
        return s.boolean.open(bits), s.open(s.from_bits(bits, ring))

    for as_bits, as_elements in run_scheme(scheme, program, mesh=mesh).results:
        assert as_bits is not None and as_elements is not None
        np.testing.assert_array_equal(ring.to_int(as_elements).astype(int), as_bits)
        assert 600 < as_bits.sum() < 900


def test_empty_arrays(scheme: str, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> list[tuple[int, ...]]:
        x = s.constant(ring, ring.zeros((0, 3)))
        w = s.constant(ring, ring.zeros((3,)))
        opened = [s.open(s.mul(x, x, shift=3)), s.open(s.matmul(x, w, shift=3)), s.open(s.truncate(x, 2))]
        bits = s.to_bits(x)
        wide = s.constant(ring, ring.zeros((3, 0)))
        opened += [s.open(s.inner(x, x, shift=3)), s.open(s.inner(wide, wide, shift=3))]
        return [o.shape for o in opened if o is not None] + [(bits.rows, bits.count)]

    for shapes in run_scheme(scheme, program).results:
        assert shapes == [(0, 3), (0,), (0, 3), (0,), (3,), (ring.bits, 0)]


def test_wrong_operands_are_refused_before_any_message(scheme: str) -> None:
    def program(s: Scheme) -> None:
        a, b = s.constant(Z64, Z64.zeros((2, 3))), s.constant(Z128, Z128.zeros((2, 3)))
        with pytest.raises(RingMismatchError, match=r"Z_2\^64 and Z_2\^128"):
            s.mul(a, b)
        with pytest.raises(RingMismatchError):
            s.add(a, b)
        with pytest.raises(ShapeError, match=r"\(2, 3\) and \(2, 3\)"):
            s.matmul(a, a)
        with pytest.raises(ShapeError):
            s.mul(a, s.constant(Z64, Z64.zeros((4,))))
        with pytest.raises(ShapeError, match=r"\(2, 3\) and \(3,\)"):
            s.inner(a, s.constant(Z64, Z64.zeros((3,))))
        with pytest.raises(ShapeError, match=r"one dimension"):
            s.inner(s.constant(Z64, Z64.zeros(())), s.constant(Z64, Z64.zeros(())))
        for plus in (s.constant(Z64, Z64.zeros((3,))), s.constant(Z64, Z64.zeros((1, 2, 3)))):
            with pytest.raises(ShapeError, match=r"'plus' .* shape \(2, 3\)"):
                s.mul(a, a, 3, plus)
        with pytest.raises(ShapeError, match=r"'plus' .* shape \(2,\)"):
            s.matmul(a, s.constant(Z64, Z64.zeros((3,))), 3, a)
        with pytest.raises(RingMismatchError, match=r"Z_2\^64 .* Z_2\^128"):
            s.mul(a, a, 3, b)
        with pytest.raises(InvalidInputError, match="shift"):
            s.truncate(a, 63)
        with pytest.raises(InvalidInputError, match="shift"):
            s.truncate(a, -1)
        with pytest.raises(ShapeError):
            s.boolean.xor(s.boolean.random(1, 5), s.boolean.random(1, 6))

    assert run_scheme(scheme, program).everything().messages_sent == 0


def test_rows_of_bits_can_be_gathered(scheme: str) -> None:
    first, second = (RNG.integers(0, 2, (rows, 70), dtype=np.uint8) for rows in (5, 3))

    def program(s: Scheme) -> npt.NDArray[np.uint8] | None:
        a, b = (
            s.boolean.input(0, first if s.rank == 0 else None, 5, 70),
            s.boolean.input(1, second if s.rank == 1 else None, 3, 70),
        )
        gathered = s.boolean.gather_rows([(a, slice(1, 5, 2)), (b, [2, 0, 2]), (a, slice(5, 5)), (a, slice(0, 1))])
        assert gathered.rows == 6
        return s.boolean.open(gathered)

    expected = np.concatenate([first[1:5:2], second[[2, 0, 2]], first[:1]])
    for opened in run_scheme(scheme, program).results:
        np.testing.assert_array_equal(opened, expected)
