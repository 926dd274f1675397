"""multiply and matmul with ``plus`` and with a proven bound of the total."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray
from cofit.errors import FormatMismatchError, InvalidInputError, RangeError, RingMismatchError, ShapeError
from unit.secret.runs import SCHEMES, F, at_one, failure, opened, run

X = np.array([[1.5, -2.25, 0.125], [3.0, 0.5, -1.0]])
W = np.array([0.75, -0.5, 2.0])
E = FixedPoint(48)
ONE = 1 << 24

PRODUCTS: dict[str, tuple[Callable[[SecretArray, SecretArray, SecretArray], SecretArray], npt.NDArray[Any]]] = {
    "multiply": (lambda x, w, p: x.multiply(w, plus=p), X * W + X),
    "deferred": (lambda x, w, p: x.multiply(w, fraction_bits=48, plus=p), X * W + X),
    "public": (lambda x, w, p: x.multiply(W, plus=p), X * W + X),
    "matmul": (lambda x, w, p: x.matmul(w, plus=p[:, 1]), X @ W + X[:, 1]),
    "matmul to few bits": (lambda x, w, p: x.matmul(w, fraction_bits=9, plus=p[:, 1]), X @ W + X[:, 1]),
    "transposed": (lambda x, w, p: x.T.matmul(x[:, 0], plus=p[0]), X.T @ X[:, 0] + X[0]),
    "matrices": (lambda x, w, p: x.matmul(x.T, plus=p[:, :2]), X @ X.T + X[:, :2]),
    "vectors": (lambda x, w, p: w.matmul(w, plus=p[0, 0]), W @ W + X[0, 0]),
    "matmul public": (lambda x, w, p: x.matmul(W, plus=p[:, 1]), X @ W + X[:, 1]),
}


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_sum_is_added_before_the_truncation(scheme: str, name: str, ring: Any) -> None:
    expression, want = PRODUCTS[name]

    def program(party: Party) -> SecretArray:
        x, w = party.constant(X, FixedPoint(24, ring)), party.constant(W, FixedPoint(24, ring))
        return expression(x, w, party.constant(X, FixedPoint(48, ring)))

    got = opened(program, scheme)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= (2.0**-9 if "few" in name else 2.0**-24)


def test_integers_take_a_sum_of_the_other_format() -> None:
    def program(party: Party) -> SecretArray:
        return party.constant(X, F).multiply(3, plus=party.constant(X, F))

    assert (opened(program) == 4 * X).all()


def test_limits_count_the_sum() -> None:
    def program(party: Party) -> tuple[int, ...]:
        x = party.constant(X, F).with_bound(3)
        p = party.share(party.name, X, X.shape, E, 5)
        results = (
            x.multiply(x, plus=p),
            x.multiply(x, fraction_bits=48, plus=p),
            x.matmul(x.T, plus=p[:, :2]),
            x.multiply(2.0, plus=p),
            x.matmul(W, plus=p[:, 0]),
            x.matmul(x.T, plus=p[:, :2], proven_bound=4),
            x.matmul(x.T, proven_bound=Fraction(1, 2)),
            x.matmul(W, fraction_bits=48, proven_bound=1),
        )
        return tuple(value.integer_limit for value in results)

    assert at_one(program) == (
        14 * ONE + 1,
        14 << 48,
        32 * ONE + 1,
        11 * ONE + 1,
        int((3 * 3.25 + 5) * ONE) + 1,
        4 * ONE + 1,
        ONE // 2 + 1,
        1 << 48,
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_partial_sums_may_wrap_when_the_total_is_proven_to_fit(scheme: str, ring: Any) -> None:
    """The terms of the product are far beyond the ring; the totals are the largest integers it holds, of both signs."""
    whole, top, big = FixedPoint(0, ring), (1 << (ring.bits - 2)) - 1, 1 << (ring.bits - 8)
    factors = np.array([[big, -big], [-big, big], [7, -7]], dtype=object)
    weights = np.array([big, big - 1], dtype=object)
    plus = np.array([top - big, big - top, -7], dtype=object)

    def program(party: Party) -> SecretArray:
        x, w, p = (party.constant(values, whole) for values in (factors, weights, plus))
        return x.matmul(w, proven_bound=top, plus=p)

    assert opened(program, scheme).tolist() == [top, -top, 0]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_totals_at_the_bound_are_truncated_right(scheme: str, ring: Any) -> None:
    half = (ring.bits - 2) // 2
    format, exact, top = FixedPoint(half, ring), FixedPoint(2 * half, ring), (1 << (ring.bits - 2)) - 1
    factor, summand = (1 << half) - 1, (1 << (half + 1)) - 2  # factor^2 + summand = top

    def program(party: Party) -> tuple[list[int], int]:
        x = _encoded(party, [factor, factor, 0], format)
        y = _encoded(party, [factor, -factor, 0], format)
        total = x.multiply(
            y, plus=_encoded(party, [summand, -summand, 0], exact), proven_bound=Fraction(top, 1 << 2 * half)
        )
        return [int(v) for v in ring.to_int(party._scheme.open(total._share))], total.integer_limit

    for got, limit in run(program, scheme).results.values():
        assert got[0] - (top >> half) in (0, 1)
        assert got[1] - (-top >> half) in (0, 1)
        assert got[2] == 0
        assert max(abs(v) for v in got) <= limit == (top >> half) + 1


def _encoded(party: Party, integers: list[int], format: FixedPoint) -> SecretArray:
    elements = format.ring.from_int(np.array(integers, dtype=object))
    limit = max(abs(v) for v in integers)
    return SecretArray(party._scheme, party._scheme.constant(format.ring, elements), format, limit)


REFUSED: dict[str, tuple[Callable[[Party, SecretArray], Any], type[InvalidInputError], str]] = {
    "format": (lambda party, x: x.multiply(x, plus=x), FormatMismatchError, "48 fractional bits"),
    "format of a public product": (
        lambda party, x: x.multiply(2, plus=party.constant(X, E)),
        FormatMismatchError,
        "24",
    ),
    "ring": (lambda party, x: x.multiply(x, plus=party.constant(X, FixedPoint(48, Z128))), RingMismatchError, "2^128"),
    "broadcast": (lambda party, x: x.multiply(x, plus=party.constant(X[0], E)), ShapeError, "(2, 3)"),
    "scalar": (lambda party, x: x[:, :1].matmul(x[:, :1].T, plus=party.constant(1.0, E)), ShapeError, "(2, 2)"),
    "larger": (lambda party, x: x[0].multiply(x[0], plus=party.constant(X, E)), ShapeError, "(3,)"),
    "broadcast, public": (lambda party, x: x.multiply(W, plus=party.constant(W, E)), ShapeError, "(2, 3)"),
    "shape, public": (lambda party, x: x.matmul(W, plus=party.constant(X, E)), ShapeError, "(2,)"),
    "no secret": (lambda party, x: x.multiply(x, plus=X), InvalidInputError, "SecretArray"),  # type: ignore[arg-type]
    "overflow": (
        lambda party, x: x.multiply(x, plus=party.share(party.name, X, X.shape, E, 2**13)),
        RangeError,
        "2^62",
    ),
    "proven overflow": (lambda party, x: x.matmul(x.T, proven_bound=2**14), RangeError, "2^62"),
    "proven bound": (lambda party, x: x.matmul(x.T, proven_bound=-1), InvalidInputError, "at least 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_what_is_wrong(name: str) -> None:
    expression, kind, text = REFUSED[name]

    def program(party: Party) -> Any:
        x = party.share(party.name, X, X.shape, F, 100.0)
        return expression(party, x)

    error = failure(program)
    assert type(error) is kind
    assert text in str(error)
