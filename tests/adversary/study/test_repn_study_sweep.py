"""Every message that the parties of a small study send each other in its session is changed, one in each run.

Each honest party then ends the run with an error, and has published and signed nothing; or it has published what the
honest run publishes, to the last bit. What it has stored meanwhile, of checkpoints or of the release, is a share of
the very values of the honest run. Whatever a receiver gets that is not what the sender itself goes on with is noticed
by somebody; but bytes that are sent to measure lines have no meaning, and only their number is noticed.
``repn_bench.py`` says what of the deployed program runs here.

Every message is changed at least once, and every kind of change is met in every phase of the study: that is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from adversary.protocol.test_repn_corners import Watching
from adversary.study.repn_bench import Bench, Message, Script
from adversary.study.repn_bench_lies import KINDS, SILENT, lie_of
from adversary.study.repn_outcomes import PHASES, phase, problem
from cofit.sharing.repn.party import Repn
from cofit.transport.measure import LABEL

CHUNKS = 29
FAST = 9
_IN_CHECKS = ("commit", "coin", "claims", "fold", "mask", "compare", "open")


class Case(NamedTuple):
    """A message, what is done with it, and a number to choose the place in it."""

    message: Message
    kind: str
    salt: int


def cases_of(messages: Sequence[Message]) -> list[Case]:
    """All messages of a phase with one kind after the other, until every message and every kind was there."""
    found: list[Case] = []
    for name in sorted({phase(message.label) for message in messages}):
        own = [message for message in messages if phase(message.label) == name]
        count = max(len(own), len(KINDS))
        messages_and_kinds = zip(itertools.cycle(own), itertools.cycle(KINDS), range(count), strict=False)
        found += [Case(message, kind, salt) for message, kind, salt in messages_and_kinds]
    return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("study"))


def told(bench: Bench, case: Case, kind: type[Repn] = Repn) -> str:
    """What is wrong after a change. ``kind``: of all parties."""
    script = Script({case.message: lie_of(case.kind, case.salt)}, case.kind in SILENT)
    endings = bench.run(script, kind)
    assert script.told == {case.message}, f"nobody has told {case}"
    honest = {name: end for name, end in endings.items() if name != case.message.sender}
    wrong = problem(bench, honest, case.message.label, kind)
    hidden = (
        script.differ and not case.kind.startswith("believed") and all(end.error is None for end in honest.values())
    )
    return f"{case}: {wrong or 'nobody has noticed it'}" if wrong or hidden else ""


def swept(bench: Bench, chosen: Sequence[Case]) -> list[str]:
    return [wrong for case in chosen if (wrong := told(bench, case))]


def test_the_sweep_covers_every_message_in_every_phase(bench: Bench) -> None:
    """As many as the transport has counted; and an honest run says the same every time."""
    honest = bench.honest
    again = Script()
    assert problem(bench, bench.run(again), "") == ""
    assert sorted(again.messages) == sorted(honest.messages)
    cases = cases_of(honest.messages)
    assert {case.message for case in cases} == set(honest.messages)
    assert len(set(honest.messages)) == len(honest.messages) == honest.counted
    assert {message.sender for message in honest.messages} == set(bench.names)
    phases = {phase(message.label) for message in honest.messages}
    assert phases == {LABEL, *PHASES, "agreement", "refresh", *(f"verify/{step}" for step in _IN_CHECKS)}
    assert {(phase(case.message.label), case.kind) for case in cases} == set(itertools.product(phases, KINDS))
    assert sorted(case for chunk in range(CHUNKS) for case in cases[chunk::CHUNKS]) == sorted(cases)
    assert len(honest.checkpoints) == 2 and len(cases) > 1000


@pytest.mark.timeout(300)
def test_a_thin_slice_of_the_sweep(bench: Bench) -> None:
    cases = cases_of(bench.honest.messages)
    assert swept(bench, cases[5 :: len(cases) // FAST]) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_sweep(bench: Bench, chunk: int) -> None:
    assert swept(bench, cases_of(bench.honest.messages)[chunk::CHUNKS]) == []


def test_nothing_that_was_noted_is_written_over(bench: Bench) -> None:
    """Relations are about memory that stays as it is until they are checked: in all steps of a study."""
    assert all(end.error is None and end.phase == "released" for end in bench.run(Script(), Watching).values())


class Trusting(Repn):
    """Opens, stores and exports without any check."""

    def verify(self) -> None:
        pass


def test_the_sweep_notices_parties_that_do_not_check(bench: Bench) -> None:
    """Then there are wrong releases, and wrong values in checkpoints."""
    steps = {("check", "inner"), ("epoch", "matmul"), ("refresh", "refresh"), ("noise", "truncate")}
    for message in bench.honest_of(Trusting).messages:
        step = phase(message.label), message.label.rpartition("/")[2]
        if step in steps:
            steps.remove(step)
            assert told(bench, Case(message, "believed: plus much", 0), Trusting), step
    assert not steps
