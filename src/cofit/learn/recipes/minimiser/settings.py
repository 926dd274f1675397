"""Settings of the paper's method. None stands for the default of each, so recipe 'best' can refuse what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, field

from cofit.learn.settings import setting
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES

SOLVERS = ("auto", "gradient_descent", "accelerated")
INITIALS = ("zeros", "glorot")


@dataclass(kw_only=True, eq=False, repr=False)
class MinimiserSettings:
    """What recipe 'paper' may be told."""

    l2: float | None = field(
        default=None, metadata=setting("Paper: the penalty Lambda of the mean loss.  [default: 1]", unset=1.0)
    )
    mechanism: str | None = field(
        default=None,
        metadata=setting(
            "Paper: kind of noise.  [default: knorm if delta is 0, otherwise gaussian]", choices=lambda: MECHANISMS
        ),
    )
    sensitivity: str | None = field(
        default=None,
        metadata=setting(
            "Paper: bound of a record's gradient, the smallest proven one or the paper's.  [default: tight]",
            unset="tight",
            choices=lambda: SENSITIVITIES,
        ),
    )
    epochs: int | str | None = field(
        default=None,
        metadata=setting(
            "Paper: number of epochs; auto: until what is left is far below the noise.  [default: auto]", unset="auto"
        ),
    )
    solver: str | None = field(
        default=None,
        metadata=setting("Paper: optimisation method.  [default: auto]", unset="auto", choices=lambda: SOLVERS),
    )
    learning_rate: float | None = field(
        default=None, metadata=setting("Paper: train with this step, instead of a proven step.")
    )
    momentum: float | None = field(
        default=None, metadata=setting("Paper: its momentum; nothing is proven.  [default: 0]", unset=0.0)
    )
    initial: str | None = field(
        default=None,
        metadata=setting(
            "Paper: first weights; glorot is the paper's.  [default: zeros]", unset="zeros", choices=lambda: INITIALS
        ),
    )
    intercept_scaling: float | None = field(
        default=None, metadata=setting("Paper: the constant feature of the intercept.  [default: 1]", unset=1.0)
    )
    tolerance: float | None = field(
        default=None,
        metadata=setting("Paper: what auto epochs may leave out of the minimiser.  [default: 0.001]", unset=1e-3),
    )
    allow_unproven: bool | None = field(
        default=None,
        metadata=setting("Paper: plan even where no privacy is proven; the certificate says so first.", unset=False),
    )
