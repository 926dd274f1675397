"""Every message by which the parties of a study with repn come to its session is changed, one in each run.

The leader asks all others which contributions they have, has them held, and invites to a session: requests and
answers, in conversations over TLS. After a change no session begins, or it ends as ``test_repn_study_sweep.py`` says.
Beside what is left out there, the date and the id of the session, which the leader chooses, are always the same.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from unittest import mock

import pytest

from adversary.study.repn_bench import Bench, Script
from adversary.study.repn_outcomes import problem
from cofit.errors import CofitError, PeerClosedError
from cofit.sharing.repn.party import Repn
from cofit.transport import Conversation

CHUNKS = 6
Header = dict[str, Any]
_OTHERS: dict[str, list[Any]] = {
    "phase": ["failed", "released", "stored"],
    "session": ["00" * 16],
    "created": ["2020-01-01T00:00:00+00:00"],
    "request": ["status", "party.begin", "party.hold", "model"],
}
"""What may stand in a field beside something of another kind."""


class Sent(NamedTuple):
    """One message: who sends it to whom, how manieth of these it is, and what it says."""

    sender: str
    receiver: str
    number: int
    header: Header


class Case(NamedTuple):
    """What is sent in place of a message: None is nothing. ``times``: how often."""

    sent: Sent
    header: Header | None
    times: int = 1


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("study"))


def invited(bench: Bench, case: Case | None = None) -> tuple[list[Sent], str]:
    """Have the leader invite, and all who are invited begin; return the messages, and what is wrong in the end."""
    base = bench.root / "invited"
    shutil.copytree(bench.collected, base)
    messages: list[Sent] = []
    honest_send = Conversation.send

    def send(conversation: Conversation, header: Mapping[str, object], payload: Any = None) -> None:
        if {conversation.name, conversation.peer} <= set(bench.names):
            between = conversation.name, conversation.peer
            one = Sent(*between, sum(m[:2] == between for m in messages), dict(header))
            messages.append(one)
            if case is not None and one[:3] == case.sent[:3]:
                if case.header is None:
                    conversation.close()
                    raise PeerClosedError(conversation.peer, "It has hung up.")
                for _ in range(case.times - 1):
                    honest_send(conversation, case.header, payload)
                header = case.header
        honest_send(conversation, header, payload)

    clock = mock.Mock(wraps=datetime)
    clock.now.return_value = datetime.fromisoformat(bench.begin.created)
    leader, *others = bench.names
    begins = {}
    try:
        with (
            mock.patch.object(Conversation, "send", send),
            mock.patch("cofit.roles.party.sessions.datetime", clock),
            mock.patch("cofit.roles.party.sessions.secrets.token_bytes", lambda size: bench.begin.session),
            bench.serving(base) as services,
        ):
            with contextlib.suppress(CofitError):
                begins[leader] = services[leader]._sessions._invitation()
            begins |= {name: services[name]._desk.invitations.get(timeout=0.01) for name in others}
        if not all(begins.get(name) for name in bench.names):
            published = any((base / name / "published.json").exists() for name in bench.names)
            return messages, "a release without a session" if published else ""
        endings = bench.sessions(base, {name: begin for name, begin in begins.items() if begin}, Script(), Repn)
        honest = {name: end for name, end in endings.items() if case is None or name != case.sent.sender}
        return messages, problem(bench, honest, "")
    finally:
        shutil.rmtree(base)


def cases_of(messages: list[Sent]) -> Iterator[Case]:
    """Every message: left out, twice, empty, in place of the one before, and with every field changed."""
    before: dict[tuple[str, str], Header] = {}
    for one in messages:
        yield Case(one, None)
        yield Case(one, one.header, 2)
        yield Case(one, {})
        yield Case(one, {"error": {"kind": "busy", "message": "later", "retry_after": 0}})
        if one[:2] in before:
            yield Case(one, before[one[:2]])
        before[one[:2]] = one.header
        for name, value in one.header.items():
            for other in (None, 7, [], {"x": "y"}, *_changed(value), *_OTHERS.get(name, [])):
                if other != value:
                    yield Case(one, {**one.header, name: other})


def _changed(value: Any) -> list[Any]:
    """Something else of the same kind."""
    if isinstance(value, dict):
        return [{}, dict.fromkeys(value, "0" * 64), dict(list(value.items())[1:])]
    return [value[:-1] + ("0" if value[-1] != "0" else "1")] if isinstance(value, str) else [not value]


def honest_messages(bench: Bench) -> list[Sent]:
    messages, wrong = invited(bench)
    assert wrong == ""
    return messages


def test_an_invitation_is_six_requests_with_their_answers(bench: Bench) -> None:
    messages = honest_messages(bench)
    leader, *others = bench.names
    asked = [(one.receiver, one.header["request"]) for one in messages if one.sender == leader]
    assert asked == [(name, f"party.{what}") for what in ("state", "hold", "begin") for name in others]
    assert [one.sender for one in messages if one.sender != leader] == others * 3
    cases = list(cases_of(messages))
    assert {case.sent[:3] for case in cases} == {one[:3] for one in messages} and len(messages) == 12
    assert len(cases) > 200


def test_a_few_changed_invitations(bench: Bench) -> None:
    cases = list(cases_of(honest_messages(bench)))
    assert [wrong for case in cases[3::31] if (wrong := invited(bench, case)[1])] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_sweep(bench: Bench, chunk: int) -> None:
    cases = list(cases_of(honest_messages(bench)))
    assert [(case, wrong) for case in cases[chunk::CHUNKS] if (wrong := invited(bench, case)[1])] == []
