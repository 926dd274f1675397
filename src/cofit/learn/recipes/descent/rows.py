"""Rows as the descent sees them, never formed: centred and scaled lazily, by one number or two for every row.

A row z is u (x - c) - v M: x as it was shared, c its offset, M the centre, u and v its factors. A clipped row is
u (t (x - m) - c) with the mean m and the stretch t of every column. A product with all rows costs one matrix product
and a few products of n numbers; so does a sum of them.

The steps see signed rows, s z with s = (2 label - 1) times the verdict of the check: s is part of the factors u and v.
A row that failed has u = v = 0: its margin is exactly 0, whatever it holds, and so is its part in every sum.

Who learns what: nobody anything. The level and the centre are noisy releases, yet stay secret until the one opening.
Rounds, with ``rep3``: those of the matrix product, and 2 for that with the factors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.arithmetic import FixedPoint
from cofit.learn.batches import in_batches
from cofit.learn.recipes.descent.budget import CENTRED_FLOOR
from cofit.learn.recipes.descent.clip_formats import ScoreBits
from cofit.learn.recipes.descent.formats import MEAN_BITS, DescentFormats, inner_bits, log2_up
from cofit.learn.recipes.minimiser.norm import held_by_root
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.protocols import inverse_square_root, less
from cofit.protocols.roots import inverse_square_root_error
from cofit.protocols.working import tighten
from cofit.secret import SecretArray, concatenate

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_CONSTANT_BITS = 16


@dataclass(frozen=True)
class Score:
    """What scores of clipped rows take: their factor u with fewer bits, and u c, so that an offset costs a score no
    product of its own; with the bits of all (``score_bits``)."""

    bits: ScoreBits
    scale: SecretArray
    offset: SecretArray


@dataclass(frozen=True)
class Rows:
    """All rows. ``offset``, ``scale`` (u), ``tilt`` (v), ``centre``, ``mean`` and ``stretch`` are None where they are
    0, 1, 0, 0, 0 and 1. ``signs``: s, once it is a part of the factors. ``score``: of clipped rows."""

    x: SecretArray
    formats: DescentFormats
    offset: SecretArray | None = None
    scale: SecretArray | None = None
    tilt: SecretArray | None = None
    centre: SecretArray | None = None
    mean: SecretArray | None = None
    stretch: SecretArray | None = None
    signs: SecretArray | None = None
    score: Score | None = None

    def signed(self, signs: SecretArray) -> Rows:
        """Return the rows times s, for integers s of -1, 0 and 1. 1 round; none where there are no factors."""
        if self.scale is None:
            return replace(self, scale=signs, signs=signs)
        if self.score is not None:
            scale, coarse, offset = _times_sign([self.scale, self.score.scale, self.score.offset], signs)
            return replace(self, scale=scale, score=replace(self.score, scale=coarse, offset=offset), signs=signs)
        if self.tilt is None:
            return replace(self, scale=_times_sign([self.scale], signs)[0], signs=signs)
        scale, tilt = _times_sign([self.scale, self.tilt], signs)
        return replace(self, scale=scale, tilt=tilt, signs=signs)

    @property
    def sign(self) -> SecretArray:
        """s, of signed rows."""
        if self.signs is None:
            raise ValueError("These rows are not signed.")
        return self.signs

    def margins(self, weights: SecretArray, plus: SecretArray | None) -> SecretArray:
        """Return <w, s z> + s plus for every row; ``plus``: one secret number. ||w|| <= R and |plus| <= beta R.

        Off by less than a unit of ``argument``, for the product that is scaled. A sum of products in one truncation.
        """
        formats, scale, signs = self.formats, self.scale, self.sign
        if scale is None:
            raise ValueError("Signed rows have factors.")
        if self.score is not None:
            bits, scale = self.score.bits.product, self.score.scale
            left, right = self._stretched_factors(self.score, weights)
        else:
            if formats.carried < formats.weights:
                weights = weights.truncate(formats.carried)
            bits = formats.product if scale.format.fraction_bits else formats.data + formats.carried
            left, right = [scale], [self.products(weights, bits, formats.carried_radius)]
        of_scale = scale.format.fraction_bits
        if plus is not None:
            added = with_bits(plus, min(of_scale + bits, plus.format.fraction_bits))
            more = of_scale + bits - added.format.fraction_bits
            left.append((signs * (1 << more)).ldexp(-of_scale))
            right.append(repeated(added.ldexp(added.format.fraction_bits - bits), len(self.x)))
        if self.tilt is not None and self.centre is not None:
            along = self.centre.inner(weights, bits, proven_bound=formats.centre * formats.carried_radius)
            left.append(self.tilt)
            right.append(repeated(-along, len(self.x)))
        kept = min(of_scale + bits, formats.argument)
        return _columns(left).inner(_columns(right), kept, proven_bound=formats.argument_radius).widen(formats.argument)

    def products(self, vector: SecretArray, bits: int, length: Fraction) -> SecretArray:
        """Return <x - c, vector> for every row that is not clipped, truncated to ``bits``; ||vector|| <= ``length``."""
        largest = self.formats.longest * length
        plus = None
        if self.offset is not None:
            total = tighten(vector.sum().reshape(1), root_up(Fraction(len(vector)), ROOT_BITS) * length)
            exact = self.offset.format.fraction_bits + total.format.fraction_bits
            plus = -self.offset.multiply(repeated(total, len(self.x)), exact, proven_bound=largest)
        return self.x.matmul(vector, bits, plus=plus, proven_bound=largest)

    def _stretched_factors(self, score: Score, weights: SecretArray) -> tuple[list[SecretArray], list[SecretArray]]:
        """Return u and u c, and what they are multiplied by in a score: <t (x - m), w>, and less the sum of w.

        t w and the sum have the bits that a score takes them with: both by one product, where they must be truncated.
        """
        if self.stretch is None or self.mean is None:
            raise ValueError("These rows are not clipped.")
        formats, (_, bits, fine) = self.formats, score.bits
        root = root_up(Fraction(len(weights)), ROOT_BITS)
        total = tighten(weights.sum().reshape(1), root * formats.radius)
        if weights.format.fraction_bits <= fine:
            vector = self.stretch.multiply(weights, fine)
        else:
            one = self.stretch[:1] * 0 + 1
            both = concatenate([self.stretch, one]).multiply(concatenate([weights, total]), fine)
            vector, total = both[:-1], both[-1:]
        largest = 2 * formats.longest * (formats.radius + root / (1 << fine))
        exact = self.mean.format.fraction_bits + fine
        along = -repeated(self.mean.inner(vector, exact, proven_bound=largest), len(self.x))
        products = self.x.matmul(vector, bits, plus=along, proven_bound=largest)
        return [score.scale, score.offset], [products, -repeated(with_bits(total, bits), len(self.x))]

    def weighted_sum(self, factors: SecretArray, bits: int, largest: Fraction) -> SecretArray:
        """Return the sum of z times its factor over all rows, truncated to ``bits``; one exact multiple of the grid
        data + scaled for every record before that.

        factors: at most 1, exact. largest: a bound of every entry of the sum.
        """
        formats = self.formats
        if self.scale is None:
            raise ValueError("These rows are not signed.")
        tilted = None
        if self.tilt is None:
            scaled = self.scale.multiply(factors, formats.scaled)
        else:
            both = _columns([self.scale, self.tilt]).T.multiply(_columns([factors, factors]).T, formats.scaled)
            shift = self.tilt.format.fraction_bits + factors.format.fraction_bits - formats.scaled
            own = (self.tilt.integer_limit * factors.integer_limit >> shift) + 1  # not that of the other column
            scaled, tilted = both[0], both[1].with_integer_limit(min(both[1].integer_limit, own)).sum()
        exact = formats.data + formats.scaled
        if self.stretch is not None and self.mean is not None and self.offset is not None:
            return self._stretched_sum(scaled, bits, largest)
        plus = None
        if self.offset is not None:
            plus = -repeated(self.offset.inner(scaled, exact), self.x.shape[1])
        if tilted is not None and self.centre is not None:
            along = self.centre.multiply(repeated(tilted, self.x.shape[1]), exact)
            plus = -along if plus is None else plus - along
        return self.x.T.matmul(scaled, bits, plus=plus, proven_bound=largest)

    def _stretched_sum(self, scaled: SecretArray, bits: int, largest: Fraction) -> SecretArray:
        """Return the sum of (t (x - m) - c) times ``scaled``, exact before its truncation to ``bits``."""
        x, mean, stretch, offset = self.x, self.mean, self.stretch, self.offset
        if mean is None or stretch is None or offset is None:
            raise ValueError("These rows are not clipped.")
        exact = self.formats.data + self.formats.scaled
        aside = -mean.multiply(repeated(scaled.sum(), x.shape[1]), exact)
        # t (x - m) is at most about twice as long as t (x - m) - c, which times its factor is hardly longer than 1;
        # sqrt(d) |c| is no longer than that; and t is at least 1/2
        total = x.T.matmul(scaled, exact, plus=aside, proven_bound=6 * len(x))
        common = -repeated(offset.inner(scaled, exact, proven_bound=2 * len(x)), x.shape[1])
        common = common.widen(exact + stretch.format.fraction_bits)
        return stretch.multiply(total, bits, plus=common, proven_bound=largest)


def _times_sign(factors: list[SecretArray], signs: SecretArray) -> list[SecretArray]:
    """Return each of some factors times s, by one product of integers; each keeps its own limit and format."""
    integers = [factor.ldexp(factor.format.fraction_bits).reshape(1, -1) for factor in factors]
    products = concatenate(integers) * signs
    return [
        products[i].with_integer_limit(factor.integer_limit).ldexp(-factor.format.fraction_bits)
        for i, factor in enumerate(factors)
    ]


def _columns(values: list[SecretArray]) -> SecretArray:
    """Return vectors of one length as the columns of a table, each in one piece of memory."""
    return concatenate([value.reshape(1, -1) for value in values]).T


def means(x: SecretArray) -> SecretArray:
    """Return the mean of every row with MEAN_BITS fractional bits, from the row alone. 2 rounds."""
    cols = x.shape[1]
    bits = log2_up(Fraction(cols)) + _CONSTANT_BITS
    return (x.sum(axis=1) * round(Fraction(1 << bits, cols))).ldexp(-bits).truncate(MEAN_BITS)


def scaled_rows(x: SecretArray, offset: SecretArray, passed: SecretArray, plan: DescentPlan) -> Rows:
    """Return rows less their offset (MEAN_BITS fractional bits), of length at most 1; passed: see ``inverse_roots``."""
    formats, floor = plan.formats, plan.layout.floor or Fraction(1)
    c = tighten(with_bits(offset, formats.data), plan.layout.width - 1 + Fraction(4, 1 << formats.data))
    exact = 2 * formats.data
    largest = formats.longest**2
    squares = x.inner(x, exact, proven_bound=largest)
    sums = x.sum(axis=1)
    # ||x - c||^2 = ||x||^2 - c (2 sum x - d c), exactly
    cross = c.multiply(sums * 2 - c * x.shape[1], exact)
    lengths = tighten(squares - cross, largest)
    scale = inverse_roots(lengths * passed, None, floor, formats.of(formats.inverse_norm), x.size)
    return Rows(x, formats, offset=c, scale=scale)


def centred_rows(rows: Rows, centre: SecretArray, passed: SecretArray, plan: DescentPlan) -> Rows:
    """Return rows less the centre (``data`` fractional bits), scaled again to a length of at most 1."""
    formats = plan.formats
    bits = inner_bits(formats)
    largest = (1 + formats.eta) * formats.centre + 1
    if rows.scale is None:
        along = rows.x.matmul(centre, bits, proven_bound=largest)
    else:
        products = rows.products(centre, bits, formats.centre)
        along = rows.scale.multiply(products, bits, proven_bound=largest)
    square = centre.inner(centre, bits, proven_bound=formats.centre**2)
    apart = repeated(square, len(along)) - along * 2 + 1
    tilt = inverse_roots(apart * passed, None, CENTRED_FLOOR, formats.of(formats.inverse_norm), rows.x.size)
    scale = tilt
    if rows.scale is not None:
        scale = rows.scale.multiply(tilt, formats.inverse_norm)
    return replace(rows, scale=scale, tilt=tilt, centre=centre)


def inverse_roots(
    squares: SecretArray, least: SecretArray | None, floor: Fraction, format: FixedPoint, data: int
) -> SecretArray:
    """Return 1 / sqrt(max(s, least)) for every s, in ``format``; ``data``: how many elements are held anyway.

    least: one secret element in the format of the squares, at least floor^2; None: floor^2, rounded up.
    The squares have a proven range: the verdicts of the check are multiplied in, so those of rows that failed are 0.
    """
    limit = format.limit(1 / floor + inverse_square_root_error(format))
    units = 1 << squares.format.fraction_bits
    lowest = Fraction(math.ceil(floor**2 * units), units)

    def of(part: SecretArray) -> SecretArray:
        bottom = lowest if least is None else repeated(least, len(part))
        raised = part + less(part, bottom) * (-part + bottom)
        inverse = inverse_square_root(tighten(raised, raised_limit), format.fraction_bits, lowest)
        return inverse.with_integer_limit(min(inverse.integer_limit, limit))

    raised_limit = Fraction(squares.integer_limit, units)
    if least is not None:
        raised_limit = max(raised_limit, Fraction(least.integer_limit, units))
    positions = log2_up(raised_limit / lowest) + 1
    return in_batches(of, [squares], held_by_root(positions), data)


def with_bits(value: SecretArray, bits: int) -> SecretArray:
    """Return the value with so many fractional bits: widened, or truncated."""
    return value.widen(bits) if bits >= value.format.fraction_bits else value.truncate(bits)


def repeated(value: SecretArray, count: int) -> SecretArray:
    """Return one secret number ``count`` times, without a copy."""
    return value.repeated(count)
