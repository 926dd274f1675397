"""Squares of a table that are there once, for one more sum of them, whose weights nobody knows yet.

What makes the squares of all values dear is that each of them travels. A sum of theirs by rows, with secret weights w
for the columns, needs them again later. So while they are there, they are weighed by a vector r that nobody knows; then

    (x - row)^2 w = (x - row)^2 r + (x - row)^2 (w - r)

and w - r may be opened, which says nothing of w: the last term is a sum of what every party computes from its own parts
of x. Only where the scheme foresees squares; the program must do without where it does not.
"""

from __future__ import annotations

from cofit.arithmetic import FixedPoint
from cofit.errors import InvalidInputError
from cofit.secret.array import SecretArray
from cofit.secret.ranges import Bound, product_limit
from cofit.sharing import Share


class ForeseenSquares:
    """The squares (x - row)^2 of a table. They are shown to ``take``, some rows at a time; then ``weighed``, once."""

    def __init__(self, x: SecretArray, row: SecretArray) -> None:
        self._x, self._row = x, row
        self._mask: Share | None = x._scheme.squares_mask(x.format.ring, x.shape[1])
        self._taken: list[Share] = []

    @property
    def possible(self) -> bool:
        """Whether the scheme foresees squares. Public."""
        return self._mask is not None

    def take(self, squares: SecretArray) -> None:
        """Weigh the squares of the next rows by the mask. 1 round, and what the sums send; nothing if not possible."""
        if self._mask is not None:
            self._taken.append(squares._scheme.matmul(squares._share, self._mask))

    def weighed(self, weights: SecretArray, proven_bound: Bound) -> SecretArray:
        """Return (x - row)^2 @ weights, exactly. 2 rounds; the weights of the columns and the sums travel.

        ``proven_bound``: of the result. The mask hides one vector of weights, so it is not used again.
        """
        if self._mask is None or not self._taken:
            raise InvalidInputError("Foreseen squares are weighed once, after all of them were taken.")
        x, scheme = self._x, self._x._scheme
        mask, self._mask = self._mask, None
        masked = self._taken[0] if len(self._taken) == 1 else scheme.concatenate(self._taken, 0)
        self._taken = []
        fraction_bits = 2 * x.format.fraction_bits + weights.format.fraction_bits
        result = FixedPoint.cached(fraction_bits, x.format.ring)
        share = scheme.foreseen_squares(x._share, self._row._share, weights._share, mask, masked)
        largest = x.shape[1] * weights.integer_limit * (x.integer_limit + self._row.integer_limit) ** 2
        return SecretArray(scheme, share, result, product_limit(largest, result, 0, proven_bound))
