"""Every secure function, on every scheme, against mpmath: grids, random points, and the edges of its domain.

An error is measured in units in the last place, on the opened integers, so that no float hides it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray, run_local
from cofit.arithmetic import F61, IntegerRing, Ring, RingArray
from cofit.errors import InvalidInputError, PartyFailedError, RangeError
from cofit.protocols import (
    cosine,
    divide,
    equal,
    exponential,
    inverse_square_root,
    is_negative,
    less,
    logarithm,
    reciprocal,
    select,
    sigmoid,
    sigmoid_polynomial,
    sine,
    sine_cosine,
    square_root,
)
from cofit.protocols.division import relative_error
from cofit.protocols.exponential import domain_exponent as exponential_domain
from cofit.protocols.exponential import exponential_error
from cofit.protocols.logarithm import logarithm_error
from cofit.protocols.roots import domain_exponent, inverse_square_root_error, square_root_error
from cofit.protocols.sigmoid import sigmoid_degree, sigmoid_error, sigmoid_polynomial_error
from cofit.protocols.trigonometry import sine_cosine_error
from cofit.sharing import SCHEMES, Share
from cofit.sharing.clear.party import Clear
from support.pairwise import pairwise
from support.schemes import SECRET, also_slow, local

Integers = npt.NDArray[np.object_]
FORMATS = [
    FixedPoint(16),
    FixedPoint(24),
    FixedPoint(28),
    FixedPoint(16, Z128),
    FixedPoint(52, Z128),
    FixedPoint(60, Z128),
]
IN_A_FIELD = [FixedPoint(16, F61), FixedPoint(26, F61)]
MOST_UNITS = 4
RARE = [
    ("shamir", FixedPoint(24)),
    ("shamir/5", FixedPoint(52, Z128)),
    ("repn", FixedPoint(24)),
    ("repn", FixedPoint(52, Z128)),
    ("pair", FixedPoint(52, Z128)),
]
"""Of operations that other tests look at, one by one."""
scheme_and_format = pytest.mark.parametrize(
    ("scheme", "format"),
    [("clear", format) for format in FORMATS + IN_A_FIELD]
    + [
        (name, format)
        for name in SECRET
        for format in (FixedPoint(24), FixedPoint(52, Z128))
        if (name, format) not in RARE
    ]
    + [pytest.param(*one, marks=pytest.mark.slow) for one in RARE],
    ids=str,
)
"""Every format in the clear; and every scheme in both rings: of one with many parties, among three and among five."""


@pytest.fixture(params=FORMATS + IN_A_FIELD, ids=str)
def format(request: pytest.FixtureRequest) -> FixedPoint:
    chosen: FixedPoint = request.param
    return chosen


@dataclass(frozen=True)
class Case:
    """A function, the integers to try in a format, the exact function, and its proven error."""

    function: Callable[[SecretArray], SecretArray]
    exact: Callable[[mpmath.mpf], mpmath.mpf]
    low: Callable[[FixedPoint], Fraction]
    high: Callable[[FixedPoint], Fraction]
    error: Callable[[FixedPoint], Fraction]
    most_units: int = MOST_UNITS


def smallest(format: FixedPoint) -> Fraction:
    return Fraction(1, 1 << format.fraction_bits)


def largest(format: FixedPoint) -> Fraction:
    return Fraction(format.capacity, 1 << format.fraction_bits)


CASES = {
    "logarithm": Case(logarithm, mpmath.log, smallest, largest, logarithm_error),
    "square root": Case(
        square_root, mpmath.sqrt, smallest, lambda f: Fraction(4) ** domain_exponent(f), square_root_error
    ),
    "inverse square root": Case(
        inverse_square_root,
        lambda x: 1 / mpmath.sqrt(x),
        lambda f: max(smallest(f), Fraction(1, 4 ** domain_exponent(f))),
        largest,
        inverse_square_root_error,
    ),
    "sine": Case(sine, mpmath.sin, lambda f: Fraction(-8), lambda f: Fraction(8), sine_cosine_error),
    "cosine": Case(cosine, mpmath.cos, lambda f: Fraction(-8), lambda f: Fraction(8), sine_cosine_error),
    "sigmoid": Case(
        sigmoid, lambda z: 1 / (1 + mpmath.exp(-z)), lambda f: -largest(f) / 4, lambda f: largest(f) / 4, sigmoid_error
    ),
    "sigmoid polynomial": Case(
        sigmoid_polynomial,
        lambda z: 1 / (1 + mpmath.exp(-z)),
        lambda f: Fraction(-3),
        lambda f: Fraction(3),
        lambda f: sigmoid_polynomial_error(f, Fraction(3)),
    ),
    "exponential": Case(
        exponential,
        mpmath.exp,
        lambda f: Fraction(-64),
        lambda f: Fraction(exponential_domain(f) * 69, 100),
        exponential_error,
        most_units=5,
    ),
}


def points(low: int, high: int, count: int = 60) -> list[int]:
    """Integers between two ends: the ends, a grid, random ones, small ones, powers of two and their neighbours."""
    rng = np.random.default_rng(7)
    span = high - low
    chosen = {low, high, low + 1, high - 1, 0, 1, -1, 2, 3}
    chosen |= {low + span * i // count for i in range(count)}
    chosen |= {low + int(rng.integers(0, 1 << 62)) * span // (1 << 62) for _ in range(count)}
    for exponent in range(max(abs(low), abs(high)).bit_length() + 1):
        for near in (-1, 0, 1):
            chosen |= {(1 << exponent) + near, -(1 << exponent) + near}
    return sorted(v for v in chosen if low <= v <= high)


def evaluate(
    scheme: str, format: FixedPoint, arguments: list[list[int]], formula: Callable[[list[SecretArray]], SecretArray]
) -> list[int]:
    """Open, as integers in units of the last place, what a formula gives for encoded integers."""

    def program(party: Party) -> Integers:
        secrets = []
        for integers in arguments:
            limit = max(*(abs(i) for i in integers), 1)
            values = np.array(integers, dtype=object) if party.rank == 0 else None
            whole = party.share("party-a", values, (len(integers),), FixedPoint(0, format.ring), limit)
            secrets.append(whole.ldexp(-format.fraction_bits))
        result = formula(secrets)
        return party.open(result.ldexp(result.format.fraction_bits), reason="a test")

    results = list(run_local(program, **local(scheme)).results.values())
    assert all(np.array_equal(result, results[0]) for result in results)
    return [int(v) for v in results[0]]


@pytest.mark.parametrize(
    ("scheme", "format", "name"),
    [*pairwise(sorted(SCHEMES), FORMATS, list(CASES)), *(("clear", f, name) for f in IN_A_FIELD for name in CASES)],
    ids=str,
)
def test_function_is_accurate_on_its_domain(scheme: str, format: FixedPoint, name: str) -> None:
    case = CASES[name]
    scale = 1 << format.fraction_bits
    integers = points(-int(-case.low(format) * scale // 1), int(case.high(format) * scale // 1))
    opened = evaluate(scheme, format, [integers], lambda x: case.function(x[0]))
    with mpmath.workdps(60):
        errors = [abs(got - case.exact(mpmath.mpf(i) / scale) * scale) for got, i in zip(opened, integers, strict=True)]
        worst = max(errors)
        proven = case.error(format) * scale
        assert worst <= float(proven), (
            f"at {integers[errors.index(worst)]}: {float(worst)} units, proven {float(proven)}"
        )
    assert proven <= case.most_units


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", CASES)
def test_function_is_accurate_when_every_truncation_rounds_up(format: FixedPoint, name: str) -> None:
    """A scheme may round any truncation up; the cleartext twin made to do so every time must keep the bound too."""

    def up(ring: Ring, product: RingArray, shift: int) -> Share:
        if shift and isinstance(ring, IntegerRing):
            almost = ring.from_int(np.asarray((1 << shift) - 1, dtype=object))
            product = ring.sar(ring.add(product, almost), shift)
        return Share(ring, (product,))

    with mock.patch.object(Clear, "_floor", staticmethod(up)):
        test_function_is_accurate_on_its_domain("clear", format, name)


@scheme_and_format
def test_division_is_accurate_relative_to_the_quotient(scheme: str, format: FixedPoint) -> None:
    scale = 1 << format.fraction_bits
    divisors = points(1, 3 * scale, 30)
    pairs = [(d * q // 7, d) for d in divisors for q in (-13, -7, -1, 0, 1, 5, 7, 13) if abs(d * q // 7) <= 2 * scale]
    numerators, denominators = [a for a, _ in pairs], [b for _, b in pairs]
    opened = evaluate(scheme, format, [numerators, denominators], lambda x: divide(x[0], x[1], quotient_bound=2))
    for got, a, b in zip(opened, numerators, denominators, strict=True):
        exact = Fraction(a * scale, b)
        assert abs(got - exact) <= abs(exact) * relative_error(format) + 2
        assert abs(got - exact) <= max(abs(exact) / scale, Fraction(1)) * 8, "2^-(f-3), relative"


@scheme_and_format
def test_division_by_negative_numbers_and_reciprocals(scheme: str, format: FixedPoint) -> None:
    scale = 1 << format.fraction_bits
    divisors = [d for d in points(-3 * scale, 3 * scale) if abs(d) >= scale // 2]

    def formula(x: list[SecretArray]) -> SecretArray:
        return reciprocal(x[0], quotient_bound=2, positive=False)

    for got, b in zip(evaluate(scheme, format, [divisors], formula), divisors, strict=True):
        assert abs(got - Fraction(scale * scale, b)) <= 8


@scheme_and_format
def test_comparisons_and_selection_are_exact(scheme: str, format: FixedPoint) -> None:
    edge = format.capacity // 8
    left = points(-edge, edge, 20)
    right = left[1:] + left[:1]
    assert evaluate(scheme, format, [left], lambda x: is_negative(x[0])) == [int(a < 0) for a in left]
    assert evaluate(scheme, format, [left, right], lambda x: less(x[0], x[1])) == [
        int(a < b) for a, b in zip(left, right, strict=True)
    ]
    twice = left + left
    other = left + right
    assert evaluate(scheme, format, [twice, other], lambda x: equal(x[0], x[1])) == [
        int(a == b) for a, b in zip(twice, other, strict=True)
    ]
    assert evaluate(scheme, format, [left, right], lambda x: select(less(x[0], x[1]), x[0], x[1])) == [
        min(a, b) for a, b in zip(left, right, strict=True)
    ]


@pytest.mark.parametrize("scheme", also_slow(sorted(SCHEMES), "shamir/5"))
def test_functions_keep_the_shape(scheme: str) -> None:
    def program(party: Party) -> list[tuple[int, ...]]:
        x = party.constant(np.full((2, 3), 0.5), FixedPoint(24))
        scalar = party.constant(0.5, FixedPoint(24))
        empty = party.constant(np.zeros((0,)), FixedPoint(24)).with_bound(0) + 1.0
        results = [f(v) for f in (logarithm, square_root, sine, exponential, sigmoid) for v in (x, scalar, empty)]
        return [r.shape for r in (*results, *sine_cosine(x))]

    for shapes in run_local(program, **local(scheme)).results.values():
        assert shapes == [(2, 3), (), (0,)] * 5 + [(2, 3)] * 2


@pytest.mark.parametrize(
    ("function", "bound", "message"),
    [
        (square_root, 8.0, "square_root .* up to 4"),
        (sine, 9.0, "angles of magnitude up to 8"),
        (exponential, 65.0, "up to 64"),
    ],
)
def test_what_the_public_bound_shows_to_be_outside_is_refused(
    function: Callable[[SecretArray], SecretArray], bound: float, message: str
) -> None:
    def program(party: Party) -> None:
        function(party.share("party-a", [1.0] if party.rank == 0 else None, (1,), FixedPoint(28), bound))

    with pytest.raises(PartyFailedError, match=message) as caught:
        run_local(program, scheme="clear")
    assert isinstance(caught.value.__cause__, RangeError)


def test_too_many_fractional_bits_are_refused() -> None:
    for format in (FixedPoint(29), FixedPoint(61, Z128)):
        with pytest.raises(PartyFailedError, match=r"at most (28|60) fractional bits"):
            run_local(lambda party, f=format: logarithm(party.constant(1.0, f)), scheme="clear")  # type: ignore[misc]


def test_divisors_beyond_the_working_format_are_refused() -> None:
    def program(party: Party) -> SecretArray:
        b = party.share("party-a", [1.0] if party.rank == 0 else None, (1,), FixedPoint(16), 2.0**44)
        return divide(party.constant([1.0], FixedPoint(16)), b, quotient_bound=1)

    with pytest.raises(PartyFailedError, match=r"divisors below 2\^30"):
        run_local(program, scheme="clear")


@pytest.mark.parametrize("bound", [1, 8, 23])
def test_the_sigmoid_polynomial_keeps_its_error_for_every_range(bound: int) -> None:
    format = FixedPoint(28)
    integers = points(-bound << 28, bound << 28)
    opened = evaluate("rep3", format, [integers], lambda x: sigmoid_polynomial(x[0]))
    proven = sigmoid_polynomial_error(format, Fraction(bound)) * (1 << 28)
    with mpmath.workdps(40):
        exact = [(1 << 28) / (1 + mpmath.exp(-mpmath.mpf(i) / (1 << 28))) for i in integers]
        assert max(abs(got - e) for got, e in zip(opened, exact, strict=True)) <= float(proven)


def test_the_sigmoid_polynomial_is_within_four_units_up_to_seven(format: FixedPoint) -> None:
    assert sigmoid_polynomial_error(format, Fraction(7)) * (1 << format.fraction_bits) <= MOST_UNITS


def test_the_sigmoid_polynomial_follows_range_and_tolerance() -> None:
    format = FixedPoint(24)
    degrees = [sigmoid_degree(format, Fraction(r)) for r in (1, 2, 4, 8)]
    assert degrees == sorted(degrees) and degrees[0] < degrees[-1]
    assert sigmoid_degree(format, Fraction(4), Fraction(1, 1 << 10)) < sigmoid_degree(format, Fraction(4))
    assert sigmoid_polynomial_error(format, Fraction(4), Fraction(1, 1 << 10)) > Fraction(1, 1 << 11)
    with pytest.raises(InvalidInputError, match="Use sigmoid"):
        sigmoid_degree(FixedPoint(52, Z128), Fraction(100))
    with pytest.raises(InvalidInputError, match="tolerance"):
        sigmoid_degree(format, Fraction(4), Fraction(1, 1 << 40))


# --- rounds and bytes ------------------------------------------------------------------------------------------

# rep3, 64 elements in (0, 1]: rounds, and bytes an element of all parties together; Z_2^64 with 24 fractional bits, and
# Z_2^128 with 52
COSTS: dict[str, tuple[Callable[[SecretArray], SecretArray], tuple[int, int], tuple[int, int]]] = {
    "is_negative": (is_negative, (9, 49), (10, 105)),
    "equal": (lambda x: equal(x, 0.5), (14, 72), (16, 173)),
    "logarithm": (logarithm, (26, 664), (30, 2388)),
    "square_root": (square_root, (28, 871), (32, 2460)),
    "inverse_square_root": (inverse_square_root, (28, 697), (32, 2457)),
    "sine": (sine, (29, 712), (32, 1954)),
    "exponential": (exponential, (28, 855), (31, 1815)),
    "sigmoid_polynomial": (sigmoid_polynomial, (12, 435), (14, 1662)),
    "sigmoid": (sigmoid, (49, 1286), (55, 3261)),
    "divide": (lambda x: divide(x, x, quotient_bound=2), (31, 1016), (35, 2606)),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("wide", [False, True])
def test_rounds_and_bytes_with_rep3(name: str, wide: bool) -> None:
    function, narrow_cost, wide_cost = COSTS[name]
    format = FixedPoint(52, Z128) if wide else FixedPoint(24, Z64)

    def program(party: Party) -> tuple[int, int]:
        x = party.constant(np.full(64, 0.5), format).with_bound(0.5) * 1
        before = party._scheme.mesh.counts
        function(x + x)
        spent = (party._scheme.mesh.counts - before).total
        return spent.rounds, spent.bytes_sent

    costs = list(run_local(program).results.values())
    assert (max(r for r, _ in costs), sum(b for _, b in costs) // 64) == (wide_cost if wide else narrow_cost)
