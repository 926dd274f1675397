"""Values under a mask: addition that wraps, once, in one ring. Who sees what: tests/conformance/test_inference.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.errors import InvalidInputError, ShapeError
from cofit.roles.local.run import run_local
from cofit.secret import InputFacts, Party
from cofit.secret.masked import masked
from cofit.sharing import scheme_named
from cofit.sharing.known_inputs import assembled, components_of

SPEC = scheme_named("rep3").info.spec()
VALUES = np.array([3, 1 << 60, -(1 << 60), 0])
MASK = Z64.from_int(np.array([(1 << 63) - 1, 1 << 62, -(1 << 63), -7], dtype=object))
FACTS = {"client": {"mask": InputFacts((4,), FixedPoint(0, Z64), FixedPoint(0, Z64).capacity)}}
PARTS = {
    one.facts.name: (one.facts.ranks, b"".join(one.content()))
    for one in components_of(scheme_named("rep3"), SPEC, Z64, MASK, bytes(32), None)
}


def with_mask(given: Party) -> Party:
    party = Party(given._scheme, FACTS, given.audit)
    mine = {name: memoryview(data) for name, (ranks, data) in PARTS.items() if party.rank in ranks}
    party.take("client", "mask", assembled(type(given._scheme), SPEC, Z64, (4,), party.rank, mine, None))
    return party


def test_the_sum_is_that_of_the_ring() -> None:
    def program(given: Party) -> Any:
        party = with_mask(given)
        return party.open(masked(party, party.constant(VALUES, FixedPoint(0, Z64)), "client", "mask"), reason="test")

    opened = next(iter(run_local(program).results.values()))
    assert (Z64.to_int(Z64.sub(Z64.from_int(opened), MASK)) == VALUES).all()
    assert opened[0] < 0, "it wraps"


def test_a_mask_is_used_up() -> None:
    def program(given: Party) -> str:
        party = with_mask(given)
        value = party.constant(VALUES, FixedPoint(0, Z64))
        masked(party, value, "client", "mask")
        with pytest.raises(InvalidInputError):
            masked(party, value, "client", "mask")
        return "refused"

    assert set(run_local(program).results.values()) == {"refused"}


def test_a_mask_of_another_shape_or_ring_is_refused() -> None:
    def program(given: Party) -> str:
        party = with_mask(given)
        for value in (
            party.constant(VALUES[:3], FixedPoint(0, Z64)),
            party.constant(np.zeros(4), FixedPoint(0, Z128)),
        ):
            with pytest.raises(ShapeError, match="a mask of shape"):
                masked(party, value, "client", "mask")
        return "refused"

    assert set(run_local(program).results.values()) == {"refused"}
