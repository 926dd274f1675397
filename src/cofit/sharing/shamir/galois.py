"""Galois rings: polynomials in X with coefficients modulo M, reduced modulo a polynomial h that is irreducible mod 2.

Shamir's sharing needs more points than Z_2^k has: differences of points must be invertible, and of any three integers
two differ by an even number. In Z_M[X]/(h), h of degree m, the 2^m polynomials with coefficients 0 and 1 are such
points for M = 2^k, because their differences are not zero modulo 2, where the ring is the field GF(2^m). (Abspoel,
Cramer, Damgard, Escudero, Yuan, "Efficient information-theoretic secure multiparty computation over Z/p^kZ via Galois
rings", TCC 2019, section 2.) For M = 2 the ring is that field. For a large prime M it need not be a field; the
differences are invertible all the same: their norms are small integers, smaller than M, and not 0, as h is irreducible
over the rationals.

Elements are tuples of m integers, the constant coefficient first: this is for the tables of a scheme, not for data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Element: TypeAlias = tuple[int, ...]

_REDUCTIONS: dict[int, Element] = {2: (-1, -1), 3: (-1, -1, 0)}  # X^m: X^2 = -X - 1, X^3 = -X - 1
LARGEST_DEGREE = max(_REDUCTIONS)


def degree_for(points: int) -> int:
    """Return the least degree m with 2^m points."""
    return next(degree for degree in _REDUCTIONS if 1 << degree >= points)


@dataclass(frozen=True)
class GaloisRing:
    """Z_M[X]/(h), h = X^2 + X + 1 or X^3 + X + 1."""

    modulus: int
    degree: int

    def point(self, number: int) -> Element:
        """Return the point whose coefficients are the binary digits of a number below 2^m."""
        return tuple(number >> i & 1 for i in range(self.degree))

    def whole(self, number: int) -> Element:
        """Return an integer as an element."""
        return (number % self.modulus, *(0,) * (self.degree - 1))

    def power(self, exponent: int) -> Element:
        """Return X^exponent, for an exponent below m."""
        return tuple(int(i == exponent) for i in range(self.degree))

    def sub(self, a: Element, b: Element) -> Element:
        """Return a - b."""
        return tuple((x - y) % self.modulus for x, y in zip(a, b, strict=True))

    def mul(self, a: Element, b: Element) -> Element:
        """Return a b."""
        product = [0] * (2 * self.degree - 1)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                product[i + j] += x * y
        for top in range(len(product) - 1, self.degree - 1, -1):
            for i, factor in enumerate(_REDUCTIONS[self.degree]):
                product[top - self.degree + i] += factor * product[top]
        return tuple(x % self.modulus for x in product[: self.degree])

    def inverse(self, a: Element) -> Element:
        """Return 1 / a, for an element whose norm is invertible: the solution of a x = 1, by Cramer's rule."""
        columns = [self.mul(a, self.power(i)) for i in range(self.degree)]
        rows = [list(row) for row in zip(*columns, strict=True)]
        scale = pow(_determinant(rows) % self.modulus, -1, self.modulus)
        one = self.whole(1)
        solved = []
        for i in range(self.degree):
            replaced = [[one[r] if c == i else row[c] for c in range(self.degree)] for r, row in enumerate(rows)]
            solved.append(_determinant(replaced) * scale % self.modulus)
        return tuple(solved)

    def lagrange(self, points: tuple[Element, ...], which: int, at: Element) -> Element:
        """Return the value, at ``at``, of the polynomial that is 1 at one of the points and 0 at the others."""
        value = self.whole(1)
        for i, point in enumerate(points):
            if i != which:
                quotient = self.inverse(self.sub(points[which], point))
                value = self.mul(value, self.mul(self.sub(at, point), quotient))
        return value


def _determinant(rows: list[list[int]]) -> int:
    if len(rows) == 1:
        return rows[0][0]
    return sum(
        (-1) ** i * rows[0][i] * _determinant([row[:i] + row[i + 1 :] for row in rows[1:]]) for i in range(len(rows))
    )
