"""Recipe "paper": real releases, under every scheme, have the distribution of the twin's: weights and accuracies."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cofit.baselines.method import Part
from cofit.baselines.minimiser import minimise
from cofit.experiments import twin
from cofit.experiments.claims import claims
from cofit.experiments.twin import twin_draws
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.roles import run_local
from cofit.roles.local.tables import OwnerTable, contributions_of, holders_of
from cofit.roles.local.training import run_training
from support.chance import accept, reject
from support.facts import paper_facts
from support.schemes import form, local

Reals = npt.NDArray[np.float64]
ROWS, COLS, TWINS = 60, 5, 4000
MADE = claims(ROWS + 400, COLS, density=0.4, signal=8.0, seed=9)
X, Y = MADE.features[:ROWS].astype(np.float64), MADE.labels[:ROWS]
TEST, TRUTH = MADE.features[ROWS:].astype(np.float64), MADE.labels[ROWS:]
RUNS, DRAWS = 2, 400


def _plan(scheme: str, mechanism: str, partition: str, epsilon: float = 2.0) -> MinimiserPlan:
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    facts = paper_facts(
        ROWS,
        COLS,
        recipe="paper",
        scheme=form(scheme).spec.name,
        mechanism=mechanism,
        delta=delta,
        epsilon=epsilon,
        partition=partition,
        fit_intercept=False,
    )
    return plan_minimiser(facts)


def _owners(partition: str) -> dict[str, OwnerTable]:
    if partition == "vertical":
        return {"a": OwnerTable(X[:, :2], Y), "b": OwnerTable(X[:, 2:])}
    return {"a": OwnerTable(X[:25], Y[:25]), "b": OwnerTable(X[25:], Y[25:])}


def _p_values(plan: MinimiserPlan, real: Reals, twin: Reals) -> dict[str, float]:
    """Two-sample tests of each weight, of the length of what was added, and of the accuracy on rows held out."""
    exact = minimise(Part(plan.comparable_rows(X), Y), float(plan.facts.l2), tolerance=1e-9).weights
    rows = plan.comparable_rows(TEST)

    def views(weights: Reals) -> dict[str, Reals]:
        hits = ((rows @ weights.T > 0) == (TRUTH == 1)[:, np.newaxis]).mean(axis=0)
        named = {f"weight {i}": weights[:, i] for i in range(COLS)}
        return {**named, "length": np.linalg.norm(weights - exact, axis=1), "accuracy": hits}

    ours, theirs = views(real), views(twin)
    return {name: float(stats.ks_2samp(ours[name], theirs[name], method="asymp").pvalue) for name in ours}


def _real_draws(plan: MinimiserPlan, scheme: str, owners: dict[str, OwnerTable], draws: int) -> Reals:
    """The twin's program with the real protocol: training, then many releases of what was trained. For tests alone."""
    contributions = {name: contributions_of(plan, name, table) for name, table in owners.items()}
    program = partial(twin._program, plan=plan, holders=holders_of(plan, owners), draws=draws)
    results: list[Reals] = list(run_local(program, **local(scheme), owners=contributions).results.values())
    assert all(np.array_equal(other, results[0]) for other in results)
    return results[0]


def _compare(plan: MinimiserPlan, real: Reals) -> None:
    facts = plan.facts
    grid = plan.mechanism.grid_bits
    assert (np.ldexp(real, grid) == np.rint(np.ldexp(real, grid))).all()
    same, louder = (
        twin_draws(_plan("clear", facts.mechanism, facts.partition, epsilon), _owners(facts.partition), TWINS)
        for epsilon in (2.0, 1.2)
    )
    accept(_p_values(plan, real, same))
    reject(_p_values(plan, real, louder))  # noise that is larger by two thirds


@pytest.mark.parametrize(
    ("scheme", "mechanism", "partition"),
    [
        pytest.param("rep3", "knorm", "horizontal", marks=pytest.mark.slow),
        ("semi2k", "gaussian", "vertical"),
        ("rep4", "laplace", "horizontal"),
        pytest.param("rep3", "gaussian", "vertical", marks=pytest.mark.slow),
        pytest.param("semi2k", "knorm", "horizontal", marks=pytest.mark.slow),
        pytest.param("rep4", "knorm", "vertical", marks=pytest.mark.slow),
        pytest.param("shamir/5", "laplace", "horizontal", marks=pytest.mark.slow),
        pytest.param("shamir", "gaussian", "vertical", marks=pytest.mark.slow),
        pytest.param("repn", "gaussian", "vertical", marks=pytest.mark.slow),
        pytest.param("pair", "knorm", "horizontal", marks=pytest.mark.slow),
        pytest.param("pair", "gaussian", "vertical", marks=pytest.mark.slow),
        pytest.param("repn/5", "laplace", "horizontal", marks=pytest.mark.slow),
    ],
)
def test_releases_of_the_real_protocol_and_the_twins_are_of_one_distribution(
    scheme: str, mechanism: str, partition: str
) -> None:
    plan, owners = _plan(scheme, mechanism, partition), _owners(partition)
    _compare(plan, np.concatenate([_real_draws(plan, scheme, owners, DRAWS) for _ in range(RUNS)]))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("scheme", "mechanism"),
    [("rep3", "knorm"), ("semi2k", "gaussian"), ("rep4", "laplace"), ("pair", "laplace")],
)
def test_whole_runs_and_the_twins_are_of_one_distribution(scheme: str, mechanism: str) -> None:
    plan = _plan(scheme, mechanism, "horizontal")
    _compare(plan, np.array([run_training(plan, _owners("horizontal")).weights for _ in range(150)]))


def test_the_twin_has_the_plan_of_the_real_run() -> None:
    for partition in ("horizontal", "vertical"):
        real, twin = (_plan(scheme, "knorm", partition) for scheme in ("rep3", "clear"))
        assert replace(twin, facts=real.facts) == real
