"""What has come over Dask, as the kernels want it: arrays that are writable, and lie where elements of a ring may."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofit.arithmetic import RingArray
from cofit.secret.shards import Shared
from cofit.secret.sums import PartOfSum
from cofit.sharing import Share


def arrived(value: Any) -> Any:
    """Return a share, or a list of parts of sums, copied where it must be; anything else as it is."""
    if isinstance(value, Shared):
        share = value.share
        return value._replace(share=Share(share.ring, tuple(map(_usable, share.parts))))
    if isinstance(value, PartOfSum):
        partial = value.partial
        return value._replace(partial=partial._replace(parts=tuple(map(_usable, partial.parts))))
    return [arrived(one) for one in value] if isinstance(value, list) else value


def _usable(array: RingArray) -> RingArray:
    return np.require(array, requirements=["C", "ALIGNED", "WRITEABLE"])
