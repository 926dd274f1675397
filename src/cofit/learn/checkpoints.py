"""What training asks of whoever keeps checkpoints. They hold shares of the weights, nothing that anybody may open."""

from __future__ import annotations

from typing import Protocol

from cofit.secret import Party, SecretArray


class Checkpoints(Protocol):
    """Checkpoints of one training run at one party. All parties call both methods at the same epochs."""

    def resume(self, party: Party) -> tuple[int, SecretArray, SecretArray] | None:
        """Return the last epoch of which every party has a checkpoint, with w_t and w_{t-1}; None: start afresh."""

    def reached(self, party: Party, epoch: int, weights: SecretArray, before: SecretArray) -> None:
        """Note that an epoch is done: keep it or not, as the public plan of the checkpoints says."""
