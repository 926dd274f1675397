"""The owner's side: from a table in the clear to the arrays it shares. Runs at the owner and nowhere else.

Owners normalise, recipe 'paper': (x, c) / ||(x, c)|| with the constant c of the intercept, or x / ||x||; an all-zero
row stays zero. Recipe 'best': the row less its own mean, divided by its length, or the row divided by its sum of
absolute values (``row_map``); then rounded towards zero, so that no row is longer than 1 as it is encoded.
Recipe 'best' with clipped rows: x / row_limit, cut to length 1 where no bounds are agreed on, rounded likewise.
Where the parties normalise: x / feature_bound, refused where a value is beyond the bound by more than rounding, and
clipped to it otherwise (``bounds``), so that what is shared is within [-1, 1].
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, RingArray
from cofit.arithmetic.row_blocks import RowBlocks, block_rows, encoded_blocks
from cofit.errors import InvalidInputError, RangeError
from cofit.learn.base_plan import Plan
from cofit.learn.bounds import TOLERANCE, beyond
from cofit.learn.recipes.descent.formats import towards_zero
from cofit.learn.recipes.descent.row_map import cut

Reals = npt.NDArray[np.float64]
Features = npt.NDArray[Any] | RowBlocks
"""Of an owner: an array, or rows that are made a block at a time."""


def encoded_features(plan: Plan, values: Features, format: FixedPoint, bound: float) -> RingArray | RowBlocks:
    """Return ``format.encode(prepared_features(plan, values), bound)``, made block by block of rows.

    Beside the table and the result, which are held, a few blocks of 2 MiB. Otherwise it would be ten tables. Of
    ``RowBlocks`` the result is not held either, but made again whenever it is asked for; every block is made once here,
    so that what is wrong is refused now.
    """
    if isinstance(values, RowBlocks):
        encoded = encoded_blocks(prepared_blocks(plan, values), format, bound)
        for _ in encoded.blocks():
            pass
        return encoded
    out = format.ring.empty((len(values), prepared_features(plan, values[:0]).shape[1]))
    step = block_rows(out.shape[1])
    for start in range(0, len(values), step):
        block = prepared_features(plan, values[start : start + step], first_row=start)
        out[start : start + step] = format.encode(block, bound)
    return out


def prepared_blocks(plan: Plan, values: RowBlocks) -> RowBlocks:
    """Return what ``prepared_features`` does, of rows that are made a block at a time."""
    return values.then(partial(prepared_features, plan), prepared_features(plan, values[:0]).shape[1])


def prepared_features(plan: Plan, values: npt.ArrayLike, first_row: int = 0) -> Reals:
    """Return an owner's block of features as it is to be encoded, with ``plan.formats.data`` fractional bits.

    first_row: the place of the block in the owner's table, for errors.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 2:
        raise InvalidInputError(f"Features must form a table with rows and columns; got shape {x.shape}.")
    if not np.isfinite(x).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InvalidInputError(
            f"Row {first_row + row}, column {column} of the features is not a finite number. Remove or impute it."
        )
    facts = plan.facts
    if facts.row_limit is not None and facts.normalised_by == "owners":
        return towards_zero(cut(x / float(facts.row_limit)), plan.formats.data)
    if facts.normalised_by == "parties":
        bound = float(facts.feature_bound)
        if (wrong := beyond(x, -bound, bound)).any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise RangeError(
                f"Row {first_row + row}, column {column} of the features is larger in magnitude than the agreed "
                f"feature_bound, {bound:g}. Scale the column, or agree on a larger feature_bound."
            )
        x = np.clip(x, -bound, bound) / bound
        if facts.row_limit is not None:
            return towards_zero(x * float(facts.feature_bound / facts.row_limit), plan.formats.data)
        if facts.partition == "horizontal":
            _refuse_low_means(x, float(facts.feature_lower / facts.feature_bound), bound, first_row)
        return np.asarray(x)
    return plan.scaled_by_owner(x)


def clipped_from_below(plan: Plan, values: npt.NDArray[Any], first_row: int = 0) -> npt.NDArray[Any]:
    """Return an owner's columns with no value below ``feature_lower``, so that no row's mean can be.

    Values that are below it by rounding are clipped to it; others are refused. Owners of rows keep to means instead.

    Not for studies: there every feature has a range of its own, which is checked as it is encoded.
    """
    facts = plan.facts
    if facts.partition == "horizontal" or facts.feature_lower <= -facts.feature_bound:
        return values
    x, lower = np.asarray(values, dtype=np.float64), float(facts.feature_lower)
    low = (x < lower) & beyond(x, lower, float(facts.feature_bound))
    if low.any():
        row, column = (int(i) for i in np.argwhere(low)[0])
        raise RangeError(
            f"Row {first_row + row}, column {column} of the features is below the agreed feature_lower, "
            f"{lower:g}. Agree on a smaller one (minus feature_bound is always right)."
        )
    return np.maximum(x, lower)


def _refuse_low_means(x: Reals, lower: float, bound: float, first_row: int) -> None:
    """The noise of the level rests on this; owners of columns cannot see it, and keep to ranges of each value.

    x, lower: in units of the bound, as the tolerance is, of which the level's sensitivity has more.
    """
    low = x.mean(axis=1) < lower - TOLERANCE if x.size else np.zeros(len(x), dtype=np.bool_)
    if low.any():
        raise RangeError(
            f"The mean of row {first_row + int(np.argmax(low))} of the features is below the agreed feature_lower, "
            f"{lower * bound:g}. Agree on a smaller feature_lower (minus feature_bound is always right)."
        )
