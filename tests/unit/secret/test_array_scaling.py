"""Scaling by powers of two, proven bounds, and what the range analysis must not let through."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit import Z128, FixedPoint, Party, SecretArray, run_local
from cofit.errors import InvalidInputError, PartyFailedError, ProtocolError, RangeError
from cofit.sharing.clear.party import Clear

F = FixedPoint(24)
ONE = 1 << 24


def at(program: Callable[[Party], Any], scheme: str = "clear") -> Any:
    return next(iter(run_local(program, scheme=scheme).results.values()))


def cause(program: Callable[[Party], Any]) -> BaseException | None:
    with pytest.raises(PartyFailedError) as caught:
        run_local(program, scheme="clear")
    return caught.value.__cause__


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
def test_widening_keeps_the_value_and_scales_the_limit(scheme: str) -> None:
    def program(party: Party) -> tuple[list[float], int, int]:
        x = party.constant([0.5, -1.25], F).widen(40)
        return party.open(x, reason="a test").tolist(), x.format.fraction_bits, x.integer_limit

    assert at(program, scheme) == ([0.5, -1.25], 40, (5 * ONE // 4) << 16)


def test_widening_beyond_the_ring_is_refused() -> None:
    assert isinstance(cause(lambda party: party.constant([2.0**30], F).widen(40)), RangeError)
    assert isinstance(cause(lambda party: party.constant([1.0], F).widen(20)), InvalidInputError)


def test_a_widened_value_cannot_wrap_later() -> None:
    def program(party: Party) -> SecretArray:
        wide = party.constant([1.0], F).widen(40)
        return wide.multiply(wide, fraction_bits=40)

    assert isinstance(cause(program), RangeError), "2^80 does not fit Z_2^64"


@pytest.mark.parametrize("exponent", [-3, 0, 5])
def test_ldexp_is_exact_and_free(exponent: int) -> None:
    def program(party: Party) -> tuple[list[float], int]:
        x = party.constant([0.75, -2.0], F).ldexp(exponent)
        return party.open(x, reason="a test").tolist(), x.integer_limit

    assert at(program) == ([0.75 * 2.0**exponent, -2.0 * 2.0**exponent], 2 * ONE)


def test_a_proven_bound_replaces_the_pessimistic_one() -> None:
    def program(party: Party) -> int:
        x = party.constant([100.0, 0.01], F).with_bound(100)
        y = party.constant([0.01, 100.0], F).with_bound(100)
        return x.multiply(y, proven_bound=2).integer_limit

    assert at(program) == 2 * ONE + 1


@pytest.mark.parametrize("bound", [np.int64(65536), np.int32(70000)])
def test_numpy_integers_as_proven_bounds_do_not_wrap(bound: Any) -> None:
    def program(party: Party) -> float:
        x = party.constant([100.0], F)
        return x.multiply(x, proven_bound=bound).bound

    assert at(program) == pytest.approx(10_000, abs=1)


@pytest.mark.parametrize("bound", [-5, float("nan"), float("inf"), "9", None.__class__])
def test_bad_proven_bounds_are_refused(bound: Any) -> None:
    def program(party: Party) -> SecretArray:
        x = party.constant([1.0], F)
        return x.multiply(x, proven_bound=bound)

    assert isinstance(cause(program), InvalidInputError)


def test_the_bound_is_never_rounded_down() -> None:
    def program(party: Party) -> tuple[float, int]:
        x = party.constant(np.array([2**53 + 1], dtype=object), FixedPoint(0, Z128))
        return x.bound, x.integer_limit

    bound, limit = at(program)
    assert Fraction(bound) >= limit == 2**53 + 1


def test_the_format_cannot_be_changed_in_place() -> None:
    def program(party: Party) -> None:
        party.constant([1.0], F).format = FixedPoint(2)  # type: ignore[misc]

    assert isinstance(cause(program), AttributeError)


def test_nothing_is_opened_and_no_run_ends_with_a_failed_check() -> None:
    with mock.patch.object(Clear, "verify", side_effect=ProtocolError("a check failed")):
        for program in (
            lambda party: party.open(party.constant([1.0], F), reason="a test"),
            lambda party: party.open(party.constant([1.0], F).bits(), reason="a test"),
            lambda party: None,
        ):
            assert isinstance(cause(program), ProtocolError)


def test_mean_division_and_square() -> None:
    def program(party: Party) -> list[list[float]]:
        x = party.constant([[1.0, 2.0], [3.0, 6.0]], F)
        results = (x.mean(), x.mean(axis=0), x / 4, x**2)
        return [party.open(r.reshape(r.size), reason="a test").tolist() for r in results]

    mean, columns, quarter, squares = at(program)
    assert mean == pytest.approx([3.0], abs=1e-6)
    assert columns == pytest.approx([2.0, 4.0], abs=1e-6)
    assert quarter == [0.25, 0.5, 0.75, 1.5]
    assert squares == [1.0, 4.0, 9.0, 36.0]
    assert isinstance(cause(lambda party: party.constant([1.0], F) ** 3), TypeError)
    assert isinstance(cause(lambda party: party.constant([1.0], F) / party.constant([1.0], F)), TypeError)  # type: ignore[operator]
    assert isinstance(cause(lambda party: party.constant(np.zeros((0,)), F).mean()), InvalidInputError)
