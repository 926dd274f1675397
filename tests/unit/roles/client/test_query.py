"""What a client believes of the parties: copies that agree, of the right length, and what each has signed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cofit.roles.client.served_model as served_module
from cofit.arithmetic.prg import fresh_seed
from cofit.errors import ProtocolError, TransportError, VerificationError
from cofit.roles.client.query import Asking, QueryLostError
from cofit.roles.client.served_model import ServedModel, fetch_model
from cofit.roles.files.exact_models import ExactModel
from cofit.roles.files.signatures import sign
from cofit.roles.jobs.of_study import training_job
from cofit.roles.jobs.predictions import Predictions
from unit.study.studies import CLIENTS, EXACT, IDENTITIES, study_of

CLIENT, PARTIES = "stranger", ("party-a", "party-b", "party-c")
NAMED = dict.fromkeys(PARTIES, "")
DATE = "2026-01-02T03:04:05+00:00"


@cache
def predictions() -> Predictions:
    found = training_job(study_of(CLIENTS)).questions
    assert found is not None
    return found


def asking() -> Asking:
    model = ServedModel(predictions(), np.zeros(0), None, "c" * 64)
    return Asking(model, CLIENT, "scores", np.zeros((3, 10)), fresh_seed())


def told_by(copies: Mapping[str, bytes], **changes: Any) -> Any:
    """Return parties that answer with these bytes."""

    @contextmanager
    def connect(party: str) -> Iterator[Any]:
        def request(asked: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
            content = copies[party]
            facts = {"phase": "released", "size": len(content), "counted": 3, "limit": 50, **changes}
            return facts, content[asked["offset"] :]

        yield SimpleNamespace(request=request)

    return connect


def sums(question: Asking, answers: list[int]) -> bytes:
    ring = predictions().plan.ring
    return ring.add(ring.from_int(np.array(answers)), question.mask).tobytes()


def test_the_mask_is_taken_off_what_all_parties_say() -> None:
    question = asking()
    copies = dict.fromkeys(PARTIES, sums(question, [5, -6, 7]))
    found = question.fetch(NAMED, told_by(copies), lambda: False)
    assert found.integers.tolist() == [[5], [-6], [7]] and found.counted == 3


@pytest.mark.parametrize("liar", PARTIES)
def test_copies_that_differ_are_refused_whoever_lies(liar: str) -> None:
    question = asking()
    copies = {**dict.fromkeys(PARTIES, sums(question, [5, -6, 7])), liar: sums(question, [5, -6, 8])}
    with pytest.raises(ProtocolError, match="answered differently"):
        question.fetch(NAMED, told_by(copies), lambda: False)


@pytest.mark.parametrize("change", [lambda data: data + b"x", lambda data: data[:-1], lambda data: b""])
def test_an_answer_of_another_length_is_none(change: Callable[[bytes], bytes]) -> None:
    question = asking()
    copies = dict.fromkeys(PARTIES, change(sums(question, [5, -6, 7])))
    with pytest.raises(TransportError, match="is no answer"):
        question.fetch(NAMED, told_by(copies), lambda: False)


def test_the_answer_to_an_older_query_is_noise() -> None:
    """Every query has a mask of its own: whatever all parties together send again, nothing of it can be chosen."""
    old, new = asking(), asking()
    copies = dict.fromkeys(PARTIES, sums(old, [5, -6, 7]))
    found = new.fetch(NAMED, told_by(copies), lambda: False).integers
    assert np.abs(found.astype(np.float64)).min() > 1 << 32


def test_a_query_that_a_party_ended_is_lost() -> None:
    with pytest.raises(QueryLostError, match="'party-a' has ended the query"):
        asking().fetch(NAMED, told_by(dict.fromkeys(PARTIES, b""), phase="failed", why="so"), lambda: False)


# --- the statement about weights without noise -------------------------------------------------------------


def statements(monkeypatch: pytest.MonkeyPatch, change: Callable[[str, ExactModel], tuple[ExactModel, str]]) -> None:
    """Let every party send a statement, signed by the one that ``change`` names."""
    study = study_of(EXACT)
    job = training_job(study)

    class Copy:
        def __init__(self, connect: Any, party: str, most: int) -> None:
            self.party = party

        def fetch(self) -> tuple[str, str]:
            model, signer = change(self.party, ExactModel(study, job.hash, job.plan.opened.count, DATE))
            return model.to_json(), signed(model, self.party, signer)

    monkeypatch.setattr(served_module, "Copy", Copy)


def signed(model: ExactModel, party: str, signer: str) -> str:
    pem = next(one.certificate_pem for one in model.study.parties if one.name == party)
    return sign(IDENTITIES[signer], model.to_sign(party, pem))


def test_a_statement_that_every_party_signed_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    statements(monkeypatch, lambda party, model: (model, party))
    found = fetch_model(study_of(EXACT), IDENTITIES[CLIENT])
    assert found.certificate is None and found.prepared.size == 0


def test_nobody_signs_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    statements(monkeypatch, lambda party, model: (model, "party-a"))
    with pytest.raises(VerificationError, match="'party-b' does not fit"):
        fetch_model(study_of(EXACT), IDENTITIES[CLIENT])


def test_statements_that_differ_or_are_of_another_study_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    later = "2026-01-03T03:04:05+00:00"
    statements(
        monkeypatch, lambda party, model: (replace(model, created=later) if party == "party-c" else model, party)
    )
    with pytest.raises(ProtocolError, match="different things of the model"):
        fetch_model(study_of(EXACT), IDENTITIES[CLIENT])
    other = study_of(EXACT, name="another")
    statements(monkeypatch, lambda party, model: (replace(model, study=other), party))
    with pytest.raises(ProtocolError, match="not of this study"):
        fetch_model(study_of(EXACT), IDENTITIES[CLIENT])
