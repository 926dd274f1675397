"""One shard of a party as its head sees it: an object on a worker, of which it asks one thing after the other.

Calls are answered by futures of Python's own, which many threads can wait for without asking: a head that waits takes
no processor.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future
from typing import TYPE_CHECKING, Any

from cofit.errors import StateError, TransportError
from cofit.roles.shards.worker import LEASE_SECONDS, OF_SESSION

if TYPE_CHECKING:
    from distributed import Client
    from distributed.actor import ActorFuture

_log = logging.getLogger(__name__)
_WATCH_SECONDS = 5.0
_CHECK_SECONDS = 0.2
_KNOWN_SECONDS, _PAUSE_SECONDS = 5.0, 0.02


class Shard:
    """The object of one shard, on one worker. Everything goes there directly."""

    def __init__(self, number: int, client: Client, future: Any, actor: Any) -> None:
        self.number = number
        self._client = client
        self._future, self._actor = future, actor
        self._watch: Future[bool] | None = None
        self._answered_at = time.monotonic()
        self._left = False
        self.session = b""
        """The session that calls are for: one that comes late, in another session, is refused there."""

    def ask(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of ``ShardWorker``."""
        if method in OF_SESSION:
            arguments = (self.session, *arguments)
        with self._client.as_current():  # an actor finds its client there
            try:
                call: Callable[..., ActorFuture[Any]] = getattr(self._actor, method)
            except RuntimeError:  # Dask knows already that its worker is gone
                raise self.lost_error() from None
            return _told(call(*arguments), self._client)

    @property
    def lost(self) -> bool:
        """Whether its worker is gone, as Dask says, does not answer, or took this head for gone."""
        silent = time.monotonic() - self._answered_at > LEASE_SECONDS
        return self._left or silent or self._future.status != "finished"

    def answers(self, asked: Future[Any], until: float) -> bool:
        """Wait for an answer, or until this shard is lost. Where its worker has failed, also until Dask knows that."""
        while not asked.done() and not self.lost and time.monotonic() < until:
            concurrent.futures.wait([asked], _CHECK_SECONDS)
        if asked.done() and asked.exception() is None:
            return True
        until = min(until, time.monotonic() + _KNOWN_SECONDS)
        while self._future.status == "finished" and time.monotonic() < until:
            time.sleep(_PAUSE_SECONDS)
        return False

    def lost_error(self) -> TransportError:
        """Return what to raise then."""
        return TransportError(
            f"worker of shard {self.number}",
            f"The worker of shard {self.number} is lost. The session is repeated with other workers.",
        )

    def watch(self, answered: Callable[[], None]) -> bool:
        """Ask how it is; return whether it says that a check failed. Does not wait: ``answered`` is called, in some
        thread, when there is an answer.
        """
        if self._watch is not None and not self._watch.done():
            return False
        failed = False
        if self._watch is not None:
            try:
                failed = self._watch.result()
                self._answered_at = time.monotonic()
            except StateError:
                self._left = True
            except Exception:
                _log.debug("shard %d does not answer", self.number)  # a lost worker: ``lost`` says so
        self._watch = None
        with contextlib.suppress(TransportError):
            self._watch = self.ask("watch", 0.0 if failed else _WATCH_SECONDS)
            self._watch.add_done_callback(lambda _: answered())
        return failed


def _told(asked: ActorFuture[Any], client: Client) -> Future[Any]:
    """Return what tells the answer that Dask's event loop will have."""
    told: Future[Any] = Future()
    loop: Any = client.loop

    async def hand_over() -> None:
        try:
            told.set_result(await asked)
        except BaseException as error:
            told.set_exception(error)

    loop.add_callback(hand_over)
    return told


def results(futures: Sequence[Future[Any]], shards: Sequence[Shard], check: Callable[[], None]) -> list[Any]:
    """Wait for what every shard was asked, and return all answers.

    Raises what a shard raises, TransportError where one is lost, and what ``check``, called all the while, raises.
    """
    while True:
        done, waiting = concurrent.futures.wait(futures, _CHECK_SECONDS, FIRST_EXCEPTION)
        for future, shard in zip(futures, shards, strict=True):
            if future in done:
                _answer(future, shard)
        if not waiting:
            return [_answer(future, shard) for future, shard in zip(futures, shards, strict=True)]
        for future, shard in zip(futures, shards, strict=True):
            if shard.lost and not future.done():
                raise shard.lost_error()
        check()


def _answer(future: Future[Any], shard: Shard) -> Any:
    try:
        return future.result()
    except OSError:
        raise shard.lost_error() from None
