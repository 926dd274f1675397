"""Shards that are threads of one process: those of a dealer, who has no data and no cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from cofit.secret import Party, SecretArray
from cofit.secret.shards import Shards, Split, shared
from cofit.transport import Counts

_ASK_SECONDS = 0.2


class ThreadShards(Shards):
    """Every shard has a thread of its own, which computes one thing after the other. A piece is what it will return.

    ``check``: called while somebody waits, and raises what ends the session.
    """

    def __init__(self, head: Party, parties: Sequence[Party], check: Callable[[], None] = lambda: None) -> None:
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix=f"shard {k}") for k in range(len(parties))]
        self._parties = tuple(parties)
        self._check = check
        super().__init__(head, [_there(party) for party in parties])

    def each(self, do: Callable[..., object], arguments: Sequence[Any]) -> Split:
        label = self.head._scheme._label

        def run(k: int) -> object:
            self._parties[k]._scheme._label = label
            return do(*(self._at(k, argument) for argument in arguments))

        return Split(self, [thread.submit(run, k) for k, thread in enumerate(self._threads)])

    def brought(self, pieces: Split) -> list[Any]:
        waiting: list[Future[Any]] = list(pieces.pieces)
        while waiting:
            with contextlib.suppress(TimeoutError):
                waiting[0].result(timeout=_ASK_SECONDS)
            for one in waiting:
                if one.done():
                    one.result()
            waiting = [one for one in waiting if not one.done()]
            self._check()
        return [one.result() for one in pieces.pieces]

    def sent(self, pieces: Sequence[SecretArray]) -> Split:
        return Split(self, [_there(shared(one).at(to)) for one, to in zip(pieces, self._parties, strict=True)])

    def counts(self) -> list[tuple[Counts, float]]:
        """Return the traffic of every shard's session, after all that it was to do until now, and no processor seconds:
        they are those of this process."""
        self.brought(self.each(_nothing, ()))
        return [(party._scheme.mesh.counts, 0.0) for party in self._parties]

    def close(self) -> None:
        """Take no more, and wait for the end of what still computes."""
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)

    def _at(self, k: int, argument: Any) -> Any:
        if isinstance(argument, Split):
            return argument.pieces[k].result()  # it was computed before, in this thread
        return shared(argument).at(self._parties[k]) if isinstance(argument, SecretArray) else argument


def _nothing() -> None: ...


def _there(value: Any) -> Future[Any]:
    found: Future[Any] = Future()
    found.set_result(value)
    return found
