"""A plan, and all that participants or verifiers compare, is the same on every machine.

Of other machines there are two kinds here: one whose last digits differ wherever IEEE 754 does not fix them, and this
one with parts of its processor switched off, as NumPy, its BLAS and the C library can be told.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.certified import CASES
from support.other_machine import next_float
from support.plan_digests import MORE, machine, others, plan_digests, wide

TESTS = Path(__file__).parents[2]


def run(*options: str, **switches: str) -> dict[str, Any]:
    """Return what ``plan_digests`` prints in a process with these variables."""
    command = [sys.executable, "-m", "support.plan_digests", *options]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), **switches}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def switches() -> dict[str, dict[str, str]]:
    """Return what can be switched off here, by name. A BLAS is told only of processors whose code this one can run."""
    numpy_core = importlib.import_module("numpy._core._multiarray_umath")
    has = {name for name, there in numpy_core.__cpu_features__.items() if there}
    dispatched = [name for name in numpy_core.__cpu_dispatch__ if name in has]
    blas = [
        name for name, need in {"SkylakeX": "AVX512_SKX", "Haswell": "AVX2", "Prescott": "SSE3"}.items() if need in has
    ]
    return {
        **{
            f"NumPy from {name}": {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched[i:])}
            for i, name in enumerate(dispatched)
        },
        **{f"BLAS for {name}": {"OPENBLAS_CORETYPE": name} for name in blas},
        "C library": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4"},
    }


def together() -> dict[str, str]:
    """Return the variables of one process without all of it: of BLAS the first, which is seldom the usual one."""
    found: dict[str, str] = {}
    for variables in switches().values():
        found = {**variables, **found}
    return found


def test_a_machine_whose_last_digits_differ_plans_the_same() -> None:
    found = run("--next")
    assert found["plans"] == plan_digests({**CASES, **MORE})
    assert found["others"] == others()


def test_this_machine_with_parts_switched_off_plans_the_same() -> None:
    found = run(**together())
    if found["machine"] == machine():
        pytest.skip("nothing that could be switched off here changes a digit")
    assert found["plans"] == plan_digests({**CASES, **MORE})
    assert found["others"] == others()


@pytest.mark.slow
@pytest.mark.parametrize("name", switches())
def test_whatever_is_switched_off_many_plans_are_the_same(name: str) -> None:
    found = run("--wide", **switches()[name])
    if found["machine"] == machine():
        pytest.skip("that changes no digit here")
    assert found["plans"] == plan_digests(wide())


@pytest.mark.slow
def test_where_last_digits_differ_many_plans_are_the_same() -> None:
    assert run("--wide", "--next")["plans"] == plan_digests(wide())


def test_plans_that_are_compared_are_none_that_is_refused() -> None:
    assert not [name for name, told in plan_digests({**CASES, **MORE}).items() if told.startswith("refused")]


def test_the_next_float_is_taken_only_where_machines_differ() -> None:
    assert next_float(0.3) == np.nextafter(0.3, 1)
    assert next_float(np.array([0.3, 0.5, 2.0])).tolist() == [np.nextafter(0.3, 1), 0.5, 2.0]
    for exact in (3.0, 0.25, 7, "text", None):
        assert next_float(exact) == exact
