"""Noisy descent seen from outside: releases before their noise, chosen noise, chosen earlier releases, extreme data.

All of it with ``clear``, or with a public constant in the place of noise: for tests alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast
from unittest import mock

import numpy as np
import numpy.typing as npt

from cofit import Party, SecretArray, run_local
from cofit.arithmetic import FixedPoint, IntegerRing, Ring, RingArray
from cofit.learn.facts import training_facts
from cofit.learn.inputs import Holders
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent import noisy, program
from cofit.learn.recipes.descent.kept import Descent
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.reference import ReferenceMap, reference_map
from cofit.learn.recipes.descent.rows import Rows
from cofit.privacy.events import Event
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.secret.sums import Sum
from cofit.sharing import Share
from cofit.sharing.clear.party import Clear
from support.schemes import local
from support.training import COIN, Contributions, contributions

Reals = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
Integers = npt.NDArray[np.object_]
Table = tuple[Reals, Labels] | tuple[Reals, Labels, Reals]
"""Features, labels and, where the plan has some, weights from 0 to 1."""

KINDS: dict[str, dict[str, Any]] = {
    "owners": {"epsilon": 1.0, "delta": 1e-5},
    "owners, centred": {"epsilon": 8.0, "delta": 1e-5},
    "owners, no intercept": {"epsilon": 1.0, "delta": 1e-5, "fit_intercept": False},
    "parties": {"epsilon": 0.1, "delta": 1e-5, "partition": "vertical"},
    "parties, level": {"epsilon": 3.6, "delta": 1e-5, "feature_bound": 2.0, "feature_lower": -1.0},
    "parties, level, centred": {"epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "norm_floor": 0.1},
    "calibrated": {"epsilon": 8.0, "delta": 1e-5, "feature_bound": 2.0, "calibrate_intercept": True},
    "chosen shares": {
        "epsilon": 1.0,
        "delta": 1e-5,
        "feature_bound": 2.0,
        "calibrate_intercept": True,
        "budget_shares": (("level", 0.001), ("centre", 0.002), ("intercept", 0.3)),
    },
    "hinge": {"epsilon": 8.0, "delta": 1e-5, "feature_bound": 2.0, "calibrate_intercept": True, "loss": "hinge"},
    "numbers": {
        **{"epsilon": 8.0, "delta": 1e-5, "feature_bound": 2.0, "calibrate_intercept": True, "loss": "huber"},
        "norm_floor": 0.0625,
    },
    "counts": {
        **{"epsilon": 8.0, "delta": 1e-5, "feature_bound": 2.0, "loss": "poisson", "largest_count": 40},
        "norm_floor": 0.0625,
    },
    "counts, clipped": {
        **{"epsilon": 30.0, "delta": 1e-5, "loss": "poisson", "largest_count": 6, "weight_bound": 4.0},
        **{"partition": "vertical", "clip_rows": True},
    },
    "numbers, clipped": {
        **{"epsilon": 30.0, "delta": 1e-5, "loss": "clipped_squares", "weight_bound": 4.0},
        **{"partition": "vertical", "clip_rows": True},
    },
    "weights": {
        **{"epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "weight_bound": 3.0},
        **{"calibrate_intercept": True, "norm_floor": 0.1},
    },
    "weights of classes": {"epsilon": 1.0, "delta": 1e-5, "class_weights": (3.0, 1.0)},
    "clipped": {"epsilon": 30.0, "delta": 1e-5},
    "clipped, bounds": {"epsilon": 30.0, "delta": 1e-5, "feature_bound": 2.0, "calibrate_intercept": True},
    "clipped, columns": {"epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "clip_rows": True},
    "mapped by parties": {"epsilon": 1.0, "delta": 1e-5, "partition": "vertical", "directions_only": False},
    "mapped by parties, directions": {
        **{"epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "feature_bound": 2.0, "weight_bound": 3.0},
        **{"calibrate_intercept": True, "directions_only": True},
    },
    "pure": {"epsilon": 3.0, "delta": 0.0, "row_nonzeros": 2},
    "knorm": {"epsilon": 1.0, "delta": 0.0, "pure_steps": True, "rows": 150},
    "knorm, parties": {
        **{"epsilon": 1.9, "delta": 0.0, "pure_steps": True, "rows": 150, "partition": "vertical"},
        **{"feature_bound": 2.0, "norm_floor": 0.1},
    },
}
"""Facts for 60 rows (where they say nothing else) and 5 columns, which give every kind of release and of rows.
directions_only: of a public reference that ``plan_of`` makes, whose directions are fewer than the columns."""
SEVERAL: dict[str, dict[str, Any]] = {
    "four classes": {"epsilon": 8.0, "delta": 1e-5, "feature_bound": 2.0, "calibrate_intercept": True, "classes": 4},
    "three classes, owners": {"epsilon": 1.0, "delta": 1e-5, "fit_intercept": False, "classes": 3},
    "three classes, clipped": {"epsilon": 30.0, "delta": 1e-5, "classes": 3},
    "four classes, weights": {
        **{"epsilon": 8.0, "delta": 1e-5, "feature_bound": 2.0, "calibrate_intercept": True, "classes": 4},
        "weight_bound": 3.0,
    },
    "three classes, weights of them": {"epsilon": 1.0, "delta": 1e-5, "classes": 3, "class_weights": (3.0, 1.5, 1.0)},
    "three classes, clipped, weights": {"epsilon": 30.0, "delta": 1e-5, "classes": 3, "weight_bound": 4.0},
    "three classes, mapped by parties": {
        **{"epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "classes": 3, "directions_only": False},
        "norm_floor": 0.1,
    },
}
"""The same for several classes; what prepares the rows knows of no label, so that these are fewer."""
FEW = ("owners", "parties, level, centred", "calibrated", "clipped", "pure", "knorm")
"""Kinds that together have every release: of long tests, the others are with the slow ones."""


@functools.lru_cache(maxsize=512)
def descent_plan(rows: int, cols: int, **facts: Any) -> DescentPlan:
    """The plan for these facts, made once."""
    shares = facts.pop("budget_shares", None)  # in pairs, because facts must be hashable here
    plan = plan_training(training_facts(rows, cols, budget_shares=shares and dict(shares), **facts))
    assert isinstance(plan, DescentPlan)
    return plan


def plan_of(kind: str, rows: int | None = None, cols: int = 5, **facts: Any) -> DescentPlan:
    asked = {"scheme": "clear", **(KINDS | SEVERAL)[kind], **facts}
    rows = asked.pop("rows", 60) if rows is None else asked.pop("rows", rows) and rows
    if "directions_only" in asked:
        mapped = map_of(cols, asked.pop("directions_only"))
        asked |= {"reference": mapped.hash, "reference_inputs": cols}
        cols = mapped.columns
    return descent_plan(rows, cols, **asked)


MAPS: dict[str, ReferenceMap] = {}
"""By their hashes: of the plans that ``plan_of`` has made."""


@functools.lru_cache(maxsize=64)
def map_of(cols: int, only: bool) -> ReferenceMap:
    """The map of a reference of 30 rows, in fewer directions than there are columns."""
    rng = np.random.default_rng(cols)
    few = max(1, cols - 2)
    rows = rng.normal(size=(30, few)) * np.geomspace(1, 0.2, few) @ rng.normal(size=(few, cols)) + rng.normal(size=cols)
    made = reference_map(rows, 60, epsilon=1.0, delta=1e-5, directions_only=only)
    return MAPS.setdefault(made.hash, made)


def unrounded(plan: DescentPlan) -> DescentPlan:  # noisy sums are not rounded to cells: what meets the noise is seen
    return replace(plan, formats=replace(plan.formats, cells=0))


def truncating(plan: DescentPlan) -> DescentPlan:
    """The same plan, with so few bits of the weights that rows are multiplied by: about the fewest a plan may have."""
    formats = plan.formats
    carried = 16 if plan.clipped else 10
    assert carried < formats.weights
    error = root_up(Fraction(plan.layout.features), ROOT_BITS) / (1 << carried)
    product = min(formats.product, formats.data + carried)
    return replace(plan, formats=replace(formats, carried=carried, carried_error=error, product=product))


def integers(value: SecretArray) -> Integers:
    """What a value of ``clear`` stands for, in units of its last place."""
    return np.asarray(value.format.ring.to_int(value._share.parts[0])).astype(object)


def holding(like: SecretArray, values: Integers) -> SecretArray:
    """The same public facts, other integers."""
    ring = like.format.ring
    share = Share(ring, (ring.from_int(np.asarray(values, dtype=object)),))
    return SecretArray(like._scheme, share, like.format, like.integer_limit)


# --- noise -----------------------------------------------------------------------------------------------


Sample = Callable[[np.random.Generator, Fraction, tuple[int, ...]], Integers]


def rounded_normal(rng: np.random.Generator, scale: Fraction, shape: tuple[int, ...]) -> Integers:
    return np.asarray(np.rint(float(scale) * rng.normal(size=shape))).astype(np.int64).astype(object)


def no_noise(rng: np.random.Generator, scale: Fraction, shape: tuple[int, ...]) -> Integers:
    return np.zeros(shape, dtype=object)


def noise_of(plan: DescentPlan, seed: int, sample: Sample = rounded_normal) -> dict[str, Integers]:
    """What ``fixed_noise`` hands to each release, in steps of its grid."""
    rng = np.random.default_rng(seed)
    return {event.name: sample(rng, event.scale, (event.dimension,)) for event in plan.events}


@contextmanager
def fixed_noise(seed: int = 0, sample: Sample = rounded_normal) -> Iterator[None]:
    """Public constants in the place of noise, the same at all parties, with the public bounds of noise."""
    streams: dict[int, np.random.Generator] = {}

    def draws(party: Party, plan: DescentPlan, batch: list[tuple[Event, int]]) -> list[SecretArray]:
        rng = streams.setdefault(id(party), np.random.default_rng(seed))
        return [
            party.constant(sample(rng, event.scale, (size,)), FixedPoint(0, plan.formats.ring)).loosened(
                noisy.largest_draw(plan, event)
            )
            for event, size in batch
        ]

    with mock.patch.object(noisy, "_draws", draws):
        yield


@contextmanager
def extreme_noise(plan: DescentPlan, signs: int) -> Iterator[None]:
    """The largest draws that there are, of one sign (1, -1) or of random ones (0)."""
    with mock.patch.dict(_LARGEST, clear=True):
        for event in plan.events:
            _LARGEST[event.scale] = signs, noisy.largest_draw(plan, event)
        with fixed_noise(sample=_largest):
            yield


_LARGEST: dict[Fraction, tuple[int, int]] = {}


def _largest(rng: np.random.Generator, scale: Fraction, shape: tuple[int, ...]) -> Integers:
    sign, largest = _LARGEST[scale]
    return np.asarray((rng.choice([-1, 1], size=shape) if sign == 0 else np.full(shape, sign)).astype(object) * largest)


@contextmanager
def masked_truncation(seed: int) -> Iterator[None]:
    """Truncation as schemes do it: floor((x + r) / 2^k) for masks r that are the same in every run of this seed."""
    rng = np.random.default_rng(seed)

    def truncated(ring: Ring, product: RingArray, shift: int) -> Share:
        if shift and isinstance(ring, IntegerRing):
            mask = rng.integers(0, 1 << min(shift, 62), size=product.shape).astype(object) << max(shift - 62, 0)
            product = ring.sar(ring.add(product, ring.from_int(mask)), shift)
        return Share(ring, (product,))

    with mock.patch.object(Clear, "_floor", staticmethod(truncated)):
        yield


# --- runs ------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """Integers of one run. ``sums``: of level and centre, with their noise; ``means``: what became of them.

    ``before``, ``after``: the weights of every step; ``total``: their sum; ``offsets``: the intercept before and after
    each step for it alone. ``rows`` (signed), ``residuals`` (of ``residual_bits``), ``margins``: of every step.
    """

    sums: list[Integers] = field(default_factory=list)
    means: list[Integers] = field(default_factory=list)
    before: list[Integers] = field(default_factory=list)
    after: list[Integers] = field(default_factory=list)
    total: list[Integers] = field(default_factory=list)
    offsets: list[tuple[Integers, Integers]] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    residuals: list[Integers] = field(default_factory=list)
    residual_bits: set[int] = field(default_factory=set)
    margins: list[Integers] = field(default_factory=list)
    opened: Integers = field(default_factory=lambda: np.zeros(0, dtype=object))

    def releases(self, plan: DescentPlan) -> dict[str, Integers]:
        """The integer vector of every release, with its noise."""
        extras = [event.name for event in plan.events if event not in (*plan.steps, *plan.calibration)]
        moved = [after - before for after, before in zip(self.after, self.before, strict=True)]
        return {
            **{name: np.atleast_1d(value) for name, value in zip(extras, self.sums, strict=True)},
            **{event.name: move for event, move in zip(plan.steps, moved, strict=True)},
            **{event.name: b - a for event, (a, b) in zip(plan.calibration, self.offsets, strict=True)},
        }


def seen(plan: DescentPlan, table: Table, earlier: Seen | None = None) -> Seen:
    """Run with ``clear``. ``earlier``: every release sees those of that run before it, not its own."""
    result = Seen()
    divided, step, margins, weighted_sum = noisy.divided, program._step, Rows.margins, Rows.weighted_sum
    calibrate, intercept_step = program._calibrate, program._intercept_step

    def spied_divided(value: SecretArray, count: int, bits: int) -> SecretArray:
        result.sums.append(integers(value))
        mean = divided(value, count, bits)
        if earlier is not None:
            mean = holding(mean, earlier.means[len(result.means)])
        result.means.append(integers(mean))
        return mean

    def spied_step(rows: Any, plan: DescentPlan, weights: SecretArray, noise: SecretArray) -> SecretArray:
        if earlier is not None:
            limit = weights.format.limit(plan.formats.radius)
            weights = holding(weights.loosened(max(limit, weights.integer_limit)), earlier.before[len(result.before)])
        result.before.append(integers(weights))
        result.rows.append(rows)
        after = step(rows, plan, weights, noise)
        result.after.append(integers(after))
        return after

    def spied_calibrate(party: Party, rows: Any, plan: DescentPlan, descent: Descent, checkpoints: Any) -> None:
        if earlier is not None:
            descent.total = holding(descent.total, earlier.total[0])
        result.total.append(integers(descent.total))
        calibrate(party, rows, plan, descent, checkpoints)

    def spied_intercept(
        rows: Any, plan: DescentPlan, margins: SecretArray, offset: SecretArray, noise: SecretArray
    ) -> SecretArray:
        if earlier is not None:
            limit = offset.format.limit(plan.formats.offset_radius)
            earlier_offset = earlier.offsets[len(result.offsets)][0]
            offset = holding(offset.loosened(max(limit, offset.integer_limit)), earlier_offset)
        after = intercept_step(rows, plan, margins, offset, noise)
        result.offsets.append((integers(offset), integers(after)))
        return after

    def spied_margins(self: Any, weights: SecretArray, plus: SecretArray | None) -> Sum:
        result.margins.append(integers((total := margins(self, weights, plus)).value()))
        return total

    def spied_sum(self: Any, factors: SecretArray, bits: int, largest: Fraction) -> Sum:
        result.residual_bits.add(factors.format.fraction_bits)
        result.residuals.append(integers(factors))
        return weighted_sum(self, factors, bits, largest)

    with (
        mock.patch.object(noisy, "divided", spied_divided),
        mock.patch.object(program, "_step", spied_step),
        mock.patch.object(program, "_calibrate", spied_calibrate),
        mock.patch.object(program, "_intercept_step", spied_intercept),
        mock.patch.object(Rows, "margins", spied_margins),
        mock.patch.object(Rows, "weighted_sum", spied_sum),
    ):
        result.opened = opened(plan, table)
    return result


def contributed(plan: DescentPlan, table: Table) -> tuple[Contributions, Holders]:
    """Split rows or columns among two owners: as for any plan."""
    owners, holders = contributions(cast(Any, plan), *table)
    mapped = MAPS.get(plan.facts.reference or "")
    return owners, holders if mapped is None else replace(holders, reference=mapped.public)


def opened(plan: DescentPlan, table: Table, scheme: str = "clear") -> Integers:
    """What a run would release, as whole steps."""
    owners, holders = contributed(plan, table)

    def whole(party: Party) -> npt.NDArray[Any]:
        return np.asarray(party.open(program.descend(party, plan, holders, COIN), reason="a test of descent"))

    run = run_local(whole, **local("clear/1" if scheme == "clear" else scheme), owners=owners, timeout=120)
    return np.asarray(next(iter(run.results.values()))).astype(np.int64).astype(object)


# --- data ------------------------------------------------------------------------------------------------


TABLES = ("random", "equal", "zeros", "one-hot", "extremes", "largest", "smallest", "signs")


def table_of(kind: str, plan: DescentPlan, rng: np.random.Generator, labels: str = "random") -> Table:
    """Features within the agreed range, their row means above the agreed lower bound."""
    n, d = plan.facts.rows, plan.facts.input_cols
    high, low = float(plan.facts.feature_bound), float(plan.facts.feature_lower)
    x = {
        "random": rng.uniform(low, high, (n, d)),
        "equal": np.tile(rng.uniform(low, high, d), (n, 1)),
        "zeros": np.full((n, d), max(low, 0.0)),
        "one-hot": np.where(np.arange(d) == rng.integers(0, d, (n, 1)), high, max(low, 0.0)),
        "extremes": rng.choice([low, high], (n, d)),
        "largest": np.full((n, d), high),
        "smallest": np.full((n, d), low),
        "signs": np.where(np.arange(d) % 2 == 0, high, low) * np.ones((n, 1)),
    }[kind]
    y = targets_of(plan, n, rng)
    least = -1 if plan.target.ranged else 0
    chosen = {"random": y, "all 1": np.full(n, 1), "all 0": np.full(n, least)}[labels]
    if plan.facts.weight_bound is None:
        return x, chosen
    return x, chosen, np.ones(n) if labels == "all 1" else rng.integers(0, 257, n) / 256


def targets_of(plan: DescentPlan, count: int, rng: np.random.Generator) -> Labels:
    """Classes; or numbers from -1 to 1, many of them at an end; or counts, scaled to [-1, 1]."""
    if not plan.target.ranged:
        return rng.integers(0, plan.facts.classes, count)
    if plan.facts.largest_count is not None:
        return rng.integers(0, plan.facts.largest_count + 1, count) / plan.facts.largest_count * 2 - 1
    return np.where(rng.random(count) < 0.5, rng.choice([-1.0, 1.0], count), rng.integers(-4096, 4097, count) / 4096)


def opposite(plan: DescentPlan, label: Any) -> Any:
    """Another label: the other class, or the other end."""
    return (-1 if label > 0 else 1) if plan.target.ranged else (label + 1) % plan.facts.classes
