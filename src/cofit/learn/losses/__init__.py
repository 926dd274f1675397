"""Losses of generalised linear models, one file each."""

from cofit.errors import parameter_error
from cofit.learn.losses.clipped_residual import ClippedResidual
from cofit.learn.losses.huber_hinge import HuberHinge
from cofit.learn.losses.logistic import Logistic
from cofit.learn.losses.loss import Evaluation, Loss

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Logistic(), HuberHinge())}


def loss_named(name: str) -> Loss:
    """Return the loss of that name, or raise InvalidInputError."""
    if name not in LOSSES:
        raise parameter_error("loss", "a plan", f"one of {sorted(LOSSES)}", name)
    return LOSSES[name]


__all__ = ["LOSSES", "ClippedResidual", "Evaluation", "HuberHinge", "Logistic", "Loss", "loss_named"]
