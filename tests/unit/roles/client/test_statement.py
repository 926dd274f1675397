"""The certificate of answers says first whether differential privacy covers them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cofit.cli.check_predictions import query_facts
from cofit.errors import InvalidInputError
from cofit.roles.client.ask import ask_privately
from cofit.roles.client.served_model import ServedModel
from cofit.roles.client.statement import QueryStatement
from cofit.roles.jobs.of_study import training_job
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from unit.study.studies import CLIENTS, EXACT, HORIZONTAL, IDENTITIES, LEFT_OUT, changed, study_of


def statement(document: dict[str, object], kind: str, counted: int | None = 7) -> QueryStatement:
    study = study_of(document)
    job = training_job(study)
    assert job.questions is not None
    certificate = expected_certificate(study, study_plan(study)) if study.release.noise else None
    return QueryStatement.of(
        ServedModel(job.questions, np.zeros(0), certificate, "c" * 64), "stranger", kind, 5, counted
    )


def test_with_noise_answers_are_post_processing() -> None:
    found = statement(CLIENTS, "scores")
    assert found.headline.startswith("Post-processing of a differentially private model: nothing more is charged")
    assert (found.rows, found.counted, found.limit, found.answers) == (5, 7, 50, "scores")
    assert found.error is not None and found.error > 0
    text = found.to_text()
    assert text.startswith(found.headline) and "7 rows counted" in text and "of 50 at most" in text
    stated = json.loads(found.to_json())
    assert stated["kind"] == "cofit private predictions" and stated["model"] == "c" * 64


def test_without_noise_it_says_so_first_and_that_scores_are_the_model() -> None:
    found = statement(EXACT, "classes")
    assert found.headline.lower().startswith("not differentially private")
    assert "d + 1 = 11 exact scores" in found.headline and found.error is None
    assert found.to_text().lower().startswith("not differentially private")


def test_published_weights_and_numbers_in_their_own_units() -> None:
    open_model = changed(HORIZONTAL, {"clients": CLIENTS["clients"]})
    assert any("published" in note for note in statement(open_model, "scores", None).notes)
    number = changed(
        open_model,
        {"model": {"kind": "huber_regression"}, "data.label_range": [0, 400], "privacy": {"epsilon": 1.0}},
    )
    del number["data"]["label_values"]
    study = study_of(number)
    job = training_job(study)
    assert job.questions is not None
    found = statement(number, "scores")
    assert found.error == pytest.approx(200 * float(job.questions.plan.score_error))


def test_probabilities_of_several_classes_say_what_their_bound_is_for() -> None:
    several = {
        "model": {"kind": "logistic_regression"},
        "data.label_values": ["a", "b", "c"],
        "release.answers": LEFT_OUT,
    }
    said, found = "divided those of a row by their sum", statement(changed(CLIENTS, several), "probabilities")
    assert said in found.to_text() and "Each is within" not in found.to_text()
    assert found.error is None, "no bound holds for all rows: a sum may be small"
    assert said not in statement(changed(CLIENTS, several), "scores").to_text()


def test_check_and_statement_state_the_same_errors() -> None:
    counts = {"model": {"kind": "poisson_regression"}, "data.label_range": [0, 40], "privacy": {"epsilon": 1.0}}
    numbers = {"model": {"kind": "huber_regression"}, "data.label_range": [-200, 200], "privacy": {"epsilon": 1.0}}
    for changes in (counts, numbers):
        document = changed(changed(HORIZONTAL, {"clients": CLIENTS["clients"]}), changes)
        del document["data"]["label_values"]
        facts = query_facts(training_job(study_of(document)))
        assert facts is not None and facts.errors == {"scores": statement(document, "scores").error}


def test_rates_are_off_by_what_their_logarithm_is() -> None:
    """The exponential is the client's: what is opened to it is the score, cut to [-1, 1]."""
    counts = changed(
        changed(HORIZONTAL, {"clients": CLIENTS["clients"]}),
        {"model": {"kind": "poisson_regression"}, "data.label_range": [0, 40], "privacy": {"epsilon": 1.0}},
    )
    del counts["data"]["label_values"]
    job = training_job(study_of(counts))
    assert job.questions is not None and job.questions.plan.ranged
    error = float(job.questions.plan.score_error)
    found = statement(counts, "scores").error
    assert found is not None and found < 1 and found == pytest.approx(40 * np.expm1(np.log(800) / 2 * error))


def test_who_may_not_ask_is_told_before_anything_is_sent() -> None:
    rows = np.zeros((1, 10))
    with pytest.raises(InvalidInputError, match="has no clients"):
        ask_privately(study_of(), IDENTITIES["stranger"], rows)
    with pytest.raises(InvalidInputError, match=r"one of \['scores', 'classes'\]"):
        ask_privately(study_of(CLIENTS), IDENTITIES["stranger"], rows, "probabilities")
    with pytest.raises(InvalidInputError, match="'client' parameter of a study"):
        ask_privately(study_of(CLIENTS), IDENTITIES["analyst"], rows)
