r"""The map of a public reference in whole numbers, for parties that apply it to shares: where owners hold columns.

``reference`` has the map x' = (z - u) A of a row z = (x - c 1) / ||x - c 1||, c half of the row's mean. No owner of
columns sees a row, so the parties take the length, and what is public is one matrix and one vector:

    y = x P,    P = (I - (1/2d) 1 1^T) A / a,    b = u A / a,    x' / a = y / ||x - c 1|| - b

a is the largest factor of A: rows are divided by their length afterwards, so a common factor is free, and ||P|| is 1.

**Every party must hold the same integers**, on every machine. P has ``MATRIX_BITS`` fractional bits and b
``SHIFT_BITS``. Sums are of integers that 64-bit floating point holds exactly, in whatever order they are added (below
2^53, by Cauchy's inequality), or of 64-bit integers; all else is done element by element, with single operations of
IEEE 754, which round alike everywhere.

**What is proven of them** is checked here, for any file: the directions are orthonormal and the mean is no longer than
1, each but for 1/64. Then ||P||_2 <= 1 + 1/64 + sqrt(d k) 2^-21 and ||b||_2 <= (1 + 1/64)^2 + sqrt(k) 2^-17, which for
d k <= 2^23 are below ``LARGEST_MATRIX`` and ``LARGEST_SHIFT``. Proof, for A = o I + V^T G V with 0 <= G <= (a - o) I:
A <= o I + (a - o) V^T V <= a (1 + 1/64) I, as ||V||^2 <= 1 + 1/64; with the directions alone, ||V^T F|| <= a ||V||;
and taking half of the mean away makes nothing longer. Ranges rest on these two bounds, privacy does not
(``mapped_rows``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MATRIX_BITS, SHIFT_BITS = 20, 16
LARGEST_MATRIX, LARGEST_SHIFT = 1 + Fraction(1, 32), 1 + Fraction(1, 16)
MOST_CELLS = 1 << 23
MAP_FLOOR = Fraction(1, 16)
"""A mapped row that is shorter, beside what the strongest direction keeps of a row of length 1, is not stretched to
length 1, but divided by this."""
_FINE = 24  # bits of directions and means in exact sums
_OFF = 1 / 64


@dataclass(frozen=True, repr=False, eq=False)
class PublicMap:
    """matrix: P in units of 2^-MATRIX_BITS, shape (d, k). shift: b in units of 2^-SHIFT_BITS. hash: of the reference's
    map that they come from."""

    hash: str
    matrix: Integers
    shift: Integers

    def __repr__(self) -> str:
        return f"<PublicMap, {self.matrix.shape[0]} columns to {self.matrix.shape[1]}, {self.hash[:12]}>"

    @property
    def squared_shift(self) -> Fraction:
        """||b||^2, exactly."""
        return Fraction(int((self.shift.astype(object) ** 2).sum()), 1 << 2 * SHIFT_BITS)

    @classmethod
    def blank(cls, hash: str, inputs: int, columns: int) -> PublicMap:
        """Return one of zeros, in the place of a map that is not at hand: for counting what it costs."""
        return cls(hash, np.zeros((inputs, columns), np.int64), np.zeros(columns, np.int64))


@dataclass(frozen=True)
class MapFormats:
    """What is proven of rows before and after the map (``map_formats``).

    longest: a bound of ||x - c 1||. scaled: of ||s y||, s the inverse of that length as it is computed. square: the
    fractional bits of ||y||^2.
    """

    longest: Fraction
    scaled: Fraction
    square: int


def check_cells(inputs: int, columns: int) -> None:
    """Refuse a map that is too large to be applied to shares."""
    if inputs * columns > MOST_CELLS:
        raise InvalidInputError(
            f"The reference must have at most {MOST_CELLS:,} numbers in its map where owners hold columns. Got one of "
            f"{inputs:,} columns to {columns:,} instead: keep its directions alone (`cofit reference --directions`)."
        )


def public_map(hash: str, mean: Reals, directions: Reals, factors: Reals, others: float, *, only: bool) -> PublicMap:
    """Return the integers of a map: u, V (a direction in a row), the factors of A along them, and o, that of all other
    directions; or raise InvalidInputError where they are none of a reference."""
    inputs = len(mean)
    check_cells(inputs, len(directions) if only else inputs)
    if not (others >= 0 and (factors >= others).all() and factors.max() > 0):
        raise _unlike("factors that are at least that of all other directions")
    if np.linalg.norm(directions @ directions.T - np.eye(len(directions))) > _OFF:
        raise _unlike("orthonormal directions")
    if np.linalg.norm(mean) > 1 + _OFF:
        raise _unlike("a mean no longer than 1")
    largest = float(factors.max())
    fine, v = 2.0**_FINE, _whole(directions, _FINE)
    along = _whole((v @ _whole(mean, _FINE)) / fine**2, _FINE)  # u V^T
    if only:
        entries = v.T / fine * (factors / largest)
        sums = v.astype(np.int64).sum(axis=1) / fine * (factors / largest)
        shift = along / fine * (factors / largest)
    else:
        kept = (factors - others) / largest
        weighted = _whole(v / fine * kept[:, np.newaxis], _FINE)
        product = v.T @ weighted
        own = others / largest
        entries = product / fine**2
        entries[np.diag_indices(inputs)] += own
        sums = product.astype(np.int64).sum(axis=0) / fine**2 + own
        shift = mean * own + (along @ weighted) / fine**2
    matrix = entries - sums / (2 * inputs)
    return PublicMap(hash, _whole(matrix, MATRIX_BITS).astype(np.int64), _whole(shift, SHIFT_BITS).astype(np.int64))


def _whole(values: Reals, bits: int) -> Reals:
    """Return values in units of 2^-bits, rounded to whole ones."""
    return np.asarray(np.rint(np.ldexp(values, bits)))


def _unlike(must_have: str) -> InvalidInputError:
    return InvalidInputError(
        f"The reference must have {must_have}, or parties cannot prove their ranges. Got something else instead: make "
        "it with `cofit reference`."
    )
