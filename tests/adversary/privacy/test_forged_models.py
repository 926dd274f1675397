"""Models that were changed or made up after the parties signed them: a changed digit anywhere is found.

A changed certificate is refused by its own check, changed numbers and names by the signatures, and a whole model that
is consistent in itself, signed with keys of the forger, by the study.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError, VerificationError
from cofit.models.study_model import StudyModel
from cofit.models.verification import verify_model
from cofit.study.document import Study
from cofit.transport import generate_identity
from unit.cli.study_models import model_of, signed
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

BEST: dict[str, Any] = {"model": {"kind": "logistic_regression"}, "privacy": {"epsilon": 1.0, "delta": 1e-6}}


@cache
def study(kind: str) -> Study:
    return study_of(HORIZONTAL, **BEST) if kind == "best" else study_of(VERTICAL)


@cache
def text_of(kind: str) -> str:
    return signed(model_of(study(kind), {"age": 0.25, "group=y": -1 / 3}, 0.125)).to_json()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, step))
    else:
        yield path


def other(value: Any, rng: np.random.Generator) -> Any:
    """Another value of the same type; of texts and numbers one character is changed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return float(np.nextafter(value, np.inf))
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1]))
    if isinstance(value, str) and value:
        place = int(rng.integers(len(value)))
        changed = "1" if value[place] != "1" else "2"
        return value[:place] + changed + value[place + 1 :]
    return "x" if value is None or value == "" else [*value, "x"] if isinstance(value, list) else {"x": "y"}


def tampered(kind: str, path: tuple[Any, ...], rng: np.random.Generator) -> str:
    document = json.loads(text_of(kind))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = other(place[path[-1]], rng)
    return json.dumps(document)


def found(folder: Path, text: str, given: Study | None) -> bool:
    path = folder / "model.json"
    path.write_text(text)
    try:
        verify_model(path, given)
    except (VerificationError, InvalidInputError):
        return True
    return False


def paths_of(kind: str) -> list[tuple[Any, ...]]:
    return list(leaves(json.loads(text_of(kind))))


def test_the_model_as_it_was_signed_holds(tmp_path: Path) -> None:
    for kind in ("best", "paper"):
        assert not found(tmp_path, text_of(kind), study(kind))
        assert not found(tmp_path, text_of(kind), None)


@pytest.mark.parametrize("kind", ["best", "paper"])
def test_a_changed_digit_anywhere_is_found(kind: str, tmp_path: Path) -> None:
    """In a sample of all places, of every part of the file."""
    rng = np.random.default_rng(3)
    by_part: dict[Any, list[tuple[Any, ...]]] = {}
    for path in paths_of(kind):
        names = tuple(step for step in path if isinstance(step, str))
        by_part.setdefault(names[:2], []).append(path)
    chosen = [places[rng.integers(len(places))] for places in by_part.values()]
    places = paths_of(kind)
    chosen += [places[i] for i in rng.choice(len(places), 25, replace=False)]
    missed = [path for path in chosen if not found(tmp_path, tampered(kind, path, rng), None)]
    assert not missed


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["best", "paper"])
def test_a_changed_digit_in_every_place_is_found(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for given in (None, study(kind)):
        missed = [path for path in paths_of(kind) if not found(tmp_path, tampered(kind, path, rng), given)]
        assert not missed


def forged(model: StudyModel) -> StudyModel:
    """The model signed again, by keys of the forger in the names of the parties."""
    return signed(model, {party: generate_identity(party) for party in model.model.certificate.parties})


def test_a_model_that_is_made_up_as_a_whole_is_refused_by_the_study(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(forged(model_of(study("best"), {"age": 9.0})).to_json())
    assert verify_model(path).to_text().startswith("NOBODY VOUCHES FOR THE KEYS")
    with pytest.raises(VerificationError, match="The key of 'party-a' in the file is not the one that the study has"):
        verify_model(path, study("best"))


def test_a_certificate_of_another_run_is_refused_by_the_study(tmp_path: Path) -> None:
    """All of it fits together, and the true parties have signed it: but their study was another one."""
    weaker = study_of(HORIZONTAL, **{**BEST, "privacy": {"epsilon": 20.0, "delta": 1e-6}})
    path = tmp_path / "model.json"
    model = signed(model_of(weaker, {}))
    path.write_text(model.to_json())
    verify_model(path, weaker)
    with pytest.raises(VerificationError, match="The model is of another study"):
        verify_model(path, study("best"))
    renamed = replace(
        model,
        study=(study("best").name, study("best").hash),
        model=replace(model.model, certificate=replace(model.model.certificate, study=study("best").hash)),
    )
    path.write_text(renamed.to_json())
    with pytest.raises(VerificationError, match="signature of 'party-a' does not fit"):
        verify_model(path, study("best"))
    path.write_text(signed(renamed).to_json())  # if all parties lied together, the study still tells what it gives
    with pytest.raises(VerificationError, match=r"'(facts|epsilon).*which follows from the study"):
        verify_model(path, study("best"))


def test_signatures_of_one_release_do_not_fit_another_of_the_same_study(tmp_path: Path) -> None:
    first, second = (signed(model_of(study("best"), {"age": value})) for value in (0.25, 0.75))
    path = tmp_path / "model.json"
    path.write_text(replace(second, signatures=first.signatures).to_json())
    with pytest.raises(VerificationError, match="signature of 'party-a' does not fit"):
        verify_model(path, study("best"))
    path.write_text(replace(second, model=first.model).to_json())
    with pytest.raises(VerificationError, match=r"'model\.coef' parameter of a study model"):
        verify_model(path, study("best"))
