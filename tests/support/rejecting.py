"""A field that refuses one draw in four: with F_(2^61-1) itself, one in 2^61, no test would ever see one."""

from __future__ import annotations

import numpy as np

from cofit.arithmetic.integers import Words
from cofit.arithmetic.mersenne import Mersenne61
from cofit.arithmetic.ring import Source


class Rejecting(Mersenne61):
    """As F_(2^61-1), but draws whose two highest bits are zero, which it ignores otherwise, are passed over too."""

    def _accepted(self, source: Source, count: int) -> Words:
        drawn = source(count * self.element_bytes).view(np.uint64)
        taken: Words = drawn[drawn >> np.uint64(62) != 0] & np.uint64(self.modulus)
        kept: Words = taken[taken != np.uint64(self.modulus)]
        return kept


REJECTING = Rejecting()
