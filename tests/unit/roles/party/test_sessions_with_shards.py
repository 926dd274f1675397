"""The end of a session whose rows are in shards: a failed check is noted before the shards leave, which others see."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from cofit.errors import ProtocolError, TransportError
from cofit.learn.division import DELEGATION_BYTES
from cofit.roles.party import sessions as sessions_module
from cofit.roles.party.sessions import PartySessions


@pytest.mark.parametrize(
    ("error", "order"),
    [
        (ProtocolError("somebody lies"), ["noted", "shards leave, False"]),
        (TransportError("party-b", "is gone"), ["shards leave, False"]),
        (None, ["shards leave, True"]),
    ],
)
def test_what_is_noted_before_the_shards_leave(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, order: list[str]
) -> None:
    said: list[str] = []

    class Spread:
        def __init__(self, *given: Any) -> None:
            del given

        def end(self, *, well: bool) -> None:
            said.append(f"shards leave, {well}")

    monkeypatch.setattr(sessions_module, "Spread", Spread)
    sessions: Any = object.__new__(PartySessions)
    sessions._cluster, sessions._identity, sessions._audit = SimpleNamespace(), None, None
    job: Any = SimpleNamespace(shards=2, spec=SimpleNamespace(soundness_bits=None))
    state: Any = SimpleNamespace(component=None)
    try:
        with sessions._spread(SimpleNamespace(), job, state, lambda: said.append("noted"), False):
            if error is not None:
                raise error
    except (ProtocolError, TransportError) as raised:
        assert raised is error
    assert said == order


def test_a_check_that_failed_in_the_session_before_ends_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted while the shards of the next session are asked for; none of them meets anybody."""
    made: list[Any] = []

    class Spread:
        def __init__(self, *given: Any) -> None:
            del given
            made.append(self)

        def end(self, *, well: bool) -> None:
            assert not well

    monkeypatch.setattr(sessions_module, "Spread", Spread)
    written: list[tuple[str, dict[str, Any]]] = []
    sessions: Any = object.__new__(PartySessions)
    sessions._cluster, sessions._identity, sessions._ended = SimpleNamespace(), None, False
    sessions._audit = SimpleNamespace(write=lambda event, **facts: written.append((event, facts)))
    sessions._state = SimpleNamespace(phase="failed")
    job: Any = SimpleNamespace(shards=2, spec=SimpleNamespace(soundness_bits=None))
    told = [b"a" * 2 * DELEGATION_BYTES, b"b" * 2 * DELEGATION_BYTES]
    noted: list[str] = []

    def end() -> None:
        sessions._ended = True
        noted.append("noted")

    with (
        pytest.raises(ProtocolError, match="in the session before"),
        sessions._spread(SimpleNamespace(), job, SimpleNamespace(component=None), end, False),
    ):
        made[0].met(told)
        assert [event for event, _ in written] == ["shards met"] and written[0][1]["shards"] == 2
        sessions._cluster.on_failure()
        made[0].met(told)
    assert len(written) == 1 and noted == ["noted", "noted"]


@pytest.mark.parametrize(("shards", "expected"), [(None, 1), (1, 2), (7, 8)])
def test_a_head_knows_how_many_sessions_there_are(
    monkeypatch: pytest.MonkeyPatch, shards: int | None, expected: int
) -> None:
    found: list[int] = []

    class Scheme(SimpleNamespace):
        def setup(self) -> None:
            found.append(self.sessions)

    monkeypatch.setattr(sessions_module, "scheme_of", lambda spec: lambda *given: Scheme(engine=None))
    monkeypatch.setattr(sessions_module, "run_session", lambda *given, **named: "done")
    sessions: Any = object.__new__(PartySessions)
    sessions._others, sessions._rank, sessions._names = SimpleNamespace(peers=[], dealers=[]), 0, ["a"]
    sessions._limit = sessions._audit = sessions._cluster = None
    sessions._mesh = lambda *given, **named: contextlib.nullcontext()
    job: Any = SimpleNamespace(shards=shards, spec=None, memory=None)
    assert sessions._done(None, b"", job, SimpleNamespace(directory=None), lambda: None) == "done"
    assert found == [expected]
