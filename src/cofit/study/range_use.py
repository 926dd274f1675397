"""How much of the agreed ranges an owner's own numbers use: a warning for that owner's terminal, and nowhere else.

Numbers go linearly from their agreed bounds to [-1, 1]. Where the bounds are far wider than the values, a column hardly
differs from row to row once it is encoded, and the noise hides it. See ``cofit.learn.unlike_scales`` for where such a
warning may go, and why no remedy may be computed from the data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.learn.unlike_scales import FACTOR, SMALL_PART, spread_of
from cofit.study.document import Feature, OwnerEntry, Study
from cofit.study.encode import EncodedTable, owner_named

WARNING = "Warning: "
"""With this begins a line that tells an owner something about its own data."""
_WIDTH = 2.0  # of an encoded range
_MOST_NAMES = 10
_MANY = 0.1


def range_warning(study: Study, owner: str, table: EncodedTable) -> str | None:
    """Return what to tell an owner of its encoded table, or None.

    It names the numbers of which more than a tenth were moved to a bound, because the study says ``clip``; those that
    are the same in every row; those whose middle 98 % use less than a fiftieth of their range, or spread less than
    a twentieth as far as those of another column of this owner; and a label that is the same in every row.
    """
    told = _about_features(study, owner_named(study, owner), table)
    if table.labels is not None and len(table.labels) and (table.labels == table.labels[0]).all():
        told.append(f"the label, '{study.data.label}', is the same in every row. Is this the whole table?")
    if not told:
        return None
    return f"In your table {' In your table '.join(told)} This warning follows from your own data; nobody else is told."


def _about_features(study: Study, entry: OwnerEntry, table: EncodedTable) -> list[str]:
    features = table.features
    spread = None if features is None else spread_of([features])
    if spread is None or features is None:
        return []
    own = study.features_of(entry)
    starts = np.cumsum([0, *(feature.width for feature in own)])
    numbers = [(feature, int(start)) for feature, start in zip(own, starts, strict=False) if feature.type == "number"]
    counts = {feature.name: table.moved.get(feature.name, 0) for feature, _ in numbers}
    moved = [feature for feature, _ in numbers if counts[feature.name] > _MANY * len(features)]
    numbers = [(feature, place) for feature, place in numbers if feature not in moved]
    same = [feature for feature, place in numbers if not spread.all[place]]
    widest = max((float(spread.middle[place]) for _, place in numbers), default=0.0)
    limit = max(SMALL_PART * _WIDTH, widest / FACTOR)
    narrow = [feature for feature, place in numbers if 0 < spread.typical[place] < limit]
    told = []
    if moved:
        parts = [f"{counts[feature.name]:,} of {len(features):,} values of {_named(feature)}" for feature in moved]
        told.append(
            f"{_listed(parts)} are beyond the agreed bounds and count as the bound. Is the column in another unit?"
        )
    if same:
        told.append(f"the values of {_listed([_named(feature) for feature in same])} are the same in every row.")
    if narrow:
        told.append(
            f"the values of {_listed([_named(feature) for feature in narrow])} lie close together within the agreed "
            "bounds, so that the noise, or another column, hides them. If narrower bounds are publicly known of the "
            "field, propose a study with these. Do not take them from the data: that is outside the privacy guarantee."
        )
    return told


def _named(feature: Feature) -> str:
    return f"'{feature.name}' ({feature.lower:g} to {feature.upper:g})"


def _listed(parts: Sequence[str]) -> str:
    more = len(parts) - _MOST_NAMES
    return ", ".join(parts[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
