"""What a checkpoint holds: one vector, whose parts have public names, shapes, formats and bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.errors import InvalidInputError
from cofit.secret.checkpoints import KeptArray, KeptState

FINE, WHOLE = FixedPoint(10, Z64), FixedPoint(0, Z64)
WEIGHTS = KeptArray("weights", (2, 3), FINE, 1 << 14)
FLAGS = KeptArray("flags", (4,), WHOLE, 1)
NOISE = [KeptArray(f"noise {k}", (2,), FixedPoint(5, Z64), 100, until=k + 1) for k in range(3)]
STATE = KeptState((WEIGHTS, FLAGS, *NOISE), range(3))


def alone(work: Callable[[Party], Any]) -> Any:
    return next(iter(run_local(work, scheme="clear", parties=1).results.values()))


def values(party: Party, step: int) -> dict[str, Any]:
    return {
        "weights": party.constant(np.arange(6.0).reshape(2, 3) / 4, FINE),
        "flags": party.constant(np.array([0, 1, 1, 0]), WHOLE),
        **{f"noise {k}": party.constant(np.array([k, -k]) + 0.5, FixedPoint(5, Z64)) for k in range(step, 3)},
    }


@pytest.mark.parametrize("step", range(3))
def test_what_was_joined_comes_back_with_the_public_bounds(step: int) -> None:
    def program(party: Party) -> None:
        given = values(party, step)
        vector = STATE.joined(given, step)
        assert vector.shape == (STATE.size(step),) == (10 + 2 * (3 - step),)
        found = STATE.separated(vector, step)
        assert list(found) == ["weights", "flags", *(f"noise {k}" for k in range(step, 3))]
        for array in STATE.after(step):
            value = found[array.name]
            assert (value.shape, value.format, value.integer_limit) == (array.shape, array.format, array.limit)
            opened, before = (party.open(v, reason="a test") for v in (value, given[array.name]))
            np.testing.assert_array_equal(opened, before)

    alone(program)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda given, party: given.pop("flags"),
        lambda given, party: given.update(more=given["flags"]),
        lambda given, party: given.update(flags=given["flags"].reshape(2, 2)),
        lambda given, party: given.update(flags=given["flags"].widen(3)),
        lambda given, party: given.update(flags=given["flags"].loosened(2)),
        lambda given, party: given.pop("noise 1"),
    ],
    ids=["missing", "unknown", "shape", "format", "bound", "noise missing"],
)
def test_what_does_not_fit_is_not_kept(spoil: Callable[[dict[str, Any], Party], Any]) -> None:
    """All or nothing; and a bound that the plan does not have would be unknown to a dealer."""

    def program(party: Party) -> None:
        given = values(party, 1)
        spoil(given, party)
        with pytest.raises(ValueError, match=r"kept"):
            STATE.joined(given, 1)

    alone(program)


def test_a_vector_of_another_plan_is_refused() -> None:
    def program(party: Party) -> None:
        vector = STATE.joined(values(party, 1), 1)
        for wrong, step in ((vector, 0), (vector, 2), (vector[:-1], 1), (vector, 7)):
            with pytest.raises(InvalidInputError, match="does not fit"):
                STATE.separated(wrong, step)
        wide = party.constant(np.zeros(STATE.size(1)), FixedPoint(0, Z128))
        with pytest.raises(InvalidInputError, match="does not fit"):
            STATE.separated(wide, 1)

    alone(program)


def test_one_vector_has_one_ring() -> None:
    with pytest.raises(ValueError, match="one ring"):
        replace(STATE, arrays=(WEIGHTS, replace(FLAGS, format=FixedPoint(0, Z128))))


def test_plain_numbers() -> None:
    assert replace(STATE, due=frozenset({2, 0})).to_dict() == {"steps": [0, 2], "numbers": 16}
