"""scikit-learn is imported where somebody asks for an estimator, what reads tables at owners; neither at a party."""

from __future__ import annotations

import subprocess
import sys

import pytest

import cofit
from unit.models import programs

FRESH = """
import sys, cofit, cofit.roles.local.training, cofit.cli.party
assert not {"sklearn", "scipy", "rich", "pyarrow"} & set(sys.modules), "loaded too early"
assert {"LogisticRegression", "LinearSVC", "LinearModel", "Certificate", "load_model"} <= set(dir(cofit))
cofit.LinearModel, cofit.Certificate, cofit.load_model
assert "sklearn" not in sys.modules, "a model needs no scikit-learn"
cofit.LogisticRegression
assert "sklearn" in sys.modules
"""


def test_importing_cofit_does_not_import_scikit_learn() -> None:
    result = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_party_process_does_not_import_scikit_learn() -> None:
    run = cofit.run_local(programs.loaded_modules, processes=True)
    for modules in run.results.values():
        assert "cofit.learn.recipes.minimiser.program" in modules
        assert not [name for name in modules if name.partition(".")[0] in ("sklearn", "scipy")]


def test_every_public_name_exists() -> None:
    for name in cofit.__all__:
        assert getattr(cofit, name) is not None
    assert set(cofit.__all__) <= set(dir(cofit))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        cofit.nonsense  # noqa: B018
