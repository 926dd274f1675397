"""Private predictions of a whole study, under every scheme, with real processes and TLS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit.models.study_model import StudyModel
from cofit.roles.client.ask import ask_privately
from cofit.roles.files.ledger import Ledger
from support.schemes import also_slow
from support.studies import Lab

CLIENT = "clinic"
SCHEMES = also_slow([], "clear", "rep3", "rep4", "semi2k", "shamir", "repn", "pair")


def trained(make_lab: Callable[..., Lab], **settings: Any) -> Lab:
    lab = make_lab(**{"clients": {CLIENT: None}, "model": {"recipe": "best"}, **settings})
    lab.start()
    lab.up()
    lab.contribute_all()
    lab.wait_released(120)
    return lab


@pytest.mark.parametrize("scheme", SCHEMES)
def test_answers_with_published_weights_are_those_of_the_model(make_lab: Callable[..., Lab], scheme: str) -> None:
    lab = trained(make_lab, scheme=scheme)
    rows = np.random.default_rng(3).uniform(-1, 1, (12, lab.features))
    release = lab.release()
    model = StudyModel.from_release(lab.study, release.weights, release.certificate).model
    found = {kind: ask_privately(lab.study, lab.identity(CLIENT), rows, kind) for kind in ("scores", "probabilities")}
    for kind, expected in (
        ("scores", model.decision_function(rows)),
        ("probabilities", model.predict_proba(rows)[:, 1]),
    ):
        error = found[kind].statement.error
        assert error is not None and np.abs(found[kind].values[:, 0] - expected).max() <= error
    lab.stop()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_shared_model_answers_and_never_opens(make_lab: Callable[..., Lab], scheme: str) -> None:
    lab = trained(make_lab, scheme=scheme, terms={"model": "shared"})
    rows = np.random.default_rng(3).uniform(-1, 1, (12, lab.features))
    scores = ask_privately(lab.study, lab.identity(CLIENT), rows, "scores").values[:, 0]
    classes = ask_privately(lab.study, lab.identity(CLIENT), rows, "classes").values[:, 0]
    clear = np.abs(scores) > 1e-3
    assert clear.any() and (classes[clear] == (scores[clear] > 0)).all()
    for party in lab.parties:
        opened = [record["shape"] for record in lab.audit(party) if record["event"] == "opening"]
        assert all(shape == [12] for shape in opened), "something else than masked answers was opened"
        assert (lab.state(party) / "release").exists() and lab.counted(party, CLIENT) == 24
        (charge,) = Ledger(lab.state(party) / "ledger.sqlite").charges("release")
        assert float(charge.epsilon) == lab.epsilon
    lab.stop()


@pytest.mark.slow
@pytest.mark.parametrize("terms", [{}, {"model": "shared"}], ids=["published", "shared"])
@pytest.mark.parametrize("scheme", ["rep3", "pair"])
def test_counts_are_answered_as_rates(make_lab: Callable[..., Lab], scheme: str, terms: dict[str, str]) -> None:
    """The parties compute scores, and the exponential is the client's own."""
    kind = {"recipe": "best", "kind": "poisson_regression"}
    lab = trained(make_lab, scheme=scheme, model=kind, largest=20, rows=(300, 200), epsilon=8.0, terms=terms)
    rows = np.random.default_rng(3).uniform(-1, 1, (12, 3))
    found = ask_privately(lab.study, lab.identity(CLIENT), rows)
    rates, error = found.values[:, 0], found.statement.error
    assert rates.min() >= 1 / 20 and rates.max() <= 20 and error is not None and error < 0.1
    assert np.corrcoef(np.log(rates), rows[:, 0])[0, 1] > 0.7
    if not terms:
        release = lab.release()
        model = StudyModel.from_release(lab.study, release.weights, release.certificate).model
        assert np.abs(rates - model.predict(rows)).max() <= error
    lab.stop()


@pytest.mark.slow
def test_weights_without_noise_are_those_of_the_minimiser(make_lab: Callable[..., Lab]) -> None:
    """d + 1 scores of rows of the client's choice are the model: so they say, and so it is."""
    terms = {"model": "shared", "noise": False, "answers": "scores"}
    lab = trained(make_lab, terms=terms, clients={CLIENT: 50}, model={})
    rows = np.random.default_rng(4).uniform(-1, 1, (lab.features + 1, lab.features))
    found = ask_privately(lab.study, lab.identity(CLIENT), rows, "scores")
    assert found.statement.headline.lower().startswith("not differentially private")
    prepared = np.hstack([rows, np.ones((len(rows), 1))])
    prepared /= np.linalg.norm(prepared, axis=1, keepdims=True)
    solved = np.linalg.solve(prepared, found.values[:, 0])
    assert np.abs(solved - lab.minimum()).max() < 1e-3
    for party in lab.parties:
        assert Ledger(lab.state(party) / "ledger.sqlite").charges("release") == []
        assert len(Ledger(lab.state(party) / "ledger.sqlite").exposures("release")) == 1
    lab.stop()
