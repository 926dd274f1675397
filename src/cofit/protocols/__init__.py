"""Secure functions on secret values, one file each."""

from cofit.protocols.comparison import equal, is_negative, less
from cofit.protocols.division import divide, reciprocal
from cofit.protocols.exponential import exponential
from cofit.protocols.logarithm import logarithm
from cofit.protocols.roots import inverse_square_root, square_root
from cofit.protocols.select import select
from cofit.protocols.sigmoid import sigmoid, sigmoid_polynomial
from cofit.protocols.trigonometry import cosine, sine, sine_cosine

__all__ = [
    "cosine",
    "divide",
    "equal",
    "exponential",
    "inverse_square_root",
    "is_negative",
    "less",
    "logarithm",
    "reciprocal",
    "select",
    "sigmoid",
    "sigmoid_polynomial",
    "sine",
    "sine_cosine",
    "square_root",
]
