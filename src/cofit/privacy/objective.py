"""The objective whose minimiser is published, and how much one record can move it.

    J(w) = (1/n) sum_i l(y_i, <w, x_i>) + (Lambda/2) ||w||^2,   ||x_i|| <= 1,   l convex in z

Claim. Let G bound |l'(y, <w, x>)| for every minimiser w of such an objective and every record. Then the minimisers of
two data sets that differ in one record are at most 2 G / (n Lambda) apart.

Proof (Chaudhuri, Monteleoni, Sarwate, JMLR 2011, lemma 7 and corollary 8, with G in place of 1). Let w, w' be the
minimisers of J, J', where record (x, y) of J is (x', y') in J'. J is Lambda-strongly convex and its gradient vanishes
at w, so Lambda ||w - w'|| <= ||grad J(w')||. grad J'(w') = 0, so grad J(w') = grad J(w') - grad J'(w') =
(1/n) (l'(y, <w', x>) x - l'(y', <w', x'>) x'), whose norm is at most 2 G / n.

Tight G. grad J(w) = 0 gives Lambda ||w|| = ||(1/n) sum l' x|| <= G, so |<w, x>| <= G / Lambda for every minimiser w,
and g(G / Lambda), with g(R) the bound of |l'| on |z| <= R, bounds |l'| as well. Starting from G = g(infinity), every
iterate of G <- g(G / Lambda) is therefore a valid bound; they decrease to the fixed point G = g(G / Lambda).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

SENSITIVITIES = ("tight", "paper")
_ITERATIONS = 200
_GRAIN = Fraction(1, 1 << 32)


@dataclass(frozen=True)
class Objective:
    """The public facts of J that the privacy claim rests on."""

    n: int
    l2: Fraction
    gradient_bound: Fraction

    @property
    def radius(self) -> Fraction:
        """R = G / Lambda: no minimiser is longer."""
        return self.gradient_bound / self.l2

    @property
    def sensitivity(self) -> Fraction:
        """2 G / (n Lambda): how far one replaced record can move the exact minimiser."""
        return 2 * self.gradient_bound / (self.n * self.l2)


def gradient_bound(derivative_bound: Callable[[Fraction | None], Fraction], l2: Fraction, kind: str) -> Fraction:
    """Return G: ``paper``: the bound for all z; ``tight``: the fixed point G = g(G / Lambda), from above."""
    bound = derivative_bound(None)
    if kind == "paper":
        return bound
    for _ in range(_ITERATIONS):
        better = _up(derivative_bound(bound / l2))
        if better >= bound:
            break
        bound = better
    return bound


def _up(value: Fraction) -> Fraction:
    """Round up to a multiple of 2^-32, so that the numbers stay short."""
    return -(-value // _GRAIN) * _GRAIN
