"""Settings of noisy descent. It has no penalty, and needs none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cofit.learn.recipes.descent.shares import SHARED
from cofit.learn.settings import setting


@dataclass(kw_only=True, eq=False, repr=False)
class DescentSettings:
    """What recipe 'best' may be told."""

    row_nonzeros: int | None = field(
        default=None, metadata=setting("About how many values of a row are not 0; for delta = 0.")
    )
    pure_steps: bool | None = field(
        default=None,
        metadata=setting(
            "Best with delta = 0: noise in a few steps, where a rule of rows, columns and epsilon says that it is "
            "better than noise on the minimiser.  [default: yes]"
        ),
    )
    calibrate_intercept: bool = field(
        default=False, metadata=setting("Best: three more noisy steps for the intercept, for 5 % of the budget.")
    )
    budget_shares: Mapping[str, float] | None = field(
        default=None,
        metadata=setting(
            f"Best: what part of the budget a release gets, of {', '.join(SHARED)}; 0: none. Repeat it for several. "
            "[default: as the recipe finds best]"
        ),
    )
    weight_bound: float | None = field(
        default=None,
        metadata=setting("Best: records have weights, from 0 to this public bound.  [default: none, all count alike]"),
    )
    class_weights: Sequence[float] | None = field(
        default=None,
        metadata=setting("Best: public weights of the classes, in their order.  [default: all count alike]"),
    )
    clip_rows: bool | None = field(
        default=None,
        metadata=setting(
            "Best: centre, stretch and clip rows by private means, spreads and radius, so that it matters little how "
            "the columns are scaled.  [default: where there are few columns and many rows for it]"
        ),
    )
