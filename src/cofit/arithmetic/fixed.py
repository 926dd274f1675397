"""Fixed point: a real x is stood for by the integer round(x * 2^f) in a ring.

Rounding is to nearest, ties to even, so an encoded value is off by at most half a unit in the last place, 2^-(f+1).
Decoding to ``float64`` is exact up to 53 significant bits and otherwise off by less than one unit of the float.

Every encoded integer is at most the ring's ``capacity`` in magnitude, which is below 2^(k-2) in a ring of k bits: one
bit for the sign and one bit of headroom that truncation needs. What does not fit is refused; nothing wraps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.integers import IntegerRing
from cofit.arithmetic.power_of_two import Z64
from cofit.arithmetic.ring import RingArray
from cofit.errors import InvalidInputError, RangeError, parameter_error

_REMEMBERED = 1024


@dataclass(frozen=True)
class FixedPoint:
    """The format of a value: its ring and the number f of fractional bits (0 for integers).

    >>> FixedPoint(24).decode(FixedPoint(24).encode([0.5, -1.25]))
    array([ 0.5 , -1.25])
    """

    fraction_bits: int
    ring: IntegerRing = Z64

    def __post_init__(self) -> None:
        if not isinstance(self.ring, IntegerRing):
            raise parameter_error("ring", "FixedPoint", "a ring such as cofit.Z64 or cofit.Z128", self.ring)
        largest = self.ring.value_bits
        if not isinstance(self.fraction_bits, int) or not 0 <= self.fraction_bits <= largest:
            raise parameter_error(
                "fraction_bits", "FixedPoint", f"an integer from 0 to {largest} in {self.ring.name}", self.fraction_bits
            )

    @staticmethod
    @lru_cache(maxsize=_REMEMBERED, typed=True)
    def cached(fraction_bits: int, ring: IntegerRing) -> FixedPoint:
        """Return one object for equal formats, without checking it again."""
        return FixedPoint(fraction_bits, ring)

    def __str__(self) -> str:
        return f"{self.ring.name} with {self.fraction_bits} fractional bits"

    @property
    def capacity(self) -> int:
        """The largest encoded integer this format admits: that of the ring."""
        return self.ring.capacity

    def limit(self, bound: float | int | Fraction) -> int:
        """Return the largest encoded integer of a real value of magnitude at most ``bound``.

        Raises RangeError when that integer does not fit.
        """
        exact = as_bound(bound, "FixedPoint")
        limit = scaled_up(exact, self.fraction_bits)
        if limit > self.capacity:
            raise RangeError(
                f"A bound of {_short(exact)} does not fit {self}: at most {self.capacity / 2**self.fraction_bits:g}. "
                f"Use fewer fractional bits, a larger ring, or a smaller bound."
            )
        return limit

    def encode(self, values: object, bound: float | int | Fraction | None = None) -> RingArray:
        """Encode real numbers (arrays, Python numbers, one Fraction) of magnitude at most ``bound``.

        By default the bound is what the format admits.

        Raises InvalidInputError for anything that is no finite number and RangeError for a value beyond the bound;
        the message gives the position of the first offender, never its value, because values may be secret.
        """
        limit = self.capacity if bound is None else self.limit(bound)
        if isinstance(values, Fraction):  # exact beyond the 53 bits of a float
            integer = round(values * (1 << self.fraction_bits))
            self._refuse(np.array(abs(integer) > limit), limit)
            return self.ring.from_int(np.array(integer, dtype=object))
        array = np.asarray(values)
        if array.dtype.kind in "bui" or (array.dtype.kind == "O" and all(isinstance(v, int) for v in array.flat)):
            return self._encode_integers(array, limit)
        if array.dtype.kind != "f":
            raise InvalidInputError(
                f"Only real numbers can be encoded; got an array of dtype {array.dtype}. "
                f"Convert text and dates to numbers."
            )
        finite = np.isfinite(array)
        if not finite.all():
            raise InvalidInputError(f"The value at index {_first(~finite)} is not finite. Remove or impute it.")
        with np.errstate(over="ignore"):
            scaled = np.asarray(np.rint(np.ldexp(array.astype(np.float64), self.fraction_bits)))
        self._refuse(np.abs(scaled) > _float_below(limit), limit)
        return np.asarray(self.ring.from_float(scaled))

    def decode(self, array: RingArray) -> npt.NDArray[np.float64]:
        """Decode to ``float64``."""
        return np.ldexp(self.ring.to_float(array), -self.fraction_bits)

    def _encode_integers(self, array: npt.NDArray[Any], limit: int) -> RingArray:
        largest = limit >> self.fraction_bits
        wide = array.astype(object) if array.dtype.kind == "O" or array.dtype == np.uint64 else array
        if largest < 1 << 63 or wide.dtype.kind == "O":
            self._refuse(((wide > largest) | (wide < -largest)).astype(np.bool_), limit)
        elements = self.ring.from_int(wide)
        return self.ring.shl(elements, self.fraction_bits) if self.fraction_bits else elements

    def _refuse(self, offending: npt.NDArray[np.bool_], limit: int) -> None:
        if offending.any():
            raise RangeError(
                f"The value at index {_first(offending)} is larger in magnitude than "
                f"{limit / 2**self.fraction_bits:g}, the public bound of this value in {self}. "
                f"Scale the data or declare a larger bound."
            )


def as_bound(bound: object, owner: str) -> Fraction:
    """Return a public bound exactly; raise InvalidInputError unless it is a finite number that is at least 0."""
    number = bound.item() if isinstance(bound, np.generic) else bound  # NumPy integers would wrap
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction) or not 0 <= number < float("inf"):
        raise parameter_error("bound", owner, "a finite number that is at least 0", bound)
    return number if type(number) is Fraction else Fraction(number)


def scaled_up(value: Fraction, bits: int) -> int:
    """Return value * 2^bits, rounded up."""
    return -(-(value.numerator << bits) // value.denominator)


def _short(value: Fraction) -> str:
    return f"{float(value):g}" if value < 1 << 1000 else "more than 2^1000"


def _float_below(limit: int) -> float:
    """Return the largest float that is at most ``limit`` (a float conversion may round up)."""
    nearest = float(limit)
    return nearest if int(nearest) <= limit else float(np.nextafter(nearest, 0.0))


def _first(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])
