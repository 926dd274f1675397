"""Conversations in threads: one handler, a bounded number of threads, in all and for each peer, and room for all peers.

Beyond ``most`` in all a peer with fewer than ``KEPT_FOR_EACH`` is still admitted: others cannot take its place.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable

from cofit.errors import CofitError, PeerClosedError, PeerSilentError, TransportError
from cofit.transport.conversation import Conversation
from cofit.transport.refusals import Refusals, Refused

_log = logging.getLogger(__name__)
_FAREWELL_SECONDS = 0.5

KEPT_FOR_EACH = 2
"""How many conversations every peer can have, whatever the others hold."""

Handler = Callable[[Conversation], None]
"""Holds one whole conversation: receives requests and answers them until it returns or the peer closes."""


class Service:
    """Runs ``handler`` for every conversation that is admitted, each in a daemon thread that ends with it.

    The handler may let any error out. A fault of the peer's frames is answered with an error of kind ``frame``, a
    failure of the handler with one of kind ``internal`` that tells no more than where to look; both end the
    conversation. A peer that closes or falls silent ends it too. (Errors of other connections that the handler
    holds are failures of the handler.) The log gets the text of our own errors, which
    hold no secret, and of any other error only its type and place.
    """

    def __init__(self, handler: Handler, refusals: Refusals, most: int, most_per_peer: int) -> None:
        self._handler = handler
        self._refusals = refusals
        self._most = most
        self._most_per_peer = most_per_peer
        self._running: dict[threading.Thread, Conversation] = {}
        self._per_peer: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closed = False

    def admit(self, conversation: Conversation) -> bool:
        """Begin the conversation in a thread of its own; False if there are too many."""
        peer = conversation.peer
        with self._lock:
            crowded = len(self._running) >= self._most and self._per_peer[peer] >= KEPT_FOR_EACH
            if self._closed or crowded or self._per_peer[peer] >= self._most_per_peer:
                return False
            thread = threading.Thread(
                target=self._serve, args=(conversation,), name=f"conversation with {peer}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # the system has no more threads
                return False
            self._running[thread] = conversation
            self._per_peer[peer] += 1
        return True

    def close(self, seconds: float) -> None:
        """Admit no more, interrupt those that run, and wait for them, but no longer than ``seconds``."""
        with self._lock:
            self._closed = True
            running = dict(self._running)
        for conversation in running.values():
            conversation.interrupt()
        deadline = time.monotonic() + seconds
        for thread in running:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _serve(self, conversation: Conversation) -> None:
        try:
            self._converse(conversation)
        finally:
            try:
                conversation.close(_FAREWELL_SECONDS)
            finally:
                with self._lock:
                    del self._running[threading.current_thread()]
                    self._per_peer[conversation.peer] -= 1
                    self._per_peer += Counter()  # forget those at zero

    def _converse(self, conversation: Conversation) -> None:
        peer, address = conversation.peer, conversation.address
        try:
            self._handler(conversation)
        except (Exception, SystemExit) as error:
            if not conversation.ended_by(error):
                self._fail(conversation, error)
            elif isinstance(error, PeerClosedError | PeerSilentError):
                _log.debug("The conversation with %r ended: %s", peer, error)
            else:
                self._refusals.add(Refused.FRAME, peer, address)
                if self._refusals.loggable(Refused.FRAME, peer):
                    _log.warning("The conversation with %r was ended: %s", peer, error)
                self._answer(conversation, "frame", "What you sent is no message that is due here.")

    def _fail(self, conversation: Conversation, error: BaseException) -> None:
        self._refusals.add(Refused.FAILED, conversation.peer, conversation.address)
        if self._refusals.loggable(Refused.FAILED, conversation.peer):
            what = f"{type(error).__name__}: {error}" if isinstance(error, CofitError) else type(error).__name__
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("A request of %r failed with %s\n%s", conversation.peer, what, where)
        self._answer(conversation, "internal", f"The request failed at {conversation.name!r}; its log says why.")

    @staticmethod
    def _answer(conversation: Conversation, kind: str, message: str) -> None:
        try:
            if kind == "internal":
                conversation.drop_payload()  # a peer hears the answer when it has sent its whole request
            conversation.send_error(kind, message)
        except (TransportError, ValueError) as error:
            _log.debug("The error could not be told to %r: %s", conversation.peer, error)
