"""What the parties publish: exact, strict, and the same everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from cofit.errors import InvalidInputError, ProtocolError
from cofit.roles.files.published import Release, agreed
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from unit.study.studies import study_of


@cache
def release() -> Release:
    study = study_of()
    certificate = expected_certificate(study, study_plan(study))
    return Release(tuple(0.1 * i for i in range(certificate.d)), certificate)


def test_there_and_back_exactly() -> None:
    assert Release.from_json(release().to_json()) == release()


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"weights": [1.0]},
        {"weights": "none"},
        {"weights": [None]},
        {"certificate": {}},
        {"more": 1},
    ],
    ids=str,
)
def test_anything_else_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Release.from_json(json.dumps(json.loads(release().to_json()) | change))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"weights": NaN}'])
def test_no_release_at_all(text: str) -> None:
    with pytest.raises(InvalidInputError):
        Release.from_json(text)


def test_not_a_number_is_refused() -> None:
    document = json.loads(release().to_json())
    document["weights"][0] = float("nan")
    with pytest.raises(InvalidInputError, match="finite"):
        Release.from_json(json.dumps(document))


def test_only_the_software_may_differ() -> None:
    mine = release()
    other = replace(mine, certificate=replace(mine.certificate, software={"python": "4"}, cofit_version="9"))
    assert agreed({"a": mine, "b": other}) == mine


@pytest.mark.parametrize("what", ["weight", "created", "epsilon"])
def test_a_copy_that_differs_is_named(what: str) -> None:
    mine = release()
    other = {
        "weight": replace(mine, weights=(mine.weights[0] + 2**-40, *mine.weights[1:])),
        "created": replace(mine, certificate=replace(mine.certificate, created="2020-01-01T00:00:00+00:00")),
        "epsilon": replace(mine, certificate=replace(mine.certificate, epsilon=Fraction(2))),
    }[what]
    with pytest.raises(ProtocolError, match="'a' and 'c'"):
        agreed({"a": mine, "b": mine, "c": other})
