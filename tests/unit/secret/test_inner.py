"""inner: products summed over the last axis, with messages for the sums only."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray
from cofit.arithmetic.narrow import narrow_bytes
from cofit.errors import FormatMismatchError, InvalidInputError, RangeError, RingMismatchError, ShapeError
from unit.secret.runs import SCHEMES, WHOLE, F, at_one, failure, opened, run

X = np.array([[1.5, -2.25, 0.125], [3.0, 0.5, -1.0]])
Y = np.array([[0.5, 0.75, -8.0], [-0.25, 2.0, 1.0]])
ONE = 1 << 24


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_inner_products(scheme: str, ring: Any) -> None:
    format = FixedPoint(24, ring)

    def rows(party: Party) -> SecretArray:
        return party.constant(X, format).inner(party.constant(Y, format))

    def columns(party: Party) -> SecretArray:
        return party.constant(X, format).T.inner(party.constant(Y, format).T, fraction_bits=48)

    def vectors(party: Party) -> SecretArray:
        return party.constant(X, format)[0].inner(party.constant(Y, format)[1])

    assert np.abs(opened(rows, scheme) - (X * Y).sum(axis=1)).max() <= 2.0**-24
    assert (opened(columns, scheme) == (X * Y).sum(axis=0)).all()
    assert abs(float(opened(vectors, scheme)) - X[0] @ Y[1]) <= 2.0**-24


def test_integers_are_exact() -> None:
    def program(party: Party) -> SecretArray:
        return party.constant(X, F).inner(party.constant([[1, 2, 3], [-4, 5, 6]], WHOLE))

    assert opened(program).tolist() == [-2.625, -15.5]


def test_squared_norms_cost_one_resharing_of_the_rows() -> None:
    def program(party: Party) -> None:
        x = party.constant(np.ones((7, 50)), F)
        with party.label("exact"):
            x.inner(x, fraction_bits=48)
        with party.label("truncated"):
            x.inner(x)

    traffic = run(program).traffic.values()
    for label, rounds, narrow in (("exact/inner", 1, 0), ("truncated/inner", 2, 3)):
        assert max(counts.get_or_zero(label).rounds for counts in traffic) == rounds
        sent = sum(counts.get_or_zero(label).bytes_sent for counts in traffic)
        assert sent == 3 * 7 * 8 + narrow * narrow_bytes(7, 24)


def test_limits_are_exact() -> None:
    def program(party: Party) -> tuple[int, ...]:
        x = party.share(party.name, X, X.shape, F, 3)
        y = party.share(party.name, X, X.shape, F, 5)
        results = (x.inner(y), x.inner(y, fraction_bits=48), x.T.inner(y.T), x.inner(y, proven_bound=Fraction(1, 2)))
        return tuple(value.integer_limit for value in results)

    assert at_one(program) == (45 * ONE + 1, 45 << 48, 30 * ONE + 1, ONE // 2 + 1)


REFUSED: dict[str, tuple[Callable[[Party, SecretArray], Any], type[InvalidInputError], str]] = {
    "shapes": (lambda party, x: x.inner(x[0]), ShapeError, "(2, 3) and (3,)"),
    "transposed": (lambda party, x: x.inner(x.T), ShapeError, "(2, 3) and (3, 2)"),
    "no dimension": (lambda party, x: x[0, 0].inner(x[0, 0]), ShapeError, "one dimension"),
    "public": (lambda party, x: x.inner(X), InvalidInputError, "'other' parameter of inner"),  # type: ignore[arg-type]
    "format": (lambda party, x: x.inner(party.constant(X, FixedPoint(20))), FormatMismatchError, "20 fractional bits"),
    "ring": (lambda party, x: x.inner(party.constant(X, FixedPoint(24, Z128))), RingMismatchError, "Z_2^128"),
    "bits": (lambda party, x: x.inner(x, fraction_bits=49), InvalidInputError, "from 0 to 48"),
    "overflow": (lambda party, x: (x * 41).inner(x), RangeError, "less than 2^62"),
    "proven overflow": (lambda party, x: (x * 41).inner(x, proven_bound=2**14), RangeError, "less than 2^62"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_what_is_wrong(name: str) -> None:
    expression, kind, text = REFUSED[name]
    error = failure(lambda party: expression(party, party.share(party.name, X, X.shape, F, 12)))
    assert type(error) is kind
    assert text in str(error)
