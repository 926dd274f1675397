"""Sessions in which parties draw their coin, over stores that outlive them; what is sent is noted, or changed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from cofit.secret import Party
from cofit.secret.common_coin import CoinStore, common_coin
from cofit.sharing import Scheme
from cofit.transport import Mesh
from cofit.transport.buffers import byte_view
from support.runs import run_scheme

BASIS = b"the sealed contributions"
COMMIT, AGREE, REVEAL = "coin/commit/announce", "coin/commitments to the coin/announce", "coin/reveal/announce"
Hook = Callable[[str, str, dict[str, bytes]], dict[str, bytes]]
"""What a member does before an exchange: its name, the label, what it would send; returns what it sends instead."""


@dataclass
class Session:
    """What came of one session: each party's coin or error, and what each sent to each, by label."""

    outcomes: dict[int, bytes | BaseException] = field(default_factory=dict)
    sent: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)

    def coins(self) -> set[bytes]:
        return {coin for coin in self.outcomes.values() if isinstance(coin, bytes)}

    def revealed(self) -> dict[str, bytes]:
        """The nonces that were sent to anybody, by party."""
        reveals = {name: next(iter(told.values()), b"") for (name, label), told in self.sent.items() if label == REVEAL}
        return {name: nonce for name, nonce in reveals.items() if nonce}


def session(
    scheme: str,
    stores: Sequence[CoinStore],
    before: Hook | None = None,
    after: Callable[[str, str], None] | None = None,
    basis: bytes | Mapping[int, bytes] = BASIS,
    draw: Callable[..., bytes] = common_coin,
) -> Session:
    """Let all parties of a scheme draw their coin once; ``stores`` by rank (a dealer's last one is never used)."""
    result, original = Session(), Mesh.exchange

    def exchange(mesh: Mesh, label: str, send: Any, receive: Any, states: Any = None) -> None:
        if not label.startswith("coin/"):
            original(mesh, label, send, receive, states)
            return
        pieces = {p: m if isinstance(m, list | tuple) else (m,) for p, m in send.items()}
        told = {peer: b"".join(bytes(byte_view(piece)) for piece in own) for peer, own in pieces.items()}
        told = told if before is None else before(mesh.name, label, told)
        result.sent[mesh.name, label] = told
        original(mesh, label, told, receive, states)
        if after is not None:
            after(mesh.name, label)

    def program(s: Scheme) -> None:
        own = basis if isinstance(basis, bytes) else basis[s.rank]
        try:
            result.outcomes[s.rank] = draw(Party(s, {}), stores[s.rank], own)
        except BaseException as error:
            result.outcomes[s.rank] = error
            raise

    with mock.patch.object(Mesh, "exchange", exchange), contextlib.suppress(Exception):
        run_scheme(scheme, program, parties=len(stores) - (scheme == "semi2k"))
    return result
