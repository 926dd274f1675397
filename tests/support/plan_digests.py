"""Plans of many kinds as text that tells every digit: to compare machines, simulated by the options of a process.

    python -m support.plan_digests [--next] [--wide]

prints JSON: ``machine``, what this process makes of functions that machines do not agree on; ``plans``, the hash of
every plan, and a digest of its certificate and of its plan for private predictions; ``others``, what else participants
compare. --next: as on a machine whose last digits differ (``other_machine``). --wide: some hundred other plans.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from support import other_machine

_FEW: dict[str, Any] = {"rows": 40, "cols": 3, "recipe": "paper", "l2": 1.0}  # proven by the odd sigmoid
_SOME: dict[str, Any] = {"rows": 1500, "cols": 11}
_UNPROVEN = {"learning_rate": 0.0371, "momentum": 0.9, "epochs": 77, "allow_unproven": True, "initial": "glorot"}
MORE: dict[str, dict[str, Any]] = {
    **{f"scheme {name}": {**_SOME, "scheme": name} for name in ("rep4", "semi2k", "pair", "shamir", "repn")},
    "few, knorm": _FEW,
    "few, laplace": {**_FEW, "mechanism": "laplace"},
    "few, gaussian": {**_FEW, "mechanism": "gaussian", "delta": 1e-6},
    "few, rep4": {**_FEW, "scheme": "rep4"},
    "few, unproven": {**_FEW, "epochs": 5, "learning_rate": 0.1, "momentum": 0.5, "allow_unproven": True},
    "momentum": {**_SOME, **_UNPROVEN, "recipe": "paper"},
    "accelerated": {"rows": 40_000, "cols": 11, "recipe": "paper", "solver": "accelerated", "l2": 0.02},
    "the paper's size": {"rows": 1713, "cols": 1874, "recipe": "paper"},
    "ranges": {**_SOME, "recipe": "paper", "normalised_by": "parties", "norm_floor": 0.37, "feature_bound": 2.7},
    "hinge": {**_SOME, "loss": "hinge"},
    "classes": {**_SOME, "classes": 3, "feature_bound": 1.5, "partition": "vertical"},
    "shared": {**_SOME, "shared_model": True},
    "reference": {**_SOME, "reference": "ab" * 32},
    "shards": {**_SOME, "shards": 4},
    "other budget": {**_SOME, "epsilon": 1 / 3, "delta": 3.7e-7},
    "sparse, pure": {"rows": 2000, "cols": 400, "delta": 0.0, "row_nonzeros": 4, "epsilon": 0.7},
}
"""Beside ``certified.CASES``."""


def wide() -> dict[str, dict[str, Any]]:
    """Return some hundred more: recipes, losses, mechanisms, budgets, penalties, sizes."""
    sizes, found = ((137, 5), (1713, 1874), (20_000, 30)), {}
    losses = ("logistic", "huber_hinge", "hinge", "clipped_squares", "huber", "poisson")
    for loss, delta, epsilon, (rows, cols) in product(losses, (0.0, 1e-6, 1e-5), (0.1, 1.0, 7.3), sizes):
        if delta or loss != "poisson":
            counts = {"largest_count": 17} if loss == "poisson" else {}
            facts = {"rows": rows, "cols": cols, "epsilon": epsilon, "delta": delta, "loss": loss, **counts}
            found[f"best, {loss}, {delta}, {epsilon}, {rows} x {cols}"] = facts
    mechanisms = (("knorm", 0.0), ("laplace", 0.0), ("gaussian", 1e-6))
    options = product(mechanisms, (1.0, 0.37, 0.05, 0.003), ("logistic", "huber_hinge"), ("tight", "paper"), sizes)
    for (mechanism, delta), l2, loss, sensitivity, (rows, cols) in options:
        facts = {"rows": rows, "cols": cols, "l2": l2, "mechanism": mechanism, "delta": delta, "loss": loss}
        partition = "vertical" if sensitivity == "paper" else "horizontal"
        facts |= {"sensitivity": sensitivity, "partition": partition, "epsilon": 1.3, "recipe": "paper"}
        found[f"paper, {mechanism}, {l2}, {loss}, {sensitivity}, {rows} x {cols}"] = facts
    return found


def plan_digests(cases: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return for each what its plan's hash is, and a digest of all else that participants compare."""
    return {name: _digest(dict(facts)) for name, facts in cases.items()}


def machine() -> list[str]:
    """Return digests of what NumPy, its BLAS, and the C library compute."""
    x = np.linspace(0.01, 30, 5001)
    square = np.sin(np.arange(3600.0)).reshape(60, 60)
    scalars = [[function(value) for value in x] for function in (math.exp, math.log2, math.cos)]
    computed = (np.exp(x), x**2.3, np.tanh(x), square @ square, np.linalg.solve(square, x[:60]), *scalars)
    return [hashlib.sha256(np.asarray(one).tobytes()).hexdigest()[:16] for one in computed]


def others() -> dict[str, str]:
    """Return what participants, or who verifies, compute on their own beside plans: of public rows, and of weights."""
    from cofit.learn.recipes.descent.reference import reference_map
    from cofit.learn.recipes.descent.shrinkage import THRESHOLDS, gain_of
    from cofit.protocols.odd_sigmoid import odd_sigmoid_polynomial

    numbers = (np.arange(1, 2801) * 7919 % 10_007) / 5003.5 - 1
    mapped = reference_map(numbers.reshape(70, 40), 1000, epsilon=1.0, delta=1e-6, reproducible=True)
    gains = [gain_of(numbers * numbers * numbers * 6, threshold) for threshold in THRESHOLDS]
    sigmoids = [odd_sigmoid_polynomial(Fraction(n, 64), Fraction(3721, 4096)) for n in range(1, 65, 7)]
    public = hashlib.sha256(mapped.public.matrix.tobytes() + mapped.public.shift.tobytes()).hexdigest()
    return {"reference": f"{mapped.hash} {public}", "shrinkage": repr(gains), "sigmoid": repr(sigmoids)}


def _digest(facts: dict[str, Any]) -> str:
    from cofit.errors import InvalidInputError
    from cofit.learn.exact import exact
    from cofit.learn.facts import training_facts
    from cofit.learn.inference.plan import plan_inference
    from cofit.learn.plan import plan_training
    from support.certified import certificate_of

    try:
        plan = plan_training(training_facts(facts.pop("rows"), facts.pop("cols"), **facts))
    except InvalidInputError as error:
        return f"refused: {error}"
    certificate = json.loads(certificate_of(plan).to_json())
    stated = {name: value for name, value in certificate.items() if name not in ("cofit_version", "software")}
    if plan.facts.classes == 2:
        stated["predictions"] = exact(plan_inference(plan))
    return f"{plan.hash} {hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()}"


def main(options: list[str]) -> None:
    """Print the digests."""
    if "--next" in options:
        other_machine.install()
    from support.certified import CASES

    cases = wide() if "--wide" in options else {**CASES, **MORE}
    print(json.dumps({"machine": machine(), "plans": plan_digests(cases), "others": others()}))


if __name__ == "__main__":
    main(sys.argv[1:])
