"""One bit of one message of this process is flipped."""

from __future__ import annotations

import logging
from typing import Any

from cofit.transport import Mesh
from cofit.transport.buffers import byte_view
from cofit.transport.measure import LABEL


def tamper(label: str, when: int) -> None:
    """Flip one bit of the first message of one exchange; those that only measure lines, and say nothing, are left out.

    ``label``: what the exchange's label has in it; ``when``: which of those exchanges, from 1.
    """
    exchange = Mesh.exchange
    seen = 0

    def tampered(self: Mesh, said: str, send: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal seen
        meant = label in said and said != LABEL and bool(send)
        seen += meant
        if seen == when and meant:
            seen += 1
            peer, message = next(iter(send.items()))
            pieces = message if isinstance(message, list | tuple) else (message,)
            changed = bytearray(b"".join(byte_view(piece) for piece in pieces))
            changed[0] ^= 1
            send = {**send, peer: changed}
            logging.info("tampers with a message to %s in %s", peer, said)
        exchange(self, said, send, *args, **kwargs)

    Mesh.exchange = tampered  # type: ignore[method-assign, assignment]
