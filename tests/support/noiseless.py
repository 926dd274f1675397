"""Studies of the default recipe without noise: their release tells whether all rows are in it. For tests alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cofit import Contribution, Party, run_local
from cofit.learn.division import divided_rows
from cofit.roles.files.tables import read_owner_table
from cofit.roles.jobs.of_study import training_job
from cofit.roles.owner.contribute import align_table
from cofit.study.encode import encode_table
from support.descent import fixed_noise, no_noise
from support.schemes import local
from support.studies import Lab
from support.training import COIN

Reals = npt.NDArray[np.float64]
BEFORE = """
from support import descent
descent.kept = descent.fixed_noise(0, descent.no_noise)
descent.kept.__enter__()
"""
"""What parties and the dealer run first, so that zeros stand for noise."""


def reference(lab: Lab, without: int | None = None) -> Reals:
    """What one process releases of the study's tables, with exact arithmetic and no noise.

    without: a shard whose rows are zeros instead, as if they were missing from all sums.
    """
    job = training_job(lab.study)
    rows = divided_rows(job.inputs, job.shards or 1)
    owners: dict[str, dict[str, Contribution]] = {}
    for owner, inputs in job.inputs.items():
        vertical = lab.partition == "vertical"
        path = lab.root / owner / ("table.csv" if vertical else "table.npz")
        table = encode_table(lab.study, owner, read_owner_table(lab.study, owner, path))
        if vertical:
            table, _ = align_table(lab.study, table, (lab.root / owner / "secret").read_bytes(), {})
        owners[owner] = {}
        for name, facts in inputs.items():
            encoded: Any = job.encode(name, facts, table)
            if without is not None:
                encoded[rows[without][owner]] = 0
            values = np.ldexp(
                np.asarray(facts.format.ring.to_int(encoded)).astype(np.float64), -facts.format.fraction_bits
            )
            owners[owner][name] = Contribution(values, facts.bound, facts.format)

    def program(party: Party) -> Any:
        found = job.plan.noisy_release(party, job.contributors.holders, lambda: COIN, None)
        return party.open(found, reason="a test without noise")

    with fixed_noise(0, no_noise):
        run = run_local(program, **local("clear/1"), owners=owners, timeout=120)
    return np.asarray(job.in_units(np.asarray(next(iter(run.results.values())))))
