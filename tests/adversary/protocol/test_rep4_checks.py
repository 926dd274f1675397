"""One corrupted party of ``rep4``: whatever it changes in a message, an honest party stops and sends nothing more.

Every message is a list of pieces: arrays and digests. Each piece that each party sends in each operation is changed
once, in one bit. And the attack of eprint 2026/234 on checks that come late: shown to fail, and shown to succeed
against a version whose checks are one exchange late.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Generator, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import fresh_seed
from cofit.errors import DisputeError, ProtocolError, TransportError
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.bit_forms import Lookup, Outer
from cofit.sharing.inputs import DIGEST_BYTES, send_components
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.rep4.joint import Joint
from cofit.sharing.rep4.party import PAIRS, PRODUCT, Rep4
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


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_changed_piece_stops_its_receiver_at_once(operation: str) -> None:
    program = then_open(OPERATIONS[operation])
    outcomes, first, log = run(program)
    assert not any(isinstance(outcome, Exception) for outcome in outcomes.values())
    places = log.places(first)
    assert {place.sender for place in places} == set(NAMES)
    for place in places:
        outcomes, _, log = run(program, place)
        error = outcomes[place.receiver]
        assert isinstance(error, DisputeError), (place, error)
        assert len(error.parties) == 2, "the pair in dispute"
        assert place.sender in error.parties and place.receiver not in error.parties
        assert all(name in str(error) for name in error.parties)
        arrived = len(log.received[place.receiver])
        assert len(log.sent[place.receiver]) == arrived, "it began another exchange"
        for name, outcome in outcomes.items():
            assert name == place.sender or isinstance(outcome, ProtocolError | TransportError | np.ndarray | None)


def only_digests(messages: Mapping[str, Sequence[bytes]]) -> bool:
    return all(len(piece) == DIGEST_BYTES for pieces in messages.values() for piece in pieces)


def assert_found_out(place: Place, outcomes: Mapping[str, object], log: Log) -> None:
    """Some honest party says what is wrong; after the lie, the honest parties that heard it sent digests only."""
    disputes = {name: o for name, o in outcomes.items() if isinstance(o, DisputeError) and name != place.sender}
    assert disputes, (place, outcomes)
    for name, error in disputes.items():
        assert name not in error.parties
        assert place.sender in error.parties or place.sender == OWNER
    later = log.sent[place.receiver][_heard_in(place, log) + 1 :]
    assert all(map(only_digests, later)), "something else than a digest was sent"


def _heard_in(place: Place, log: Log) -> int:
    """The exchange in which the receiver heard the changed message: as many from the sender as the sender sent."""
    count = sum(place.receiver in messages for messages in log.sent[place.sender][: place.exchange + 1])
    for number, messages in enumerate(log.received[place.receiver]):
        count -= place.sender in messages
        if not count:
            return number
    return len(log.received[place.receiver])


@pytest.mark.parametrize("operation", COMPARED)
def test_telling_two_parties_different_things_is_found_out_before_use(operation: str) -> None:
    program = then_open(COMPARED[operation])
    outcomes, first, log = run(program)
    assert not any(isinstance(outcome, Exception) for outcome in outcomes.values())
    last = {name: len(exchanges) - 1 for name, exchanges in log.sent.items()}  # the opening, tested above
    for place in log.places(first):
        if place.exchange < last[place.sender]:
            outcomes, _, changed = run(program, place)
            assert_found_out(place, outcomes, changed)


def test_different_contributions_to_a_key_are_found_out_before_it_is_used() -> None:
    program = then_open(OPERATIONS["product"])
    _, first, log = run(program)
    for place in log.places(dict.fromkeys(NAMES, 0)):
        if place.exchange < first[place.sender]:
            outcomes, _, changed = run(program, place)
            assert_found_out(place, outcomes, changed)
            stopped = [name for name in NAMES if name != place.sender and isinstance(outcomes[name], DisputeError)]
            assert place.receiver in stopped
            assert len(stopped) >= (2 if place.exchange == 0 else 1), (
                "an honest party has another key than the receiver"
            )
            assert all(len(changed.sent[name]) == 2 for name in stopped), "a key was used"


def test_an_owner_that_deals_different_values_is_found_out() -> None:
    def program(s: Scheme) -> RingArray | None:
        return s.open(s.receive_input(OWNER, Z64, (N,)).expand())

    values = Z64.from_int(np.arange(N))
    outcomes, first, log = run(program, deal=values)
    assert all(np.array_equal(outcomes[name], values) for name in NAMES)  # type: ignore[arg-type]
    last = {name: len(exchanges) - 1 for name, exchanges in log.sent.items()}
    last[OWNER] += 1
    for place in log.places(first):
        if place.exchange < last[place.sender]:
            outcomes, _, changed = run(program, place, deal=values)
            assert_found_out(place, outcomes, changed)


def test_a_party_whose_check_failed_does_nothing_more() -> None:
    def program(s: Scheme) -> object:
        try:
            return s.mul(shared(s, 0), shared(s, 9))
        except DisputeError:
            assert isinstance(s, Rep4)
            assert not s._keys, "correlated randomness is left"
            for again in (s.verify, lambda: s.mul(shared(s, 0), shared(s, 9)), lambda: s.open(shared(s, 0))):
                with pytest.raises(ProtocolError, match="This run has ended"):
                    again()
            raise

    outcomes, _, _ = run(program, Place(NAMES[0], 2, NAMES[3], 0))
    assert isinstance(outcomes[NAMES[3]], DisputeError)


# --- the attack on checks that come late --------------------------------------------------------------------------
# c = a b, e = c d. The corrupted party 2 adds 1 to what it sends to party 1 in the first product, a part of c_0. In the
# second one, parties 1 and 3 deal c_0 d_2 + c_2 d_0 to party 2. If party 1 goes on with c_0 + 1, what it sends is off
# by d_2, the summand of d that party 2 lacks, and the digest of party 3 is that of the right value: with it the
# corrupted party tests any guess of d.

ATTACKER, VICTIM = 2, 1
BAD = Place(NAMES[ATTACKER], 2, NAMES[VICTIM], 0)
assert PRODUCT[PAIRS.index((0, 1))] == Joint(ATTACKER, 3, VICTIM)
assert PRODUCT[PAIRS.index((0, 2))] == Joint(VICTIM, 3, ATTACKER)


class Late(Rep4):
    """The mutation: what arrives in an exchange is checked after the next one."""

    _waiting: tuple[str, list[tuple[Joint, bytes, bytes]]] = ("", [])

    def _check(self, operation: str, arrived: Iterable[tuple[int, Joint, RingArray, bytes]]) -> None:
        before, waiting = self._waiting
        self._waiting = (
            operation,
            [(joint, self._digest(n, joint, data.data), vouched) for n, joint, data, vouched in arrived],
        )
        for joint, own, vouched in waiting:
            if own != vouched:
                pair = self.names[joint.sender], self.names[joint.voucher]
                raise self._failed(before, f"'{pair[0]}' and '{pair[1]}' differ.", pair)


def secret_d(s: Scheme, value: int) -> Share:
    """d, fixed but for the summand that the attacker lacks."""
    summands = [Generator(bytes([70 + i] * 32)).ring(Z64, (N,)) for i in range(4)]
    rest = Z64.add(Z64.add(summands[0], summands[1]), summands[3])
    summands[ATTACKER] = Z64.sub(Z64.from_int(np.full(N, value)), rest)
    return Share(Z64, tuple(summands[j] for j in range(4) if j != s.rank))


def attacked(kind: type[Rep4], value: int, place: Place | None) -> tuple[dict[str, object], Log]:
    """Run both products with fixed keys, so that runs can be compared."""

    class Fixed(kind):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            super().setup()
            for key in list(self._keys):
                self._keys[key] = Generator(bytes([key + 1] * 32))

    def program(s: Scheme) -> Share:
        c = s.mul(shared(s, 0), shared(s, 9))
        return s.mul(c, secret_d(s, value))

    outcomes, _, log = run(program, place, one_more, Fixed)
    return outcomes, log


def shown_to_attacker(log: Log) -> dict[tuple[str, int], bytes]:
    """All that the others sent to the attacker after the setup, by sender and exchange."""
    return {
        (name, number): b"".join(messages[NAMES[ATTACKER]])
        for name, exchanges in log.sent.items()
        for number, messages in enumerate(exchanges)
        if number >= 2 and NAMES[ATTACKER] in messages
    }


def guess(log: Log) -> int | None:
    """What the attacker finds out: the value of d whose shift makes the digest that it was sent fit."""
    shown = shown_to_attacker(log)
    if (NAMES[VICTIM], 3) not in shown or (NAMES[3], 3) not in shown:
        return None
    data = np.frombuffer(shown[NAMES[VICTIM], 3][: N * 8], np.uint64)
    vouched = shown[NAMES[3], 3]
    known = [Generator(bytes([70 + i] * 32)).ring(Z64, (N,)) for i in (0, 1, 3)]
    binding = bytes(16) + (2).to_bytes(8, "little") + bytes([PAIRS.index((0, 2)), VICTIM, 3, ATTACKER])
    for value in range(20):
        d_2 = Z64.sub(Z64.from_int(np.full(N, value)), Z64.sum(np.stack(known), axis=0))
        candidate = np.concatenate([data[:1] - d_2[:1], data[1:]])
        if hashlib.sha256(binding + candidate.tobytes()).digest() in vouched:
            return value
    return None


@pytest.mark.parametrize("value", [0, 7, 13])
def test_the_attack_on_late_checks_finds_nothing(value: int) -> None:
    honest = shown_to_attacker(attacked(Rep4, value, None)[1])
    outcomes, log = attacked(Rep4, value, BAD)
    assert isinstance(outcomes[NAMES[VICTIM]], DisputeError)
    assert len(log.sent[NAMES[VICTIM]]) == 3, "the victim has sent a message of the second product"
    shown = shown_to_attacker(log)
    assert (NAMES[VICTIM], 3) in honest and (NAMES[VICTIM], 3) not in shown
    assert shown.items() <= honest.items(), "something that the attacker is shown depends on what it added"
    assert guess(log) is None


@pytest.mark.parametrize("value", [0, 7, 13])
def test_the_attack_succeeds_when_checks_are_one_exchange_late(value: int) -> None:
    honest = shown_to_attacker(attacked(Late, value, None)[1])
    _, log = attacked(Late, value, BAD)
    assert not shown_to_attacker(log).items() <= honest.items()
    assert guess(log) == value


# --- shares that come back from a store ---------------------------------------------------------------------------


@pytest.mark.parametrize("changed", range(4))
def test_stored_shares_that_do_not_fit_together_are_not_used(changed: int) -> None:
    """One party comes back with another share than it stored: an old file, or a lie."""

    def program(s: Scheme) -> object:
        share = shared(s, 30) if s.rank == changed else shared(s, 0)
        s.check_stored([shared(s, 9), share])
        return s.open(share)

    outcomes, _, log = run(program)
    assert all(isinstance(outcome, ProtocolError | TransportError) for outcome in outcomes.values()), outcomes
    assert any(isinstance(outcome, DisputeError) for outcome in outcomes.values())
    assert all(all(map(only_digests, sent[1:])) for sent in log.sent.values()), "something of the share was sent"


def test_stored_shares_that_fit_together_are_used() -> None:
    def program(s: Scheme) -> object:
        s.check_stored([shared(s, 0), shared(s, 9)])
        return s.open(shared(s, 0))

    outcomes, _, _ = run(program)
    assert all(np.array_equal(np.asarray(outcome), Z64.from_int(np.arange(N))) for outcome in outcomes.values())


def test_a_failure_is_noted_before_anybody_is_told() -> None:
    order: list[str] = []

    def program(s: Scheme) -> object:
        if s.rank == 2:
            s.on_failure = lambda: order.append("noted")
            abort = s.mesh.abort

            def told(reason: str) -> None:
                order.append("told")
                abort(reason)

            s.mesh.abort = told  # type: ignore[method-assign]
        return s.open(shared(s, 30 if s.rank == 3 else 0))

    run(program)
    assert order[:2] == ["noted", "told"]
