"""Real functions of floats, rounded alike on every machine.

What is in a plan is hashed, and compared digit by digit by everybody who takes part or verifies a certificate years
later. Machines agree on +, -, *, / and the square root of IEEE 754, on integers and on fractions. They do not agree on
the last digit of ``math.exp``, of NumPy's functions, powers, sums and products of matrices, or of anything of SciPy's:
C libraries, NumPy and BLAS choose other code for other processors. So what goes into a plan comes from the functions
here, in an order that is written down. They compute with ``_BITS`` bits, and round once, to the nearest float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from mpmath import libmp

_BITS = 160
_KEPT = 4096
_CONSTANT_BITS = 4096
_LANCZOS_G = 6.024680040776729583740234375
_LANCZOS = (
    (23531376880.41076, 0.0),
    (42919803642.6491, 39916800.0),
    (35711959237.35567, 120543840.0),
    (17921034426.03721, 150917976.0),
    (6039542586.352028, 105258076.0),
    (1439720407.3117216, 45995730.0),
    (248874557.86205417, 13339535.0),
    (31426415.585400194, 2637558.0),
    (2876370.6289353725, 357423.0),
    (186056.26539522348, 32670.0),
    (8071.672002365816, 1925.0),
    (210.82427775157935, 66.0),
    (2.5066282746310002, 1.0),
)

for _constant in (libmp.mpf_ln2, libmp.mpf_pi):
    # mpmath keeps each of them and its precision in two variables, and makes it anew where more bits are asked for.
    # Made once with more than anybody asks for, no thread sees one variable changed without the other.
    _constant(_CONSTANT_BITS)


def exp(x: float) -> float:
    """Return e^x."""
    return _rounded(libmp.mpf_exp, x)


def log(x: float) -> float:
    """Return the natural logarithm of x > 0."""
    return _rounded(libmp.mpf_log, x)


def log2(x: float) -> float:
    """Return the logarithm of x > 0 to base 2."""
    return _rounded(_log2, x)


def log1p(x: float) -> float:
    """Return the natural logarithm of 1 + x, x > -1."""
    return _rounded(_log1p, x)


def cos(x: float) -> float:
    """Return the cosine of x, in radians."""
    return _rounded(libmp.mpf_cos, x)


def tanh(x: float) -> float:
    """Return the hyperbolic tangent of x."""
    return _rounded(libmp.mpf_tanh, x)


def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x)."""
    return _rounded(_sigmoid, x)


def power(x: float, exponent: int) -> float:
    """Return x^exponent."""
    return float(Fraction(x) ** exponent)


def multiply_add(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def total(values: Iterable[float]) -> float:
    """Return the sum, from the first to the last, each rounded: what ``sum`` does up to Python 3.11 only."""
    found = 0.0
    for value in values:
        found += value
    return found


def log_gamma(x: float) -> float:
    """Return the logarithm of Gamma(x), x > 0, to about 1e-15: by Lanczos's formula as in CPython, whose last digits
    certificates have."""
    if x in (1.0, 2.0):
        return 0.0
    above = below = 0.0
    for one, other in _LANCZOS if x >= 5 else reversed(_LANCZOS):
        above, below = (above / x + one, below / x + other) if x >= 5 else (above * x + one, below * x + other)
    return log(above / below) - _LANCZOS_G + (x - 0.5) * (log(x + _LANCZOS_G - 0.5) - 1)


def floor_log2(exact: Fraction | float) -> int:
    """Return the largest k with 2^k <= the positive number."""
    above, below = exact.as_integer_ratio()
    guess = above.bit_length() - below.bit_length()
    return guess if above << max(-guess, 0) >= below << max(guess, 0) else guess - 1


def ceil_log2(exact: Fraction | float) -> int:
    """Return the smallest k with 2^k >= the positive number."""
    return -floor_log2(1 / Fraction(exact))


@lru_cache(_KEPT)
def _rounded(function: Callable[..., Any], x: float) -> float:
    sign, mantissa, exponent, _ = function(libmp.from_float(x), _BITS)
    if exponent and not mantissa:  # how mpmath writes what is no finite number
        raise ValueError(f"A real function has no finite value at {x!r}.")
    if exponent >= 0:
        return float((-mantissa if sign else mantissa) << exponent)
    return float(Fraction(-mantissa if sign else mantissa, 1 << -exponent))


def _log2(x: Any, bits: int) -> Any:
    return libmp.mpf_div(libmp.mpf_log(x, bits), libmp.mpf_ln2(bits), bits)


def _log1p(x: Any, bits: int) -> Any:
    return libmp.mpf_log(libmp.mpf_add(libmp.fone, x), bits)  # a sum without a number of bits is exact


def _sigmoid(x: Any, bits: int) -> Any:
    likely = libmp.mpf_exp(libmp.mpf_neg(x), bits)
    return libmp.mpf_div(libmp.fone, libmp.mpf_add(libmp.fone, likely, bits), bits)
