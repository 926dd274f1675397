"""Short ways to run a party program in threads and look at what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy.typing as npt
import pytest

from cofit import Contribution, FixedPoint, LocalRun, Party, SecretArray, run_local
from cofit.errors import PartyFailedError

R = TypeVar("R")
F = FixedPoint(24)
WHOLE = FixedPoint(0)
PARTIES = ("party-a", "party-b", "party-c")
SCHEMES = ["clear", "rep3"]


def run(
    program: Callable[[Party], R],
    scheme: str = "rep3",
    owners: Mapping[str, Mapping[str, Contribution]] | None = None,
) -> LocalRun[R]:
    """Run at three parties."""
    return run_local(program, scheme=scheme, parties=PARTIES, owners=owners, timeout=20)


def at_one(program: Callable[[Party], R]) -> R:
    """Run at a single party in the clear and return its result: for what does not depend on the scheme."""
    return run_local(program, scheme="clear", parties=1, timeout=20).results["party-a"]


def failure(program: Callable[[Party], object]) -> BaseException:
    """Run at a single party in the clear and return the error that the program raised."""
    with pytest.raises(PartyFailedError) as info:
        at_one(program)
    cause = info.value.__cause__
    assert cause is not None
    return cause


def opened(expression: Callable[[Party], SecretArray], scheme: str = "rep3") -> npt.NDArray[Any]:
    """Open the value of an expression to all parties, check that all see the same, and return it."""
    results = run(lambda party: party.open(expression(party), reason="test"), scheme).results
    first = results["party-a"]
    for other in results.values():
        assert other.dtype == first.dtype
        assert other.shape == first.shape
        assert (other == first).all()
    return first


def limit(value: SecretArray) -> int:
    """Return the exact integer behind ``value.bound``."""
    return value._limit
