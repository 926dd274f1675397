"""pi_NORM, lazily: the parties compute v_i = 1 / max(||x_i||, rho) and never form the normalised matrix.

Training then multiplies X p by v and the residuals by v: 2 n products an epoch, where normalising X would cost n d
products and truncations (the paper's protocol "pi_NORM"; why lazily: the design notes, "Numbers").

With an intercept the constant column alone makes ||x_i|| >= rho, so no comparison is needed. Without one, rows shorter
than rho are divided by rho: an all-zero row stays zero, and v never exceeds 1 / rho.

Who learns what: nobody anything. Cost with ``rep3``: 1 round and 3 n elements for the squared norms; the comparison
(see ``comparison``) and one product where needed; one inverse square root for n elements (see ``roots``); the rounds
of these once for every batch of rows (see ``batches``).
Error: below ``inverse_square_root_error`` for each v_i; the squared norms are exact.
"""

from __future__ import annotations

from fractions import Fraction

from cofit.learn.batches import in_batches
from cofit.learn.recipes.minimiser.formats import Formats, Geometry
from cofit.protocols import inverse_square_root, less
from cofit.secret import SecretArray

_HELD_A_POSITION, _HELD_ANYWAY = 6, 90
_HELD_A_WEIGHED_POSITION, _HELD_WITH_WEIGHED = 1, 70


def held_by_root(positions: int, *, weighed: bool) -> int:
    """Return how many shared elements a root holds at once for every element: one-hot bits of the positions where its
    top bit may be become ring elements, unless they are ``weighed`` as bits; then there is a polynomial."""
    if weighed:
        return _HELD_A_WEIGHED_POSITION * positions + _HELD_WITH_WEIGHED
    return _HELD_A_POSITION * positions + _HELD_ANYWAY


def inverse_norms(x: SecretArray, geometry: Geometry, formats: Formats) -> SecretArray:
    """Return 1 / max(||x_i||, rho) for every row of x, with ``formats.inverse_norm`` fractional bits."""
    if geometry.floor is None or formats.inverse_norm is None:
        raise ValueError("The owners normalise in this plan.")
    squares = x.inner(x, 2 * formats.data, proven_bound=geometry.cols)
    floor, bits = geometry.floor**2, formats.inverse_norm

    def inverse_roots(part: SecretArray) -> SecretArray:
        if geometry.needs_comparison:
            part = part + less(part, floor, unbounded=True) * (-part + floor)  # these rows were not checked
            part = part.with_integer_limit(min(part.integer_limit, part.format.limit(geometry.cols)))
        inverse = inverse_square_root(part, bits)
        return inverse.with_integer_limit(min(inverse.integer_limit, inverse.format.limit(largest_inverse(geometry))))

    return in_batches(inverse_roots, [squares], held_by_root(formats.ring.bits, weighed=x.weighs_bits), x.size)


def largest_inverse(geometry: Geometry) -> Fraction:
    """Return a bound of every computed v_i: 1 / rho and its rounding."""
    return 1 / (geometry.floor or Fraction(1)) + Fraction(1, 1 << 10)
