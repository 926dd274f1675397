"""What earlier releases of cofit left on disk still opens: studies resume, ledgers add up, models verify and predict.

``tests/fixtures/README.md`` says what the files are and how they were made. They are never made anew: a change after
which one of these tests fails takes something from users.
"""

from __future__ import annotations

import csv
import fcntl
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import cofit
from cofit.cli.main import cli
from cofit.roles.files.studies import load_study
from cofit.study import study_plan
from support.nursery import Child, Nursery, until

_AS_PACKED: dict[str, Any] = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}  # Python 3.11.2 has none
FIXTURES = Path(__file__).parents[2] / "fixtures"
VERSIONS = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name[:1].isdigit())
STUDIES = {
    "rep3-paper": ("party-a", "party-b", "party-c"),
    "rep3-best": ("party-a", "party-b", "party-c"),
    "semi2k-paper": ("party-a", "party-b", "dealer"),
}
OWNERS = ("owner-a", "owner-b")
RECIPES = ("best", "paper")
PAPER: dict[str, Any] = {"epsilon": 20.0, "recipe": "paper", "l2": 1.0}
Unpack = Callable[[str, str], Path]
pytestmark = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture
def unpack(tmp_path: Path) -> Unpack:
    """Unpack the files of one archive, with their modes."""

    def unpacked(version: str, name: str) -> Path:
        with tarfile.open(FIXTURES / version / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path / name, **_AS_PACKED)
        return tmp_path / name

    return unpacked


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, list(map(str, words)), catch_exceptions=False)


def told(*words: str | Path) -> str:
    result = command(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def assert_same_predictions(said: str, stored: str) -> None:
    """Titles and classes are the same. The last digits of scores are those of a processor, and nothing is hashed."""
    (titles, *found), (titles_stored, *expected) = (list(csv.reader(text.splitlines())) for text in (said, stored))
    assert titles == titles_stored == ["score", "probability", "class"]
    assert [row[2] for row in found] == [row[2] for row in expected]
    numbers = [[[float(value) for value in row[:2]] for row in rows] for rows in (found, expected)]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-12)


def weights(model: Path) -> list[float]:
    found: list[float] = json.loads(model.read_text())["model"]["coef"]
    return found


# --- what one person opens alone ---------------------------------------------------------------------------


def test_there_are_files_of_this_release(version: str) -> None:
    assert "0.1.0" in VERSIONS
    assert {path.name for path in (FIXTURES / version).glob("*.tar.xz")} >= {
        *(f"{name}.tar.xz" for name in STUDIES),
        "agreements.tar.xz",
        "estimators.tar.xz",
    }


def test_a_study_has_the_hash_and_the_plan_that_everybody_agreed_on(unpack: Unpack, version: str) -> None:
    folder = unpack(version, "agreements")
    for name, hashes in json.loads((folder / "hashes.json").read_text()).items():
        study = load_study(folder / name / "study.toml")
        assert {"study": study.hash, "plan": study_plan(study).hash} == hashes, name


@pytest.mark.parametrize("study", STUDIES)
def test_the_model_of_a_study_verifies_and_predicts(unpack: Unpack, version: str, study: str) -> None:
    folder = unpack(version, study)
    model = folder / "analyst" / "model.json"
    assert "Everything holds" in told("verify", model, "--study", folder / "public" / "study.toml")
    said = told("predict", model, folder / "analyst" / "rows.csv")
    assert_same_predictions(said, (folder / "analyst" / "predictions.csv").read_text())
    loaded = cofit.load_model(model)
    assert isinstance(loaded, cofit.StudyClassifier)
    text = (folder / "analyst" / "certificate.txt").read_text()  # with exact fractions, up to version 0.1.0
    assert " ".join(text.split()).startswith(loaded.certificate_.headline)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_model_of_an_estimator_predicts_and_its_release_is_opened_again(
    unpack: Unpack, version: str, recipe: str
) -> None:
    folder = unpack(version, "estimators")
    data = np.load(folder / "data.npz")
    X, y = data["X"], data["y"]
    expected = np.load(folder / f"{recipe}-probabilities.npy")
    loaded = cofit.load_model(folder / f"{recipe}.json")
    np.testing.assert_allclose(loaded.predict_proba(X), expected, rtol=1e-12)
    fitted = cofit.LogisticRegression.load(folder / f"{recipe}.json")
    estimator = cofit.LogisticRegression(**PAPER) if recipe == "paper" else fitted
    estimator.set_params(state=folder / f"{recipe}-state").fit([(X[:20], y[:20]), (X[20:], y[20:])])
    np.testing.assert_allclose(estimator.predict_proba(X), expected, rtol=1e-12)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("phase", ["sealed", "stored", "released"])
def test_ledgers_add_up_what_was_charged(unpack: Unpack, version: str, study: str, phase: str) -> None:
    folder = unpack(version, study) / phase
    states = [folder / owner / "owner-state" for owner in OWNERS]
    if phase != "sealed":
        states += [folder / party / "state" for party in STUDIES[study] if party != "dealer"]
    for state in states:
        (account,) = json.loads(told("budget", "--state", state, "--json"))["datasets"]
        (charge,) = account["charges"]
        assert account["spent"]["epsilon"] == charge["epsilon"] == 20.0
        assert charge["releases"] and charge["hash"]
    assert "Noisy releases" in told("budget", "--state", states[0], "--releases")


# --- the participants of a study, again ----------------------------------------------------------------------


@contextmanager
def running(nursery: Nursery, folder: Path, phase: str, servers: tuple[str, ...]) -> Iterator[dict[str, Child]]:
    """Run the servers of a study with the directories that they had at a phase; they listen where the study says.

    Two checkouts on one machine must not do so at once.
    """
    for participant in (folder / phase).iterdir():
        shutil.copytree(folder / "public", participant, dirs_exist_ok=True)
    with (Path(tempfile.gettempdir()) / "cofit-test-fixtures.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        children = {name: _start(nursery, folder / phase, name) for name in servers}
        try:
            yield children
        finally:
            for child in children.values():
                child.kill()


def _start(nursery: Nursery, folder: Path, name: str) -> Child:
    kind = "owner" if name in OWNERS else "dealer" if name == "dealer" else "party"
    place = folder / name
    log = str(place / f"{kind}.log")
    return nursery.start({"main": kind, "name": name, "cwd": str(place), "log": log, "table": "table.npz"})


def phases(folder: Path) -> dict[str, Any]:
    result = command(
        "status", folder / "public" / "study.toml", "--key", folder / "released/analyst/analyst.key", "--json"
    )
    return {name: one.get("phase") for name, one in json.loads(result.stdout)["parties"].items()}


def logs(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.rglob("*.log"))


def fetched(folder: Path, out: Path) -> Path:
    """Wait for the release; fetch and verify the model."""
    study = folder / "public" / "study.toml"
    until(
        lambda: {one for name, one in phases(folder).items() if name != "dealer"} == {"released"},
        lambda: f"release at every party: {phases(folder)}\n{logs(folder)}",
        step=0.2,
    )
    told("model", study, "--key", folder / "released/analyst/analyst.key", "--out", out)
    told("verify", out, "--study", study)
    return out


@pytest.mark.parametrize("study", STUDIES)
def test_a_sealed_study_is_resumed_to_its_release(
    unpack: Unpack, nursery: Nursery, version: str, study: str, tmp_path: Path
) -> None:
    folder = unpack(version, study)
    with running(nursery, folder, "sealed", STUDIES[study]):
        for owner in OWNERS:  # repeated, a contribution is known, costs nothing and sends nothing
            assert _start(nursery, folder / "sealed", owner).wait() == 0, logs(folder / "sealed" / owner)
            (account,) = json.loads(told("budget", "--state", folder / "sealed" / owner / "owner-state", "--json"))[
                "datasets"
            ]
            assert len(account["charges"]) == 1
        fetched(folder, tmp_path / "model.json")
        if study.endswith("paper"):
            assert "train: epoch 8 of 8" in logs(folder / "sealed" / "party-a")
            assert "train: epoch 1 of 8" not in logs(folder / "sealed" / "party-a"), "it has a checkpoint"


@pytest.mark.parametrize("study", STUDIES)
def test_stored_shares_are_opened_as_they_were_drawn(
    unpack: Unpack, nursery: Nursery, version: str, study: str, tmp_path: Path
) -> None:
    folder = unpack(version, study)
    with running(nursery, folder, "stored", STUDIES[study]):
        assert weights(fetched(folder, tmp_path / "model.json")) == weights(folder / "analyst" / "model.json")


def test_a_released_model_is_given_to_analysts(unpack: Unpack, nursery: Nursery, version: str, tmp_path: Path) -> None:
    folder = unpack(version, "rep3-paper")
    with running(nursery, folder, "released", STUDIES["rep3-paper"]):
        again = fetched(folder, tmp_path / "model.json")
        assert again.read_text() == (folder / "analyst" / "model.json").read_text()
