"""Losses of generalised linear models, one file each, by name. Another one is one file and a ``register_loss``."""

from cofit.errors import parameter_error
from cofit.learn.losses.clipped_count import ClippedCount
from cofit.learn.losses.clipped_difference import ClippedDifference
from cofit.learn.losses.clipped_residual import ClippedResidual
from cofit.learn.losses.huber_hinge import Hinge, HuberHinge
from cofit.learn.losses.logistic import Logistic
from cofit.learn.losses.loss import Evaluation, Loss
from cofit.learn.losses.poisson import Poisson
from cofit.learn.losses.regression import ClippedSquares, Huber

LOSSES: dict[str, Loss] = {}


def register_loss(loss: Loss) -> None:
    """Let plans, studies and models name this loss. Its name must be new."""
    if not isinstance(loss, Loss):
        raise parameter_error("loss", "register_loss", "an object of a subclass of Loss", loss)
    if loss.name in LOSSES:
        raise parameter_error("loss", "register_loss", "one with a new name", loss.name)
    LOSSES[loss.name] = loss


def kinds() -> dict[str, str]:
    """Return the kinds of models that a study may name, each with the first loss that was registered for it."""
    return {loss.kind: loss.name for loss in reversed(LOSSES.values())}


for _loss in (Logistic(), HuberHinge(), Hinge(), ClippedSquares(), Huber(), Poisson()):
    register_loss(_loss)


def loss_named(name: str, largest_count: int | None = None) -> Loss:
    """Return the loss of that name, of counts of at most this where it is of counts, or raise InvalidInputError."""
    if name not in LOSSES:
        raise parameter_error("loss", "a plan", f"one of {sorted(LOSSES)}", name)
    return LOSSES[name].up_to(largest_count)


__all__ = [
    "LOSSES",
    "ClippedCount",
    "ClippedDifference",
    "ClippedResidual",
    "ClippedSquares",
    "Evaluation",
    "Hinge",
    "Huber",
    "HuberHinge",
    "Logistic",
    "Loss",
    "Poisson",
    "kinds",
    "loss_named",
    "register_loss",
]
