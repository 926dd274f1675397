"""Protocols as steps, so that several run at once and their messages travel together.

A protocol is a generator: it draws and computes up to its next exchange, yields what it sends and what it awaits
(``Messages``), and goes on when that is there. ``Steps._together`` runs several in lockstep: an exchange for all of
them takes the place of one for each. All parties run the same ones in the same order, so draws and messages match.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from cofit.arithmetic import RingArray
from cofit.sharing.member import Member, room_in

T = TypeVar("T")


class Messages(NamedTuple):
    """By rank: arrays to send, and an array to fill."""

    send: Mapping[int, Sequence[RingArray]]
    receive: Mapping[int, RingArray]


Protocol: TypeAlias = Generator[Messages, None, T]


class Steps(Member):
    """One party, with what runs protocols."""

    def _run(self, operation: str, protocol: Protocol[T]) -> T:
        """Run a protocol alone."""
        result: list[T] = self._together(operation, protocol)
        return result[0]

    def _together(self, operation: str, *protocols: Protocol[Any]) -> list[Any]:
        """Run protocols in lockstep; return their results. As many rounds as the longest takes."""
        results: list[Any] = [None] * len(protocols)
        running = dict(enumerate(protocols))
        while running:
            messages = []
            for i, protocol in list(running.items()):
                try:
                    messages.append(next(protocol))
                except StopIteration as end:
                    results[i] = end.value
                    del running[i]
            if messages:
                self._exchange_joint(operation, messages)
        return results

    def _exchange_joint(self, operation: str, messages: Sequence[Messages]) -> None:
        if len(messages) == 1:
            self._exchange(operation, messages[0].send, messages[0].receive)
            return
        send: dict[int, list[RingArray]] = {}
        awaited: dict[int, list[RingArray]] = {}
        for one in messages:
            for rank, arrays in one.send.items():
                send.setdefault(rank, []).extend(arrays)
            for rank, array in one.receive.items():
                awaited.setdefault(rank, []).append(array)
        receive = {
            rank: arrays[0] if len(arrays) == 1 else np.empty(sum(a.nbytes for a in arrays), np.uint8)
            for rank, arrays in awaited.items()
        }
        self._exchange(operation, send, receive)
        for rank, arrays in awaited.items():
            start = 0
            for array in arrays if len(arrays) > 1 else ():
                room_in(array)[:] = receive[rank][start : start + array.nbytes].data
                start += array.nbytes
