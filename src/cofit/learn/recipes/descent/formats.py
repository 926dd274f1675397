"""Fixed-point formats of noisy descent, with proven ranges and the proven length of one record's contribution.

One step computes, on secrets (c: the row's offset, u and v: factors of the row, M: the centre; none of them where the
owners have scaled the rows and nothing is centred):

    t = X w - c S                  w, and S, the sum of the weights, with ``carried`` bits; truncated to ``product``,
                                   where the rows have factors
    z = u t - v <M, w> + s beta b  truncated to ``argument``; u and v have the sign s = +-1 of the label in them, so
                                   that z is the margin; s = 0 for a record that failed the check: then z = 0
    e = a r(z)                     r(z) = clip(edge - slope z, 0, 1), as the loss says; exact, by two comparisons of as
                                   many bits as the range of z takes, or by one clip of z as it is truncated (``rep3``);
                                   0 <= e <= a
    G = (X^T p - <c, p> - (sum q) M, beta sum s e)    p = u e, q = v e, each truncated to ``scaled``; G to ``grid``
    w = w + 2^-m (G + noise)       noise on the grid; exact

**One record's part in G** before the truncation is p (x - c) - q M, an exact multiple of 2^-(data + scaled), beside
beta s e. Its Euclidean length is at most ``reach``: x - c, u and v are such that ||u (x - c) - v M|| <= 1 + eta, and p
and q are within 2^-scaled of u e and v e. Where nothing is centred v and M are absent. Where nothing is scaled u is s,
and p is within 2^-scaled of s e, at most a + 2^-scaled. G is truncated as a whole: within one unit of the grid a
coordinate, always.

**Several classes**: w is a matrix, with a column for each of K classes, and so are t, z, p, q and G. In the column of
its own class a record has s = 1 and counts with a; in every other s = -1 and it counts with b = a / sqrt(K - 1),
rounded down: e = a r(z), or b r(z). a and b are multiples of 2^-12, in the factors that the parties multiply r by: as
many bits as above. All of a record's e together have the length sqrt(a^2 + (K - 1) b^2) <= sqrt(2) a, and p and q are K
times within 2^-scaled. ``reach`` is the Frobenius length of a record's part in G.

**A margin is only compared, and clipped**: the clip is exact for the margin as it was truncated, whatever its error, so
the bound of e does not depend on ``argument``. MARGIN_BITS is what utility needs: a residual off by 2^-12.

**eta.** Owners scale: rows are rounded towards zero, so ||x|| <= 1 and eta only covers floating point. Parties scale:
D = ||x - c||^2 is exact, and u is within err, the error of ``inverse_square_root``, of 1 / sqrt(max(D, rho^2)), so
eta = N err, N >= ||x - c||. Centred: with z = u' (x - c), ||z|| <= 1 + eta', the parties take
s = 1 + ||M||^2 - 2 <z, M>, as computed at least ||z - M||^2 - e_s. Dividing by the root of max(s, 1/16) leaves a length
of at most 1 + 8 e_s, plus ||z - M|| err for that root, plus N 2^-inverse_norm for the product u of both factors.

**Ranges** are those of ``ranges.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, IntegerRing, reals
from cofit.learn.exact import ADDED
from cofit.learn.losses.clipped_margin import ClippedMargin
from cofit.learn.losses.clipped_residual import HALF_MARGIN, ClippedResidual
from cofit.learn.losses.loss import STEP_BITS
from cofit.learn.recipes.descent.budget import CENTRED_FLOOR
from cofit.learn.recipes.descent.clip import ClipFormats
from cofit.learn.recipes.descent.public_map import LARGEST_MATRIX, MAP_FLOOR, MapFormats
from cofit.learn.ring_choice import SmallRingError
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.protocols.roots import inverse_square_root_error
from cofit.protocols.working import GUARD_BITS, working_bits

Reals = npt.NDArray[np.float64]
FLOAT_SLACK = Fraction(1, 1 << 30)
MARGIN_BITS = 12
MEAN_BITS = 15
"""The grid of the level, and the fractional bits of the mean of a row."""
_BITS = 16
_FINE = 10  # what rounding adds to a sensitivity is about 2^-10 of it


@dataclass(frozen=True)
class Layout:
    """The public shape of the data: rows, features, whether there is an intercept, and how rows are scaled.

    floor: rho where the parties scale rows to length 1, else None. width: the largest magnitude of a value less its
    row's offset, where the parties scale. norm: 'l2', or 'l1' where rows have a sum of absolute values of at most 1.
    clipped: rows are not scaled to length 1, but clipped at a private radius. outputs: K, columns of weights. inputs:
    how many columns the parties map to the features, by a public reference; None: they map nothing. own_mean: whether
    half of its own mean is subtracted from a row (with a level, 3/8).
    """

    rows: int
    features: int
    intercept: bool
    norm: str
    floor: Fraction | None
    width: Fraction
    clipped: bool = False
    outputs: int = field(default=1, metadata=ADDED)
    inputs: int | None = field(default=None, metadata=ADDED)
    own_mean: bool = field(default=True, metadata=ADDED)

    @property
    def shared(self) -> int:
        """How many columns the owners share."""
        return self.features if self.inputs is None else self.inputs

    @property
    def cols(self) -> int:
        """How many weights there are for an output, with the intercept."""
        return self.features + int(self.intercept)

    @property
    def weights(self) -> int:
        """How many weights there are in all."""
        return self.cols * self.outputs

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weights: a vector, or a matrix with a column for every class."""
        return (self.cols,) if self.outputs == 1 else (self.cols, self.outputs)


@dataclass(frozen=True)
class DescentFormats:
    """The fractional bits of every quantity, all in one ring, and what they prove.

    factor, exponent: kappa = factor 2^-exponent. constant: beta. longest: N. eta: how much longer than 1 a row may
    be in effect. radius: R. centre: a bound of ||M||, 0 without one. offset_exponent, offset_radius: of the calibrated
    intercept, whose steps are 2^-offset_exponent times the noisy sum of residuals; 0 without one. clip: of rows that
    are clipped (``clip_formats.py``). carried: the fractional bits of the weights that rows are multiplied by,
    stretched first where rows are clipped; carried_error: how far these are off at most, for their truncation.
    residual: r, that of the loss. importance: the fractional bits of the weight of a record; 0 where all count alike.
    others: b, of several classes; 0 without. mapped: of rows that the parties map by a public reference. cells: k,
    where a noisy sum is rounded to multiples of 2^k steps of the grid (K-norm noise, ``pure``).
    """

    ring: IntegerRing
    data: int
    scaled: int
    grid: int
    factor: Fraction
    exponent: int
    constant: Fraction
    inverse_norm: int
    longest: Fraction
    eta: Fraction
    centre: Fraction = Fraction(0)
    radius: Fraction = Fraction(0)
    product: int = 0
    offset_exponent: int = 0
    offset_radius: Fraction = Fraction(0)
    clip: ClipFormats | None = None
    carried: int = 0
    carried_error: Fraction = Fraction(0)
    residual: ClippedResidual = field(default=HALF_MARGIN, metadata=ADDED)
    importance: int = field(default=0, metadata=ADDED)
    others: Fraction = field(default=Fraction(0), metadata=ADDED)
    mapped: MapFormats | None = field(default=None, metadata=ADDED)
    cells: int = field(default=0, metadata=ADDED)

    @property
    def centred_floor(self) -> Fraction:
        """A row less the centre that is shorter is divided by this."""
        return CENTRED_FLOOR if self.mapped is None else MAP_FLOOR

    @property
    def weights(self) -> int:
        """The fractional bits of the weights: those of the grid, times 2^-exponent."""
        return self.grid + self.exponent

    @property
    def carried_radius(self) -> Fraction:
        """No vector of weights that rows are multiplied by is longer: R, and the truncation to ``carried`` bits."""
        return self.radius + self.carried_error

    @property
    def evaluation(self) -> ClippedMargin:
        """How residuals are computed."""
        return ClippedMargin(self.ring, self.factor, self.scaled, MARGIN_BITS, self.residual)

    @property
    def argument(self) -> int:
        """The fractional bits of a margin."""
        return self.evaluation.argument_bits

    @property
    def argument_radius(self) -> Fraction:
        """No score is larger: (1 + eta) R for the row, beta R for the intercept, and roundings: of t, times u, at most
        1/16, and a few units."""
        return self.radius * (1 + self.eta + self.constant) + self.offset_radius + 1

    @property
    def largest_residual(self) -> Fraction:
        """|e| is at most this, truncated or not."""
        return self.factor + Fraction(1, 1 << self.scaled)

    @property
    def inverse_error(self) -> Fraction:
        """How far a computed inverse length may be off."""
        return inverse_square_root_error(self.of(self.inverse_norm))

    @property
    def rounded(self) -> None:
        """Owners round towards zero."""
        return

    def of(self, fraction_bits: int) -> FixedPoint:
        """Return the format with that many fractional bits."""
        return FixedPoint(fraction_bits, self.ring)


def base_formats(
    ring: IntegerRing,
    layout: Layout,
    pace: Fraction,
    constant: Fraction,
    finer: int = 0,
    residual: ClippedResidual = HALF_MARGIN,
) -> DescentFormats:
    """Return the formats before any centre is taken; ``pace``: kappa, ``constant``: beta, ``finer``: bits of the grid
    beyond those that rounding asks for, ``residual``: r."""
    factor, exponent = _factored(pace)
    root = root_up(Fraction(layout.shared + layout.intercept), ROOT_BITS)
    data = max(_BITS, _FINE + log2_up(root))
    if layout.floor is None:
        longest, scaled = Fraction(1), _BITS
    else:
        longest = root * (layout.width + Fraction(4, 1 << data))
        if layout.inputs is not None:
            longest = LARGEST_MATRIX * longest + root / (1 << data)
        scaled = max(_BITS, _FINE + log2_up(longest))
    joint = root_up(Fraction(layout.weights), ROOT_BITS)
    grid = _FINE + finer + (log2_up(Fraction(layout.weights)) if layout.norm == "l1" else log2_up(joint))
    grid = min(grid, data + scaled)
    least = layout.floor or Fraction(1)
    if layout.inputs is not None:
        least = min(least, MAP_FLOOR)
    inverse_norm = working_bits(ring) - max(4, 1 + log2_up(1 / least))
    if inverse_norm < 1:
        raise SmallRingError(
            f"{ring.bits} bits cannot hold the inverse of so small a norm_floor. Use a larger norm_floor.",
            f"{ring.name} cannot hold the inverse of so small a norm_floor; a larger one would fit",
        )
    beta = constant if layout.intercept else Fraction(0)
    formats = DescentFormats(
        ring, data, scaled, grid, factor, exponent, beta, inverse_norm, longest, FLOAT_SLACK, residual=residual
    )
    if layout.outputs > 1:
        formats = replace(formats, others=weight_of_others(factor, layout.outputs))
    if layout.floor is None:
        return formats
    return replace(formats, eta=FLOAT_SLACK + longest * formats.inverse_error)


def with_centre(formats: DescentFormats, layout: Layout, largest: Fraction) -> DescentFormats:
    """Return the formats for rows that are centred by M, ||M|| <= ``largest``."""
    distance = 1 + formats.eta + largest
    steep = 1 / (layout.floor or Fraction(1)) + formats.inverse_error
    of_square = (1 + formats.eta) ** 2 - 1 + (2 * steep + 8) / (1 << inner_bits(formats))
    eta = of_square / (2 * CENTRED_FLOOR**2) + distance * formats.inverse_error
    eta += formats.longest / (1 << formats.inverse_norm)
    return replace(formats, eta=FLOAT_SLACK + eta, centre=largest)


def inner_bits(formats: DescentFormats) -> int:
    """Return the fractional bits of <x - c, M>, and of the squared length of M: no more than products have."""
    return min(working_bits(formats.ring) - GUARD_BITS, 2 * formats.data)


def weight_of_others(factor: Fraction, classes: int) -> Fraction:
    """Return b: what a record counts in the column of a class that is not its own, a / sqrt(K - 1), rounded down."""
    return Fraction(math.isqrt(int((factor * (1 << STEP_BITS)) ** 2 / (classes - 1))), 1 << STEP_BITS)


def joint_residual(formats: DescentFormats, layout: Layout) -> Fraction:
    """Return the bound of the Euclidean length of all residuals of a record, one an output, truncated or not."""
    if layout.outputs == 1:
        return formats.largest_residual
    exact = root_up(formats.factor**2 + (layout.outputs - 1) * formats.others**2, ROOT_BITS)
    return exact + root_up(Fraction(layout.outputs), ROOT_BITS) / (1 << formats.scaled)


def truncated_factors(formats: DescentFormats, layout: Layout) -> Fraction:
    """Return what the truncations of p and q add to the length of a record's part in G; where records have weights,
    also those of u and v times the weight."""
    if layout.floor is None and not formats.centre and formats.clip is None:
        return Fraction(0)
    one = (formats.longest + formats.centre) / (1 << formats.scaled)
    if formats.importance:
        one += formats.largest_residual * (formats.longest + formats.centre) / (1 << formats.inverse_norm)
    return one if layout.outputs == 1 else one * root_up(Fraction(layout.outputs), ROOT_BITS)


def reach(formats: DescentFormats, layout: Layout) -> Fraction:
    """Return the bound of the length of one record's part in G, in the norm of the layout; beta e included."""
    residual = joint_residual(formats, layout)
    row = residual * (1 + formats.eta) + truncated_factors(formats, layout)
    constant = formats.constant * residual
    if layout.norm == "l1":
        return row + constant
    return root_up(row**2 + constant**2, ROOT_BITS)


def _factored(pace: Fraction) -> tuple[Fraction, int]:
    """Return (a, m) with a 2^-m close to the pace, a in [1/2, 1] with ``STEP_BITS`` bits."""
    exponent = -log2_up(pace)
    factor = Fraction(round(pace * Fraction(2) ** (exponent + STEP_BITS)), 1 << STEP_BITS)
    return factor, exponent


def log2_up(value: Fraction) -> int:
    """Return the smallest integer k with value <= 2^k, for a positive value."""
    least = reals.floor_log2(value)
    return least if value == Fraction(2) ** least else least + 1


def towards_zero(rows: Reals, bits: int) -> Reals:
    """Return rows of length at most 1 with so many fractional bits, so that none becomes longer than 1."""
    z = rows * (1 - float(FLOAT_SLACK))
    return np.asarray(np.ldexp(np.trunc(np.ldexp(z, bits)), -bits))
