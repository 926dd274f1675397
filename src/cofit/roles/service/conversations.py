"""Conversations with the parties of a study, and its dealer, as everybody else begins them, and repeats them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from cofit.errors import PeerClosedError, PeerSilentError, TransportError
from cofit.study.agreement import Agreement
from cofit.transport import Conversation, Identity, Peer, RequestRefusedError, Terms, converse

_PATIENCE = 30.0
_SOON = 1.5
"""Seconds until somebody who waits for a party wants to know for whom."""
_PAUSES = (0.5, 2.0, 5.0)
"""Seconds before each new attempt to reach a party that was there before."""

Connect = Callable[[str], AbstractContextManager[Conversation]]
"""Opens a conversation with the party of that name."""
Waiting = Callable[[str, float], None]
"""Is told of a party that does not answer: its name, and for how many seconds it is dialled. From a thread."""
T = TypeVar("T")


@contextmanager
def opened(connect: Connect, party: str) -> Iterator[Conversation]:
    """A conversation with a party; where there is none to be had, an error that is not worth another attempt."""
    try:
        opening = connect(party)
    except (PeerSilentError, PeerClosedError) as error:
        raise TransportError(party, f"'{party}' cannot be reached: {error}") from None
    with opening as conversation:
        yield conversation


def _nothing_counted() -> int:
    return 0


def patiently(party: str, attempt: Callable[[], T], done: Callable[[], int] = _nothing_counted) -> T:
    """Return what ``attempt`` returns; try again, after pauses, where the connection breaks or the party is busy.

    ``done`` tells how far the attempts have got together: who gets any further has as many attempts again, so that a
    line that breaks every minute ends nothing.
    """
    failures, before = 0, done()
    failure: TransportError
    while True:
        told = 0.0
        try:
            return attempt()
        except (PeerClosedError, PeerSilentError) as error:
            failure = error
        except RequestRefusedError as error:
            if error.kind != "busy":
                raise
            told, failure = error.retry_after, error
        if done() > before:
            failures, before = 0, done()
        if failures == len(_PAUSES):
            break
        time.sleep(max(_PAUSES[failures], told))
        failures += 1
    if isinstance(failure, RequestRefusedError):
        raise failure
    raise TransportError(
        party, f"The connection to '{party}' broke {failures + 1} times: {failure} Check the network and the party."
    )


def connector(
    study: Agreement, identity: Identity, patience: float = _PATIENCE, waiting: Waiting | None = None
) -> Connect:
    """Return a function that opens a conversation with a party of the study, or its dealer, by name.

    patience: how many seconds it dials a party that does not answer. waiting: told of it after the first of them.
    """
    dealers = [] if study.dealer is None else [study.dealer]
    entries = {party.name: party for party in (*study.parties, *dealers)}
    terms = Terms(bytes(16), bytes.fromhex(study.hash), study.spec.agreed)

    def connect(name: str) -> AbstractContextManager[Conversation]:
        entry, seconds = entries[name], min(study.compute.connect_timeout, patience)
        with _told_when_slow(waiting, name, seconds):
            return converse(
                identity,
                Peer(entry.name, entry.host, entry.port, entry.certificate_pem),
                terms,
                timeout=study.compute.timeout,
                connect_timeout=seconds,
            )

    return connect


@contextmanager
def _told_when_slow(waiting: Waiting | None, party: str, seconds: float) -> Iterator[None]:
    """Tell ``waiting`` if what is done here is not done soon."""
    if waiting is None or seconds <= _SOON:
        yield
        return
    timer = threading.Timer(_SOON, waiting, (party, seconds))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
