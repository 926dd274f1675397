"""One member of a run among the others: its rank, the labels of its traffic, and its messages."""

from __future__ import annotations

import zlib
from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeAlias

import numpy as np

from cofit.arithmetic import RingArray
from cofit.errors import InvalidInputError, parameter_error
from cofit.sharing.spec import SchemeInfo, Spec
from cofit.sharing.verification import Verification
from cofit.transport import Mesh

Bytes: TypeAlias = memoryview
SPREAD = 0x9E3779B1  # an odd number, so that different positions in a stream give different states


class Member(ABC):
    """A computing party, or the dealer, connected to the others. ``spec``: None takes what is usual for so many."""

    info: ClassVar[SchemeInfo]

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        self.info.check_dealer(dealer)
        self.mesh = mesh
        self.names = tuple(names)
        self.spec = self.info.spec(len(names)) if spec is None else spec
        if (self.spec.name, self.spec.parties) != (self.info.name, len(names)):
            must_be = f"one of scheme '{self.info.name}' among {len(names)} parties"
            raise parameter_error("spec", "a member", must_be, self.spec.agreed)
        self._members = self.names if dealer is None else (*self.names, dealer)
        self.rank = self._members.index(mesh.name)
        self._label = ""
        self._agreement = 0
        self.verification = Verification()
        self.on_failure: Callable[[], None] = _nothing
        """Called when a check of an active scheme has failed, before anybody is told."""
        self.on_preparation: Callable[[int, int], None] = _not_told
        """Called with how many parts of a long preparation are done, and of how many: first none, at last all."""

    @contextmanager
    def label(self, name: str) -> Iterator[None]:
        """Count the traffic inside under ``name`` (nested labels are joined by a slash)."""
        outer = self._label
        self._label = f"{outer}{name}/"
        try:
            yield
        finally:
            self._label = outer

    def _exchange(
        self,
        operation: str,
        send: Mapping[int, Sequence[RingArray]] | None = None,
        receive: Mapping[int, RingArray] | None = None,
    ) -> None:
        """Exchange arrays with ranks; ``receive`` gives the array to fill from each."""
        members, agreement, states = self._members, self._agreement, {}
        outgoing: dict[str, list[Bytes]] = {}
        incoming: dict[str, Bytes] = {}
        if send:
            for rank, arrays in send.items():
                outgoing[members[rank]] = list(map(as_bytes, arrays))
                states[members[rank]] = self._common_state(rank) ^ agreement
        if receive:
            for rank, array in receive.items():
                incoming[members[rank]] = room_in(array)
                if members[rank] not in states:
                    states[members[rank]] = self._common_state(rank) ^ agreement
        self.mesh.exchange(self._label + operation, outgoing, incoming, states)

    def _common_state(self, rank: int) -> int:
        """Return 32 bits that the party of this rank must have in common with us now, such as a position in a shared
        random stream: if programs part ways, masks would be used twice, so the next message must not be accepted.
        """
        del rank
        return 0

    @contextmanager
    def agreeing_on(self, text: str) -> Iterator[None]:
        """Refuse messages inside from a party that does not agree on ``text``."""
        outer = self._agreement
        self._agreement = outer ^ zlib.crc32(text.encode())
        try:
            yield
        finally:
            self._agreement = outer

    def announce(self, label: str, message: bytes) -> tuple[bytes, ...]:
        """Tell every other party a public message; return everybody's, by rank. All messages must be equally long.

        1 round; every party sends the message to each other one, and to the dealer. The dealer has nothing to say, but
        sends the last party an empty message: if its program is here and theirs is not, nobody waits for the other.
        """
        dealer = len(self.names)
        others = [rank for rank in range(len(self._members)) if rank != self.rank]
        heard = {rank: np.empty(len(message), np.uint8) for rank in others if rank < dealer}
        told = {rank: [np.frombuffer(message, np.uint8)] for rank in others}
        if self.rank == dealer:
            told = {dealer - 1: [np.empty(0, np.uint8)]}
        elif self.rank == dealer - 1 and dealer in others:
            heard[dealer] = np.empty(0, np.uint8)
        with self.label(label):
            self._exchange("announce", told, heard)
        return tuple(message if rank == self.rank else heard[rank].tobytes() for rank in range(len(self.names)))

    def barrier(self, label: str) -> None:
        """Return when every party has reached this barrier. 1 round; one byte from every party to each other one."""
        self.announce(label, b"\x01")


def _nothing() -> None:
    pass


def _not_told(done: int, total: int) -> None:
    del done, total


def as_bytes(array: RingArray) -> Bytes:
    """Return the bytes of an array, without copying when it is contiguous."""
    if array.dtype.names is None and array.flags.c_contiguous and array.size:  # most calls
        return array.data.cast("B")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def room_in(array: RingArray) -> Bytes:
    """Return the bytes of an array that a message is to fill: of the array itself, never of a copy."""
    if not array.flags.c_contiguous:
        raise InvalidInputError(f"A message cannot fill an array of shape {array.shape} that is not in one piece.")
    return as_bytes(array)
