"""The numbers of the check of rows: what is tested of an owner's block, with which probability a lie passes.

The tests and the argument: ``row_check_proof.md``; the party program: ``checked_rows.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import reals
from cofit.arithmetic.prg import Generator, derive_seed
from cofit.learn.facts import Facts
from cofit.learn.ring_choice import SmallRingError

LARGEST_DELTA = Fraction(1, 1 << 40)
"""A lie passes with at most this probability, in a whole study."""
_PART_OF_DELTA = 1 << 12
DEVIATIONS = 9
"""An honest projection is below minus so many m B with probability exp(-9^2 / 2)."""
_WIDTHS = (15, 7, 3, 1)
_COARSE = 8
_SHIFTED = 9
MOST_SUMMANDS = 16
"""What plans count with: a run with more parties of an additive scheme could be refused."""
CONSTANTS = (1, LARGEST_DELTA, _PART_OF_DELTA, DEVIATIONS, *_WIDTHS, _COARSE, _SHIFTED)
"""The version of the check and its numbers: two releases of the software with other ones would make other runs."""


@dataclass(frozen=True)
class BlockCheck:
    """The tests of one owner's block of ``cols`` columns, in integers of the ring.

    square: B2. projections: K, 0 where entries are tested one by one. width: m. offset: t. low: l, bits that the tests
    ignore. shift: s, 0 where squares fit as they are. shifted_square: H2. absolute: rows of the 1-norm, of at most
    sqrt(B2).
    """

    cols: int
    square: int
    projections: int
    width: int
    offset: int
    low: int
    shift: int = 0
    shifted_square: int = 0
    absolute: bool = False

    @property
    def tests(self) -> int:
        """How many numbers a row is tested by, about: what memory is counted by."""
        if self.absolute:
            return 2 * self.cols + 1
        return (self.projections or 2 * self.cols) + 1 + int(self.shift > 0)

    def planes(self, bits: int) -> int:
        """What is sent for a row, about, in bits of its sign tests; some schemes open a shifted matrix under a mask."""
        return (self.projections or 2 * self.cols) * (bits - self.low) + (_SHIFTED * self.cols if self.shift else 0)

    @property
    def passes(self) -> Fraction:
        """The probability that a block which could wrap passes, at most."""
        if not self.projections:
            return Fraction(0)
        return Fraction(self.width + 1, 2 * self.width + 1) ** self.projections


def check_delta(delta: Fraction) -> Fraction:
    """Return the probability that any lie passes, at most, for a plan of this delta."""
    return min(LARGEST_DELTA, delta / _PART_OF_DELTA) if delta else LARGEST_DELTA


def check_of(
    facts: Facts, bits: int, data: int, eta: float | None, cols: int, blocks: int = 1, summands: int = MOST_SUMMANDS
) -> BlockCheck:
    """Return the tests of a block of so many columns, one of ``blocks`` in a row, in a ring of ``bits`` bits.

    data: the fractional bits of the features. eta: where rows are rounded to the nearest, how much longer than 1 they
    may become; None with recipe best. RangeError where the ring is too small.
    """
    if facts.norm == "l1":
        return absolute_check(cols, data, bits, summands)
    rows = (facts.rows + 1) * blocks
    return block_check(cols, largest_square(facts, data, eta, cols), bits, summands, rows, check_delta(facts.delta))


def largest_square(facts: Facts, data: int, eta: float | None, cols: int) -> int:
    """Return what the sum of squares of an honest block never exceeds, in integers of the features' format."""
    one = 1 << data
    if facts.normalised_by == "parties":
        value = Fraction(one) if facts.row_limit is None else one * facts.feature_bound / facts.row_limit
        return cols * math.floor(value) ** 2
    return one**2 if eta is None else math.floor((one * (1 + Fraction(eta))) ** 2)


def absolute_check(cols: int, data: int, bits: int, summands: int) -> BlockCheck:
    """Return the tests of rows of the 1-norm, of at most 1 with ``data`` fractional bits."""
    one = 1 << data
    low = max(low for low in range(bits) if cols * (one + (summands << low)) < 1 << (bits - 1))
    return BlockCheck(cols, one**2, 0, 0, one + (summands << low), low, absolute=True)


def block_check(cols: int, square: int, bits: int, summands: int, rows: int, largest: Fraction) -> BlockCheck:
    """Return the tests of a block in a ring of ``bits`` bits: those that send least.

    square: B2. summands: S. rows: how many blocks are tested, and one more. largest: the probability that a lie passes.
    """
    length = _root_up(square)
    counts = {width: _projections(width, rows, largest) for width in _WIDTHS}
    found = [_entries(cols, square, length, bits, summands)]
    found += [_projected(cols, square, length, m, count, bits, summands) for m, count in counts.items()]
    found += [_shifted(cols, square, length, m, count, bits, summands) for m, count in counts.items()]
    possible = [check for check in found if check is not None]
    if not possible:
        raise SmallRingError(
            f"The lengths of rows of {cols} columns cannot be checked in {bits} bits. Use fewer columns, or recipe "
            f"'best'.",
            f"the lengths of rows of {cols} columns cannot be checked in {bits} bits; fewer columns would fit",
        )
    return min(possible, key=lambda check: check.planes(bits))


def projection_matrix(coin: bytes, block: int, check: BlockCheck) -> npt.NDArray[np.int64]:
    """Return R of a block, uniform on {-m, ..., m}: bytes of the coin's stream, less those that would favour some."""
    stream, values = Generator(derive_seed(coin, f"cofit row check, block {block}")), 2 * check.width + 1
    wanted, most = check.cols * check.projections, 256 // values * values
    drawn = np.empty(0, np.uint8)
    while len(drawn) < wanted:
        fresh = stream.draw(max(64, 2 * (wanted - len(drawn))))
        drawn = np.concatenate([drawn, fresh[fresh < most]])
    matrix = (drawn[:wanted] % values).astype(np.int64) - check.width
    return np.asarray(matrix.reshape(check.cols, check.projections))


def _entries(cols: int, square: int, length: int, bits: int, summands: int) -> BlockCheck | None:
    low = _ignored(lambda error: length + error, cols, bits, summands)
    if low is None:
        return None
    return BlockCheck(cols, square, 0, 0, length + (summands << low), low)


def _projected(
    cols: int, square: int, length: int, width: int, count: int, bits: int, summands: int
) -> BlockCheck | None:
    low = _ignored(lambda error: 2 * (DEVIATIONS * width * length + error), cols, bits, summands)
    offset = None if low is None else DEVIATIONS * width * length + (summands << low)
    if low is None or offset is None or not _arc_holds(cols, width, length, offset, bits):
        return None
    return BlockCheck(cols, square, count, width, offset, low)


def _shifted(
    cols: int, square: int, length: int, width: int, count: int, bits: int, summands: int
) -> BlockCheck | None:
    """Projections, then squares of shifted entries, then the squares themselves."""
    base = DEVIATIONS * width * length
    low = max(0, (base // (_COARSE * summands)).bit_length() - 1)
    offset = base + (summands << low)
    root = math.isqrt(cols) + 1
    for shift in range(1, bits // 2):
        largest = (2 * offset >> shift) + 1 + summands
        allowed = ((length >> shift) + 1 + root * summands) ** 2
        reached = ((math.isqrt(allowed) + root * summands) << shift) ** 2
        room = 1 << (bits - shift - 1)
        if cols * largest**2 < room and allowed < room and reached < 1 << (bits - 1):
            holds = _arc_holds(cols, width, length, offset, bits)
            return BlockCheck(cols, square, count, width, offset, low, shift, allowed) if holds else None
    return None


def _ignored(reached: Callable[[int], int], cols: int, bits: int, summands: int) -> int | None:
    """Return how many low bits tests may ignore so that squares of all that passes still fit; None if not even 0."""
    found = None
    for low in range(bits // 2):
        if cols * reached(summands << low) ** 2 >= 1 << (bits - 1):
            break
        found = low
    return found


def _arc_holds(cols: int, width: int, length: int, offset: int, bits: int) -> bool:
    """Whether honest projections stay below an eighth of the ring, and the lemma applies."""
    return 8 * (cols * width * length + offset) < 1 << bits and 12 * offset <= 1 << bits


def _projections(width: int, rows: int, largest: Fraction) -> int:
    passes = reals.log2(2 * width + 1) - reals.log2(width + 1)
    count = max(1, math.floor(reals.log2(float(rows / largest)) / passes))
    while rows * Fraction(width + 1, 2 * width + 1) ** count > largest:
        count += 1
    return count


def _root_up(value: int) -> int:
    root = math.isqrt(value)
    return root if root * root == value else root + 1
