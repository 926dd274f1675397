"""Clipped rows: public numbers of a preparation that does not depend on how the columns are scaled.

Dividing rows by their length throws away what a few columns of unlike scale or far from 0 have to say. With few columns
and many rows there is budget to find out, privately, where the rows are and how wide (``clip_proof.md``):

    x = values / B             B: the public limit of a row's length; longer rows are cut
    m0                         the noisy mean of the rows
    r                          the noisy mean of ||x - m0||, each clamped to [1/64, 1/2]
    m, q                       mean and variances of (x - m0) / max(||x - m0||, r), noisy; m back in the units of x
    t = 1 / sqrt(q)            the stretch of every column; q is at least a floor, where noise would decide
    b = t (x - m) - c          c: half of the mean of t (x - m), because columns often have one factor in common
    z = b / max(||b||, R)      R = (3/4) sqrt(d) r: shorter rows keep their length
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cofit.privacy.safe_rounding import ROOT_BITS, root_up

SHORTEST, LONGEST = Fraction(1, 64), Fraction(1, 2)
"""The radius lies between them, in units of B."""
LEAST_VARIANCE, FLOOR_OF_NOISE = Fraction(1, 1024), Fraction(1, 4)
"""The floor of a variance is this part of the noise in it: lower, and chance alone would stretch; higher, and columns
far narrower than the others stay narrow."""
STRETCH_BITS, SQUARE_BITS, RADIUS_BITS = 7, 8, 15
STRETCH_ERROR = Fraction(1, 1 << (STRETCH_BITS - 1))
LIMIT_FACTOR = 2
"""Where no bounds are agreed on, B is so many times sqrt(d): columns of about unit range or unit deviation need no
more."""
RADIUS_SQUARED = Fraction(9, 16)
OWN_MEAN, PART_BITS = Fraction(1, 2), 16
"""The part of its own mean that is taken from a stretched row, rounded to so many bits."""
_LIMIT_BITS = 20


def row_limit(cols: int, bound: Fraction | None) -> Fraction:
    """Return B: no row is longer. ``bound``: of every value, None where none is agreed on."""
    return root_up(Fraction(cols), _LIMIT_BITS) * (LIMIT_FACTOR if bound is None else bound)


@dataclass(frozen=True)
class ClipFormats:
    """mean, moved: bounds of ||m0|| and ||m||. radius_grid: fractional bits of the radius as it is released, at least
    those of a length. first_bits: those of the first u. first_reach: A of the proof. variance_floor: v."""

    mean: Fraction
    moved: Fraction
    radius_grid: int
    first_bits: int
    first_reach: Fraction
    variance_floor: Fraction

    @property
    def stretch(self) -> Fraction:
        """No t is larger."""
        return root_up(1 / self.variance_floor, ROOT_BITS) + STRETCH_ERROR

    @property
    def distance(self) -> Fraction:
        """No row is farther from m."""
        return 1 + self.moved
