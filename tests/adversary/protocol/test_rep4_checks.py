"""One corrupted party of ``rep4``: whatever it changes in a message, an honest party stops and sends nothing more.

Every message is a list of pieces: arrays and digests. Each piece that each party sends in each operation is changed
once, in one bit. And the attack of eprint 2026/234 on checks that come late: shown to fail, and shown to succeed
against a version whose checks are one exchange late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from adversary.protocol.rep4_tampering import COMPARED, NAMES, OPERATIONS, OWNER, Log, N, Place, run, shared, then_open
from cofit.arithmetic import Z64, RingArray
from cofit.errors import DisputeError, ProtocolError, TransportError
from cofit.sharing import Scheme
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.rep4.party import Rep4


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
