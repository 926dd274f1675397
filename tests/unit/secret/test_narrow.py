"""narrow: the same value in a smaller ring, refused when it might not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray
from cofit.arithmetic import F61
from cofit.errors import InvalidInputError, RangeError
from unit.secret.runs import SCHEMES, at_one, failure, opened, run

WHOLE = FixedPoint(0, Z128)
TOP = (1 << 62) - 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_extreme_integers_of_the_smaller_ring(scheme: str) -> None:
    values = np.array([[TOP, -TOP, 0], [1, -1, TOP - 1]], dtype=object)
    got = opened(lambda party: party.constant(values, WHOLE).narrow(Z64), scheme)
    assert got.dtype == np.int64
    assert got.tolist() == values.tolist()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_random_shares_of_views_narrow_too(scheme: str) -> None:
    values = np.array([[0.5, -1.25, 3.0], [2.0**-40, -(2.0**20), 2.0**20]])

    def program(party: Party) -> tuple[list[Any], FixedPoint, int, list[Any]]:
        x = party.share("party-b", values if party.rank == 1 else None, (2, 3), FixedPoint(40, Z128), 2**20)
        narrow = x.T[::-1].narrow(Z64)
        square = narrow[:2, 0].with_bound(3).truncate(20)
        return (
            party.open(narrow, reason="test").tolist(),
            narrow.format,
            narrow.integer_limit,
            party.open(square * square, reason="test").tolist(),
        )

    for got, format, limit, square in run(program, scheme).results.values():
        assert got == values.T[::-1].tolist()
        assert (format, limit) == (FixedPoint(40), 1 << 60)
        assert square == pytest.approx([9.0, 1.5625], abs=2.0**-19)


def test_the_ring_it_has_already() -> None:
    for ring in (Z64, Z128):
        x = at_one(lambda party, ring=ring: party.constant([1.5], FixedPoint(8, ring)).narrow(ring))  # type: ignore[misc]
        assert (x.format, x.integer_limit) == (FixedPoint(8, ring), 384)


REFUSED: dict[str, tuple[Callable[[Party], SecretArray], type[InvalidInputError], str]] = {
    "one more": (lambda party: party.constant([TOP + 1], WHOLE).narrow(Z64), RangeError, "less than 2^62"),
    "by its bound": (lambda party: party.share(party.name, [0], (1,), WHOLE, 2**80).narrow(Z64), RangeError, "2^81"),
    "bits": (lambda party: party.constant([0.0], FixedPoint(63, Z128)).narrow(Z64), RangeError, "63 fractional bits"),
    "larger": (lambda party: party.constant([0.0], FixedPoint(8)).narrow(Z128), InvalidInputError, "Z_2^64 reduces"),
    "of a field": (
        lambda party: party.constant([0.0], FixedPoint(8, F61)).narrow(Z64),
        InvalidInputError,
        "F_(2^61-1)",
    ),
    "to a field": (
        lambda party: party.constant([0.0], FixedPoint(8, Z128)).narrow(F61),
        InvalidInputError,
        "F_(2^61-1)",
    ),
    "no ring": (lambda party: party.constant([0.0], WHOLE).narrow(64), InvalidInputError, "'ring'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    program, kind, text = REFUSED[name]
    error = failure(program)
    assert type(error) is kind
    assert text in str(error)
