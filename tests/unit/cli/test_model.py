"""``cofit model``: all copies, compared, with the encoding of the study; and its file, read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError, ProtocolError
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from unit.cli.study_models import model_of
from unit.roles.loopback import Loopback, loopback, until
from unit.study.studies import VERTICAL, study_of


def fetch(folder: Path, key: str = "analyst.key", *more: str) -> Any:
    files = ("--key", str(folder / key), "--out", str(folder / "out" / "model.json"))
    return CliRunner().invoke(cli, ["model", str(folder / "study.toml"), *files, *more])


def test_the_model_and_its_certificate(tmp_path: Path) -> None:
    with loopback(tmp_path) as site:
        site.start()
        until(lambda: "There is no model yet" in str(fetch(tmp_path).exception))
        site.contribute()
        until(site.released)
        refused = fetch(tmp_path, "owner-a.key")
        assert "only an analyst" in str(refused.exception)
        result = fetch(tmp_path)
        assert result.exit_code == 0, result.exception
        model = StudyModel.load(tmp_path / "out" / "model.json")
        assert result.output.startswith(model.model.certificate.headline)
        assert (tmp_path / "out" / "certificate.txt").read_text() == model.model.certificate.to_text()
        assert model.study == ("trial", site.study.hash)
        assert model.model.classes == ("no", "yes")
        for changed in ("weights", "plan"):
            with pytest.raises(ProtocolError) as info:
                _change(site, changed)
                if (problem := fetch(tmp_path).exception) is not None:
                    raise problem
            assert "Do not use the model" in str(info.value)


def _change(site: Loopback, what: str) -> None:
    """One party tells other weights; then all tell the plan of another study."""
    for name in ("party-b",) if what == "weights" else ("party-a", "party-b", "party-c"):
        path = site.state(name) / "published.json"
        document = json.loads(path.read_text())
        if what == "weights":
            document["weights"][0] += 0.5
        else:
            document = json.loads((site.state("party-a") / "published.json").read_text())
            document["certificate"]["plan_hash"] = "0" * 64
        path.write_text(json.dumps(document))


def test_a_file_comes_back_exactly() -> None:
    study = study_of(VERTICAL)
    model = model_of(study, {"age": 0.25, "group=y": -1 / 3}, 0.125)
    assert StudyModel.from_json(model.to_json()) == model
    assert model.model.feature_names == study.weight_names


def _drop(document: dict[str, Any]) -> None:
    del document["label"]


def _unknown(document: dict[str, Any]) -> None:
    document["more"] = 1


def _other_feature(document: dict[str, Any]) -> None:
    document["features"][0]["name"] = "weight"


def _bounds(document: dict[str, Any]) -> None:
    document["features"][0]["upper"] = document["features"][0]["lower"]


def _type(document: dict[str, Any]) -> None:
    document["features"][0]["type"] = "text"


def _missing(document: dict[str, Any]) -> None:
    document["features"][4]["missing"] = "q"


def _version(document: dict[str, Any]) -> None:
    document["version"] = 1


def _kind(document: dict[str, Any]) -> None:
    document["kind"] = "cofit linear model"


@pytest.mark.parametrize("change", [_drop, _unknown, _other_feature, _bounds, _type, _missing, _version, _kind])
def test_files_that_are_refused(change: Any, tmp_path: Path) -> None:
    document = json.loads(model_of(study_of(), {}).to_json())
    change(document)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match=r"model\.json: "):
        StudyModel.load(path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}"])
def test_files_that_are_no_models(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"model\.json"):
        StudyModel.load(path)


def test_the_model_of_a_study_is_not_taken_for_another(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(model_of(study_of(VERTICAL), {"age": 0.25}).to_json())
    with pytest.raises(InvalidInputError, match=r"model of a study\. Open it with cofit\.load_model"):
        LinearModel.load(path)
    assert StudyModel.load(path).as_released.model.shrinkage == 0.0
