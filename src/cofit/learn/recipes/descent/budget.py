"""The recipe "best": how a budget is spent on noisy gradient descent. Public numbers only; nothing is tuned on data.

T = 20 full-batch steps from 0 on rows of length at most 1, each with the gradient's own noise; the released weights are
the mean of the last 6 iterates. Where the constants come from, and what other choices cost: docs/explanation/recipe.md.

- **Time instead of a penalty.** The step is such that the noise of all steps moves the score of a row of length 1 by a
  standard deviation of 1.6, against margins from 1 to 3, whatever n, epsilon and the data are: kappa = (8/10) mu_g / T
  times the *sum* of gradients. A larger budget then takes longer steps: it trains longer, with the same noise. But no
  more than (d + 10) / n: beyond that, twenty steps overshoot and nothing is left to learn.
- **Residual**, that of the loss: a record on the wrong side counts as 1, one far on the right side not at all. For
  logistic regression, of the margin m, clip((3 - m) / 2, 0, 1). The parties keep half margins, and w / 2.
- **Noise** mu_t^2 in proportion to how many of the averaged iterates contain step t: 1 up to the first of them, then
  5/6 ... 1/6.
- **Several classes**: a column of weights for each, one against the rest. Of a record, the column of its own class
  counts with 1 and those of the others with 1 / sqrt(K - 1), so that all of them together count at most sqrt(2),
  however many there are. The step is half as long, so that the difference of two classes' scores has the noise of one
  score above.
- **Offset.** Half of a row's own mean is subtracted from it; with a level, 3/8 of that and 5/8 of the level. All of the
  mean would take away what the columns have in common, which may be what matters; none of it would waste length on a
  constant.
- **Level**: where features have agreed ranges, the mean of all values. It gets what brings its noise to 5 % of the
  range, from 1/200 to 1/10 of mu^2, and is left out where the noise would still exceed 15 %.
- **Calibrated intercept** (5 % of mu^2, only where it is asked for): three more steps after the last, for one number
  that is added to all scores. It never gained more than a fifth of a point beside the constant, so it is not the rule.
- **Centre** (5 % of mu^2): the mean of the centred rows of length 1, subtracted from each before it is scaled again.
  Only if the noise in it is short: d s^2 <= 1/10.
- **Clipped rows** (20 % of mu^2, in the place of level and centre): with few columns and many rows, the mean of the
  rows, their spread in every column and their usual length are found privately, so that the scaling of the columns
  does not matter (``clip.py``). The rule of public facts: ``clipping_pays``.

- **A real target** has another pace, for residuals clip((y - z) / c, -1, 1): kappa at most (3/10) c (d + 10) / n, and
  such that the noise of all steps moves a prediction by a standard deviation of 1/5 of half of the target's range. The
  constant of the intercept is 3/8, because the mean of the target has to be found too. Evidence:
  docs/explanation/regression.md. Counts have the same with c = 1/4, or 1/2 where they are small
  (``losses/clipped_count.py``).

Users may set the shares of level, centre and intercept themselves (``shares.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from cofit.learn.recipes.descent.shares import Shares, check_together
from cofit.privacy.accountant import split
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL, MEAN, RADIUS, SHIFT, SPREAD, STEP, numbered
from cofit.privacy.safe_rounding import root_up, significant_up

STEPS = 20
AVERAGED = 6
CONSTANT, CENTRED_CONSTANT = Fraction(13, 256), Fraction(51, 256)
"""The entry of the intercept's column, beside a row of length 1; larger where the rows are centred, because a common
direction of all rows, which serves as an intercept too, is gone then."""
NUMBER_CONSTANT = Fraction(96, 256)
"""The same for a real target."""
CONSTANT_BITS = 8
LEAST_LEVEL_SHARE, MOST_LEVEL_SHARE, CENTRE_SHARE = Fraction(1, 200), Fraction(1, 10), Fraction(5, 100)
GOOD_LEVEL, WIDEST_LEVEL = Fraction(5, 100), Fraction(15, 100)
LONGEST_CENTRE = Fraction(1, 10)
PACE, PACE_OF_SEVERAL = Fraction(8, 10), Fraction(1, 2)
NUMBER_PACE, NUMBER_FASTEST = Fraction(1, 10), Fraction(3, 10)
CALIBRATION_STEPS, CALIBRATION_SHARE = 3, Fraction(5, 100)
OWN_PARTS, LEVEL_PARTS = 3, 5
"""Of 8, in the offset of a row: its own mean and the level."""
MEAN_SHARE, RADIUS_SHARE, SHIFT_SHARE, SPREAD_SHARE = (Fraction(part, 100) for part in (5, 1, 4, 10))
MOST_CLIPPED = 128
LONGEST_MEAN, WIDEST_SPREAD = Fraction(1, 10), Fraction(1, 4)
CENTRED_FLOOR = Fraction(1, 4)
"""A centred row that is shorter is not stretched to length 1, but divided by this."""
PURE_CONSTANT = Fraction(3, 256)
_PACE_BITS = 32


@dataclass(frozen=True)
class ClipBudget:
    """mu^2 of the releases that prepare clipped rows."""

    mean: Fraction
    radius: Fraction
    shift: Fraction
    spread: Fraction


@dataclass(frozen=True)
class Budget:
    """mu^2 of every part for data of this size; None where a part is not worth its price."""

    level: Fraction | None
    centre: Fraction | None
    clip: ClipBudget | None
    steps: tuple[Fraction, ...]
    calibration: tuple[Fraction, ...]
    rows: int
    cols: int
    difference: Fraction | None = None  # c, where the residuals are of a real target
    outputs: int = 1
    referenced: bool = False  # rows are centred by a public reference

    @property
    def constant(self) -> Fraction:
        """beta."""
        if self.difference is not None:
            return NUMBER_CONSTANT
        centred = self.centre is not None or self.clip is not None or self.referenced
        return CENTRED_CONSTANT if centred else CONSTANT

    @property
    def pace(self) -> Fraction:
        """kappa: what a step multiplies the noisy sum of gradients by, in units of half margins; of a real target, of
        half of its range."""
        fastest = Fraction(self.cols + 10, 2 * self.rows)
        budget = root_up(sum(self.steps, Fraction(0)), _PACE_BITS)
        if self.difference is not None:
            return min(2 * NUMBER_FASTEST * self.difference * fastest, NUMBER_PACE * budget / STEPS)
        pace = min(fastest, PACE * budget / (2 * STEPS))
        return pace if self.outputs == 1 else pace * PACE_OF_SEVERAL

    @property
    def calibration_pace(self) -> Fraction:
        """Of the steps for the intercept: their noise moves it by 1/4 of a margin, or they move it by 4 at most."""
        slow = root_up(sum(self.calibration, Fraction(0)), _PACE_BITS) / (8 * CALIBRATION_STEPS)
        pace = min(Fraction(2, self.rows), slow)
        return pace if self.outputs == 1 else pace * PACE_OF_SEVERAL


def shares_of_steps() -> tuple[Fraction, ...]:
    """Return the share of each step in mu_g^2: how many of the averaged iterates contain its noise."""
    first = STEPS - AVERAGED
    counts = [Fraction(AVERAGED)] * first + [Fraction(STEPS - t) for t in range(first, STEPS)]
    return tuple(count / sum(counts) for count in counts)


def clipping_pays(rows: int, cols: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether rows are clipped unless somebody says otherwise: few columns, and so many rows that the noise in
    their mean is at most 1/10 of the longest row, and that in the spread of a column 1/4 of the average."""
    whole = split(epsilon, delta, {"all": Fraction(1)})["all"]
    mean = 4 * cols <= LONGEST_MEAN**2 * rows**2 * whole * MEAN_SHARE
    spread = 2 * cols**2 <= WIDEST_SPREAD**2 * rows**2 * whole * SPREAD_SHARE
    return cols <= MOST_CLIPPED and mean and spread


def spend(
    rows: int,
    cols: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    ranges: bool,
    clip: bool = False,
    calibrate: bool = False,
    chosen: Shares = (),
    difference: Fraction | None = None,
    outputs: int = 1,
    referenced: bool = False,
    centring: bool = True,
) -> Budget:
    """Return how (epsilon, delta) is spent. ``ranges``: the features have agreed ranges. ``clip``: rows are clipped.
    ``chosen``: shares that users have chosen in the place of the recipe's. ``difference``: where residuals of a real
    target are clipped; None for classes. ``outputs``: columns of weights. ``referenced``: rows come from a public
    reference's map. ``centring``: False where they have another centre already, as rows that parties map have."""
    asked = dict(chosen)
    whole = split(epsilon, delta, {"all": Fraction(1)})["all"]
    share = min(max(1 / (GOOD_LEVEL**2 * rows**2 * whole), LEAST_LEVEL_SHARE), MOST_LEVEL_SHARE)
    level = ranges and not clip and WIDEST_LEVEL**2 * rows**2 * whole * share >= 1
    centre = centring and not clip and 4 * cols <= LONGEST_CENTRE * rows**2 * whole * CENTRE_SHARE
    level_share = asked.get(LEVEL, significant_up(share, _PACE_BITS) if level else Fraction(0))
    centre_share = asked.get(CENTRE, CENTRE_SHARE if centre else Fraction(0))
    extras = {name: part for name, part in ((LEVEL, level_share), (CENTRE, centre_share)) if part}
    if clip:
        extras = {MEAN: MEAN_SHARE, RADIUS: RADIUS_SHARE, SHIFT: SHIFT_SHARE, SPREAD: SPREAD_SHARE}
    calibration = asked.get(INTERCEPT, CALIBRATION_SHARE)
    if chosen:
        check_together(extras | ({INTERCEPT: calibration} if calibrate else {}), asked)
    shares = [calibration / CALIBRATION_STEPS] * (CALIBRATION_STEPS if calibrate else 0)
    extras |= {numbered(INTERCEPT, k): one for k, one in enumerate(shares)}
    left = 1 - sum(extras.values(), Fraction(0))
    parts: Mapping[str, Fraction] = split(
        epsilon, delta, extras | {numbered(STEP, t): left * share for t, share in enumerate(shares_of_steps())}
    )
    steps = tuple(parts[numbered(STEP, t)] for t in range(STEPS))
    offsets = tuple(parts[numbered(INTERCEPT, k)] for k in range(len(shares)))
    clipped = ClipBudget(parts[MEAN], parts[RADIUS], parts[SHIFT], parts[SPREAD]) if clip else None
    level_part, centre_part = parts.get(LEVEL), parts.get(CENTRE)
    return Budget(level_part, centre_part, clipped, steps, offsets, rows, cols, difference, outputs, referenced)


@dataclass(frozen=True)
class PureBudget:
    """For delta = 0 and sparse rows, of a sum of absolute values of at most 1: Laplace noise, few steps.

    In pure privacy the epsilons of steps add up, so more than two cost more than they bring, and below epsilon = 2 one
    is best: the difference of the classes' means. The pace is such that the noise moves the score of a row with
    ``nonzeros`` equal values by a standard deviation of 1.6, as above.
    """

    epsilon: Fraction
    rows: int
    nonzeros: int

    @property
    def steps(self) -> int:
        """How many."""
        return 1 if self.epsilon < 2 else 2

    @property
    def constant(self) -> Fraction:
        """beta: small, because a row's own values are small too."""
        return PURE_CONSTANT

    @property
    def pace(self) -> Fraction:
        """kappa."""
        steps, root = self.steps, root_up(Fraction(self.nonzeros, 2 * self.steps), _PACE_BITS)
        return min(Fraction(25 * self.nonzeros, self.rows), PACE * root * self.epsilon / (2 * steps))


def pure_penalty(rows: int, cols: int, epsilon: Fraction) -> Fraction:
    """Return Lambda of the minimiser for delta = 0: K-norm noise has a length of about 4/5 a weight then."""
    penalty = 2 * root_up(Fraction(cols + 1), _PACE_BITS) / (PACE * rows * epsilon)
    return min(max(penalty, Fraction(1, 100)), Fraction(4))
