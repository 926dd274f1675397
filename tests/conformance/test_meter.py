"""What a scheme publishes of its costs is what its messages cost, and a meter adds that up exactly."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, FixedPoint, PowerOfTwoRing
from cofit.arithmetic.narrow import narrow_bytes
from cofit.errors import InvalidInputError
from cofit.protocols import divide, equal, exponential, inverse_square_root, logarithm, sigmoid
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.gaussian import gaussian
from cofit.secret import Party, SecretArray, concatenate
from cofit.sharing import SCHEMES, Scheme, Share, meter_of
from cofit.sharing.bit_forms import Dot, Outer
from cofit.sharing.meter import Meter
from cofit.sharing.shares import PlacedBits
from cofit.sharing.spec import KING
from cofit.sharing.sums import Clip, Kind, Product, ProductSum
from cofit.sharing.tally import Tally
from support.runs import run_scheme
from support.schemes import EVERY, MORE, REST, also_slow, form, with_rings
from support.views import watched

N = 70
DOCS = Path(__file__).parents[2] / "docs"


def vector(s: Scheme, ring: PowerOfTwoRing, count: int = N) -> Share:
    return s.constant(ring, ring.zeros((count,)))


def matrix(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.constant(ring, ring.zeros((11, 7)))


def foreseen(s: Scheme, ring: PowerOfTwoRing) -> Share | None:
    x, row = matrix(s, ring), vector(s, ring, 7)
    mask = s.squares_mask(ring, 7)
    return None if mask is None else s.foreseen_squares(x, row, row, mask, s.matmul(s.squared_distances(x, row), mask))


def products(s: Scheme, ring: PowerOfTwoRing) -> tuple[Product, ...]:
    """Of every kind, for a result of 11 elements; the first is that of a table, as in training."""
    table, a, b = matrix(s, ring), vector(s, ring, 11), vector(s, ring, 11)
    return (
        Product(Kind.MATMUL, (table,), (vector(s, ring, 7),)),
        Product(Kind.INNER, (a,), (b,)),
        Product(Kind.MUL, (a,), (vector(s, ring, 1),)),
        Product(Kind.PAIRS, (a, b), (b, a)),
    )


def clipped(s: Scheme, ring: PowerOfTwoRing, shift: int) -> Share | None:
    pairs = Product(Kind.PAIRS, (vector(s, ring), vector(s, ring)), (vector(s, ring), vector(s, ring)))
    return s.clipped_sum(ProductSum((pairs,), shift), Clip(-3, 9, 25)) if s.clips else None


OPERATIONS: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "input": lambda s, r: s.input(0, r.zeros((N,)) if s.rank == 0 else None, r, (N,)),
    "open": lambda s, r: s.open(vector(s, r)),
    "open to one": lambda s, r: s.open(vector(s, r), [1]),
    "announce": lambda s, r: s.announce("said", b"12345"),
    "product": lambda s, r: s.mul(vector(s, r), vector(s, r)),
    "product, broadcast": lambda s, r: s.mul(matrix(s, r), vector(s, r, 7)),
    "product with truncation": lambda s, r: s.mul(vector(s, r), vector(s, r), 5, vector(s, r)),
    "truncation": lambda s, r: s.truncate(vector(s, r), 5),
    "matrix by vector": lambda s, r: s.matmul(matrix(s, r), vector(s, r, 7)),
    "vector by matrix": lambda s, r: s.matmul(vector(s, r, 11), matrix(s, r), 5),
    "matrix by matrix": lambda s, r: s.matmul(matrix(s, r), matrix(s, r).map(np.transpose)),
    "inner": lambda s, r: s.inner(matrix(s, r), matrix(s, r)),
    "inner with truncation": lambda s, r: s.inner(matrix(s, r), matrix(s, r), 5),
    "a sum of products": lambda s, r: s.product_sums([ProductSum(products(s, r), 5, vector(s, r, 11))]),
    "sums of products": lambda s, r: s.product_sums([ProductSum(products(s, r)), ProductSum(products(s, r)[3:], 5)]),
    "clipped sum": lambda s, r: clipped(s, r, 5),
    "clipped sum, exact": lambda s, r: clipped(s, r, 0),
    "refresh": lambda s, r: s.refresh(vector(s, r)),
    "random bits": lambda s, r: s.boolean.random(3, N),
    "bits to ring": lambda s, r: s.from_bits(s.boolean.random(3, N), r),
    "weighed bits": lambda s, r: s.weighed_bits(s.boolean.random(9, N), r.zeros((2, 9)), r),
    "foreseen squares": foreseen,
    "squared distances": lambda s, r: s.squared_distances(matrix(s, r), vector(s, r, 7)),
    "and": lambda s, r: s.boolean.and_(s.boolean.random(3, N), s.boolean.not_(s.boolean.random(3, N))),
    "bits": lambda s, r: s.to_bits(vector(s, r)),
    "sign": lambda s, r: s.sign_bits(vector(s, r)),
    "coarse sign": lambda s, r: s.sign_bits(vector(s, r), 21),
    "sign of a proven range": lambda s, r: s.sign_bits(vector(s, r), bits=25),
    "coarse sign of a proven range": lambda s, r: s.sign_bits(vector(s, r), 3, 25),
    "low bits": lambda s, r: s.to_bits(vector(s, r), 13),
    "top bits": lambda s, r: s.top_bits(vector(s, r), 21),
    "squares of the high part": lambda s, r: s.high_squares(matrix(s, r), 9),
    "folded bits": lambda s, r: s.boolean.and_(bits := s.boolean.fold(s.boolean.random(3, 256), 4), bits),
    "inner products of bits": lambda s, r: s.boolean.bilinear(s.boolean.random(8, N), s.boolean.random(8, N), Dot(4)),
    "outer product of bits": lambda s, r: s.boolean.bilinear(s.boolean.random(3, N), s.boolean.random(5, N), Outer()),
    "a number": lambda s, r: s.from_numbers([PlacedBits(3, s.boolean.random(9, N))], r),
    "a sum of numbers": lambda s, r: s.from_numbers([PlacedBits(4 * i, s.boolean.random(9, N)) for i in range(5)], r),
    "open bits": lambda s, r: s.boolean.open(s.boolean.random(3, N)),
    "nothing to send": lambda s, r: s.mul_public(s.add(vector(s, r), vector(s, r)), r.zeros((N,))),
}


def metered(scheme: str, work: Callable[[Scheme], object]) -> Tally:
    meter = meter_of(*form(scheme))
    work(meter)
    return meter.tally


def assert_same(scheme: str, work: Callable[[Scheme], object], name: str = "") -> object:
    """Compare the meter with a run; return what the work gives at the first party."""
    with watched() as views:
        run = run_scheme(scheme, work)
    tally = metered(scheme, work)
    assert tally.bytes == run.everything().bytes_sent, name
    waits = max(counts.total.rounds for counts in run.traffic)
    spec = form(scheme).spec
    if spec.route == KING or spec.name == "repn":  # nobody waits for all messages that follow from one another
        assert waits <= views.depth() <= tally.rounds, name
    else:
        assert tally.rounds == waits, name
    return run.results[0]


def test_operations_cost_what_is_published(scheme: str, ring: PowerOfTwoRing) -> None:
    for name, operation in OPERATIONS.items():
        assert_same(scheme, lambda s, work=operation: work(s, ring), name)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("form_of_it", "ring"),
    also_slow(
        [(name, (Z128, Z64)[i % 2]) for i, name in enumerate(MORE[:3])], *with_rings((*MORE, *REST), (Z64, Z128))
    ),
    ids=str,
)
def test_operations_cost_what_is_published_for_every_form(form_of_it: str, ring: PowerOfTwoRing) -> None:
    for name, operation in OPERATIONS.items():
        assert_same(form_of_it, lambda s, work=operation: work(s, ring), name)  # type: ignore[misc]


def secret(party: Party, shape: tuple[int, ...], ring: PowerOfTwoRing) -> SecretArray:
    format = FixedPoint(20 if ring is Z64 else 40, ring)
    return party.constant(np.full(shape, 0.5), format)


def shapes(party: Party, ring: PowerOfTwoRing) -> SecretArray:
    x = secret(party, (6, 5, 4), ring)
    picked = concatenate([x[[5, 1, 1]], x[::2], x[:0]])
    columns = concatenate([picked.T[:, :, 0], picked.reshape(6, 20).T[:4, :5]], axis=-1)
    mask = np.arange(6) % 2 == 0
    return columns.sum(1)[1] * x[mask, ..., np.array([0, 1, 3])].sum() * x.sum(axis=-1)[-1, None].mean()


PROGRAMS: dict[str, Callable[[Party, PowerOfTwoRing], SecretArray]] = {
    "shapes": shapes,
    "divide": lambda p, r: divide(secret(p, (7, 9), r), secret(p, (7, 9), r), quotient_bound=2.0),
    "inverse_square_root": lambda p, r: inverse_square_root(secret(p, (63,), r)),
    "logarithm": lambda p, r: logarithm(secret(p, (65,), r)),
    "exponential": lambda p, r: exponential(secret(p, (65,), r)),
    "sigmoid": lambda p, r: sigmoid(secret(p, (65,), r) * 100),
    "equal": lambda p, r: equal(secret(p, (65,), r), 0.5),
    "laplace": lambda p, r: discrete_laplace(p, (9,), 1000, r),
    "gaussian": lambda p, r: gaussian(p, (9,), FixedPoint(20, r)),
}


@pytest.mark.parametrize("form_of_it", (*EVERY, *MORE, *REST))
def test_a_meter_has_as_many_summands_as_a_run(form_of_it: str) -> None:
    """What a check of rows sends depends on it."""

    def work(s: Scheme) -> int:
        return s.summands

    assert work(meter_of(*form(form_of_it))) == run_scheme(form_of_it, work).results[0]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_cost_what_the_meter_says(program: str, scheme: str, ring: PowerOfTwoRing) -> None:
    def work(s: Scheme) -> tuple[int, ...]:
        party = Party(s, {})
        result = PROGRAMS[program](party, ring)
        assert party.open(result, reason="a test").shape == result.shape
        return result.shape

    assert work(meter_of(*form(scheme))) == assert_same(scheme, work)


@pytest.mark.parametrize(
    ("scheme", "ring"),
    also_slow([*with_rings(EVERY, (Z64, Z128)), ("shamir/7", Z64)], *with_rings(MORE, (Z128,))),
    ids=str,
)
def test_owners_input_costs_what_is_published(scheme: str, ring: PowerOfTwoRing) -> None:
    for count in (0, 1, (1 << 20) // ring.element_bytes, 140_001):
        values = ring.zeros((count,))

        def work(s: Scheme, shape: tuple[int, ...] = values.shape) -> None:
            s.receive_input("owner", ring, shape).expand()

        run = run_scheme(scheme, work, deal={"x": (ring, values)})
        tally = metered(scheme, work)
        assert run.owner is not None
        assert tally.bytes == run.owner.total.bytes_sent + run.everything().bytes_sent
        assert tally.rounds == max(counts.total.rounds for counts in run.traffic)


def test_multiply_adds_are_those_of_every_party() -> None:
    def work(s: Scheme) -> None:
        s.matmul(matrix(s, Z64), vector(s, Z64, 7))
        s.inner(matrix(s, Z64), matrix(s, Z64))
        s.matmul_public(matrix(s, Z64), Z64.zeros((7, 3)))

    assert metered("rep3", work).multiply_adds == 2 * 77 + 3 * 77 + 2 * 77 * 3
    assert metered("rep4", work).multiply_adds == 6 * 77 + 8 * 77 + 3 * 77 * 3
    assert metered("clear", work).multiply_adds == 77 + 77 + 77 * 3


def test_size_takes_neither_memory_nor_time(ring: PowerOfTwoRing) -> None:
    rows, cols = 10**9, 10**6

    def work(s: Scheme) -> None:
        x = s.receive_input("owner", ring, (rows, cols)).expand()
        z = s.matmul(x, vector(s, ring, cols), 5)
        both = s.concatenate([z.map(lambda part: part.reshape(1, rows))] * 2, 0)
        s.sign_bits(s.select(both, [1, 0, 1]))
        s.truncate(s.matmul(x.map(np.transpose), z), 5)

    assert metered("rep3", work).bytes > 2 * rows * cols * ring.element_bytes


def test_a_meter_takes_no_values() -> None:
    meter = Meter(SCHEMES["rep3"])
    with pytest.raises(InvalidInputError, match="takes no values"):
        meter.inputs(meter.spec).components(Z64, Z64.zeros((1,)), bytes(32))
    with pytest.raises(ValueError, match="read-only"):
        vector(meter, Z64).parts[0][0] = 1
    assert Meter.info.name not in SCHEMES


# --- the documented table --------------------------------------------------------------------------------

_WORK: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "input by a party": OPERATIONS["input"],
    "open to all": OPERATIONS["open"],
    "product, matrix product, inner products of rows, exact": OPERATIONS["product"],
    "product, matrix product, inner products of rows, with truncation": OPERATIONS["product with truncation"],
    "truncation": OPERATIONS["truncation"],
    "random bits": OPERATIONS["random bits"],
    "random bits as ring elements": lambda s, r: s.random_ring_bits(r, (N,)),
    "bit to ring element": lambda s, r: s.from_bits(s.boolean.random(1, N), r),
}


def documented() -> dict[str, tuple[str, str]]:
    """The table of the page on costs: rounds and elements, by operation."""
    rows = re.findall(r"^\| (.+?) \| .+ \| (.+?) \| (.+?) \|$", (DOCS / "reference" / "costs.md").read_text(), re.M)
    return {operation: (rounds, elements) for operation, rounds, elements in rows}


@pytest.mark.parametrize("operation", _WORK)
def test_documented_costs_of_rep3_are_the_published_ones(operation: str, ring: PowerOfTwoRing) -> None:
    rounds, elements = documented()[operation]
    tally = metered("rep3", lambda s: _WORK[operation](s, ring))
    assert tally.rounds == int(rounds)
    found = re.fullmatch(r"(\d+)(?:, and (\d+) \*narrow\*| for each bit)?", elements)
    assert found is not None
    full, narrow = int(found[1]), int(found[2] or 0)
    assert tally.bytes == full * N * ring.element_bytes + narrow * narrow_bytes(N, 5)


_ROW_OF_REP4 = re.compile(r"^\| ([^|]+?) \| (\d) \| (\d+) \+ (\d+) \|$", re.M)


def test_documented_costs_of_rep4_are_the_published_ones(ring: PowerOfTwoRing) -> None:
    rows = _ROW_OF_REP4.findall((DOCS / "reference" / "costs.md").read_text())
    assert len(rows) == 7
    for operation, rounds, elements, digests in rows:
        tally = metered("rep4", lambda s, work=_WORK[operation]: work(s, ring))  # type: ignore[misc]
        assert tally.rounds == int(rounds)
        assert tally.bytes == int(elements) * N * ring.element_bytes + 32 * int(digests)


@pytest.mark.parametrize("operation", ["ring element to bits", "sign of a ring element"])
def test_documented_bits_of_rep3_are_those_of_the_adder(operation: str, ring: PowerOfTwoRing) -> None:
    def work(s: Scheme) -> Any:
        a = vector(s, ring, 64)
        return s.to_bits(a) if operation == "ring element to bits" else s.sign_bits(a)

    bits = {64: r"(\d+) \*bits\* \(k = 64\)", 128: r"(\d+) \*bits\* \(k = 128\)"}[ring.bits]
    found = re.search(bits, documented()[operation][1])
    assert found is not None
    assert metered("rep3", work).bytes == int(found[1]) * 8
