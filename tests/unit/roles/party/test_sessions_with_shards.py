"""The end of a session whose rows are in shards: a failed check is noted before the shards leave, which others see."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cofit.errors import ProtocolError, TransportError
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
