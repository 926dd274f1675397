"""What a long party program asks of whoever keeps its state. Shares are kept, nothing that anybody may open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cofit.arithmetic import FixedPoint, Shape
from cofit.secret.array import SecretArray
from cofit.secret.party import Party


@dataclass(frozen=True)
class KeptState:
    """What a program goes on from: ``count`` values of one shape and format, after any of so many steps.

    limit: the bound that a resumed program goes on with, in units of the format's last place, which a dealer knows as
    well. That of a stored value may be smaller, and the steps of a program depend on bounds.
    """

    count: int
    shape: Shape
    format: FixedPoint
    limit: int
    steps: int


class Checkpoints(Protocol):
    """Checkpoints of one program at one party. All parties call both methods at the same steps."""

    def resume(self, party: Party) -> tuple[int, Sequence[SecretArray]] | None:
        """Return the last step of which every party has a checkpoint, with the values then; None: start afresh."""

    def reached(self, party: Party, step: int, values: Sequence[SecretArray]) -> None:
        """Note that a step is done: keep its values or not, as the public plan of the checkpoints says."""
