"""Columns of unlike scales, as whoever holds the data sees them: warnings, before a budget is spent.

Rows are brought to a length of at most 1, and the noise is as strong in one column as in another. A column whose values
lie close together beside another's is lost in both. Nothing here changes what is computed.

**A warning depends on the data.** It stays in the process and on the terminal of whoever holds them: it goes into no
certificate, report, audit log or exit code. And no remedy may be computed from the data: bounds are public, and the
guarantee does not cover what was chosen by looking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.learn.sparse_rows import FeatureTable, SparseRows

Reals = npt.NDArray[np.float64]
FACTOR = 20
"""A column is hidden by another whose values spread so many times as far."""
SMALL_PART = 0.02
"""Of an agreed range: values that use less of it are hidden by the noise."""
_FEWEST_ROWS = 20
_MIDDLE = 0.01, 0.99
_MOST_ROWS = 2000
_BLOCK = 256
_MOST_NAMES = 5
_DOMINANT = 0.9
_MANY_CUT = 0.1
REMEDY = (
    "Map each column to a common range by bounds that are publicly known, as 0 to 120 for an age: "
    "cofit.PublicScaler(lower=..., upper=...). Bounds, means or deviations that are computed from the data, as fitted "
    "scalers do, are outside the privacy guarantee."
)


@dataclass(frozen=True, repr=False)
class Spread:
    """How far apart the values of each column are: the middle 98 % of them, and all of them."""

    middle: Reals
    all: Reals

    @property
    def typical(self) -> Reals:
        """That of the middle, or of all in columns that are nearly always the same, as rare marks are."""
        return np.where(self.middle > 0, self.middle, self.all)


def spread_of(parts: Sequence[FeatureTable], *, vertical: bool = False) -> Spread | None:
    """Return the spread of the joint columns (of rows, or, vertical, side by side); None if rows are too few to tell.

    The middle is that of 2,000 rows, drawn with a fixed seed.
    """
    if vertical:
        found = [one for one in map(_spread, ([part] for part in parts)) if one is not None]
        if len(found) < len(parts):
            return None
        return Spread(*(np.concatenate([getattr(one, name) for one in found]) for name in ("middle", "all")))
    return _spread(parts)


def _spread(parts: Sequence[FeatureTable]) -> Spread | None:
    parts = [part for part in parts if len(part)]
    starts = np.cumsum([0, *map(len, parts)])
    if starts[-1] < _FEWEST_ROWS:
        return None
    drawn = np.sort(np.random.default_rng(0).choice(starts[-1], min(starts[-1], _MOST_ROWS), replace=False))
    chosen = [
        rows - start for rows, start in zip(np.split(drawn, np.searchsorted(drawn, starts[1:-1])), starts, strict=False)
    ]
    middle, ends = [np.zeros(0)], [np.zeros(0)]
    for first in range(0, parts[0].shape[1], _BLOCK):
        columns = slice(first, first + _BLOCK)
        sample = np.concatenate([_cells(part, rows, columns) for part, rows in zip(parts, chosen, strict=True)])
        lowest, highest = np.quantile(sample, _MIDDLE, axis=0)
        middle.append(highest - lowest)
        lowest, highest = (np.array(found) for found in zip(*(_ends(part, columns) for part in parts), strict=True))
        ends.append(highest.max(axis=0) - lowest.min(axis=0))
    return Spread(np.concatenate(middle), np.concatenate(ends))


def _cells(part: FeatureTable, rows: npt.NDArray[np.int64], columns: slice) -> Reals:
    if isinstance(part, SparseRows):
        return part.cells(rows, columns)
    return np.asarray(part[:, columns][rows], dtype=np.float64)


def _ends(part: FeatureTable, columns: slice) -> tuple[Reals, Reals]:
    """Return the smallest and the largest value of these columns."""
    if isinstance(part, SparseRows):
        return part.ends(columns)
    block = part[:, columns]
    return block.min(axis=0).astype(np.float64), block.max(axis=0).astype(np.float64)


def _blocks(part: FeatureTable) -> Iterator[Reals]:
    """Yield rows: all at once, or as many as are dense at a time."""
    if isinstance(part, SparseRows):
        return part.blocks()
    return iter([part])


def scale_warnings(
    parts: Sequence[FeatureTable],
    names: Sequence[str] | None,
    *,
    vertical: bool = False,
    bound: float | None = None,
    whole_rows: bool = False,
    limit: float | None = None,
) -> Iterator[str]:
    """Yield what to tell whoever holds these features.

    parts: of each owner. names: of the columns, if they have any. bound: the agreed feature_bound, where the parties
    scale by it. whole_rows: whether owners scale rows as they are, so that a large column hides others by its size.
    limit: the length that owners cut rows to, where no bound was agreed on.
    """
    spread = spread_of(parts, vertical=vertical)
    if spread is None or not len(spread.middle):
        return
    typical, largest = spread.typical, int(spread.middle.argmax())
    hidden = np.flatnonzero((typical > 0) & (typical < spread.middle[largest] / FACTOR))
    if len(hidden):
        yield (
            f"The columns are of unlike scales: the values of {_named(hidden, names)} lie so close together, beside "
            f"those of {_named([largest], names)}, that the model can hardly see them. {REMEDY}"
        )
    elif whole_rows and not vertical and (place := _dominant(parts)) is not None:
        yield (
            f"The values of {_named([place], names)} are so much larger than the others that rows, which are scaled to "
            f"length 1, show hardly anything else. {REMEDY} Then give feature_bound."
        )
    if limit is not None:
        yield from _of_limit(parts, typical, limit)
    elif bound is not None and 0 < float(typical.max()) < SMALL_PART * 2 * bound:
        yield (
            f"No column uses more than a small part of the agreed range from {-bound:g} to {bound:g}, so that the "
            "noise hides all of them. Agree on a smaller feature_bound, by what is publicly known of the columns "
            "and not by looking at the data."
        )


def _of_limit(parts: Sequence[FeatureTable], typical: Reals, limit: float) -> Iterator[str]:
    """Without agreed bounds, columns are taken to be of about unit range or unit deviation."""
    usual = limit / math.sqrt(len(typical))
    rows = sum(len(part) for part in parts)
    with np.errstate(over="ignore"):
        lengths = (np.square(rows, dtype=np.float64).sum(axis=1) for part in parts for rows in _blocks(part))
        cut = sum(int((squares > limit**2).sum()) for squares in lengths)
    if cut > _MANY_CUT * rows:
        yield (
            f"{cut} of {rows} rows are longer than {limit:.3g} ({usual:.3g} times the root of the number of columns) "
            f"and are cut to that length, so that the model sees their direction alone. {REMEDY}"
        )
    if 0 < float(typical.max()) < SMALL_PART * 2 * usual:
        yield (
            f"The values of every column lie so close together, beside the range from {-usual:.3g} to {usual:.3g} that "
            f"is taken where no feature_bound is given, that the noise hides all of them. {REMEDY} Then give "
            "feature_bound."
        )


def _dominant(parts: Sequence[FeatureTable]) -> int | None:
    squares = np.zeros(parts[0].shape[1])
    for part in parts:
        for rows in _blocks(part):
            squares += np.square(rows, dtype=np.float64).sum(axis=0)
    total = float(squares.sum())
    dominant = len(squares) > 1 and total > 0 and float(squares.max()) > _DOMINANT * total
    return int(squares.argmax()) if dominant else None


def _named(places: Sequence[int] | npt.NDArray[np.intp], names: Sequence[str] | None) -> str:
    words = [str(place) if names is None else f"'{names[place]}'" for place in places]
    if len(words) > _MOST_NAMES:
        words = [*words[:_MOST_NAMES], f"{len(words) - _MOST_NAMES} more"]
    joined = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"column {joined}" if len(words) == 1 else f"columns {joined}"
