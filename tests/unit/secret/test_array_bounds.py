"""SecretArray: the public bound, in exact integers, and the refusal of what could overflow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit import Z128, FixedPoint, Party, SecretArray, concatenate
from cofit.errors import FormatMismatchError, InvalidInputError, RangeError, RingMismatchError, ShapeError
from unit.secret.runs import WHOLE, F, at_one, failure, limit, run

UNIT = 2.0**-24
ONE = 1 << 24


def values(party: Party, bound: float, shape: tuple[int, ...] = (2, 3), format: FixedPoint = F) -> SecretArray:
    """Return a secret with that declared bound."""
    return party.share(party.name, np.zeros(shape), shape, format, bound)


LIMITS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    # a is bounded by 3 and b by 5 + one unit; both have shape (2, 3) and 24 fractional bits
    "a": (lambda a, b: a, 3 * ONE),
    "-a": (lambda a, b: -a, 3 * ONE),
    "a + b": (lambda a, b: a + b, 8 * ONE + 1),
    "a - b": (lambda a, b: a - b, 8 * ONE + 1),
    "a + 2.5": (lambda a, b: a + 2.5, 11 * ONE // 2),
    "a - array": (lambda a, b: a - np.array([1.0, -4.0, 2.0]), 7 * ONE),
    "array - a": (lambda a, b: np.array([1.0, -4.0, 2.0]) - a, 7 * ONE),
    "a + empty": (lambda a, b: a[:0] + np.zeros((0, 3)), 3 * ONE),
    "a * b": (lambda a, b: a * b, ((3 * ONE) * (5 * ONE + 1) >> 24) + 1),
    "a * 7": (lambda a, b: a * 7, 21 * ONE),
    "a * -7": (lambda a, b: a * -7, 21 * ONE),
    "a * 0": (lambda a, b: a * 0, 0),
    "a * 0.5": (lambda a, b: a * 0.5, (3 * ONE * (ONE // 2) >> 24) + 1),
    "a @ b.T": (lambda a, b: a @ b.T, (3 * (3 * ONE) * (5 * ONE + 1) >> 24) + 1),
    "a.T @ b": (lambda a, b: a.T @ b, (2 * (3 * ONE) * (5 * ONE + 1) >> 24) + 1),
    "a @ integers": (lambda a, b: a @ np.array([1, -2, 1]), 3 * ONE * 4),
    "integers @ a": (lambda a, b: np.array([[5, 1]]) @ a, 3 * ONE * 6),
    "a @ reals": (lambda a, b: a @ np.array([1.0, -2.0, 1.0]), (3 * ONE * 4 * ONE >> 24) + 1),
    "reals @ a": (lambda a, b: np.array([1.0, 0.5]) @ a, (3 * ONE * (ONE + ONE // 2) >> 24) + 1),
    "a.sum()": (lambda a, b: a.sum(), 6 * 3 * ONE),
    "a.sum(0)": (lambda a, b: a.sum(axis=0), 2 * 3 * ONE),
    "a.sum(1)": (lambda a, b: a.sum(axis=1), 3 * 3 * ONE),
    "b.truncate(20)": (lambda a, b: b.truncate(20), ((5 * ONE + 1) >> 4) + 1),
    "b.truncate(24)": (lambda a, b: b.truncate(24), 5 * ONE + 1),
    "b.truncate(0)": (lambda a, b: b.truncate(0), 6),
    "deferred": (lambda a, b: a.multiply(b, fraction_bits=48), (3 * ONE) * (5 * ONE + 1)),
    "half deferred": (lambda a, b: a.multiply(b, fraction_bits=36), ((3 * ONE) * (5 * ONE + 1) >> 12) + 1),
    "deferred @": (lambda a, b: a.matmul(b.T, fraction_bits=48), 3 * (3 * ONE) * (5 * ONE + 1)),
    "deferred @ public": (lambda a, b: a.matmul(np.full(3, 0.5), fraction_bits=48), 3 * 3 * ONE * (ONE // 2)),
    "a[0]": (lambda a, b: a[0], 3 * ONE),
    "a.T": (lambda a, b: a.T, 3 * ONE),
    "a.reshape": (lambda a, b: a.reshape(-1), 3 * ONE),
    "concatenate": (lambda a, b: concatenate([a, b, a]), 5 * ONE + 1),
    "with_bound": (lambda a, b: b.with_bound(Fraction(1, 3)), ONE // 3 + 1),
}


@pytest.mark.parametrize("name", LIMITS)
def test_bounds_are_exact_integers(name: str) -> None:
    expression, want = LIMITS[name]

    def program(party: Party) -> tuple[int, float, int]:
        value = expression(values(party, 3), values(party, 5 + UNIT))
        return limit(value), value.bound, value.format.fraction_bits

    got, bound, fraction_bits = at_one(program)
    assert got == want
    assert bound == got / 2**fraction_bits


def test_bounds_of_integers() -> None:
    def program(party: Party) -> tuple[int, int]:
        x, n = values(party, 3), values(party, 9, format=WHOLE)
        return limit(x * n), limit(n * n)

    assert at_one(program) == (27 * ONE, 81)


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
def test_no_value_exceeds_its_bound(scheme: str) -> None:
    """At the edge: every operand is as large as its bound allows, with both signs."""
    edge = np.array([3 - UNIT, -(3 - UNIT)])

    def program(party: Party) -> list[tuple[float, float]]:
        a = party.share("party-a", edge if party.rank == 0 else None, (2,), F, 3 - UNIT)
        b = -a[::-1]
        results: list[Any] = [
            a * a, a * b, a @ a, a @ b, -(a @ b), a + a, a - b, b - a, a.sum(), a[:1].sum(), a * 0.3, edge * a,
            edge @ a, a.truncate(3), (-a).truncate(3), (a * b).truncate(0), a.multiply(b, fraction_bits=30),
            5 - a, a - 5, a * -7,
        ]  # fmt: skip
        return [(float(np.abs(party.open(x, reason="test")).max()), x.bound) for x in results]

    for pairs in run(program, scheme).results.values():
        for largest, bound in pairs:
            assert largest <= bound


OVERFLOWS: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * x,
    "matrix product": lambda x: x @ x.T,
    "product with a real": lambda x: x * 1000.5,
    "real product": lambda x: np.full((2, 2), 1000.5) @ x,
    "product with an integer": lambda x: x * 2**30,
    "power": lambda x: (x * 2**10) * (x * 2**10),
    "sum": lambda x: (x * 2**16).sum(),
    "addition": lambda x: x * (2**18 - 1) + x * (2**18 - 1),
    "subtraction": lambda x: x * (2**18 - 1) - x * (2**18 - 1),
    "deferred product": lambda x: x.multiply(x, fraction_bits=48),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_what_could_overflow_is_refused_and_passes_with_a_tighter_bound(name: str) -> None:
    expression = OVERFLOWS[name]
    error = failure(lambda party: expression(values(party, 2.0**20)))
    assert isinstance(error, RangeError)
    assert "with_bound" in str(error)

    def tighter(party: Party) -> SecretArray:
        result: SecretArray = expression(values(party, 2.0**20).with_bound(2.0**-8))
        return result

    assert limit(at_one(tighter)) <= F.capacity


def test_the_refusal_is_exact() -> None:
    """2^62 - 1 fits, one more does not."""
    top = F.capacity

    def program(extra: int) -> Callable[[Party], int]:
        def body(party: Party) -> int:
            x = party.constant([top - 5], WHOLE)
            return limit(x + (5 + extra))

        return body

    assert at_one(program(0)) == top
    assert isinstance(failure(program(1)), RangeError)


def test_the_intermediate_product_counts_and_not_only_the_result() -> None:
    """16384 * 16384 is 2^28, far below 2^38, but has 2^76 before its truncation."""
    assert isinstance(failure(lambda party: values(party, 2**14) * values(party, 2**14)), RangeError)
    wide = FixedPoint(24, Z128)
    got = at_one(lambda party: limit(values(party, 2**14, format=wide) * values(party, 2**14, format=wide)))
    assert got == (1 << 52) + 1


def test_messages_hold_no_value() -> None:
    def program(party: Party) -> SecretArray:
        x = party.share("party-a", [1234.5678], (1,), F, 2.0**20)
        return x * x

    assert "1234" not in str(failure(program))


def test_with_bound_only_tightens() -> None:
    error = failure(lambda party: values(party, 3).with_bound(3 + UNIT))
    assert isinstance(error, RangeError)
    assert "'bound' parameter of with_bound" in str(error)
    assert at_one(lambda party: limit(values(party, 3).with_bound(3))) == 3 * ONE
    for bad in (-1, float("nan"), float("inf")):
        assert isinstance(failure(lambda party, bad=bad: values(party, 3).with_bound(bad)), InvalidInputError)  # type: ignore[misc]


def test_with_bound_keeps_the_value() -> None:
    def program(party: Party) -> np.ndarray[Any, Any]:
        x = party.share("party-a", [0.5, -1.0], (2,), F, 100)
        return party.open(x.with_bound(1), reason="test")

    assert at_one(program).tolist() == [0.5, -1.0]


# --- operands that do not fit together ---------------------------------------------------------------------

Pair = Callable[[Party], tuple[SecretArray, Any]]
OTHER_FORMAT: Pair = lambda party: (values(party, 1), values(party, 1, format=FixedPoint(20)))  # noqa: E731
OTHER_RING: Pair = lambda party: (values(party, 1), values(party, 1, format=FixedPoint(24, Z128)))  # noqa: E731
OTHER_SHAPE: Pair = lambda party: (values(party, 1), values(party, 1, (2, 2)))  # noqa: E731
PUBLIC_SHAPE: Pair = lambda party: (values(party, 1), np.ones((2, 2)))  # noqa: E731
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "@": lambda a, b: a @ b,
}


def mismatch(pair: Pair, operator: str) -> BaseException:
    return failure(lambda party: OPERATORS[operator](*pair(party)))


@pytest.mark.parametrize("operator", OPERATORS)
def test_other_formats(operator: str) -> None:
    error = mismatch(OTHER_FORMAT, operator)
    assert type(error) is FormatMismatchError
    assert "24 fractional bits" in str(error)
    assert "20 fractional bits" in str(error)


@pytest.mark.parametrize("operator", OPERATORS)
def test_other_rings(operator: str) -> None:
    error = mismatch(OTHER_RING, operator)
    assert type(error) is RingMismatchError
    assert "Z_2^64" in str(error)
    assert "Z_2^128" in str(error)


@pytest.mark.parametrize("pair", [OTHER_SHAPE, PUBLIC_SHAPE])
@pytest.mark.parametrize("operator", OPERATORS)
def test_other_shapes(operator: str, pair: Pair) -> None:
    error = mismatch(pair, operator)
    assert type(error) is ShapeError
    assert "(2, 3)" in str(error)
    assert "(2, 2)" in str(error)


def test_integers_and_fractions_do_not_add() -> None:
    error = failure(lambda party: values(party, 1) + values(party, 1, format=WHOLE))
    assert type(error) is FormatMismatchError


def test_different_formats_multiply_when_the_result_is_named() -> None:
    def program(party: Party) -> tuple[FixedPoint, list[float]]:
        x, y = party.constant([1.5], F), party.constant([0.25], FixedPoint(20))
        product = x.multiply(y, fraction_bits=22)
        return product.format, party.open(product, reason="test").tolist()

    assert at_one(program) == (FixedPoint(22), [0.375])


@pytest.mark.parametrize("fraction_bits", [-1, 49])
def test_impossible_fraction_bits(fraction_bits: int) -> None:
    for name in ("multiply", "matmul"):

        def program(party: Party, name: str = name) -> SecretArray:
            x = values(party, 1, (3,))
            product: SecretArray = getattr(x, name)(x, fraction_bits=fraction_bits)
            return product

        error = failure(program)
        assert type(error) is InvalidInputError
        assert "from 0 to 48" in str(error)


def test_truncate_does_not_add_bits() -> None:
    assert "at most 24" in str(failure(lambda party: values(party, 1).truncate(25)))
    assert isinstance(failure(lambda party: values(party, 1).truncate(-1)), InvalidInputError)


@pytest.mark.parametrize("operand", ["text", None, [1j], float("nan"), float("inf"), 2.0**40], ids=repr)
@pytest.mark.parametrize("operator", ["+", "-", "*"])
def test_operands_that_are_no_fitting_number(operator: str, operand: Any) -> None:
    assert isinstance(failure(lambda party: OPERATORS[operator](values(party, 1), operand)), InvalidInputError)
