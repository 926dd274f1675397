"""Clipped rows on secrets: the party program behind ``clip.py``. What it releases, and why: ``clip_proof.md``.

Who learns what: nobody anything. Mean, radius and spread are noisy releases, yet stay secret until the one opening.
Cost beside that of the noise: two roots and five comparisons a row, and two squares of every value; one where there
are many and the scheme foresees squares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.learn.batches import batch_count, even_parts, in_batches
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.clip import (
    LONGEST,
    OWN_MEAN,
    PART_BITS,
    RADIUS_BITS,
    RADIUS_SQUARED,
    SHORTEST,
    SQUARE_BITS,
    STRETCH_BITS,
    ClipFormats,
)
from cofit.learn.recipes.descent.clip_formats import largest_length, score_bits
from cofit.learn.recipes.descent.formats import DescentFormats, log2_up
from cofit.learn.recipes.descent.rows import Rows, Score, inverse_roots, repeated, squared_lengths, with_bits
from cofit.privacy.release_names import MEAN, RADIUS, SHIFT, SPREAD
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.protocols import inverse_square_root, less
from cofit.protocols.clamp import clamp
from cofit.protocols.working import tighten
from cofit.secret import SecretArray, concatenate
from cofit.secret.foreseen import ForeseenSquares
from cofit.secret.shards import added, each, total
from cofit.secret.sums import Sum, matrix, sums

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_HELD_A_VALUE = 4  # shared elements that a batch of squares holds for every value
_HELD_BY_CLAMP = 40  # and a comparison and its products for every row
_FEWEST_BATCHES = 5  # of squares: with so many it takes fewer rounds to foresee them than to make them twice


def clipped_rows(
    x: SecretArray,
    passed: SecretArray,
    lengths: SecretArray | None,
    plan: DescentPlan,
    noise: noisy.Noise,
    known: Mapping[str, SecretArray],
) -> tuple[Rows, dict[str, SecretArray]]:
    """Return the rows as the steps see them, and what of their preparation is opened: mean, stretch, radius.

    passed: 0 for records that the check of rows has found bad; they have no part in any sum. lengths: squared, where
    the check has computed them. known: what is opened, where it was made before; nothing is released again then.
    """
    formats, clip = plan.formats, plan.formats.clip
    if clip is None:
        raise ValueError("The rows of this plan are not clipped.")
    if known:
        mean, stretch, radius = (known[name] for name in (MEAN, SPREAD, RADIUS))
        squares = each(_stretched_squares, x, mean, mean, stretch, None, formats, clip)
        return each(_stretched, x, passed, squares, mean, stretch, radius, formats), dict(known)
    rows, cols, data = plan.layout.rows, plan.layout.features, formats.data
    (summed,) = sums(*added(each(_sum_of_rows, x, passed, data)))
    summed = with_bits(summed, formats.grid) + noise.of(MEAN)
    first = tighten(noisy.divided(summed, rows, data), clip.mean)
    squares = each(_squared_distances, x, lengths, first, passed, formats, clip)
    inverse = each(_inverse_lengths, x, squares, formats, clip)
    radius = _radius(total(each(_sum_of_lengths, x, squares, inverse, passed, clip)), plan, noise)
    inverse = each(_first_factors, x, inverse, radius, passed, formats)

    (summed,) = sums(*added(each(_sum_of_clipped, x, first, inverse, formats, clip)))
    shift = tighten(noisy.divided(summed + noise.of(SHIFT), rows, data), (clip.moved - clip.mean) / LONGEST)
    foreseen = each(_foreseen, x, first, formats, clip)
    spread = with_bits(total(each(_spread, x, passed, first, inverse, foreseen, formats, clip)), formats.grid)
    variances = noisy.divided(spread + noise.of(SPREAD), rows, data) - shift.multiply(shift, data)
    mean = tighten(first + shift.multiply(repeated(radius, cols), data), clip.moved)
    stretch = _stretch(variances, formats, clip)
    opened = {MEAN: mean, SPREAD: stretch, RADIUS: radius}
    squares = each(_stretched_squares, x, first, mean, stretch, foreseen, formats, clip)
    return each(_stretched, x, passed, squares, mean, stretch, radius, formats), opened


def _sum_of_rows(x: SecretArray, passed: SecretArray, bits: int) -> list[Sum]:
    return [Sum([matrix(x.T, passed)], bits, proven_bound=len(x))]


def _sum_of_clipped(
    x: SecretArray, mean: SecretArray, inverse: SecretArray, formats: DescentFormats, clip: ClipFormats
) -> list[Sum]:
    """The sum of (x - m0) times its factor, truncated to the grid."""
    aside = -mean.multiply(repeated(inverse.sum(), x.shape[1]), formats.data + formats.scaled)
    return [Sum([matrix(x.T, inverse)], formats.grid, plus=aside, proven_bound=len(x) * clip.first_reach)]


def _foreseen(x: SecretArray, mean: SecretArray, formats: DescentFormats, clip: ClipFormats) -> ForeseenSquares | None:
    return ForeseenSquares(x, mean) if _pays(x) and _has_room(formats, clip) else None


def _squared_distances(
    x: SecretArray,
    lengths: SecretArray | None,
    mean: SecretArray,
    passed: SecretArray,
    formats: DescentFormats,
    clip: ClipFormats,
) -> SecretArray:
    """||x - mean||^2 for every row that passed, exactly, and 0 for the others."""
    exact = 2 * formats.data
    squares = squared_lengths(x, lengths, Fraction(1))
    along = x.matmul(mean, exact, proven_bound=clip.mean)
    square = mean.inner(mean, exact, proven_bound=clip.mean**2)
    return tighten(squares - along * 2 + repeated(square, len(x)), (1 + clip.mean) ** 2) * passed


def _inverse_lengths(x: SecretArray, squares: SecretArray, formats: DescentFormats, clip: ClipFormats) -> SecretArray:
    return inverse_roots(squares, None, SHORTEST, formats.of(clip.first_bits), x.size)


def _sum_of_lengths(
    x: SecretArray, squares: SecretArray, inverse: SecretArray, passed: SecretArray, clip: ClipFormats
) -> SecretArray:
    """The sum of clamped lengths. A record that failed counts as the shortest.

    inverse: 1 / max(length, SHORTEST) for every row; times the square it is the length, where that is not too short.
    """
    longest = largest_length(clip)

    def of(square: SecretArray, inverse: SecretArray) -> SecretArray:
        return clamp(square.multiply(inverse, RADIUS_BITS, proven_bound=longest), SHORTEST, LONGEST)

    lengths = in_batches(of, [squares, inverse], _HELD_BY_CLAMP, x.size)
    return (passed * (lengths - SHORTEST)).sum() + SHORTEST * len(squares)


def _radius(counted: SecretArray, plan: DescentPlan, noise: noisy.Noise) -> SecretArray:
    """The noisy mean of clamped lengths, from their sum, itself clamped; one element."""
    noisy_sum = counted.reshape(1).widen(plan.grid_of(RADIUS)) + noise.of(RADIUS)
    return clamp(noisy.divided(noisy_sum, plan.layout.rows, RADIUS_BITS), SHORTEST, LONGEST)


def _first_factors(
    x: SecretArray, inverse: SecretArray, radius: SecretArray, passed: SecretArray, formats: DescentFormats
) -> SecretArray:
    """1 / max(||x - m0||, r) for every row that passed: 1 / r where that is less than the inverse of the length."""
    square = radius.multiply(radius, 2 * RADIUS_BITS)
    largest = inverse_square_root(square, inverse.format.fraction_bits, SHORTEST**2)
    largest = largest.with_integer_limit(min(largest.integer_limit, inverse.integer_limit))

    def of(part: SecretArray) -> SecretArray:
        top = repeated(largest, len(part))
        return (part + less(top, part) * (top - part)).with_integer_limit(part.integer_limit)

    return with_bits(in_batches(of, [inverse], _HELD_BY_CLAMP, x.size), formats.scaled) * passed


def _spread(
    x: SecretArray,
    passed: SecretArray,
    mean: SecretArray,
    inverse: SecretArray,
    foreseen: ForeseenSquares | None,
    formats: DescentFormats,
    clip: ClipFormats,
) -> SecretArray:
    """The sum of w (x - m0)^2 over all rows, for every column, exactly; w is at most ``inverse``^2."""
    weights = inverse.multiply(inverse, SQUARE_BITS) - Fraction(1, 1 << SQUARE_BITS)
    weights = weights * passed
    bits = 2 * formats.data + SQUARE_BITS
    each = clip.first_reach**2

    def weighed(squares: SecretArray, a: int, b: int) -> SecretArray:
        if foreseen is not None:
            foreseen.take(squares)
        return squares.T.matmul(weights[a:b], bits, proven_bound=(b - a) * each)

    parts = _by_squares(x, mean, 1 + clip.mean, weighed)
    summed = parts[0]
    for part in parts[1:]:
        summed = summed + part
    return summed


def _stretch(variances: SecretArray, formats: DescentFormats, clip: ClipFormats) -> SecretArray:
    """1 / sqrt(q) for every column, q clamped to the floor and 1."""
    units = 1 << variances.format.fraction_bits
    floor = Fraction(-(-clip.variance_floor.numerator * units // clip.variance_floor.denominator), units)
    clamped = clamp(variances, floor, Fraction(1))
    return tighten(inverse_square_root(clamped, clip.first_bits).truncate(STRETCH_BITS), clip.stretch)


def _about_first(clip: ClipFormats) -> tuple[Fraction, Fraction]:
    """Bounds of t^2 (x - m0)^2, summed over a row, and of the sum of t^2 (m - m0) (m + m0)."""
    return (clip.stretch * (1 + clip.mean)) ** 2, (clip.stretch * (clip.mean + clip.moved)) ** 2


def _batches_of_squares(x: SecretArray) -> int:
    return batch_count(x, len(x), _HELD_A_VALUE * x.shape[1], x.size)


def _pays(x: SecretArray) -> bool:
    """Whether foreseen squares save rounds too, and not bytes alone."""
    return _batches_of_squares(x) >= _FEWEST_BATCHES


def _has_room(formats: DescentFormats, clip: ClipFormats) -> bool:
    """Whether both of ``_about_first`` fit the ring together."""
    fine = formats.of(2 * (formats.data + STRETCH_BITS))
    return sum(map(fine.limit, _about_first(clip))) <= fine.capacity


def _stretched_squares(
    x: SecretArray,
    first: SecretArray,
    mean: SecretArray,
    stretch: SecretArray,
    foreseen: ForeseenSquares | None,
    formats: DescentFormats,
    clip: ClipFormats,
) -> SecretArray:
    """||t (x - m)||^2 for every row, exactly.

    With d = m - m0, where the squares about m0 were foreseen: t^2 (x - m0)^2 - 2 t^2 d x + t^2 d (m + m0), summed.
    """
    fine, largest = formats.data + STRETCH_BITS, formats.longest**2
    squared = stretch.multiply(stretch, 2 * STRETCH_BITS)
    if foreseen is None or not foreseen.possible:
        parts = _by_squares(
            x, mean, clip.distance, lambda squares, a, b: squares.matmul(squared, 2 * fine, proven_bound=largest)
        )
        return concatenate(parts)
    of_rows, of_means = _about_first(clip)
    moved = squared.multiply(mean - first, formats.data + 2 * STRETCH_BITS)
    common = moved.inner(mean + first, 2 * fine, proven_bound=of_means)
    about = foreseen.weighed(squared, of_rows) + repeated(common, len(x))
    return x.matmul(moved * -2, 2 * fine, plus=about, proven_bound=largest)


def _stretched(
    x: SecretArray,
    passed: SecretArray,
    squares: SecretArray,
    mean: SecretArray,
    stretch: SecretArray,
    radius: SecretArray,
    formats: DescentFormats,
) -> Rows:
    """The rows t (x - m) - c, with their offsets c and inverse lengths. squares: ||t (x - m)||^2."""
    rows, cols, data = *x.shape, formats.data
    fine = data + STRETCH_BITS
    largest = formats.longest**2
    along = -repeated(mean.inner(stretch, fine), rows)
    widest = root_up(Fraction(cols), ROOT_BITS) * formats.longest
    sums = x.matmul(stretch, fine, plus=along, proven_bound=widest)
    part = OWN_MEAN / cols
    shift = log2_up(1 / part) + PART_BITS
    offset = (sums * round(part * (1 << shift))).ldexp(-shift).truncate(data)
    # ||t (x - m) - c||^2 = ||t (x - m)||^2 - c (2 sum t (x - m) - d c), exactly
    cross = offset.multiply(sums * 2 - offset.widen(fine) * cols, data + fine, proven_bound=largest)
    squares = tighten(squares - cross.widen(2 * fine), largest) * passed
    factor = RADIUS_SQUARED * cols
    least = radius.multiply(radius, 2 * RADIUS_BITS) * factor.numerator
    least = least.ldexp(-log2_up(Fraction(factor.denominator))).widen(2 * fine)
    shortest = SHORTEST / root_up(1 / factor, ROOT_BITS)
    scale = inverse_roots(squares, least, shortest, formats.of(formats.inverse_norm), x.size)
    bits = score_bits(formats, cols)
    coarse = with_bits(scale, bits.scale)
    score = Score(bits, coarse, coarse.multiply(offset, bits.scale))
    return Rows(x, formats, offset=offset, scale=scale, mean=mean, stretch=stretch, score=score)


def _by_squares(
    x: SecretArray,
    mean: SecretArray,
    distance: Fraction,
    use: Callable[[SecretArray, int, int], SecretArray],
) -> list[SecretArray]:
    """Return ``use`` of the squares (x - mean)^2 of a batch of rows, and of where it begins and ends, for all rows."""
    parts = []
    for start, end in even_parts(len(x), _batches_of_squares(x)):
        parts.append(use(x[start:end].squared_distances(mean, distance), start, end))
    return parts
