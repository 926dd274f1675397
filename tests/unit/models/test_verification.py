"""What ``verify_model`` says of models that are as they should be: what holds, and who vouches for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cofit
from cofit.errors import InvalidInputError, OtherReleaseWarning, VerificationError
from cofit.models.study_model import StudyModel
from cofit.models.verification import Verification, verify_model
from unit.cli.study_models import model_of, signed
from unit.report.models import descended
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

BEST: dict[str, Any] = {"model": {"kind": "logistic_regression"}, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
STUDIES: dict[str, Any] = {
    "paper": study_of(HORIZONTAL),
    "paper, columns": study_of(VERTICAL),
    "best": study_of(HORIZONTAL, **BEST),
    "best, columns": study_of(VERTICAL, **BEST),
}


def written(folder: Path, model: Any) -> Path:
    path = folder / "model.json"
    path.write_text(model.to_json())
    return path


@pytest.mark.parametrize("kind", STUDIES)
def test_a_signed_model_with_its_study(kind: str, tmp_path: Path) -> None:
    study = STUDIES[kind]
    model = signed(model_of(study, {"age": 0.25}, 0.125))
    path = written(tmp_path, model)
    assert StudyModel.load(path) == model
    found = verify_model(path, study)
    assert found.complete and found.vouched and found.rebuilt and not found.caveats
    assert found.signed_by == {party.name: party.fingerprint for party in study.parties}
    text = found.to_text()
    assert text.startswith("Everything holds:\n- ")
    assert "party-a, party-b, party-c have signed" in text
    assert f"The keys are those of study 'trial' ({study.hash[:16]})" in text
    assert found.certificate.headline in text


def test_without_the_study_it_says_first_that_nobody_vouches(tmp_path: Path) -> None:
    study = STUDIES["best"]
    found = cofit.verify_model(written(tmp_path, signed(model_of(study, {}))))
    assert isinstance(found, cofit.Verification)
    assert (found.complete, found.vouched, found.rebuilt) == (False, False, True)
    first, *_ = found.to_text().splitlines()
    assert first.startswith("NOBODY VOUCHES FOR THE KEYS: they are in the file itself")
    lines = found.to_text().splitlines()
    assert all(f"  {party.fingerprint}  '{party.name}'" in lines for party in study.parties)
    assert "All keys in this file have signed" in found.to_text()
    assert "What holds:" in found.to_text() and "Everything holds" not in found.to_text()


def test_a_model_of_a_run_without_a_study(tmp_path: Path) -> None:
    path = written(tmp_path, descended(epsilon=1.0))
    found = verify_model(str(path))
    assert (found.complete, found.vouched, found.rebuilt, found.signed_by) == (False, False, True, {})
    assert found.to_text().startswith("NOBODY VOUCHES FOR THIS MODEL: it comes from a run on one machine")
    with pytest.raises(VerificationError, match="without a study, so that no study can vouch"):
        verify_model(path, STUDIES["best"])


def test_a_model_of_a_study_without_its_signatures(tmp_path: Path) -> None:
    model = model_of(STUDIES["best"], {})
    with pytest.raises(VerificationError, match=r"model\.json: The signature of 'party-a' is missing"):
        verify_model(written(tmp_path, model), STUDIES["best"])
    with pytest.raises(VerificationError, match="neither its study nor signatures"):
        verify_model(written(tmp_path, model.model))
    some = replace(model, signatures=signed(model).signatures[:2])
    with pytest.raises(VerificationError, match="signature of 'party-c' is missing"):
        verify_model(written(tmp_path, some))


def test_what_another_release_wrote_is_said_and_not_claimed(tmp_path: Path) -> None:
    study = STUDIES["paper"]
    model = model_of(study, {"age": 0.5})
    certificate = replace(model.model.certificate, cofit_version="9.9", plan_hash="00" * 32)
    other = signed(replace(model, model=replace(model.model, certificate=certificate)))
    path = written(tmp_path, other)
    with pytest.warns(OtherReleaseWarning, match=r"written by cofit 9\.9"):
        assert StudyModel.load(path) == other
    found = verify_model(path, study)
    assert (found.complete, found.vouched, found.rebuilt) == (False, True, False)
    assert found.to_text().startswith("NOT CHECKED IN FULL: The certificate was written by cofit 9.9; this is cofit ")
    assert "rebuilt" not in "".join(found.holds) and "certificate are what it says" not in "".join(found.holds)
    assert "gives the privacy that it claims" not in found.to_text()
    assert f"What the certificate CLAIMS, and nobody has checked:\n{certificate.headline}" in found.to_text()
    alone = verify_model(path)
    assert [caveat.split(":")[0] for caveat in alone.caveats] == ["NOBODY VOUCHES FOR THE KEYS", "NOT CHECKED IN FULL"]


def test_another_study(tmp_path: Path) -> None:
    path = written(tmp_path, signed(model_of(STUDIES["paper"], {})))
    for other in (STUDIES["best"], study_of(HORIZONTAL, name="trial 2")):
        with pytest.raises(VerificationError, match="The model is of another study"):
            verify_model(path, other)


def test_weights_that_were_shrunk_by_hand_are_not_those_of_the_release(tmp_path: Path) -> None:
    model = signed(model_of(STUDIES["best"], {"age": 0.25}))
    changed = replace(model, model=model.model.shrunk(model.model.shrinkage + 1.5))
    path = written(tmp_path, changed)
    assert StudyModel.load(path) == changed, "who holds a model may do so"
    with pytest.raises(VerificationError, match="The shrinkage of the model must be"):
        verify_model(path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kind": "certificate"}'])
def test_what_is_no_model_is_wrong_input(content: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=r"model\.json"):
        verify_model(path)
    with pytest.raises(InvalidInputError, match="does not exist"):
        verify_model(tmp_path / "absent.json")


def test_a_field_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    model = signed(model_of(STUDIES["best"], {}))
    path = tmp_path / "model.json"
    text = model.to_json()
    for name in ("label", "released", "signature"):
        path.write_text(text.replace(f'"{name}": ', f'"{name}": "x", "{name}": ', 1))
        with pytest.raises(VerificationError, match=f"'{name}' .* stated once"):
            verify_model(path)


def test_the_result_shows_itself() -> None:
    certificate = model_of(STUDIES["paper"], {}).model.certificate
    found = Verification(certificate, {}, True, True, (), ("This holds.",))
    assert found.to_text().splitlines()[:2] == ["Everything holds:", "- This holds."]
    assert json.loads(certificate.to_json())["study"] == STUDIES["paper"].hash


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["features"][0].update(lower=10**400),
        lambda document: document["features"][0].update(missing=[[]]),
        lambda document: document["signatures"][0].update(signature=f" {document['signatures'][0]['signature']}"),
        lambda document: document["model"]["certificate"].update(parties=["a" * 65, "b", "c"]),
    ],
    ids=["a bound that no float holds", "a list for a number", "spaces in a signature", "a name that is a sentence"],
)
def test_garbage_in_a_file_is_an_error_of_ours(change: Callable[[Any], None], tmp_path: Path) -> None:
    path = written(tmp_path, signed(model_of(STUDIES["best"], {})))
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(VerificationError):
        verify_model(path, STUDIES["best"])
