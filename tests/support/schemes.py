"""Forms of a scheme by name: 'rep3'; 'shamir/5' for five parties, 'shamir/5/1' with threshold 1, 'shamir/5/king'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from cofit.arithmetic import IntegerRing
from cofit.sharing import SCHEMES, Scheme, Spec, scheme_named


class Form(NamedTuple):
    """A scheme, and how it runs."""

    kind: type[Scheme]
    spec: Spec


def form(name: str) -> Form:
    """Return the form of that name: a scheme, then numbers of parties and corrupted ones, then a route."""
    first, *rest = name.split("/")
    numbers = [int(word) for word in rest if word.isdigit()]
    route = next((word for word in rest if not word.isdigit()), None)
    parties, threshold = [*numbers, None, None][:2]
    kind = scheme_named(first)
    return Form(kind, kind.info.spec(parties, threshold, route))


def local(name: str) -> dict[str, Any]:
    """Return what names the form in a call of ``run_local``."""
    spec = form(name).spec
    return {"scheme": spec.name, "parties": spec.parties, "threshold": spec.threshold, "route": spec.route}


EVERY = (*sorted(SCHEMES), "shamir/5")
"""What the conformance suite runs: every scheme as usual; and one of n parties with more than three."""
SECRET = tuple(name for name in EVERY if form(name).spec.secret)
MORE = ("shamir/4", "shamir/5/1", "shamir/5/king", "shamir/7", "repn/5")
"""More of the forms that there are: operations and costs are looked at with these too."""
REST = (
    "shamir/king",
    "shamir/4/king",
    "shamir/5/1/king",
    "shamir/6",
    "shamir/6/1",
    "shamir/7/1",
    "shamir/7/2/king",
    "shamir/7/king",
    "repn/7",
)
"""And with these in long tests."""


def also_slow(names: Sequence[Any], *slow: Any) -> list[Any]:
    """Return parameters of a test: these, and some that are with the slow ones."""
    return [*names, *(pytest.param(*_listed(one), marks=pytest.mark.slow) for one in slow)]


def with_rings(names: Sequence[str], rings: Sequence[IntegerRing]) -> list[tuple[str, IntegerRing]]:
    """Return every form with every ring."""
    return [(name, ring) for name in names for ring in rings]


def _listed(one: Any) -> tuple[Any, ...]:
    return one if isinstance(one, tuple) else (one,)
