"""What a long party program asks of whoever keeps its state. Shares are kept, nothing that anybody may open.

A checkpoint is one vector: all values of a ``KeptState``, as integers, one behind the other. So it is shared afresh,
and stored, as a whole or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cofit.arithmetic import FixedPoint, IntegerRing, Shape
from cofit.errors import InvalidInputError
from cofit.secret.array import SecretArray
from cofit.secret.conversions import concatenate
from cofit.secret.party import Party

CHECKPOINT = "checkpoint"
"""What the traffic of a checkpoint counts under."""


@dataclass(frozen=True)
class KeptArray:
    """One value that a program goes on with, all of it public but the value.

    limit: the bound that a resumed program goes on with, in units of the format's last place, which a dealer knows as
    well. That of a stored value may be smaller, and the steps of a program depend on bounds.
    until: the step that uses it up; None: none does.
    """

    name: str
    shape: Shape
    format: FixedPoint
    limit: int
    until: int | None = None

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class KeptState:
    """What a program goes on from, in one ring. ``steps``: after which of them a checkpoint may be kept; 0: before the
    first. ``due``: after which of them one is."""

    arrays: tuple[KeptArray, ...]
    steps: range
    due: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if len({array.format.ring for array in self.arrays}) != 1:
            raise ValueError("A checkpoint is one vector, of one ring.")

    @property
    def ring(self) -> IntegerRing:
        """That of all values."""
        return self.arrays[0].format.ring

    def after(self, step: int) -> tuple[KeptArray, ...]:
        """Return what is kept after a step: all that later ones need."""
        return tuple(array for array in self.arrays if array.until is None or array.until > step)

    def size(self, step: int) -> int:
        """Return how many numbers that is."""
        return sum(array.size for array in self.after(step))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers: after which steps, and how many numbers the largest checkpoint has."""
        return {"steps": sorted(self.due), "numbers": max(map(self.size, self.due), default=0)}

    def joined(self, values: Mapping[str, SecretArray], step: int) -> SecretArray:
        """Return the values after a step as one vector of integers. Local."""
        kept = self.after(step)
        if set(values) != {array.name for array in kept}:
            raise ValueError(f"After step {step} these are kept: {[a.name for a in kept]}. Got {sorted(values)}.")
        for array in kept:
            value = values[array.name]
            if (value.shape, value.format) != (array.shape, array.format) or value.integer_limit > array.limit:
                raise ValueError(f"{array.name!r} is kept as {array}, and is {value!r}.")
        return concatenate([_integers(values[array.name]) for array in kept])

    def separated(self, vector: SecretArray, step: int) -> dict[str, SecretArray]:
        """Return the values that ``joined`` was given, with the limits of this state. Local."""
        kept, integers = self.after(step), _integers(vector)
        if vector.format.ring is not self.ring or step not in self.steps or len(integers) != self.size(step):
            raise InvalidInputError("it does not fit the plan of this study")
        found, start = {}, 0
        for array in kept:
            piece = integers[start : start + array.size]
            start += array.size
            piece = piece.with_integer_limit(min(piece.integer_limit, array.limit)).loosened(array.limit)
            found[array.name] = piece.ldexp(-array.format.fraction_bits).reshape(array.shape)
        return found


class Checkpoints(Protocol):
    """Checkpoints of one program at one party. All parties call both methods at the same steps."""

    def resume(self, party: Party) -> tuple[int, dict[str, SecretArray]] | None:
        """Return the last step of which every party has a checkpoint, with the values then; None: start afresh."""

    def reached(self, party: Party, step: int, values: Mapping[str, SecretArray]) -> None:
        """Note that a step is done: keep its values or not, as the public plan of the checkpoints says."""


@dataclass(frozen=True)
class UnsavedCheckpoints:
    """Takes all steps of checkpoints but the last, and keeps none: for whoever counts them, and for a dealer."""

    kept: KeptState

    def resume(self, party: Party) -> tuple[int, dict[str, SecretArray]] | None:
        """Find nothing."""
        del party
        return None

    def reached(self, party: Party, step: int, values: Mapping[str, SecretArray]) -> None:
        """A fresh sharing, verified before it would be stored."""
        if step in self.kept.due:
            with party.label(CHECKPOINT):
                party.refreshed(self.kept.joined(values, step))
                party.verify()


def _integers(value: SecretArray) -> SecretArray:
    return value.ldexp(value.format.fraction_bits).reshape(-1)
