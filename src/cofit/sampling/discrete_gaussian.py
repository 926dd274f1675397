"""Discrete Gaussian noise: P(X = x) proportional to exp(-x^2 / (2 sigma^2)), for every integer x.

sigma^2 <= 110: a table. |X| is at least m when one secret word u of B bits is below the public threshold
T_m = round(2^B P(|X| >= m)); the answers for m = 1 .. n are 1...10...0, so the binary digits of |X| are XORs of them:
digit j = XOR of the answers at the multiples of 2^j. A random sign s, XORed to the J digits, makes
X = (digits XOR s) - (2^J - 1) s.

sigma^2 > 110: a convolution, X = A_0 + c_1 (A_1 + c_2 (A_2 + ...)) with independent A_i from tables and public integers
c_i. The variances are rational numbers that add up to sigma^2 exactly, and every step is within 2^-(B+16) of the
discrete Gaussian of exactly the wanted sigma (``discrete_gaussian_proof.md``: completing the square and Poisson
summation). All tables are one circuit.

Domain: sigma > 0 rational, up to ``LARGEST_SIGMA`` = 2^40.
Distance: total variation at most the sum over the tables of (n_i + 1) 2^-B, plus 2^-(B+16) for each convolution, a draw
(``tv_distance``; the certificate adds it): at sigma = 2^20 and B = 64 below 2^-54.
Range: |X| <= sum of C_i n_i, C_i = c_1 ... c_i, always (the public bound of the result).
Who learns what: nobody anything.
Cost with ``rep3``: ceil(log2 B) + 2 rounds; at B = 64 at most 768 + 29 n ANDs a table (3 bits each; n is about
9.2 sigma_i, at most 97) and 3 (J_i + 1) elements a table, J_i = ceil(log2(n_i + 1)).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from cofit.arithmetic import Z64, PowerOfTwoRing, Shape
from cofit.errors import RangeError, parameter_error
from cofit.sampling.below import Comparison, below
from cofit.sampling.parameters import (
    PRECISION,
    TAIL_GUARD_BITS,
    check_count,
    check_positive,
    check_precision,
    check_shape,
    constants,
    nearest,
)
from cofit.sampling.weigh import weighted_sum
from cofit.secret import Party, SecretArray, SecretBits

LARGEST_TABLE_VARIANCE = Fraction(110)
"""Fewest bytes over sigma = 2^10 to 2^23 at B = 64: steps of 6. Large tables compare much, small ones are many."""
LARGEST_SIGMA = 1 << 40
_LARGEST_STEP = 16
_LN2_BY_2PI2_ABOVE = Fraction(3512, 100_000)  # ln 2 / (2 pi^2) = 0.035115...


@dataclass(frozen=True)
class Table:
    """One A_i: its variance, its multiplier C_i = c_1 ... c_i and its thresholds T_1 >= T_2 >= ... >= T_n."""

    variance: Fraction
    multiplier: int
    thresholds: tuple[int, ...]

    @property
    def digits(self) -> int:
        """J: the number of binary digits of |A_i|."""
        return len(self.thresholds).bit_length()


def discrete_gaussian(
    party: Party, shape: Shape, sigma: Fraction | int, ring: PowerOfTwoRing = Z64, *, precision: int = PRECISION
) -> SecretArray:
    """Return independent integers with P(x) proportional to exp(-x^2 / (2 sigma^2))."""
    shape = check_shape(shape, "discrete_gaussian")
    precision = check_precision(precision, "discrete_gaussian")
    tables = plan(_checked_sigma(sigma), precision)
    largest = largest_draw(sigma, precision=precision)
    if 4 * largest >= 1 << (ring.bits - 2):  # 2 (2^J - 1) <= 4 n: no partial sum of ``_weighted`` is larger
        must_be = f"small enough for {ring.name}"
        raise parameter_error("sigma", "discrete_gaussian", must_be, sigma, RangeError)
    with party.label("discrete_gaussian"):
        words = party.random_secret_bits(shape, len(tables) * precision)
        questions = [Comparison(i, t) for i, table in enumerate(tables) for t in table.thresholds]
        answers = below(words, precision, questions)
        signs = party.random_secret_bits(shape, len(tables))
        return _weighted(_signed_digits(answers, signs, tables), tables, ring).with_integer_limit(largest)


def _signed_digits(answers: SecretBits, signs: SecretBits, tables: tuple[Table, ...]) -> SecretBits:
    """Return, for every table, the J digits of |A| XOR the sign, and the sign.

    |A| with all J digits inverted is 2^J - 1 - |A|, so A = (digits XOR sign) - (2^J - 1) sign.
    """
    pieces = []
    start = 0
    for table, sign in zip(tables, signs, strict=True):
        for j in range(table.digits):
            multiples = range((1 << j) - 1, len(table.thresholds), 1 << j)
            pieces.append(_xor_of_rows(answers[[start + place for place in multiples]]) ^ sign)
        pieces.append(sign)
        start += len(table.thresholds)
    return pieces[0].join(*pieces[1:])


def _xor_of_rows(bits: SecretBits) -> SecretBits:
    while bits.width > 1:
        half = bits.width // 2
        folded = bits[:half] ^ bits[half : 2 * half]
        bits = folded if bits.width == 2 * half else folded.join(bits[2 * half :])
    return bits


def _weighted(signed_digits: SecretBits, tables: tuple[Table, ...], ring: PowerOfTwoRing) -> SecretArray:
    """Return the sum over all tables of C ((digits XOR sign) - (2^J - 1) sign)."""
    weights = []
    for table in tables:
        weights += [table.multiplier << j for j in range(table.digits)]
        weights.append(-table.multiplier * ((1 << table.digits) - 1))
    return weighted_sum(signed_digits, weights, ring)


# --- public constants ------------------------------------------------------------------------------------


def largest_draw(sigma: Fraction | int, *, precision: int = PRECISION) -> int:
    """Return the public bound of every draw's magnitude."""
    precision = check_precision(precision, "largest_draw")
    return sum(table.multiplier * len(table.thresholds) for table in plan(_checked_sigma(sigma), precision))


def tv_distance(sigma: Fraction | int, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones."""
    precision = check_precision(precision, "tv_distance")
    tables = plan(_checked_sigma(sigma), precision)
    rounding = Fraction(sum(len(table.thresholds) + 1 for table in tables), 1 << precision)
    convolving = Fraction(len(tables) - 1, 1 << (precision + TAIL_GUARD_BITS))
    return check_count(count, "count", "tv_distance") * (rounding + convolving)


@cache
def plan(variance: Fraction, precision: int) -> tuple[Table, ...]:
    """Return the tables whose weighted sum has exactly this variance, each step of it proven close.

    X = A + c B with A ~ N_Z(a^2), B ~ N_Z(b^2) and a^2 + c^2 b^2 = sigma^2 needs tau^2 = a^2 b^2 / sigma^2 to be at
    least (B + 18) ln 2 / (2 pi^2). a^2 is 110, or sigma^2 / 2 where that is less; c is the largest step up to 16 that
    fits.
    """
    tables = []
    multiplier = 1
    least = (precision + TAIL_GUARD_BITS + 2) * _LN2_BY_2PI2_ABOVE
    while variance > LARGEST_TABLE_VARIANCE:
        own = min(LARGEST_TABLE_VARIANCE, variance / 2)
        step = next(c for c in range(_LARGEST_STEP, 0, -1) if own * (variance - own) / (c * c * variance) >= least)
        tables.append(Table(own, multiplier, thresholds(own, precision)))
        multiplier *= step
        variance = (variance - own) / (step * step)
    return (*tables, Table(variance, multiplier, thresholds(variance, precision)))


@cache
def thresholds(variance: Fraction, precision: int) -> tuple[int, ...]:
    """Return T_m = round(2^B P(|X| >= m)) for m = 1, 2, ... as long as it is positive (T_1 in any case)."""
    context = constants(precision)
    scale = 2 * context.mpf(variance.numerator) / variance.denominator
    smallest = context.ldexp(1, -context.prec)
    weights = [context.mpf(1)]  # of |X| = 0, 1, 2, ...
    for x in itertools.count(1):
        weight = 2 * context.exp(-context.mpf(x * x) / scale)
        weights.append(weight)
        if weight < smallest:
            break
    tails = list(itertools.accumulate(reversed(weights)))[::-1]  # tails[m]: the weight of |X| >= m
    rounded = [nearest(tail / tails[0], precision) for tail in tails[1:]]
    return (rounded[0], *itertools.takewhile(lambda t: t > 0, rounded[1:]))


def _checked_sigma(sigma: object) -> Fraction:
    """Return the variance."""
    checked = check_positive(sigma, "sigma", "discrete_gaussian")
    if checked > LARGEST_SIGMA:
        raise parameter_error("sigma", "discrete_gaussian", f"at most 2^{LARGEST_SIGMA.bit_length() - 1}", sigma)
    return checked * checked
