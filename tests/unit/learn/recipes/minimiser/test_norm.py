"""1 / max(||x||, rho) of secret rows, within its stated error, for rows around rho and for zero rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Contribution, Party, run_local
from cofit.learn.contribution import prepared_features
from cofit.learn.recipes.minimiser.norm import inverse_norms, largest_inverse
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.protocols.roots import inverse_square_root_error
from support.training import checked_ranges, planned

Reals = npt.NDArray[np.float64]


def opened(plan: MinimiserPlan, x: Reals, scheme: str) -> Reals:
    def program(party: Party) -> Reals:
        rows = party.joined([("owner", "x")], 1, constant=plan.constant)
        return np.asarray(party.open(inverse_norms(rows, plan.geometry, plan.formats), reason="test"), dtype=np.float64)

    owners = {"owner": {"x": Contribution(prepared_features(plan, x), 1.0, plan.formats.of(plan.formats.data))}}
    run = run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None, owners=owners)
    return next(iter(run.results.values()))


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
@pytest.mark.parametrize(
    "facts",
    [
        {"fit_intercept": True},
        {"fit_intercept": False},
        {"fit_intercept": False, "norm_floor": 0.1},
        {"fit_intercept": False, "norm_floor": 1.0},
        {"fit_intercept": True, "intercept_scaling": 0.3, "norm_floor": 0.01},
        {"fit_intercept": True, "intercept_scaling": 0.01, "norm_floor": 0.2, "feature_bound": 4.0},
    ],
)
def test_inverse_norms(facts: dict[str, float], scheme: str) -> None:
    plan = planned(40, 6, partition="vertical", **facts)
    rng = np.random.default_rng(3)
    bound, floor = float(plan.facts.feature_bound), float(plan.geometry.floor or 0)
    x = rng.normal(size=(40, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x *= np.geomspace(1e-9, 1.0, 40)[:, None]
    x[:8] *= floor * np.array([1 - 1e-7, 1 + 1e-7, 0.999, 1.001, 0.5, 2.0, 1.0, 1.0])[:, None] / 1e-9
    x[8] = 0.0
    x[9] = 1.0
    x[10] = -1.0
    x = np.clip(x, -1, 1) * bound
    with checked_ranges():
        v = opened(plan, x, scheme)
    unit = 2.0**-plan.formats.data
    encoded = np.rint(x / bound / unit) * unit
    if plan.constant is not None:
        encoded = np.hstack([encoded, np.full((40, 1), np.rint(float(plan.constant) / unit) * unit)])
    exact = 1 / np.maximum(np.linalg.norm(encoded, axis=1), floor if plan.geometry.needs_comparison else 0)
    assert plan.formats.inverse_norm is not None
    error = float(inverse_square_root_error(plan.formats.of(plan.formats.inverse_norm)))
    assert np.abs(v - exact).max() <= error + 1e-9 / floor**3 * 2.0**-20
    assert v.max() <= float(largest_inverse(plan.geometry))
    rows = v[:, None] * encoded
    assert np.linalg.norm(rows - plan.comparable_rows(x), axis=1).max() <= plan.formats.eta


def test_owners_who_normalise_need_none() -> None:
    plan = planned(40, 6)
    with pytest.raises(ValueError, match="owners normalise"):
        inverse_norms(None, plan.geometry, plan.formats)  # type: ignore[arg-type]
