"""Rings, fixed point, packed bits and the pseudorandom generator: thin Python over the C++ kernels."""

from cofit.arithmetic.fixed import FixedPoint
from cofit.arithmetic.power_of_two import Z64, Z128, PowerOfTwoRing, ring_of_bits
from cofit.arithmetic.prg import Generator
from cofit.arithmetic.ring import Ring, RingArray, Shape

__all__ = ["Z64", "Z128", "FixedPoint", "Generator", "PowerOfTwoRing", "Ring", "RingArray", "Shape", "ring_of_bits"]
