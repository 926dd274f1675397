"""Where a long-running participant of a study listens."""

from __future__ import annotations

from cofit.errors import TransportError
from cofit.transport import Listener, listen


def listen_at(name: str, address: tuple[str, int]) -> Listener:
    """Listen there, or raise TransportError with what to do."""
    host, port = address
    try:
        return listen(host, port)
    except OSError as error:
        raise TransportError(
            name,
            f"'{name}' cannot listen at {host}:{port}: {error.strerror or error}. If another process has the port, "
            "stop it. If the address is not this machine's, give --listen.",
        ) from None
