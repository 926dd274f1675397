"""Rows as the descent sees them, never formed: centred and scaled lazily, by one number or two for every row.

A row z is u (x - c) - v M: x as it was shared, c its offset, M the centre, u and v its factors. A clipped row is
u (t (x - m) - c) with the mean m and the stretch t of every column. A product with all rows costs one matrix product
and a few products of n numbers; so does a sum of them.

The steps see signed rows, s z with s = (2 label - 1) times the verdict of the check: s is part of the factors u and v.
A row that failed has u = v = 0: its margin is exactly 0, whatever it holds, and so is its part in every sum.
Where there are several classes a row has a sign for each of them, s_k = 1 for its own and -1 for the others, so that
factors and margins are tables with a column for each; and its factors in sums have a or -b in the place of s_k
(``formats``).

Who learns what: nobody anything. The level and the centre are noisy releases, yet stay secret until the one opening.
Rounds, with ``rep3``: those of the matrix product, with whatever is added to it, and 2 for that with the factors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.arithmetic import FixedPoint
from cofit.learn.batches import in_batches
from cofit.learn.losses.loss import STEP_BITS
from cofit.learn.recipes.descent.budget import CENTRED_FLOOR
from cofit.learn.recipes.descent.clip_formats import ScoreBits
from cofit.learn.recipes.descent.columns import along, beside, column_sums, pairs
from cofit.learn.recipes.descent.formats import MEAN_BITS, DescentFormats, inner_bits, log2_up
from cofit.learn.recipes.minimiser.norm import held_by_root
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.protocols import inverse_square_root, less
from cofit.protocols.roots import inverse_square_root_error
from cofit.protocols.working import tighten
from cofit.secret import SecretArray, concatenate
from cofit.secret.sums import Sum, by_element, by_pairs, matrix, sums

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
    0, 1, 0, 0, 0 and 1. ``signs``: s, once it is a part of the factors; ``targets``: what is taken from scores before
    they are clipped, None where nothing is. ``score``: of clipped rows. ``counts``: of several classes, s a or s b;
    ``summed_scale``, ``summed_tilt``: the factors of sums with it, or with the weights of records; None where they are
    u and v. ``summed_sign``: s times the weight of the record, None where all count alike."""

    x: SecretArray
    formats: DescentFormats
    offset: SecretArray | None = None
    scale: SecretArray | None = None
    tilt: SecretArray | None = None
    centre: SecretArray | None = None
    mean: SecretArray | None = None
    stretch: SecretArray | None = None
    signs: SecretArray | None = None
    targets: SecretArray | None = None
    score: Score | None = None
    counts: SecretArray | None = None
    summed_scale: SecretArray | None = None
    summed_tilt: SecretArray | None = None
    summed_sign: SecretArray | None = None

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

    def by_class(self, indicators: SecretArray, passed: SecretArray, importance: SecretArray | None = None) -> Rows:
        """Return the rows with a factor for every class. 1 round; none where there are no factors.

        indicators: 1 in the column of a row's class, 0 elsewhere, and 0 everywhere in a row that failed. importance:
        how much records count in sums, from 0 to 1 where the check was passed, and anything where it was not; None: all
        count alike. 3 rounds more with it; 2 where there are no factors.
        """
        formats, verdict = self.formats, passed.reshape(-1, 1)
        own, other = (int(part * (1 << STEP_BITS)) for part in (formats.factor, formats.others))
        signs = (indicators * 2 - verdict).with_integer_limit(1)
        counts = (indicators * (own + other) - verdict * other).with_integer_limit(own)
        done = replace(self, signs=signs, counts=counts.ldexp(-STEP_BITS))
        summed_scale, summed_tilt = self.scale, self.tilt
        if importance is not None:
            kept = tighten(importance * passed, Fraction(1))
            done = replace(done, counts=_counted(counts, kept))
            summed_scale, summed_tilt = (
                None if one is None else one.multiply(kept, one.format.fraction_bits) for one in (self.scale, self.tilt)
            )
        if self.scale is None or summed_scale is None:
            return replace(done, scale=signs, summed_scale=done.counts)
        factors = [self.scale, summed_scale]
        if self.score is not None:
            factors += [self.score.scale, self.score.offset]
        elif self.tilt is not None and summed_tilt is not None:
            factors += [self.tilt, summed_tilt]
        times = [signs, counts, signs, signs if self.score is not None else counts][: len(factors)]
        scale, summed, *others = _times_each(factors, times)
        done = replace(done, scale=scale, summed_scale=summed.ldexp(-STEP_BITS))
        if self.score is not None:
            return replace(done, score=replace(self.score, scale=others[0], offset=others[1]))
        if self.tilt is not None:
            return replace(done, tilt=others[0], summed_tilt=others[1].ldexp(-STEP_BITS))
        return done

    def weighted(self, importance: SecretArray) -> Rows:
        """Return signed rows that count as much as their records' weights say, which are from 0 to 1 where the check
        was passed, and anything where s is 0. Margins stay as they are. 3 rounds; 1 where there are no factors."""
        signs = tighten(self.sign * importance, Fraction(1))
        if self.scale is None or not self.scale.format.fraction_bits:
            return replace(self, summed_scale=signs, summed_sign=signs)
        counts = tighten(
            self.sign * signs, Fraction(1)
        )  # s s = 1, or 0 for a record that failed; u and v have s already
        scale = self.scale.multiply(counts, self.scale.format.fraction_bits)
        tilt = None if self.tilt is None else self.tilt.multiply(counts, self.tilt.format.fraction_bits)
        return replace(self, summed_scale=scale, summed_tilt=tilt, summed_sign=signs)

    @property
    def sum_sign(self) -> SecretArray:
        """s, times the weight of the record where it has one."""
        return self.sign if self.summed_sign is None else self.summed_sign

    @property
    def sign(self) -> SecretArray:
        """s, of signed rows."""
        if self.signs is None:
            raise ValueError("These rows are not signed.")
        return self.signs

    def margins(self, weights: SecretArray, plus: SecretArray | None) -> Sum:
        """Return <w, s z> + s plus for every row and column of w, one row after the other; ``plus``: a number for every
        column. ||w|| <= R and |plus| <= beta R.

        Off by less than a unit of ``argument``, for the product that is scaled. A sum of products in one truncation,
        which is still to be computed.
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
            wanted = [self.products(weights, bits, formats.carried_radius)]
            if self.tilt is not None and self.centre is not None:
                largest = formats.centre * formats.carried_radius
                wanted.append(Sum([along(-self.centre, weights)], bits, proven_bound=largest))
            products, *centre = sums(*wanted)
            left, right = [scale], [products]
            if self.tilt is not None:
                left.append(self.tilt)
                right += [repeated(one, len(self.x)) for one in centre]
        of_scale = scale.format.fraction_bits
        if plus is not None:
            added = with_bits(plus, min(of_scale + bits, plus.format.fraction_bits))
            more = of_scale + bits - added.format.fraction_bits
            left.append((signs * (1 << more)).ldexp(-of_scale))
            right.append(repeated(added.ldexp(added.format.fraction_bits - bits), len(self.x)))
        lefts, rights = ([value.reshape(-1) for value in side] for side in (left, right))
        return Sum([by_pairs(lefts, rights)], formats.argument, proven_bound=formats.argument_radius)

    def products(self, vector: SecretArray, bits: int, length: Fraction) -> Sum:
        """Return <x - c, vector> for every row that is not clipped, truncated to ``bits``; ||vector|| <= ``length``.
        For a matrix, its columns are the vectors."""
        largest = self.formats.longest * length
        terms = [matrix(self.x, vector)]
        if self.offset is not None:
            total = tighten(column_sums(vector), root_up(Fraction(len(vector)), ROOT_BITS) * length)
            terms.append(pairs(self.offset, -total))
        return Sum(terms, bits, proven_bound=largest)

    def _stretched_factors(self, score: Score, weights: SecretArray) -> tuple[list[SecretArray], list[SecretArray]]:
        """Return u and u c, and what they are multiplied by in a score: <t (x - m), w>, and less the sum of w.

        t w and the sum have the bits that a score takes them with: both by one product, where they must be truncated.
        """
        if self.stretch is None or self.mean is None:
            raise ValueError("These rows are not clipped.")
        formats, (_, bits, fine) = self.formats, score.bits
        root = root_up(Fraction(len(weights)), ROOT_BITS)
        total = tighten(column_sums(weights), root * formats.radius)
        if weights.format.fraction_bits <= fine:
            vector = beside(self.stretch, weights).multiply(weights, fine)
        else:
            one = self.stretch[:1] * 0 + 1
            together = concatenate([weights, total.reshape(1, *weights.shape[1:])])
            both = beside(concatenate([self.stretch, one]), weights).multiply(together, fine)
            vector, total = both[:-1], both[-1:].reshape(total.shape)
        largest = 2 * formats.longest * (formats.radius + root / (1 << fine))
        products = Sum([matrix(self.x, vector), along(-self.mean, vector)], bits, proven_bound=largest).value()
        return [score.scale, score.offset], [products, -repeated(with_bits(total, bits), len(self.x))]

    def weighted_sum(self, factors: SecretArray, bits: int, largest: Fraction) -> Sum:
        """Return the sum of z times its factor over all rows, truncated to ``bits``, still to be computed; one exact
        multiple of the grid data + scaled for every record before that.

        factors: at most 1, exact. largest: a bound of every entry of the sum.
        """
        formats, shape = self.formats, factors.shape
        scale, tilt = self.summed_scale, self.summed_tilt
        if scale is None:
            scale, tilt = self.scale, self.tilt
        if scale is None:
            raise ValueError("These rows are not signed.")
        tilted = None
        if tilt is None:
            scaled = scale.multiply(factors, formats.scaled)
        else:
            both = _columns([scale, tilt]).T.multiply(_columns([factors, factors]).T, formats.scaled)
            shift = tilt.format.fraction_bits + factors.format.fraction_bits - formats.scaled
            own = (tilt.integer_limit * factors.integer_limit >> shift) + 1  # not that of the other column
            scaled, last = both[0].reshape(shape), both[1].with_integer_limit(min(both[1].integer_limit, own))
            tilted = column_sums(last.reshape(shape))
        if self.stretch is not None and self.mean is not None and self.offset is not None:
            return self._stretched_sum(scaled, bits, largest)
        terms = [matrix(self.x.T, scaled)]
        if self.offset is not None:
            terms.append(along(-self.offset, scaled))
        if tilted is not None and self.centre is not None:
            terms.append(pairs(self.centre, -tilted))
        return Sum(terms, bits, proven_bound=largest)

    def _stretched_sum(self, scaled: SecretArray, bits: int, largest: Fraction) -> Sum:
        """Return the sum of (t (x - m) - c) times ``scaled``, exact before its truncation to ``bits``."""
        x, mean, stretch, offset = self.x, self.mean, self.stretch, self.offset
        if mean is None or stretch is None or offset is None:
            raise ValueError("These rows are not clipped.")
        exact = self.formats.data + self.formats.scaled
        aside = pairs(mean, -column_sums(scaled))
        # t (x - m) is at most about twice as long as t (x - m) - c, which times its factor is hardly longer than 1;
        # sqrt(d) |c| is no longer than that; and t is at least 1/2
        total, common = sums(
            Sum([matrix(x.T, scaled), aside], exact, proven_bound=6 * len(x)),
            Sum([along(-offset, scaled)], exact, proven_bound=2 * len(x)),
        )
        common = repeated(common, x.shape[1]).widen(exact + stretch.format.fraction_bits)
        return Sum([by_element(beside(stretch, total), total)], bits, plus=common, proven_bound=largest)


def _counted(counts: SecretArray, kept: SecretArray) -> SecretArray:
    """Return what records count in every column (multiples of 2^-STEP_BITS), times their weights; exact."""
    bits = kept.format.fraction_bits
    products = counts * kept.ldexp(bits).reshape(-1, 1)
    return products.with_integer_limit(counts.integer_limit << bits).ldexp(-STEP_BITS - bits)


def _times_sign(factors: list[SecretArray], signs: SecretArray) -> list[SecretArray]:
    """Return each of some factors times s, by one product of integers; each keeps its own limit and format."""
    integers = [factor.ldexp(factor.format.fraction_bits).reshape(1, -1) for factor in factors]
    products = concatenate(integers) * signs
    return [
        products[i].with_integer_limit(factor.integer_limit).ldexp(-factor.format.fraction_bits)
        for i, factor in enumerate(factors)
    ]


def _times_each(factors: list[SecretArray], tables: list[SecretArray]) -> list[SecretArray]:
    """Return each of some factors, one a row, times the rows of its own table of integers, by one product."""
    left = concatenate([factor.ldexp(factor.format.fraction_bits).reshape(1, -1, 1) for factor in factors])
    right = concatenate([table.reshape(1, *table.shape) for table in tables])
    products = left * right
    return [
        products[i].with_integer_limit(factor.integer_limit * table.integer_limit).ldexp(-factor.format.fraction_bits)
        for i, (factor, table) in enumerate(zip(factors, tables, strict=True))
    ]


def _columns(values: list[SecretArray]) -> SecretArray:
    """Return vectors of one length as the columns of a table, each in one piece of memory."""
    return concatenate([value.reshape(1, -1) for value in values]).T


def means(x: SecretArray) -> SecretArray:
    """Return the mean of every row with MEAN_BITS fractional bits, from the row alone. 2 rounds."""
    cols = x.shape[1]
    bits = log2_up(Fraction(cols)) + _CONSTANT_BITS
    return (x.sum(axis=1) * round(Fraction(1 << bits, cols))).ldexp(-bits).truncate(MEAN_BITS)


def scaled_rows(
    x: SecretArray, offset: SecretArray, passed: SecretArray, plan: DescentPlan, squares: SecretArray | None
) -> Rows:
    """Return rows less their offset (MEAN_BITS fractional bits), of length at most 1; passed: see ``inverse_roots``."""
    c, scale = inverse_lengths(x, offset, passed, plan, plan.formats.longest, squares)
    return Rows(x, plan.formats, offset=c, scale=scale)


def squared_lengths(x: SecretArray, known: SecretArray | None, proven_bound: Fraction) -> SecretArray:
    """Return ||x||^2 for every row, exactly; ``known``: the same, as integers, where the check has computed it."""
    exact = 2 * x.format.fraction_bits
    if known is None:
        return x.inner(x, exact, proven_bound=proven_bound)
    return tighten(known.ldexp(-exact), proven_bound)


def unit_rows(x: SecretArray, passed: SecretArray, plan: DescentPlan) -> Rows:
    """Return rows as they are, of length at most 1; passed: see ``inverse_roots``."""
    formats, floor = plan.formats, plan.layout.floor or Fraction(1)
    squares = squared_lengths(x, None, formats.longest**2) * passed
    return Rows(x, formats, scale=inverse_roots(squares, None, floor, formats.of(formats.inverse_norm), x.size))


def inverse_lengths(
    x: SecretArray,
    offset: SecretArray,
    passed: SecretArray,
    plan: DescentPlan,
    longest: Fraction,
    squares: SecretArray | None = None,
) -> tuple[SecretArray, SecretArray]:
    """Return the offset c with the bits of the rows, and 1 / max(||x - c||, floor); longest: a bound of ||x - c||.
    squares: as in ``squared_lengths``."""
    formats, floor = plan.formats, plan.layout.floor or Fraction(1)
    c = tighten(with_bits(offset, formats.data), plan.layout.width - 1 + Fraction(4, 1 << formats.data))
    exact = 2 * formats.data
    largest = longest**2
    squares = squared_lengths(x, squares, largest)
    sums = x.sum(axis=1)
    # ||x - c||^2 = ||x||^2 - c (2 sum x - d c), exactly
    cross = c.multiply(sums * 2 - c * x.shape[1], exact)
    lengths = tighten(squares - cross, largest)
    return c, inverse_roots(lengths * passed, None, floor, formats.of(formats.inverse_norm), x.size)


def centred_rows(rows: Rows, centre: SecretArray, passed: SecretArray, plan: DescentPlan) -> Rows:
    """Return rows less the centre (``data`` fractional bits), scaled again to a length of at most 1."""
    formats = plan.formats
    bits = inner_bits(formats)
    largest = (1 + formats.eta) * formats.centre + 1
    if rows.scale is None:
        along = rows.x.matmul(centre, bits, proven_bound=largest)
    else:
        products = rows.products(centre, bits, formats.centre).value()
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
    return in_batches(of, [squares], held_by_root(positions, weighed=squares.weighs_bits), data)


def with_bits(value: SecretArray, bits: int) -> SecretArray:
    """Return the value with so many fractional bits: widened, or truncated."""
    return value.widen(bits) if bits >= value.format.fraction_bits else value.truncate(bits)


def repeated(value: SecretArray, count: int) -> SecretArray:
    """Return one secret number ``count`` times, without a copy."""
    return value.repeated(count)
