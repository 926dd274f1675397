"""Noisy descent against the same descent in NumPy, with the same noise: every kind of rows, every scheme, both rings.

Release by release the difference is within what roundings may do; from end to end, within a small part of the noise.
The reference is written from the recipe's formulas and shares no code with what it checks; rows are those that owners
encode.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z128
from cofit.learn.contribution import prepared_features
from cofit.learn.recipes.descent import rows as rows_module
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.sharing import Share
from cofit.sharing.rep3.party import Rep3
from support.descent import (
    FEW,
    KINDS,
    MAPS,
    SEVERAL,
    Seen,
    Table,
    fixed_noise,
    integers,
    masked_truncation,
    noise_of,
    opened,
    plan_of,
    seen,
    table_of,
)
from support.schemes import EVERY, also_slow, form
from support.training import CLIPS

Reals = npt.NDArray[np.float64]
FORESEEN = Rep3.foreseen_squares


UNITS = {40: 4, 6: 1}
"""The power of two nearest to a tenth of the largest count."""


@dataclass(frozen=True)
class Reference:
    """One descent in floating point; ``plan`` gives public numbers alone."""

    plan: DescentPlan
    y: Reals
    labels: npt.NDArray[Any]
    counts: Reals
    noise: dict[str, Reals]

    def level(self) -> float:
        """The mean of all row means, with its noise."""
        return float((self.y.mean(axis=1).sum() + self.noise["level"][0] / 2.0**15) / len(self.y))

    def first_mean(self) -> Reals:
        """Clipped rows: their mean, with its noise."""
        noisy = self.y.sum(axis=0) + self.noise["mean"] / 2.0**self.plan.formats.grid
        return np.asarray(noisy / len(self.y))

    def radius(self, mean: Reals) -> float:
        """The mean of clamped lengths, with its noise."""
        lengths = np.clip(np.linalg.norm(self.y - mean, axis=1), 1 / 64, 1 / 2)
        return float((lengths.sum() + self.noise["radius"][0] / 2.0 ** self.plan.grid_of("radius")) / len(self.y))

    def shift_and_spread(self, mean: Reals, radius: float) -> tuple[Reals, Reals]:
        """Mean and mean square of rows that are clipped at the radius, with their noise."""
        unit, n = 2.0**-self.plan.formats.grid, len(self.y)
        z = (self.y - mean) / np.maximum(np.linalg.norm(self.y - mean, axis=1), radius)[:, None]
        return (z.sum(axis=0) + unit * self.noise["shift"]) / n, ((z**2).sum(axis=0) + unit * self.noise["spread"]) / n

    def stretch(self, shift: Reals, spread: Reals) -> Reals:
        clip = self.plan.formats.clip
        assert clip is not None
        return np.asarray(1 / np.sqrt(np.clip(spread - shift**2, float(clip.variance_floor), 1)))

    def clipped(self, mean: Reals, stretch: Reals, radius: float) -> Reals:
        """Rows as the steps see them."""
        b = stretch * (self.y - mean)
        b = b - b.mean(axis=1, keepdims=True) / 2
        least = 0.75 * self.y.shape[1] ** 0.5 * radius
        return np.asarray(b / np.maximum(np.linalg.norm(b, axis=1, keepdims=True), least))

    def short_rows(self, level: float) -> Reals:
        """Rows of length at most 1, before the centre."""
        if self.plan.facts.normalised_by == "owners":
            return self.y
        own = self.y.mean(axis=1, keepdims=True) * (not self.plan.facts.pure_steps)  # of few columns
        apart = self.y - (own / 2 if self.plan.level is None else 0.375 * own + 0.625 * level)
        return np.asarray(
            apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), float(self.plan.facts.norm_floor))
        )

    def centre(self, level: float) -> Reals:
        noisy = self.short_rows(level).sum(axis=0) + self.noise["centre"] / 2.0**self.plan.formats.grid
        return np.asarray(noisy / len(self.y))

    def mapped(self, z: Reals, found: ReferenceMap) -> Reals:
        """Rows of length at most 1 as a public reference maps them: to a length of at most 1 again."""
        v, half = found.directions.astype(np.float64), found.records / 2
        same = half * found.isotropic
        covariance = half * (v.T * found.variances.astype(np.float64)) @ v + same * np.eye(found.inputs)
        ridge = covariance @ np.linalg.inv(covariance + found.cut * np.eye(found.inputs))
        apart = (z - found.mean) @ ridge / np.linalg.eigvalsh(ridge).max()
        if found.only:
            apart = apart @ v.T
        return np.asarray(apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1 / 16))

    def rows(self, level: float, centre: Reals | None) -> Reals:
        """Rows as the steps see them; a length of 1 before the centre is taken for granted, as by the parties."""
        z = self.short_rows(level)
        if self.plan.facts.reference is not None:
            return self.mapped(z, MAPS[self.plan.facts.reference])
        if centre is None:
            return z
        squares = 1 + centre @ centre - 2 * z @ centre
        return np.asarray((z - centre) / np.sqrt(np.maximum(squares, 1 / 16))[:, None])

    def residuals(self, scores: Reals) -> Reals:
        """What a record counts, with its sign and its weight, in every column of weights."""
        loss, (sign, counts) = self.plan.facts.loss, self.signs()
        weighed = self.counts if scores.ndim == 1 else self.counts[:, None]
        if loss in CLIPS:
            return np.asarray(weighed * counts * np.clip((self.labels - scores) / CLIPS[loss], -1, 1))
        if loss == "poisson":  # rates from 1/20 at a score of -1 to the largest count at 1; clipped at a tenth of that
            largest = self.plan.facts.largest_count or 0
            rates = np.sqrt(largest / 20) * np.sqrt(20 * largest) ** np.clip(scores, -1, 1)
            return np.asarray(
                weighed * counts * np.clip(((self.labels + 1) / 2 * largest - rates) / UNITS[largest], -1, 1)
            )
        edge, slope = (2.5, 2.0) if loss == "hinge" else (1.5, 1.0)
        return np.asarray(weighed * counts * sign * np.clip(edge - slope * sign * scores, 0, 1))

    def step(self, z: Reals, weights: Reals, noise: Reals) -> Reals:
        """w + kappa (sum of residuals times (z, beta) + noise)."""
        formats, facts = self.plan.formats, self.plan.facts
        if facts.fit_intercept:
            z = np.hstack([z, np.full((len(z), 1), float(formats.constant))])
        residuals = self.residuals(z @ weights)
        gradient = z.T @ residuals + noise.reshape(weights.shape) / 2.0**formats.grid
        return np.asarray(weights + 2.0**-formats.exponent * gradient)

    def signs(self) -> tuple[Reals, Reals | float]:
        """The side of a record, and what it counts with: in the columns of other classes, 1 / sqrt(K - 1) as much."""
        factor, classes = float(self.plan.formats.factor), self.plan.facts.classes
        if classes == 2:
            return np.asarray(2.0 * self.labels - 1), factor
        own = np.equal.outer(self.labels, np.arange(classes)).astype(np.float64)
        other = np.floor(2**12 * factor / np.sqrt(classes - 1)) / 2**12
        return np.asarray(2 * own - 1), np.where(own, factor, other)

    def offset(self, z: Reals, weights: Reals) -> Reals:
        """Three steps for one number, a class, that is added to the scores of the mean weights."""
        formats = self.plan.formats
        offset = np.zeros(len(self.noise["intercept 1"]))
        scores = z @ weights[:-1] + float(formats.constant) * weights[-1]
        for name in ("intercept 1", "intercept 2", "intercept 3"):
            residuals = self.residuals(scores + offset)
            noisy = residuals.sum(axis=0) + self.noise[name] / 2.0**formats.grid
            offset = offset + 2.0**-formats.offset_exponent * noisy
        return np.asarray(offset)

    def released(self) -> Reals:
        """From beginning to end: mean of the last six iterates, level, centre."""
        level = self.level() if "level" in self.noise else 0.0
        centre = self.centre(level) if "centre" in self.noise else None
        z = self.rows(level, centre)
        of_clipping: list[Any] = []
        if self.plan.clipped:
            mean = self.first_mean()
            radius = min(max(self.radius(mean), 1 / 64), 1 / 2)
            shift, spread = self.shift_and_spread(mean, radius)
            mean, stretch = mean + radius * shift, np.floor(128 * self.stretch(shift, spread)) / 128
            z, of_clipping = self.clipped(mean, stretch, radius), [mean, stretch, [radius]]
        steps = [noise for name, noise in self.noise.items() if name.startswith("step")]
        classes = self.plan.facts.classes
        weights = np.zeros(len(steps[0]) if classes == 2 else (len(steps[0]) // classes, classes))
        iterates = []
        for noise in steps:
            weights = self.step(z, weights, noise)
            iterates.append(weights)
        weights = np.mean(iterates[-6:], axis=0)
        extras = [self.offset(z, weights)] if "intercept 1" in self.noise else []
        extras += [np.array([level])] if "level" in self.noise else []
        return np.concatenate([weights.ravel(), *extras, *([centre] if centre is not None else []), *of_clipping])


def reference(plan: DescentPlan, table: Table, seed: int) -> Reference:
    noise = {name: values.astype(np.float64) for name, values in noise_of(plan, seed).items()}
    encoded = np.rint(np.ldexp(prepared_features(plan, table[0]), plan.formats.data))
    counts = table[2] if len(table) > 2 else np.ones(len(encoded))
    if plan.facts.class_weights:
        counts = np.array([float(weight) for _, weight in plan.facts.class_weights])[table[1]]
    return Reference(plan, np.ldexp(encoded, -plan.formats.data), table[1], counts, noise)


# --- release by release ----------------------------------------------------------------------------------


def assert_releases(plan: DescentPlan, table: Table, run: Seen, seed: int) -> None:
    """Each release given those before it: off by the roundings of one release, and by no more."""
    formats, n, d = plan.formats, plan.facts.rows, plan.facts.cols
    exact = reference(plan, table, seed)
    means = [values.astype(np.float64) for values in run.means]
    level, centre = 0.0, None
    if plan.level is not None:
        level = float(means.pop(0).reshape(-1)[0]) / 2.0**15
        assert abs(level - exact.level()) <= 2.0**-13 + 2.0**-16 * abs(level)
    if plan.centre is not None:
        centre = means.pop(0) / 2.0**formats.data
        a_row = float(formats.eta) + 2.0**-13 * d**0.5 / float(plan.floor or 1) + float(formats.longest) / 2.0**16
        allowed = a_row + 2 * d**0.5 / 2.0**formats.grid / n + d**0.5 / 2.0**formats.data
        off = np.linalg.norm(centre - exact.centre(level))
        assert off <= allowed + 2.0**-16 * np.linalg.norm(centre)
    z = exact.rows(level, centre)
    steep = 4.0 / float(plan.floor or 1)
    if plan.clipped:
        z, steep = assert_preparation(plan, run, exact)
    coarse_mean = 2.0**-14 * d**0.5 * steep if plan.floor is not None else 0.0  # means have 15 fractional bits
    coarse_mean += 2.0 ** (1 - formats.data) * d**0.5 * steep if plan.clipped else 0.0
    if plan.facts.reference is not None:  # mapped values have 16 fractional bits, and a row is divided by 1/16 at least
        steep = 16 / float(plan.floor or 1)
        coarse_mean = (2.0**-14 + 2.0**-formats.data) * plan.facts.input_cols**0.5 * steep
    for before, after, event in zip(run.before, run.after, plan.steps, strict=True):
        unit = 2.0**-formats.weights
        weights = before.astype(np.float64) * unit
        row = float(formats.eta) + coarse_mean
        score = row * np.linalg.norm(weights) + 2.0**-formats.argument + steep * 2.0**-formats.product
        of_counts = 0.0
        if largest := plan.facts.largest_count:  # the steepest rate, and the error of the exponential
            score, of_counts = score * largest / UNITS[largest] * np.log(20 * largest) / 2, 2.0**-11
        score *= max(1.0, float(formats.residual.slope))
        contribution = row + score + of_counts + 2.0**-formats.scaled * (2 + float(formats.longest + formats.centre))
        roots = plan.layout.outputs**0.5
        allowed = roots * 2.0**-formats.exponent * (n * contribution + (d + 1) ** 0.5 / 2.0**formats.grid)
        off = np.linalg.norm(after.astype(np.float64) * unit - exact.step(z, weights, exact.noise[event.name]))
        assert off <= allowed, f"{event.name} is off by {off}, more than roundings may do, {allowed}"


def assert_preparation(plan: DescentPlan, run: Seen, exact: Reference) -> tuple[Reals, float]:
    """The releases of clipped rows, each given those before it; return the rows, and the largest factor of one."""
    formats, n, d = plan.formats, plan.facts.rows, plan.facts.cols
    unit, root = 2.0**-formats.data, d**0.5
    first, lengths, shift, spread = (np.atleast_1d(values).astype(np.float64) for values in run.means)
    a_sum = 2 * root / 2.0**formats.grid / n + root * unit
    first = first * unit
    assert np.linalg.norm(first - exact.first_mean()) <= a_sum + 2.0**-16
    radius = float(lengths[0]) / 2.0**15
    assert abs(radius - exact.radius(first)) <= 5 * 2.0**-15
    radius = min(max(radius, 1 / 64), 1 / 2)
    assert formats.clip is not None
    farthest = float(np.linalg.norm(exact.y - first, axis=1).max())
    close = float(formats.clip.first_reach) - 1
    wanted = exact.shift_and_spread(first, radius)
    assert np.linalg.norm(shift * unit - wanted[0]) <= a_sum + close + 2.0**-16 * np.linalg.norm(wanted[0])
    assert np.linalg.norm(spread * unit - wanted[1]) <= a_sum + 3 * close + 2.0**-7 * farthest**2 + 2.0**-16
    rows = run.rows[0]
    mean, stretch = integers(rows.mean).astype(np.float64) * unit, integers(rows.stretch).astype(np.float64) / 128
    assert np.linalg.norm(mean - first - radius * shift * unit) <= 2 * root * unit
    np.testing.assert_allclose(stretch, exact.stretch(shift * unit, spread * unit), rtol=2.0**-9, atol=2.0**-6)
    return exact.clipped(mean, stretch, radius), 1 / (0.75 * root * radius)


@pytest.mark.parametrize(
    "table", ["random", *(pytest.param(table, marks=pytest.mark.slow) for table in ("extremes", "one-hot", "equal"))]
)
@pytest.mark.parametrize("kind", [*KINDS, *SEVERAL])
def test_every_release_is_that_of_the_recipe(kind: str, table: str) -> None:
    plan = plan_of(kind)
    data = table_of(table, plan, np.random.default_rng(41))
    with fixed_noise(42), masked_truncation(43):
        run = seen(plan, data)
    assert_releases(plan, data, run, 42)


# --- from end to end -------------------------------------------------------------------------------------


def disagreement(plan: DescentPlan, table: Table, scheme: str) -> float:
    """The largest difference of a released number, in units of the noise of a weight."""
    with fixed_noise(44):
        result = plan.opened.in_units(opened(plan, table, scheme))
    return float(np.abs(result - reference(plan, table, 44).released()).max()) / plan.noise_of_weights


SHORT = [(kind, scheme) for kind in FEW for scheme in ("clear", "rep3")]
SHORT += [("owners", "semi2k"), ("owners", "repn"), ("owners", "shamir/5"), ("pure", "pair"), ("pure", "shamir/5")]
SHORT += [("parties, level, centred", "pair"), ("parties, level, centred", "shamir"), ("calibrated", "semi2k")]
SHORT += [("calibrated", "rep4"), ("clipped", "semi2k"), ("clipped", "shamir")]
SHORT += [("numbers", "rep3"), ("weights", "rep4"), ("numbers, clipped", "rep3"), ("four classes", "rep3")]
SHORT += [
    ("three classes, owners", "shamir"),
    ("mapped by parties", "rep3"),
    ("mapped by parties, directions", "semi2k"),
]
"""Every scheme with two kinds or more, and every kind with another scheme beside ``rep3``."""
LONG = [(kind, scheme) for kind in (*KINDS, *SEVERAL) for scheme in EVERY if (kind, scheme) not in SHORT]


@pytest.mark.parametrize(("kind", "scheme"), also_slow(SHORT, *LONG))
def test_every_scheme_releases_what_the_recipe_says(kind: str, scheme: str) -> None:
    plan = plan_of(kind, scheme=form(scheme).spec.name)
    table = table_of("random", plan, np.random.default_rng(45))
    allowed = (0.05, 0.2)[plan.target.ranged]  # a stretch has 7 fractional bits; the noise of real targets is smaller
    if plan.formats.cells:
        allowed = 0.01  # what a step releases is rounded to 2^-8 to 2^-7 of its noise
    assert disagreement(plan, table, scheme) < (allowed if plan.clipped or plan.formats.cells else 0.002)


def foreseeing() -> AbstractContextManager[object]:
    """As with millions of values: squares are foreseen, where the scheme does that."""
    return mock.patch("cofit.learn.recipes.descent.clipped._FEWEST_BATCHES", 1)


@pytest.mark.parametrize("kind", ["clipped", "clipped, bounds"])
def test_foreseen_squares_release_the_same(kind: str) -> None:
    plan = plan_of(kind, scheme="rep3")
    table = table_of("random", plan, np.random.default_rng(45))
    with foreseeing(), mock.patch.object(Rep3, "foreseen_squares", autospec=True, side_effect=FORESEEN) as used:
        assert disagreement(plan, table, "rep3") < 0.05
    assert used.call_count == 3, "once at every party"


def test_wrong_foreseen_squares_are_noticed() -> None:
    """Broken on purpose: without the part that was weighed by the mask."""
    plan = plan_of("clipped", scheme="rep3")
    table = table_of("random", plan, np.random.default_rng(45))

    def broken(s: Rep3, a: Share, row: Share, weights: Share, mask: Share, masked: Share) -> Share:
        return FORESEEN(s, a, row, weights, mask, s.sub(masked, masked))

    with foreseeing(), mock.patch.object(Rep3, "foreseen_squares", broken):
        assert disagreement(plan, table, "rep3") > 0.05


def test_the_hinge_is_trained_with_its_own_residual() -> None:
    plan = plan_of("hinge", scheme="rep3")
    table = table_of("random", plan, np.random.default_rng(45))
    assert disagreement(plan, table, "rep3") < 0.002
    other = replace(plan, facts=replace(plan.facts, loss="logistic"))
    with fixed_noise(44):
        result = plan.opened.in_units(opened(plan, table, "clear"))
    assert np.abs(result - reference(other, table, 44).released()).max() > 0.02 * plan.noise_of_weights


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_both_partitions_release_the_same(partition: str) -> None:
    facts: dict[str, Any] = {"partition": partition, "normalised_by": "parties"}
    plan = plan_of("parties, level, centred", **facts)
    assert disagreement(plan, table_of("random", plan, np.random.default_rng(46)), "clear") < 0.002


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
def test_the_wide_ring_releases_the_same(scheme: str) -> None:
    plan = plan_of("parties, level, centred", norm_floor=1e-6, scheme=scheme)
    assert plan.formats.ring is Z128
    assert disagreement(plan, table_of("random", plan, np.random.default_rng(47)), scheme) < 0.002


def test_a_wrong_offset_is_noticed() -> None:
    """Broken on purpose: the whole mean of a row in the place of half of it."""
    plan = plan_of("parties, level, centred")
    table = table_of("random", plan, np.random.default_rng(48))
    means = rows_module.means
    with mock.patch("cofit.learn.recipes.descent.program.means", lambda y: means(y) * 2):
        assert disagreement(plan, table, "clear") > 0.05
        with fixed_noise(42):
            run = seen(plan, table)
    with pytest.raises(AssertionError):
        assert_releases(plan, table, run, 42)
