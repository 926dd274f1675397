"""A whole private training with ``repn`` in which one party tampers with one message: no wrong release, ever.

As for ``rep4`` (``test_tamper_sweep.py``), with the same changes; here checks come late, so that other parties may
have gone on for a while.
"""

from __future__ import annotations

import random

import pytest

from adversary.protocol.tampered_training import CHANGES, Message, Sweep
from cofit.sharing.repn.party import Repn

MODULES = ("sharing.group_streams", "sharing.repn.check", "sharing.repn.masked_bits")
SWEEP = Sweep(Repn, MODULES, timeout=20.0, patience=2.0)
SAMPLE = 12
SLOW = 300
CHUNKS = 20


def picked(seed: int, count: int) -> list[tuple[Message, str]]:
    rng = random.Random(seed)
    changes = [name for name in CHANGES if name != "drop" or rng.random() < 0.3]
    return [(rng.choice(SWEEP.honest[1]), rng.choice(changes)) for _ in range(count)]


def test_an_honest_run_is_the_same_every_time() -> None:
    assert SWEEP.is_the_same_again()
    assert len(SWEEP.honest[1]) > 200


@pytest.mark.timeout(300)
def test_a_sample_of_the_sweep() -> None:
    assert [found for message, change in picked(5, SAMPLE) if (found := SWEEP.changed(message, change)[1])] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_sweep(chunk: int) -> None:
    cases = picked(100 + chunk, SLOW // CHUNKS)
    assert [found for message, change in cases if (found := SWEEP.changed(message, change)[1])] == []
