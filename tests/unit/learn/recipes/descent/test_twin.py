"""The cleartext twin of noisy descent: the real program's release for the same noise, and its distribution without."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cofit.arithmetic import FixedPoint
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.private_training import private_training
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.twin import cleartext_descent, descended, prepared_rows
from cofit.learn.weights import encoded_weights
from cofit.privacy.events import Event
from cofit.privacy.release_names import INTERCEPT, SPREAD
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.run import run_local
from cofit.roles.local.tables import OwnerTable, contributions_of, holders_of
from cofit.secret import Party, SecretArray
from cofit.sharing import scheme_named
from support.chance import PValues, accept, reject

Reals = npt.NDArray[np.float64]
RANGES = {"feature_bound": 2.0, "feature_lower": 0.0}
KINDS: dict[str, dict[str, Any]] = {
    "owners scale": {"rows": 60, "epsilon": 1.0, "delta": 1e-5},
    "level": {"rows": 200, "epsilon": 1.0, "delta": 1e-5, **RANGES},
    "level and centre": {"rows": 900, "epsilon": 3.0, "delta": 1e-5, "clip_rows": False, **RANGES},
    "owners scale, centre": {"rows": 900, "epsilon": 3.0, "delta": 1e-5, "clip_rows": False},
    "columns, no level": {"rows": 30, "epsilon": 0.5, "delta": 1e-5, "partition": "vertical", **RANGES},
    "no intercept": {"rows": 200, "epsilon": 1.0, "delta": 1e-5, "fit_intercept": False, **RANGES},
    "clipped": {"rows": 900, "epsilon": 3.0, "delta": 1e-5},
    "clipped, bounds": {
        "rows": 900,
        "epsilon": 3.0,
        "delta": 1e-5,
        "clip_rows": True,
        "fit_intercept": False,
        **RANGES,
    },
    "clipped, columns": {
        **{"rows": 300, "epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "clip_rows": True},
        **{"calibrate_intercept": True, **RANGES},
    },
    "pure": {"rows": 300, "epsilon": 3.0, "delta": 0.0, "row_nonzeros": 4},
    "knorm": {"rows": 400, "epsilon": 1.0, "delta": 0.0, "pure_steps": True},
    "knorm, columns": {
        "rows": 1600,
        "epsilon": 1.0,
        "delta": 0.0,
        "pure_steps": True,
        "partition": "vertical",
        **RANGES,
    },
    "hinge": {"rows": 200, "epsilon": 1.0, "delta": 1e-5, "loss": "hinge", **RANGES},
    "numbers": {"rows": 200, "epsilon": 1.0, "delta": 1e-5, "loss": "huber", "calibrate_intercept": True, **RANGES},
    "counts": {"rows": 200, "epsilon": 1.0, "delta": 1e-5, "loss": "poisson", "largest_count": 40, **RANGES},
    "counts, clipped": {
        **{"rows": 300, "epsilon": 8.0, "delta": 1e-5, "loss": "poisson", "largest_count": 6, "clip_rows": True},
        **RANGES,
    },
    "weights": {"rows": 200, "epsilon": 1.0, "delta": 1e-5, "weight_bound": 5.0, **RANGES},
    "three classes": {"rows": 60, "epsilon": 1.0, "delta": 1e-5, "classes": 3},
    "five classes, level and centre": {
        **{"rows": 900, "epsilon": 8.0, "delta": 1e-5, "classes": 5, "clip_rows": False, "partition": "vertical"},
        **{"calibrate_intercept": True, **RANGES},
    },
    "four classes, clipped": {"rows": 900, "epsilon": 3.0, "delta": 1e-5, "classes": 4, "fit_intercept": False},
    "three classes, hinge, clipped": {
        **{"rows": 300, "epsilon": 8.0, "delta": 1e-5, "classes": 3, "loss": "hinge", "clip_rows": True},
        **{"partition": "vertical", "calibrate_intercept": True, **RANGES},
    },
}
EXPECTED = {
    "owners scale": (False, False, "l2"),
    "level": (True, False, "l2"),
    "level and centre": (True, True, "l2"),
    "owners scale, centre": (False, True, "l2"),
    "columns, no level": (False, False, "l2"),
    "no intercept": (True, False, "l2"),
    "clipped": (False, False, "l2"),
    "clipped, bounds": (False, False, "l2"),
    "clipped, columns": (False, False, "l2"),
    "pure": (False, False, "l1"),
    "knorm": (False, False, "l2"),
    "knorm, columns": (False, False, "l2"),
    "hinge": (True, False, "l2"),
    "numbers": (True, False, "l2"),
    "counts": (True, False, "l2"),
    "counts, clipped": (False, False, "l2"),
    "weights": (True, False, "l2"),
    "three classes": (False, False, "l2"),
    "five classes, level and centre": (True, True, "l2"),
    "four classes, clipped": (False, False, "l2"),
    "three classes, hinge, clipped": (False, False, "l2"),
}
COLS, CROWDED = 12, 900
LARGEST = 2.0**-10
"""Of the noise's standard deviation in a weight: how far rounding may move the released weights."""
LARGEST_CLIPPED = 2.0**-6
"""The same for clipped rows, whose stretch has 7 fractional bits."""
LARGEST_COUNTS = 2.0**-8
"""The same for counts, whose rates are those of a polynomial: off by up to 2^-11, to the same side in every step."""
LARGEST_CELLS = 2.0**-6
"""The same where noisy sums are rounded to cells of 2^-8 to 2^-7 of their noise, before later steps see them."""
LARGEST_CROWDED = 2.0**-5
"""The same where most rows lie near their centre: roundings of the centre are stretched with what is left of them."""


def _plan(kind: str, scheme: str = "clear") -> DescentPlan:
    given = dict(KINDS[kind])
    plan = plan_training(training_facts(given.pop("rows"), COLS, scheme=scheme, **given))
    assert isinstance(plan, DescentPlan)
    return plan


def _data(rows: int, classes: int = 2) -> tuple[Reals, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(rows)
    x = 2.0 * (rng.random((rows, COLS)) < 0.3) * rng.random((rows, COLS))
    x[:5] *= 0.01  # shorter than the floor, where no level is taken off
    if rows >= CROWDED:
        x[rows // 5 :] = np.linspace(0, 1, COLS) + 0.05 * x[rows // 5 :]  # near the centre: below its floor
    scores = (x - x.mean(axis=0)) @ rng.normal(size=COLS) + 0.2 * rng.normal(size=rows)
    if classes == 2:
        return x, (scores > 0).astype(np.int64)
    return x, np.digitize(scores, np.quantile(scores, np.arange(1, classes) / classes)).astype(np.int64)


def _real(plan: DescentPlan, x: Reals, labels: npt.NDArray[Any], weights: Reals | None = None) -> Reals:
    half, cut = len(x) // 2, COLS // 2
    parts = [None, None] if weights is None else [weights[:half], weights[half:]]
    owners = {"a": OwnerTable(x[:half], labels[:half], parts[0]), "b": OwnerTable(x[half:], labels[half:], parts[1])}
    if plan.facts.partition == "vertical":
        owners = {"a": OwnerTable(x[:, :cut], labels), "b": OwnerTable(x[:, cut:])}
    contributions = {name: contributions_of(plan, name, table) for name, table in owners.items()}
    info = scheme_named(plan.facts.scheme).info
    names = [f"party-{i + 1}" for i in range(info.default_parties if info.secret else 1)]
    stores = {name: MemoryStore() for name in names}
    run = run_local(
        partial(private_training, plan=plan, holders=holders_of(plan, owners), stores=stores, key="test"),
        scheme=plan.facts.scheme,
        parties=names,
        owners=contributions,
    )
    return np.asarray(run.results[names[0]])


@pytest.mark.parametrize("kind", KINDS)
def test_for_the_same_noise_it_releases_what_the_party_program_releases(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    plan = _plan(kind)
    assert (plan.level is not None, plan.centre is not None, plan.layout.norm) == EXPECTED[kind]
    x, labels = _data(plan.facts.rows, plan.facts.classes)
    weights = None
    if plan.target.ranged:
        labels = np.clip(np.rint(4096 * (x.mean(axis=1) - 0.3)) / 4096, -1, 1)
    if (most := plan.facts.largest_count) is not None:
        labels = 2 * np.rint(most * np.square((labels + 1) / 2)) / most - 1
    if plan.facts.weight_bound is not None:
        weights = np.tile([0.0, 1.25, 5.0, 3.0], len(x) // 4)
    drawn: list[float] = []
    rng = np.random.default_rng(list(kind.encode()))

    def chosen(party: Party, plan: DescentPlan, batch: list[tuple[Event, int]]) -> list[SecretArray]:
        assert sum(size for _, size in batch) <= 7 or plan.mechanism_name == "knorm"  # whose vectors are whole
        pieces = [np.rint(float(event.scale) * rng.standard_normal(size)) for event, size in batch]
        drawn.extend(np.concatenate(pieces).tolist())
        return [party.constant(piece, FixedPoint(0, plan.formats.ring)) for piece in pieces]

    monkeypatch.setattr(noisy, "_DRAWS_AT_ONCE", 7)  # so that batches begin and end within a release
    monkeypatch.setattr(noisy, "_draws", chosen)
    real = _real(plan, x, labels, weights)
    ends = np.cumsum([event.dimension for event in plan.events])
    assert len(drawn) == ends[-1]
    given = {event.name: one for event, one in zip(plan.events, np.split(np.array(drawn), ends[:-1]), strict=True)}

    def noise(event: Event) -> Reals:
        return given[event.name][:, np.newaxis]

    counts = None if weights is None else encoded_weights(weights, Fraction(5))
    (twin,) = descended(plan, prepared_rows(plan, x), labels, noise, counts)
    assert twin.shape == real.shape == (plan.released,)
    largest = LARGEST_CLIPPED if plan.clipped else LARGEST
    if plan.facts.largest_count is not None:
        largest = max(largest, LARGEST_COUNTS)
    if plan.formats.cells:
        largest = LARGEST_CELLS
    if plan.centre is not None and plan.facts.rows >= CROWDED:
        largest = LARGEST_CROWDED
    largest *= plan.noise_of_weights
    opened = plan.opened.weights
    assert opened == plan.cols * (1 if plan.facts.classes == 2 else plan.facts.classes)
    np.testing.assert_allclose(twin[:opened], real[:opened], rtol=0, atol=largest)
    assert np.linalg.norm(real[:opened]) > 10 * largest
    for name in [part.name for part in plan.opened.parts]:
        steep = plan.opened.part(twin, SPREAD).max() ** 3 / 2 if plan.clipped else 0.0  # of a stretch in its variance
        coarse = {SPREAD: 2.0**-6 + 2.0**-17 * steep, INTERCEPT: max(2.0**-12, largest)}.get(name, 2.0**-12)
        np.testing.assert_allclose(plan.opened.part(twin, name), plan.opened.part(real, name), rtol=0, atol=coarse)


def _p_values(plan: DescentPlan, real: Reals, twin: Reals, middle: Reals) -> PValues:
    """Two-sample tests of each number that is released, and of how far the weights are from ``middle``."""

    def views(released: Reals) -> list[Reals]:
        distances = np.linalg.norm((released - middle)[:, : plan.cols], axis=1)
        return [*released.T, distances]

    pairs = enumerate(zip(views(real), views(twin), strict=True))
    return {str(i): float(stats.ks_2samp(ours, theirs, method="asymp").pvalue) for i, (ours, theirs) in pairs}


def _of_one_distribution(kind: str, scheme: str, runs: int) -> None:
    plan = _plan(kind, scheme)
    x, labels = _data(plan.facts.rows)
    real = np.array([_real(plan, x, labels) for _ in range(runs)])
    twin = cleartext_descent(plan, x, labels, 4000, np.random.default_rng(3))
    middle = np.median(twin, axis=0)
    accept(_p_values(plan, real, twin, middle))
    flipped = cleartext_descent(plan, x, 1 - labels, 4000, np.random.default_rng(4))
    reject(_p_values(plan, real, flipped, middle))  # other labels
    louder = middle + 1.6 * (twin - middle)
    reject(_p_values(plan, real, louder, middle))  # noise that is larger by 60 %


@pytest.mark.slow
def test_releases_of_real_runs_and_the_twins_are_of_one_distribution() -> None:
    _of_one_distribution("level", "clear", 80)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["owners scale", "pure"])
def test_releases_of_the_real_protocol_and_the_twins_are_of_one_distribution(kind: str) -> None:
    _of_one_distribution(kind, "rep3", 80)


def test_draws_in_batches_are_independent_and_shaped_as_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan("level and centre")
    x, labels = _data(plan.facts.rows)
    monkeypatch.setattr("cofit.learn.recipes.descent.twin._TOGETHER", 3 * 8 * plan.layout.rows)
    released = cleartext_descent(plan, x, labels, 7, np.random.default_rng(1))
    assert released.shape == (7, plan.released)
    assert len(np.unique(released[:, 0])) == 7


def test_sparse_rows_are_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan("level and centre")
    x, labels = _data(plan.facts.rows)
    dense = cleartext_descent(plan, x, labels, 2, np.random.default_rng(1))
    monkeypatch.setattr("cofit.learn.recipes.descent.twin._SPARSE", 1.0)
    assert not isinstance(prepared_rows(plan, x), np.ndarray)
    np.testing.assert_allclose(cleartext_descent(plan, x, labels, 2, np.random.default_rng(1)), dense, atol=1e-9)


def test_other_data_than_the_plans_are_refused() -> None:
    plan = _plan("level")
    x, labels = _data(plan.facts.rows)
    with pytest.raises(InvalidInputError, match="'features'"):
        cleartext_descent(plan, x[:-1], labels[:-1], 1, np.random.default_rng(1))
    with pytest.raises(InvalidInputError, match="'draws'"):
        cleartext_descent(plan, x, labels, 0, np.random.default_rng(1))
