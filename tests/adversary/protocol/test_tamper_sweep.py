"""A whole private training with ``rep4`` in which one party tampers with one message: no wrong release, ever.

Every message that every party sends, from the setup to the opening of the release, is changed in every way of
``tampered_training``, one change a run. After a change each honest party has stopped with an error, or released the
weights of an honest run; and who was sent something else than it should have been has stopped (a change that is none,
such as swapping equal pieces, is left out). Thousands of runs are slow; a sample runs always.
"""

from __future__ import annotations

import random

import pytest

from adversary.protocol.tampered_training import CHANGES, Message, Sweep
from cofit.errors import DisputeError, ProtocolError
from cofit.sharing.rep4.party import Rep4

SWEEP = Sweep(Rep4, ("sharing.rep4.joint",), timeout=10.0, patience=0.7)
CHUNKS = 60
SAMPLE = 30


def problem(message: Message, change: str, kind: type[Rep4] = Rep4) -> str:
    """Run with one change; return what is wrong with the outcome, or nothing."""
    outcomes, found = SWEEP.changed(message, change, kind)
    plain = SWEEP.honest[2]
    altered = None if change == "drop" else b"".join(CHANGES[change](message, plain) or [])
    if found or altered == b"".join(plain.pieces(message)):
        return found
    if not isinstance(outcomes[message.receiver], Exception):
        return f"'{message.receiver}' did not notice '{change}' in {message}"
    if change != "drop":
        disputes = [e for name, e in outcomes.items() if name != message.sender and isinstance(e, DisputeError)]
        if disputes and not any(message.sender in e.parties for e in disputes):
            return f"the dispute after '{change}' in {message} does not name the culprit: {disputes}"
    return ""


def cases() -> list[tuple[Message, str]]:
    return [(message, change) for message in SWEEP.honest[1] for change in CHANGES]


def test_an_honest_run_is_the_same_every_time() -> None:
    assert SWEEP.is_the_same_again()
    assert len(SWEEP.honest[1]) > 300


def test_a_sample_of_the_sweep() -> None:
    picked = random.Random(5).sample(cases(), SAMPLE)
    assert [found for message, change in picked if (found := problem(message, change))] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_whole_sweep(chunk: int) -> None:
    assert [found for message, change in cases()[chunk::CHUNKS] if (found := problem(message, change))] == []


class Trusting(Rep4):
    """Looks at no digest."""

    def _check(self, operation: str, arrived: object) -> None:
        del operation, arrived


def test_the_sweep_notices_a_party_that_does_not_check() -> None:
    picked = [case for case in random.Random(5).sample(cases(), SAMPLE) if case[1] in ("flip a bit", "add one")]
    assert any(problem(message, change, Trusting) for message, change in picked)


def test_a_failed_check_is_a_protocol_error() -> None:
    assert issubclass(DisputeError, ProtocolError)
