"""Matrices of which computing parties know a part each."""

from __future__ import annotations

import itertools

import numpy as np

from cofit.arithmetic import IntegerRing
from cofit.sharing import Scheme, Share
from cofit.sharing.regions import KnownShare, Region


def partly_known(s: Scheme, share: Share, axis: int, unknown: bool = False) -> Share:
    """A shared matrix, of which every party now knows a part: some rows, or columns, with a value of its own.

    ``unknown``: nobody knows the first part, which stays as it is.
    """
    ring, (rows, cols) = share.ring, share.shape
    assert isinstance(ring, IntegerRing)
    ends = [*range(len(s.names)), share.shape[axis]]
    parts = [slice(*pair) for pair in itertools.pairwise(ends)]
    places = [(part, slice(0, cols)) if axis == 0 else (slice(0, rows), part) for part in parts]
    regions = tuple(Region(p, None if unknown and rank == 0 else rank) for rank, p in enumerate(places))
    own = share.parts[0].copy()
    for region in regions:
        if region.holder is not None:
            value = ring.from_int(np.full(region.shape, 321))
            own[region.place] = value if region.holder == s.rank else ring.zeros(region.shape)
    return KnownShare(ring, (own,), regions)
