"""Rings, fixed point, packed bits and the pseudorandom generator: thin Python over the C++ kernels."""

from cofit.arithmetic.fixed import FixedPoint
from cofit.arithmetic.integers import IntegerRing
from cofit.arithmetic.mersenne import F61
from cofit.arithmetic.power_of_two import Z64, Z128, PowerOfTwoRing, power_of_two, ring_of_bits
from cofit.arithmetic.prg import Generator
from cofit.arithmetic.ring import Place, Ring, RingArray, Shape

INTEGER_RINGS: dict[str, IntegerRing] = {ring.name: ring for ring in (Z64, Z128, F61)}
"""All rings that a value may be shared over, by name. A new one is one new file and a place here."""

__all__ = [
    "F61",
    "INTEGER_RINGS",
    "Z64",
    "Z128",
    "FixedPoint",
    "Generator",
    "IntegerRing",
    "Place",
    "PowerOfTwoRing",
    "Ring",
    "RingArray",
    "Shape",
    "power_of_two",
    "ring_of_bits",
]
