"""rep4 with a party that changes one message, and a log of what everybody heard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from cofit.arithmetic import Z64, Generator, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import fresh_seed
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.bit_forms import Lookup, Outer
from cofit.sharing.inputs import send_components
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.rep4.party import Rep4
from cofit.sharing.shares import PlacedBits
from cofit.transport import Mesh, Terms, memory_meshes

N = 5
NAMES = tuple(f"party-{rank}" for rank in range(4))
OWNER = "owner"
Change = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Place:
    """A piece of a message: of whom, in which of its exchanges, to whom, and which."""

    sender: str
    exchange: int
    receiver: str
    piece: int


@dataclass
class Log:
    """What every member sent and received: by exchange, the pieces to each peer, and the bytes from each."""

    sent: dict[str, list[dict[str, list[bytes]]]] = field(default_factory=dict)
    received: dict[str, list[dict[str, bytes]]] = field(default_factory=dict)

    def places(self, first: Mapping[str, int]) -> list[Place]:
        """All pieces of all messages from an exchange of each member on."""
        return [
            Place(sender, number, receiver, piece)
            for sender, exchanges in self.sent.items()
            for number, messages in enumerate(exchanges)
            if number >= first[sender]
            for receiver, pieces in messages.items()
            for piece in range(len(pieces))
        ]


@contextmanager
def tampering(place: Place | None, change: Change) -> Iterator[Log]:
    """Log all exchanges; change one piece of one message on its way out."""
    log, original = Log(), Mesh.exchange

    def exchange(
        self: Mesh,
        label: str,
        send: Mapping[str, memoryview | Sequence[memoryview]],
        receive: Mapping[str, memoryview],
        states: Mapping[str, int] | None = None,
    ) -> None:
        sent, received = log.sent.setdefault(self.name, []), log.received.setdefault(self.name, [])
        messages = {
            peer: [bytes(message)] if isinstance(message, memoryview) else [bytes(piece) for piece in message]
            for peer, message in send.items()
        }
        if place is not None and (self.name, len(sent)) == (place.sender, place.exchange):
            pieces = messages[place.receiver]
            pieces[place.piece] = change(pieces[place.piece])
        sent.append(messages)
        original(self, label, messages, receive, states)
        received.append({peer: bytes(buffer) for peer, buffer in receive.items()})

    with mock.patch.object(Mesh, "exchange", exchange):
        yield log


def one_bit(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def one_more(data: bytes) -> bytes:
    array = np.frombuffer(data, np.uint64).copy()
    array[0] += np.uint64(1)
    return array.tobytes()


def run(
    program: Callable[[Scheme], object],
    place: Place | None = None,
    change: Change = one_bit,
    kind: type[Rep4] = Rep4,
    deal: RingArray | None = None,
) -> tuple[dict[str, object], dict[str, int], Log]:
    """Run everybody. Return what came of each member, how many exchanges its setup took, and the log."""
    members = NAMES if deal is None else (*NAMES, OWNER)
    outcomes: dict[str, object] = {}
    first: dict[str, int] = {OWNER: 0}
    with tampering(place, change) as log:
        meshes = memory_meshes(members, Terms(bytes(16), bytes(32), "rep4"), 10.0)

        def member(name: str) -> None:
            try:
                with meshes[name] as mesh:
                    if name == OWNER:
                        assert deal is not None
                        components = Rep4.inputs(Rep4.info.spec()).components(Z64, deal, fresh_seed())
                        send_components(mesh, "input", NAMES, components)
                        return
                    scheme = kind(mesh, NAMES)
                    scheme.setup()
                    first[name] = len(log.sent[name])
                    outcomes[name] = program(scheme)
            except Exception as error:
                outcomes[name] = error

        threads = [threading.Thread(target=member, args=(name,), daemon=True) for name in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads), "somebody hangs"
    return outcomes, first, log


def shared(s: Scheme, salt: int) -> Share:
    """A fixed sharing of small numbers, made without any message."""
    summands = [Generator(bytes([50 + salt + i] * 32)).ring(Z64, (N,)) for i in range(3)]
    summands.append(Z64.sub(Z64.from_int(np.arange(N) + salt), Z64.sum(np.stack(summands), axis=0)))
    return Share(Z64, tuple(summands[j] for j in range(4) if j != s.rank))


def bits(s: Scheme) -> BitShare:
    summands = [Generator(bytes([80 + i] * 32)).ring(BITS, (1, 1)) for i in range(4)]
    return PackedBits(Share(BITS, tuple(summands[j] for j in range(4) if j != s.rank)), 64)


def rows(s: Scheme, count: int, salt: int) -> BitShare:
    summands = [Generator(bytes([salt + i] * 32)).ring(BITS, (count, 1)) for i in range(4)]
    return PackedBits(Share(BITS, tuple(summands[j] for j in range(4) if j != s.rank)), 64)


LOOKUP = Lookup(3, [(1, np.array([[5, 2], [0, 7]], dtype=np.uint64))])


def given(s: Scheme, source: int) -> Share:
    return s.input(source, Z64.from_int(np.arange(N)) if s.rank == source else None, Z64, (N,))


OPERATIONS: dict[str, Callable[[Scheme], object]] = {
    "product": lambda s: s.mul(shared(s, 0), shared(s, 9)),
    "matrix product": lambda s: s.matmul(shared(s, 0).map(lambda p: p[None]), shared(s, 9)),
    "inner product and truncation": lambda s: s.inner(shared(s, 0), shared(s, 9), 3),
    "product and truncation": lambda s: s.mul(shared(s, 0), shared(s, 9), 3),
    "truncation": lambda s: s.truncate(shared(s, 0), 3),
    "and": lambda s: s.boolean.and_(bits(s), bits(s)),
    "bilinear form": lambda s: s.boolean.bilinear(rows(s, 2, 80), rows(s, 3, 90), Outer()),
    "lookup": lambda s: s.boolean.bilinear(rows(s, 2, 80), rows(s, 3, 90), LOOKUP),
    "bit to element": lambda s: s.from_bits(bits(s), Z64),
    "number": lambda s: s.from_numbers([PlacedBits(2, rows(s, 3, 80))], Z64),
    "sum of numbers": lambda s: s.from_numbers([PlacedBits(i, rows(s, 3, 80 + 9 * i)) for i in range(2)], Z64),
    "sign": lambda s: s.sign_bits(shared(s, 0)),
    "top bits": lambda s: s.top_bits(shared(s, 0), 20),
    "opening": lambda s: s.open(shared(s, 0)),
    "opening to one": lambda s: s.open(shared(s, 0), [2]),
}
COMPARED: dict[str, Callable[[Scheme], object]] = {
    "announcement": lambda s: s.announce("said", b"anything"),
    "agreement": lambda s: s.barrier("here"),
    **{f"input of {source}": lambda s, source=source: given(s, source) for source in range(4)},  # type: ignore[misc]
}


def then_open(operation: Callable[[Scheme], object]) -> Callable[[Scheme], object]:
    """The operation, and something more to send after it."""

    def program(s: Scheme) -> object:
        operation(s)
        return s.open(shared(s, 30))

    return program
