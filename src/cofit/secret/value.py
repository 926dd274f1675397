"""A value nobody sees: what is public of it, what is refused, and its elements in another order or shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np

from cofit.arithmetic import FixedPoint, Shape
from cofit.errors import FormatMismatchError, RangeError, RingMismatchError, parameter_error
from cofit.secret.constants import encoded
from cofit.secret.ranges import Bound, checked
from cofit.sharing import Scheme, Share


class SecretValue:
    """A shared array with its format and a public bound; ``SecretArray`` computes with it."""

    __slots__ = ("_format", "_limit", "_scheme", "_share")
    __array_ufunc__ = None  # let NumPy arrays on the left defer to us
    __hash__ = None  # type: ignore[assignment]  # == compares secrets, not identities

    def __init__(self, scheme: Scheme, share: Share, format: FixedPoint, limit: int) -> None:
        self._scheme = scheme
        self._share = share
        self._format = format
        self._limit = checked(limit, format, "This value")

    @property
    def format(self) -> FixedPoint:
        """The ring and the number of fractional bits (public)."""
        return self._format

    # --- public facts ------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The shape (public)."""
        return self._share.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions (public)."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements (public)."""
        return math.prod(self.shape)

    @property
    def bound(self) -> float:
        """A public number that no element exceeds in magnitude (rounded up where a float cannot hold it exactly)."""
        nearest = self._limit / (1 << self.format.fraction_bits)
        exact = Fraction(self._limit, 1 << self.format.fraction_bits)
        return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A SecretArray without dimensions has no length.")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<SecretArray shape={self.shape}, {self.format}, bound {self.bound:g}>"

    @property
    def integer_limit(self) -> int:
        """A public integer that no encoded element exceeds in magnitude: bound * 2^f, exactly."""
        return self._limit

    @property
    def batch_bytes(self) -> int | None:
        """How much a batch of rows may hold (``Party.limit_batches``); None: no limit. Public."""
        return self._scheme.batch_bytes

    def with_integer_limit(self, limit: int) -> Self:
        """As ``with_bound``, for the encoded integers."""
        if limit > self._limit:
            raise parameter_error("limit", "with_integer_limit", f"at most {self._limit}", limit, RangeError)
        return self._like(self._share, limit)

    def loosened(self, limit: int) -> Self:
        """Return the same value with a larger integer limit: for values that many must treat alike."""
        if limit < self._limit:
            raise parameter_error("limit", "loosened", f"at least {self._limit}", limit, RangeError)
        return self._like(self._share, limit)

    def moved(self, offset: int, limit: int) -> Self:
        """Return integers plus a public one, none of them beyond ``limit``, which the caller has proved.

        For sums and offsets of opposite signs, whose limits need not be added up.
        """
        values, _ = encoded(offset, self._format)
        return self._like(self._scheme.add_public(self._share, values), limit)

    def with_bound(self, bound: Bound) -> Self:
        """Return the same value with a tighter public bound, which the caller has proved.

        If the bound is wrong, later results are wrong; nothing can detect it without looking.
        """
        limit = self.format.limit(bound)
        if limit > self._limit:
            raise parameter_error("bound", "with_bound", f"at most the known bound {self.bound:g}", bound, RangeError)
        return self._like(self._share, limit)

    # --- refused: what would need the value --------------------------------------------------------------

    def _refuse_conversion(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(
            "A SecretArray has no visible value, so Python's and NumPy's functions cannot take it. Compute with its "
            "own operators and methods (+, -, *, @, sum, mean ...), and open only the result: "
            "party.open(result, reason=...)."
        )

    __array__ = __bool__ = __float__ = __int__ = __complex__ = __index__ = _refuse_conversion

    def _refuse_comparison(self, _other: object) -> NoReturn:
        raise TypeError("Comparing secrets takes a protocol; Python's comparison operators do not run one.")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_comparison

    # --- shape -------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Self:
        if isinstance(index, str) or (isinstance(index, list) and any(isinstance(i, str) for i in index)):
            raise TypeError("A SecretArray is indexed with numbers, slices and masks, not with names.")
        return self._like(self._scheme.select(self._share, index), self._limit)

    def reshape(self, *shape: int | tuple[int, ...]) -> Self:
        """Return the same elements in another shape, given as numbers or as one tuple."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        try:
            return self._like(self._share.map(lambda part: part.reshape(wanted)), self._limit)
        except (ValueError, TypeError):
            raise parameter_error("shape", "reshape", f"a shape of {self.size} elements", wanted) from None

    def repeated(self, count: int) -> Self:
        """Return one element, or an array of them along a new first axis, ``count`` times, in one place in memory."""
        own = () if self.size == 1 else self.shape
        return self._like(
            self._share.linear(lambda part: np.broadcast_to(part.reshape(own), (count, *own))), self._limit
        )

    @property
    def T(self) -> Self:  # noqa: N802
        """The transpose."""
        return self._like(self._share.map(np.transpose), self._limit)

    def block(self, rows: slice, cols: slice) -> Self:
        """Return a block of a table. What was prepared for many products stays so."""
        return self._like(self._share.block((rows, cols)), self._limit)

    # --- helpers -----------------------------------------------------------------------------------------

    def _like(self, share: Share, limit: int) -> Self:
        return type(self)(self._scheme, share, self._format, limit)

    def _same_format(self, other: SecretValue, operator: str) -> None:
        if self._format is other._format:
            return
        if self.format.ring is not other.format.ring:
            raise RingMismatchError(f"'{operator}' needs one ring; got {self.format} and {other.format}.")
        if self.format != other.format:
            raise FormatMismatchError(
                f"'{operator}' needs one format; got {self.format} and {other.format}. Use truncate() or multiply()."
            )
