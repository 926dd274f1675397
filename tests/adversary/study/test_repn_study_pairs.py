"""A small study of five parties in which two lie together, in every phase of it: as ``test_repn_study_sweep.py``.

Errors that cancel between the two, the same error from both, errors in different steps, and different stories to
different receivers. A sample: every phase with every one of these, and every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, cycle, product
from typing import NamedTuple

import pytest

from adversary.protocol.repn_lies import CHANGES, add
from adversary.study.repn_bench import Bench, Lie, Message, Script
from adversary.study.repn_bench_lies import believed, to_one
from adversary.study.repn_outcomes import PHASES, phase, problem

BOTH = ("cancel", "the same", "apart", "to one and to another")
STEPS = ("commit", "coin", "claims", "fold", "mask", "compare", "open")
ALL_PHASES = (*PHASES, "agreement", "refresh", *(f"verify/{step}" for step in STEPS))
_ERRORS = (1, 1 << 20, 1 << 63, 0x123456789)


class Case(NamedTuple):
    """A message of each of the two, how they lie, and a number to choose the place and the error."""

    first: Message
    second: Message
    how: str
    salt: int


def cases_of(messages: Sequence[Message]) -> list[Case]:
    """Every phase with every way to lie; pairs and messages one after the other."""
    pairs = cycle(combinations(sorted({one.sender for one in messages}), 2))
    found: list[Case] = []
    for salt, (name, how) in enumerate(product(ALL_PHASES, BOTH)):
        own: list[Message] = []
        while not own:  # not everybody speaks in every phase
            one, other = next(pairs)
            own = [m for m in messages if m.sender == one and phase(m.label) == name]
        first = own[37 * salt % len(own)]
        theirs = [m for m in messages if m.sender == other]
        found.append(
            Case(first, theirs[41 * salt % len(theirs)] if how == "apart" else matching(first, theirs), how, salt)
        )
    return found


def matching(message: Message, theirs: Sequence[Message]) -> Message:
    """What the other sends in the same step, or as near to it as it sends something."""
    return min(theirs, key=lambda m: (m.label != message.label, abs(m.exchange - message.exchange), m.receiver))


def lies_of(case: Case) -> dict[Message, Lie]:
    salt, changes = case.salt, list(CHANGES.values())
    change = changes[salt % len(changes)]
    if case.how == "cancel":
        error = _ERRORS[salt // 4 % 4]
        return {case.first: believed(add(error, salt % 3), salt), case.second: believed(add(-error, salt % 3), salt)}
    if case.how == "the same":
        return {case.first: believed(change, salt), case.second: believed(change, salt)}
    if case.how == "apart":
        return {case.first: believed(change, salt), case.second: to_one(changes[salt // 9 % 9], salt)}
    return {case.first: to_one(change, salt), case.second: to_one(change, salt + 1)}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("study"), 5)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", BOTH)
def test_two_of_five_lie_together(bench: Bench, way: str) -> None:
    cases = cases_of(bench.honest.messages)
    assert len({frozenset((case.first.sender, case.second.sender)) for case in cases}) == 10
    assert {(phase(case.first.label), case.how) for case in cases} == set(product(ALL_PHASES, BOTH))
    noticed = 0
    for case in (case for case in cases if case.how == way):
        script, corrupted = Script(lies_of(case)), {case.first.sender, case.second.sender}
        endings = bench.run(script)
        honest = {name: end for name, end in endings.items() if name not in corrupted}
        assert script.told, case
        labels = {case.first.label, case.second.label}
        assert problem(bench, honest, "open" if "open" in labels else case.first.label) == "", case
        noticed += any(end.error is not None for end in honest.values())
    assert noticed > 0.6 * len(ALL_PHASES)
