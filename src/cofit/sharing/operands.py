"""What operands of one operation must have in common."""

from __future__ import annotations

from cofit.arithmetic import IntegerRing, Ring, RingArray, Shape
from cofit.errors import InvalidInputError, RingMismatchError, ShapeError, parameter_error
from cofit.sharing.shares import Share

"""Of a part of a share, element by element."""


def common_ring(a: Share, b: Share) -> Ring:
    """Return the ring of both, or raise RingMismatchError."""
    if a.ring is not b.ring:
        raise RingMismatchError(f"Operands are shared over different rings: {a.ring.name} and {b.ring.name}.")
    return a.ring


def check_shift(ring: Ring, shift: int) -> None:
    """Raise InvalidInputError unless elements of ``ring`` can be truncated by ``shift`` bits."""
    if shift and not isinstance(ring, IntegerRing):
        raise InvalidInputError(f"Elements of {ring.name} cannot be truncated.")
    if isinstance(ring, IntegerRing) and not 0 <= shift <= ring.value_bits:
        raise parameter_error("shift", "truncate", f"from 0 to {ring.value_bits} in {ring.name}", shift)


def check_reduction(wide: Ring, narrow: IntegerRing) -> IntegerRing:
    """Return the ring of elements that are reduced to ``narrow``; raise RingMismatchError where that is not local."""
    if not isinstance(wide, IntegerRing) or not wide.reduces_to(narrow):
        raise RingMismatchError(f"Elements of {wide.name} cannot be reduced to those of {narrow.name}.")
    return wide


def own_values(party: str, ring: Ring, values: RingArray | None, shape: Shape) -> RingArray:
    """Return the values that the party which shares them passed, or raise InvalidInputError."""
    if values is None or values.shape != shape:
        raise InvalidInputError(f"Party '{party}' must pass values of shape {shape} to share them.")
    return ring.check(values)


def check_plus(ring: Ring, shape: Shape, plus: Share | None) -> None:
    """Raise unless ``plus`` can be added to a product of this ring and shape without broadcasting."""
    if plus is None:
        return
    if plus.ring is not ring:
        raise RingMismatchError(f"A product over {ring.name} cannot be added to a value over {plus.ring.name}.")
    if plus.shape != shape:
        raise parameter_error("plus", "a product", f"of the shape {shape} of the product", plus.shape, ShapeError)
