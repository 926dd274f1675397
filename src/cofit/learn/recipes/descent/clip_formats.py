"""Ranges and sensitivities of clipped rows (``clip.py``): for the largest noise that the samplers can draw.

The arguments are in ``clip_proof.md``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from cofit.arithmetic import IntegerRing
from cofit.errors import RangeError
from cofit.learn.recipes.descent.clip import (
    FLOOR_OF_NOISE,
    LEAST_VARIANCE,
    LONGEST,
    RADIUS_BITS,
    RADIUS_SQUARED,
    SHORTEST,
    SQUARE_BITS,
    ClipFormats,
)
from cofit.learn.recipes.descent.formats import FLOAT_SLACK, DescentFormats, Layout, log2_up
from cofit.privacy.safe_rounding import ROOT_BITS, root_up, significant_up
from cofit.protocols.working import working_bits

RADIUS_WIDTH = LONGEST - SHORTEST
"""Of the interval that a length lies in: computed lengths are clamped, exactly."""
FINE_SCORE = 8
"""Truncated weights move a score by at most about 2^-8."""
_FLOOR_BITS = 8
_MOST_FLOOR = Fraction(1, 4)


def largest_length(clip: ClipFormats) -> Fraction:
    """Return a bound of a computed length before it is clamped: the inverse of the length, which is off by less than
    1/64, times its square."""
    distance = 1 + clip.mean
    return distance + SHORTEST * distance**2


def mean_sensitivity(formats: DescentFormats, cols: int) -> Fraction:
    """A record moves the sum of rows by two lengths, and its truncation by two units a coordinate."""
    return 2 * Fraction(1 << formats.grid) + 2 * root_up(Fraction(cols), ROOT_BITS)


def shift_sensitivity(formats: DescentFormats, clip: ClipFormats, cols: int) -> Fraction:
    """As that of the mean, for rows of length at most A."""
    return 2 * clip.first_reach * (1 << formats.grid) + 2 * root_up(Fraction(cols), ROOT_BITS)


def spread_sensitivity(formats: DescentFormats, clip: ClipFormats, cols: int) -> Fraction:
    """Squares of a row's entries add up to at most A^2; of two records they are not negative."""
    root = root_up(Fraction(2), ROOT_BITS) * clip.first_reach**2
    return root * (1 << formats.grid) + 2 * root_up(Fraction(cols), ROOT_BITS)


def with_mean(formats: DescentFormats, largest_mean: Fraction, finer: int) -> DescentFormats:
    """Return the formats once ||m0|| is bounded; ``finer``: bits of grids beyond those that rounding asks for."""
    distance = 1 + largest_mean
    first_bits = _inverse_bits(formats.ring, 1 / SHORTEST)
    error = replace(formats, inverse_norm=first_bits).inverse_error
    least = 1 / distance - error - Fraction(1, 1 << formats.scaled)
    if least <= 0 or least**2 <= Fraction(2, 1 << SQUARE_BITS):
        raise RangeError("The noise in the mean of the rows may be longer than they are. Use clip_rows=False.")
    first = 1 + distance * (error + Fraction(1, 1 << formats.scaled))
    clip = ClipFormats(largest_mean, largest_mean, RADIUS_BITS + finer, first_bits, first, Fraction(1))
    return replace(formats, clip=clip)


def with_spread(
    formats: DescentFormats, layout: Layout, largest_shift: Fraction, spread_noise: Fraction
) -> DescentFormats:
    """Return the formats once ||M|| is bounded, and the standard deviation of the noise in a variance known."""
    if formats.clip is None:
        raise ValueError("with_mean comes first.")
    root = root_up(Fraction(layout.features), ROOT_BITS)
    moved = formats.clip.mean + LONGEST * largest_shift + 2 * root / (1 << formats.data)
    floor = min(_MOST_FLOOR, significant_up(max(LEAST_VARIANCE, FLOOR_OF_NOISE * spread_noise), _FLOOR_BITS))
    clip = replace(formats.clip, moved=moved, variance_floor=floor)
    longest = clip.stretch * clip.distance + 2 * root / (1 << formats.data)
    steepest = root_up(1 / (RADIUS_SQUARED * layout.features), ROOT_BITS) / SHORTEST
    done = replace(formats, clip=clip, longest=longest, inverse_norm=_inverse_bits(formats.ring, steepest))
    return replace(done, eta=FLOAT_SLACK + longest * done.inverse_error)


class ScoreBits(NamedTuple):
    """The fractional bits of what makes a score: of a row's factor u, of its product with the weights, and of these."""

    scale: int
    product: int
    carried: int


def score_bits(formats: DescentFormats, cols: int) -> ScoreBits:
    """Return so few bits that the product of a clipped row with the weights need not be truncated, if that leaves
    enough; else those of the formats.

    A score is only compared, and what a record adds is bounded whatever its score is (``clip_proof.md``). Enough: for
    the weights, that their truncation moves no score by more than about 2^-8; for u, that its truncation moves none by
    more than 2^-8 of ||w||, and, with that of u c, by 1/2 for the longest weights, which ``argument_radius`` has room
    for.
    """
    fewest = min(formats.carried, fewest_carried(formats, cols))
    moved = formats.longest + root_up(Fraction(cols), ROOT_BITS)  # by u, and by u c times the sum of the weights
    least = max(FINE_SCORE + log2_up(formats.longest), 1 + log2_up(moved * formats.carried_radius))
    spare = formats.ring.value_bits - log2_up(formats.argument_radius) - formats.data - fewest - least
    if spare < 0 or least > formats.inverse_norm:
        return ScoreBits(formats.inverse_norm, formats.product, formats.carried)
    carried = min(formats.carried, fewest + spare // 2)
    scale = min(formats.inverse_norm, least + spare - (carried - fewest))
    return ScoreBits(scale, formats.data + carried, carried)


def fewest_carried(formats: DescentFormats, cols: int) -> int:
    """Return how many fractional bits stretched weights must have: a row adds their errors up, and u multiplies it."""
    if formats.clip is None:
        raise ValueError("with_mean comes first.")
    root = root_up(Fraction(cols), ROOT_BITS)
    return FINE_SCORE + log2_up(root * steepest(formats, cols) * formats.clip.distance)


def steepest(formats: DescentFormats, cols: int) -> Fraction:
    """Return what no factor u of a clipped row exceeds."""
    return root_up(1 / (RADIUS_SQUARED * cols), ROOT_BITS) / SHORTEST + formats.inverse_error


def _inverse_bits(ring: IntegerRing, largest: Fraction) -> int:
    """Return as many fractional bits as an inverse of this size leaves."""
    return working_bits(ring) - max(4, 1 + log2_up(largest))
