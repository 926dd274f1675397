"""The public grid of the discrete mechanisms: fine beside the noise, coarse enough for the samplers and the ring."""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import FixedPoint, reals
from cofit.errors import RangeError
from cofit.privacy.mechanisms.mechanism import square_root_up

_STEPS = 30  # the noise's scale is at most 2^30 grid steps
_HEADROOM = 12  # |noise| < 2^7 scales (the samplers' public range), and some bits more


def grid_for(
    scale: Fraction, dimension: int, sensitivity: Fraction, weights: FixedPoint, radius: Fraction
) -> tuple[int, Fraction]:
    """Return (g, sensitivity on the grid): weights that are truncated to the grid move by sqrt(d) 2^-g more, each.

    That is always added, also where ``weights`` lie on the grid already: no caller has to prove that they do.
    """
    grid_bits = min(weights.fraction_bits, _STEPS - reals.ceil_log2(scale))
    largest = radius + (1 << _HEADROOM) * scale
    if grid_bits < 0 or largest * (1 << grid_bits) > 1 << (weights.ring.value_bits - 1):
        raise RangeError(
            f"Noise of scale {float(scale):.3g} does not fit {weights.ring.name}. Use a larger epsilon, a larger l2, "
            f"or more rows."
        )
    return grid_bits, sensitivity + 2 * square_root_up(Fraction(dimension)) / (1 << grid_bits)
