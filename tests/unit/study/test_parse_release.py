"""[release] and [[clients]]: what becomes of the weights, and who is answered what."""

from __future__ import annotations

from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.study.document import ReleaseTerms
from cofit.study.served_statement import exact_lines, served_lines
from cofit.study.statement import learned
from unit.study.studies import CLIENTS, EXACT, HORIZONTAL, LEFT_OUT, changed, study_of

NUMBERS = {
    "model": {"kind": "huber_regression"},
    "data.label_values": LEFT_OUT,
    "data.label_range": [0, 10],
}


def refused(document: dict[str, Any], changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        study_of(changed(document, changes))


def test_without_the_tables_a_study_is_what_it_was() -> None:
    plain = study_of()
    assert plain.release == ReleaseTerms() and plain.clients == ()
    assert "release" not in plain.canonical() and "clients" not in plain.canonical()


def test_clients_of_an_open_model_may_ask_for_all_that_it_has() -> None:
    study = study_of(changed(HORIZONTAL, {"clients": CLIENTS["clients"]}))
    assert not study.release.shared and study.release.answers == ("scores", "probabilities", "classes")
    client = study.client("stranger")
    assert client is not None and client.rows == 50 and study.client("analyst") is None
    assert any("the noisy weights" in fact for fact in learned(study)["clients"]), (
        "they fetch the model before they ask"
    )


def test_a_shared_model_has_clients_with_the_kinds_that_are_listed() -> None:
    study = study_of(CLIENTS)
    assert study.release == ReleaseTerms("shared", True, ("scores", "classes"))
    assert any("never open" in line for line in served_lines(study))
    told = learned(study)
    assert "stay shared" in told["parties"][0]
    assert "the certificate" in told["clients"] and "the certificate" in told["analysts"]
    assert not any("noisy weights" in fact for facts in told.values() for fact in facts)
    refused(CLIENTS, {"clients": LEFT_OUT}, "'clients' parameter")


def test_without_noise_everything_is_stated_and_no_budget_is() -> None:
    study = study_of(EXACT)
    assert not study.release.noise and '"privacy"' not in study.canonical()
    first, *rest = exact_lines(study, 10)
    assert first.lower().startswith("not differentially private")
    assert any("10 exact scores" in line for line in rest) and any("50 rows" in line for line in rest)
    refused(EXACT, {"privacy": {"epsilon": 1.0}}, "'privacy' parameter.*left out")
    refused(EXACT, {"release": {"model": "shared", "noise": False}}, "'release.answers' parameter.*state it")
    refused(EXACT, {"clients": [{"name": "stranger", "certificate": "stranger.pem"}]}, r"clients\[0\].rows")
    refused(EXACT, {"release": {"noise": False, "answers": "classes"}}, "'release.noise' parameter")
    refused(CLIENTS, {"model": {"kind": "logistic_regression"}, "release.noise": False}, "'release.noise' parameter")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"release.model": "hidden"}, "release.model"),
        ({"release.answers": "weights"}, "release.answers"),
        ({"release.answers": []}, "release.answers"),
        ({"release.answers": ["scores", "scores"]}, "another kind"),
        ({"release.answers": 3}, "release.answers"),
        ({"release.extra": 1}, "release.extra"),
        ({"release.noise": "no"}, "release.noise"),
        ({"clients": []}, "clients"),
        ({"clients": [{"name": "stranger", "certificate": "stranger.pem", "rows": 0}]}, "rows"),
        ({"clients": [{"name": "stranger", "certificate": "analyst.pem"}]}, "another certificate"),
        ({"model.kind": "linear_svc", "release.answers": "probabilities"}, "none that the parties can compute"),
        ({**NUMBERS, "privacy": {"epsilon": 1.0}, "release.answers": "classes"}, "is a number"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes: dict[str, Any], told: str) -> None:
    refused(CLIENTS, changes, told)


def test_several_classes_have_all_answers() -> None:
    several = {"model": {"kind": "logistic_regression"}, "data.label_values": ["a", "b", "c"]}
    study = study_of(changed(CLIENTS, {**several, "release.answers": LEFT_OUT}))
    assert study.release.answers == ("scores", "probabilities", "classes")
