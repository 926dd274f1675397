r"""Few steps with K-norm noise, for delta = 0 and dense rows: when, how many, how long.

In pure privacy the epsilons of steps add up: T steps have T times the noise of one. Against that, a step costs nothing
but noise of length 2 T d / epsilon beside a sum of n rows, whereas the minimiser must be made insensitive by a penalty.
So steps are better where the noise is what matters, and the more steps the less it is. Everything here is a function of
n, d and epsilon, with q = n epsilon / (d + 1), about the signal of one step over its noise:

- **When**: epsilon < 2 and at most 128 columns, two classes. Elsewhere the minimiser, as before.
- **How many**: 1 for q < 24, then 2 max(1, round(q / 48)), at most 10. An even number: with long steps the iterates
  alternate about what all rows have in common, and the mean of an even number of them does not.
- **How long**: as with Gaussian noise, such that the noise of all steps moves the score of a row of length 1 by a
  standard deviation of 1.6, but at most (d + 10) / n.
- **Rows** have length 1; up to 16 columns nothing is subtracted from them, because a row's own mean is a large part of
  what few columns say. The constant is 1/5.

Evidence, and what chose these numbers: docs/explanation/recipe.md, "Pure epsilon".

**Cells.** What a step releases is rounded, after its noise, to cells of 2^-8 to 2^-7 of the noise's standard deviation:
``sampling.rounded_knorm`` needs cells that are coarse beside the errors of its draws. Accuracy does not notice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.arithmetic import reals
from cofit.learn.checked import flag
from cofit.learn.recipes.descent.budget import CENTRED_CONSTANT, PACE
from cofit.privacy.safe_rounding import ROOT_BITS, root_up

if TYPE_CHECKING:
    from cofit.learn.facts import Facts

EPSILON_BELOW = 2
MOST_COLUMNS = 128
MOST_STEPS = 10
ONE_STEP_BELOW = 24
PLAIN_COLUMNS = 16
_CELLS_BITS = 8  # of a standard deviation


def takes_pure_steps(facts: Facts, asked: bool | None, *, dense: bool) -> bool:
    """Return whether noise is in steps though delta is 0. dense: whether rows are, of two classes or more."""
    if asked is None or not flag("pure_steps", asked) or facts.recipe != "best" or facts.delta:
        return False
    return dense and facts.classes == 2 and knorm_steps(facts.rows, facts.cols, facts.epsilon) > 0


def knorm_steps(rows: int, cols: int, epsilon: Fraction) -> int:
    """Return how many steps with K-norm noise are taken for delta = 0; 0: none, but noise on the minimiser."""
    if epsilon >= EPSILON_BELOW or cols > MOST_COLUMNS:
        return 0
    signal = rows * epsilon / (cols + 1)
    if signal < ONE_STEP_BELOW:
        return 1
    return min(MOST_STEPS, 2 * max(1, math.floor(signal / (2 * ONE_STEP_BELOW) + Fraction(1, 2))))


@dataclass(frozen=True)
class KNormBudget:
    """How epsilon is spent on steps with K-norm noise. weights: with the intercept's."""

    epsilon: Fraction
    rows: int
    cols: int
    weights: int

    @property
    def steps(self) -> int:
        """How many."""
        return knorm_steps(self.rows, self.cols, self.epsilon)

    @property
    def constant(self) -> Fraction:
        """beta."""
        return CENTRED_CONSTANT

    @property
    def pace(self) -> Fraction:
        """kappa, in units of half margins."""
        root = root_up(Fraction(self.steps * (self.weights + 1)), ROOT_BITS)
        return min(Fraction(self.cols + 10, 2 * self.rows), PACE * self.epsilon / (2 * self.steps * root))


def cell_bits(scale: Fraction, weights: int) -> int:
    """Return k: noise of this scale, in steps of the grid, is rounded to 2^k steps with what it is added to."""
    deviation = scale * root_up(Fraction(weights + 1), ROOT_BITS)
    return max(0, reals.floor_log2(deviation) - _CELLS_BITS)
