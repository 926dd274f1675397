"""Numbers of a few bytes each, next to each other: what is sent of an element of which only the lowest bits matter.

They have as many bytes as so many bits need, the lowest first, and all numbers of an array together take whole words.
What is left of the last word is as random as the numbers: it is copied from those that mask them. ``PowerOfTwoRing``
has what computes with them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Narrow: TypeAlias = npt.NDArray[np.uint8]
_WORD = 8


def narrow_bytes(count: int, bits: int) -> int:
    """Return how many bytes so many numbers take, of so many bits each."""
    each = -(-bits // 8)
    return -(-count * each // _WORD) * _WORD
