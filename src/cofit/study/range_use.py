"""How much of the agreed ranges an owner's own numbers use: a warning for that owner's terminal, and nowhere else.

Numbers go linearly from their agreed bounds to [-1, 1]. Where the bounds are far wider than the values, a column hardly
differs from row to row once it is encoded, and the noise hides it. See ``cofit.learn.unlike_scales`` for where such a
warning may go, and why no remedy may be computed from the data.
"""

from __future__ import annotations

import numpy as np

from cofit.learn.unlike_scales import FACTOR, SMALL_PART, spread_of
from cofit.study.columns import Reals
from cofit.study.document import Study
from cofit.study.encode import owner_named

WARNING = "Warning: "
"""With this begins a line that tells an owner something about its own data."""
_WIDTH = 2.0  # of an encoded range
_MOST_NAMES = 10


def range_warning(study: Study, owner: str, features: Reals | None) -> str | None:
    """Return what to tell an owner of its encoded features, or None.

    It names the numbers whose middle 98 % use less than a fiftieth of their range, or spread less than a twentieth as
    far as those of another column of this owner. Numbers that are always the same are left out.
    """
    entry = owner_named(study, owner)
    spread = None if features is None else spread_of([features])
    if spread is None:
        return None
    own = study.features_of(entry)
    starts = np.cumsum([0, *(feature.width for feature in own)])
    numbers = [(feature, int(start)) for feature, start in zip(own, starts, strict=False) if feature.type == "number"]
    widest = max((float(spread.middle[place]) for _, place in numbers), default=0.0)
    limit = max(SMALL_PART * _WIDTH, widest / FACTOR)
    narrow = [feature for feature, place in numbers if 0 < spread.typical[place] < limit]
    if not narrow:
        return None
    named = [f"'{feature.name}' ({feature.lower:g} to {feature.upper:g})" for feature in narrow[:_MOST_NAMES]]
    more = len(narrow) - len(named)
    return (
        f"In your table the values of {', '.join(named)}{f' and {more} more' if more else ''} lie close together "
        "within the agreed bounds, so that the noise, or another column, hides them. If narrower bounds are publicly "
        "known of the field, propose a study with these. Do not take them from the data: that is outside the "
        "privacy guarantee. This warning follows from your own data; nobody else is told."
    )
