"""The plan of answering a client: formats, ranges and the proven error of a score, from public facts alone.

Let k be the columns of a row, R what no weight vector is longer than, and z a prepared row, ||z|| <= 1. In the ring:

    rows      z with F fractional bits, rounded towards zero by the client: ||z' - z|| <= sqrt(k) 2^-F
    weights   w with B fractional bits: ||w' - w|| <= sqrt(k) 2^-B + R e, where e is the rounding of a public factor
              (the mean of the last iterates is a quotient); public weights are rounded to the nearest
    score     <z', w'> truncated to S fractional bits, plus the intercept, truncated likewise

so that |score' - score| <= R sqrt(k) 2^-F + (1 + sqrt(k) 2^-F) ||w' - w|| + 2^-S + the same of the intercept, always,
whatever the rows are. ``score_error`` is that number. R is what is *possible*, with the samplers' largest noise; the
error of a model with shorter weights is as much smaller.

    probabilities   sigmoid(m score), m = 1 or 2 (``Served.margins``): |error| <= m score_error / 4 + that of the
                    sigmoid, which is proven for every argument (``protocols.sigmoid``). Of several classes each one's
                    against the rest; the client divides them by their sum, which on shares might vanish
    classes         exact for the computed score: where a score, or the difference of the two largest, is beyond twice
                    the error, it is the class that the exact scores give
    numbers         the score cut to [-1, 1], exactly

**Ranges.** |<z', w'>| <= (1 + 2^-F) (R + ||w' - w||): the client's rows are checked as the owners' are
(``row_check_proof.md``), with B2 = (2^F + 1)^2, and a row that fails counts as a row of zeros. F is the largest with
which the check needs no squares of high parts, unless scores would be coarse; then the largest with which there is a
check. B takes what the ring has left for the product. Nothing wraps.

What a lie that passes the check (probability 2^-40 a batch) could do: its own answer is wrong, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.errors import parameter_error
from cofit.learn.base_plan import Plan
from cofit.learn.inference.served import Served
from cofit.learn.losses import loss_named
from cofit.learn.ring_choice import RINGS, SmallRingError
from cofit.learn.row_check import LARGEST_DELTA, MOST_SUMMANDS, BlockCheck, block_check
from cofit.privacy.mechanisms.mechanism import square_root_up
from cofit.protocols.sigmoid import sigmoid_error
from cofit.secret import InputFacts

ANSWERS = ("scores", "probabilities", "classes")
ROWS, MASK = "rows", "mask"
"""The names of what a client shares."""
BATCH_VALUES = 4 << 20
"""A client sends at most so many values of rows at once, but always one row."""
_SCORE_BITS = 20
_MOST_ROW_BITS, _FEWEST_ROW_BITS = 26, 12
_MOST_WEIGHT_BITS = 32
_COARSE, _VERY_COARSE = Fraction(1, 1 << 9), Fraction(1, 32)
"""A proven error of a score from which on rows are finer, at the cost of their check; and the ring larger."""


@dataclass(frozen=True)
class InferencePlan:
    """How answers are computed. row_bits, weight_bits: F and B. factor, factor_bits: weights are drawn numbers times
    factor / 2^factor_bits, and ``exponent`` more binary places. public: the weights are."""

    served: Served
    ring: IntegerRing
    row_bits: int
    weight_bits: int
    factor: int
    factor_bits: int
    exponent: int
    public: bool
    ranged: bool
    sigmoidal: bool

    @property
    def score_bits(self) -> int:
        """S."""
        return _SCORE_BITS

    @property
    def rounding(self) -> Fraction:
        """||w' - w||, at most, for the weights of one output."""
        root = square_root_up(Fraction(self.served.columns))
        if self.public:
            return root / (2 << self.weight_bits)
        exact = self.served.unit * Fraction(2) ** self.exponent
        relative = abs(Fraction(self.factor, 1 << self.factor_bits) / exact - 1)
        return root / (1 << self.weight_bits) * int(self.truncates) + self.served.largest * relative

    @property
    def truncates(self) -> bool:
        """Whether shared weights lose binary places."""
        return self._drawn_bits > self.weight_bits

    @property
    def _drawn_bits(self) -> int:
        return self.served.drawn.fraction_bits + self.exponent + self.factor_bits

    @property
    def largest_product(self) -> Fraction:
        """|<z', w'>|, at most."""
        return (1 + Fraction(1, 1 << self.row_bits)) * (self.served.largest + self.rounding)

    @property
    def largest_score(self) -> Fraction:
        """|score'|, at most."""
        return self.largest_product + self.served.largest_intercept + self.rounding + Fraction(4, 1 << _SCORE_BITS)

    @property
    def score_error(self) -> Fraction:
        """How far a score is from that of the exact weights and the client's row, at most."""
        served, unit = self.served, Fraction(1, 1 << _SCORE_BITS)
        encoding = square_root_up(Fraction(served.columns)) / (1 << self.row_bits)
        product = served.largest * encoding + (1 + encoding) * self.rounding + unit
        intercept = served.constant * self.rounding + 2 * unit if served.largest_intercept else Fraction(0)
        return product + intercept

    def error(self, kind: str) -> Fraction | None:
        """How far an answer of this kind is from the exact one, at most; None for classes, which are no numbers."""
        if kind == "probabilities":
            return self.served.margins * self.score_error / 4 + sigmoid_error(self.scores)
        return self.score_error if kind == "scores" else None

    @property
    def scores(self) -> FixedPoint:
        """The format of scores."""
        return FixedPoint(_SCORE_BITS, self.ring)

    def outputs(self, kind: str) -> int:
        """How many numbers are answered for a row."""
        return 1 if kind == "classes" else self.served.outputs

    @property
    def batch_rows(self) -> int:
        """How many rows a batch has at most."""
        return max(1, BATCH_VALUES // self.served.columns)

    def inputs(self, rows: int, kind: str) -> dict[str, InputFacts]:
        """Return what a client shares of so many rows, or raise InvalidInputError."""
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= self.batch_rows:
            raise parameter_error("rows", "a query", f"an integer from 1 to {self.batch_rows}", rows)
        integers = FixedPoint(0, self.ring)
        return {
            ROWS: InputFacts(
                (rows, self.served.columns), FixedPoint(self.row_bits, self.ring), _longest(self.row_bits)
            ),
            MASK: InputFacts((rows * self.outputs(kind),), integers, integers.capacity),
        }

    def check(self, rows: int, summands: int = MOST_SUMMANDS) -> BlockCheck:
        """Return the tests of so many rows."""
        return _check(self.served.columns, self.row_bits, self.ring, rows, summands)


def plan_inference(plan: Plan, *, noise: bool = True, public: bool = False) -> InferencePlan:
    """Return how the parties answer with what a run of this plan draws. public: with its published weights.

    In the smallest ring that the shares reduce to, unless its scores would be coarse and there is a larger one.
    """
    served, loss = plan.served(noise), loss_named(plan.facts.loss)
    found: list[InferencePlan] = []
    for ring in RINGS:
        if served.drawn.ring is ring or served.drawn.ring.reduces_to(ring):
            for shifted, coarse in ((False, _COARSE), (True, _VERY_COARSE)):
                try:
                    found.append(_in_ring(served, ring, shifted, public, plan.target.ranged, loss.sigmoidal))
                except SmallRingError:
                    continue
                if found[-1].score_error < coarse:
                    return found[-1]
    if not found:
        raise parameter_error("cols", "private predictions", "fewer: a score would not fit the ring", served.columns)
    return min(found, key=lambda one: one.score_error)


def _in_ring(
    served: Served, ring: IntegerRing, shifted: bool, public: bool, ranged: bool, sigmoidal: bool
) -> InferencePlan:
    exponent, factor, factor_bits = _factor(served, ring)
    row_bits = _row_bits(served, ring, shifted)
    room = ring.value_bits - 1 - row_bits - _bits(2 * (served.largest + 1))
    drawn_bits = served.drawn.fraction_bits + exponent + factor_bits
    weight_bits = min(room, _MOST_WEIGHT_BITS) if public else min(room, _MOST_WEIGHT_BITS, drawn_bits)
    too_large = _bits(4 * (served.largest + served.largest_intercept + 1)) + _SCORE_BITS > ring.value_bits - 1
    if weight_bits < 1 or too_large:
        raise SmallRingError("A score does not fit the ring.", "a score does not fit the ring")
    return InferencePlan(served, ring, row_bits, weight_bits, factor, factor_bits, exponent, public, ranged, sigmoidal)


def _factor(served: Served, ring: IntegerRing) -> tuple[int, int, int]:
    """Return e, m and t with unit 2^e about m / 2^t: exactly where the unit is a power of two."""
    exponent = _bits(1 / served.unit) - 1 if served.unit < 1 else 0
    exact = served.unit * (1 << exponent)
    if exact.denominator & (exact.denominator - 1) == 0 and exact.numerator == 1:
        return exponent + exact.denominator.bit_length() - 1, 1, 0
    bits = served.drawn.ring.value_bits - 2 - served.integer_limit.bit_length()
    if bits < 8:
        raise SmallRingError("The mean of the weights does not fit the ring.", "the mean of the weights does not fit")
    del ring
    return exponent, round(exact * (1 << bits)), bits


def _row_bits(served: Served, ring: IntegerRing, shifted: bool) -> int:
    """Return the largest F with which rows can be checked; shifted: also by squares of their high parts."""
    most = _MOST_ROW_BITS if ring is RINGS[0] else 2 * _MOST_ROW_BITS
    for bits in range(most, _FEWEST_ROW_BITS - 1, -1):
        try:
            check = _check(served.columns, bits, ring, max(1, BATCH_VALUES // served.columns), MOST_SUMMANDS)
            if shifted or not check.shift:
                return bits
        except SmallRingError:
            continue
    raise SmallRingError("The lengths of rows cannot be checked in the ring.", "rows cannot be checked")


def _check(columns: int, bits: int, ring: IntegerRing, rows: int, summands: int) -> BlockCheck:
    return block_check(columns, ((1 << bits) + 1) ** 2, ring.bits, summands, rows + 1, LARGEST_DELTA)


def _longest(bits: int) -> float:
    return 1 + 2.0**-bits


def _bits(value: Fraction) -> int:
    """Return how many bits the integer part of a number above 0 takes, rounded up."""
    return (-(-value.numerator // value.denominator)).bit_length()
