"""repn with corrupted parties that change messages: no honest party ever has a wrong result.

Every message of every operation and of its check, from the setup to the opening, by every party; and by pairs of the
five. Each case is a run of one operation, or of all of them. Sequence numbers and tags of the transport are right: they
are what a corrupted party would send. A sample runs always; thousands are slow.

What a party says that its own input is, the same to all, is no lie: that is left out.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from adversary.protocol.repn_cheats import OPERATIONS, Lie, Outcome, everything, problem, program_of, run
from adversary.protocol.repn_lies import CHANGES, WHOLE, add, consistent, different, gone, late, twice, whole
from cofit.sharing.repn.party import Repn

SAMPLE = 80
SLOW = 5400
CHUNKS = 60
ALL = "everything"
LIES = (
    *(f"to all: {name}" for name in CHANGES),
    *(f"to one: {name}" for name in CHANGES),
    *WHOLE,
    "another nonce",
    "twice",
    "late",
    "gone",
)
"""What one party may do with one message."""
BOTH = ("cancel", "the same", "apart", "to one and to another")
"""What two may do with theirs."""


class Case(NamedTuple):
    """Corrupted parties, and where in the messages of the first: its number, and a number to choose more."""

    parties: int
    program: str
    corrupted: tuple[int, ...]
    at: int
    lie: str
    salt: int


@functools.cache
def exchanges(parties: int, program: str) -> dict[int, list[str]]:
    """The names of all exchanges in which each party sends something, in an honest run."""
    outcome = played(parties, program, {})
    assert problem(outcome, []) == "" and not outcome.errors(range(parties))
    return outcome.names


def played(parties: int, program: str, lies: dict[int, Lie], kind: type[Repn] = Repn, timeout: float = 20.0) -> Outcome:
    return run(everything if program == ALL else program_of(program), parties, lies, kind=kind, timeout=timeout)


def matching(case: Case) -> int:
    """Where the second of two corrupted parties sends what goes with the message of the first."""
    first, second = (exchanges(case.parties, case.program)[rank] for rank in case.corrupted)
    name = first[case.at]
    places = [i for i, other in enumerate(second) if other == name]
    return places[min(first[: case.at].count(name), len(places) - 1)] if places else case.at % len(second)


def lies_of(case: Case) -> dict[int, Lie]:
    at, salt, name = case.at, case.salt, case.lie
    changes = list(CHANGES.values())
    if len(case.corrupted) == 2:
        p, q = case.corrupted
        there = matching(case)
        error = (1, 1 << 20, 1 << 63, 0x123456789)[salt % 4]
        if name == "cancel":
            return {p: consistent(at, add(error, salt % 3)), q: consistent(there, add(-error, salt % 3))}
        if name == "the same":
            return {p: consistent(at, changes[salt % 9]), q: consistent(there, changes[salt % 9])}
        if name == "apart":
            far = (at + salt) % len(exchanges(case.parties, case.program)[q])
            return {p: consistent(at, changes[salt % 9]), q: different(far, changes[salt // 9 % 9], salt)}
        return {p: different(at, changes[salt % 9], salt), q: different(there, changes[salt % 9], salt + 1)}
    (p,) = case.corrupted
    kind, _, change = name.partition(": ")
    if kind == "to all":
        return {p: consistent(at, CHANGES[change])}
    if kind == "to one":
        return {p: different(at, CHANGES[change], salt)}
    if kind in WHOLE:
        return {p: whole(at, WHOLE[kind])}
    if kind == "another nonce":  # which comes after a digest of four words
        return {p: consistent(at, add(1 + salt, 4)) if salt % 2 else different(at, add(1 + salt, 4), salt)}
    return {p: {"twice": twice, "late": late, "gone": gone}[kind](at)}


def is_case(case: Case) -> bool:
    """Whether it is a lie: not where a party says what its input is, the same to all."""
    names = exchanges(case.parties, case.program)
    where = {names[case.corrupted[0]][case.at]}
    if len(case.corrupted) == 2:
        where.add(names[case.corrupted[1]][matching(case)])
    lies = case.parties > 3 and case.lie.startswith("to one:")
    return lies or not any(name.endswith("input") for name in where)


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many cases, chosen at random among all; one party in three of four."""
    rng = random.Random(seed)
    while count:
        pair = rng.random() < 0.2
        parties = 5 if pair or rng.random() < 0.2 else 3
        program = ALL if rng.random() < 0.02 and not pair else rng.choice(sorted(OPERATIONS))
        corrupted = rng.choice(list(combinations(range(parties), 2 if pair else 1)))
        lie = rng.choice(BOTH if pair else LIES)
        if lie == "gone" and rng.random() < 0.6:  # others wait for it
            continue
        at = rng.randrange(len(exchanges(parties, program)[corrupted[0]]))
        case = Case(parties, program, corrupted, at, lie, rng.randrange(1000))
        if is_case(case):
            count -= 1
            yield case


def found(case: Case, kind: type[Repn] = Repn) -> tuple[str, bool]:
    """What is wrong with the outcome, and whether some honest party has noticed the lie."""
    timeout = 1.0 if case.lie == "gone" else 20.0
    outcome = played(case.parties, case.program, lies_of(case), kind, timeout)
    honest = [rank for rank in range(case.parties) if rank not in case.corrupted]
    wrong = problem(outcome, case.corrupted, must_end=case.lie == "gone" and not _ended(case))
    return wrong and f"{case}: {wrong}", bool(outcome.errors(honest))


def _ended(case: Case) -> bool:
    """Whether the place is an opening, where somebody may have a result already."""
    return not exchanges(case.parties, case.program)[case.corrupted[0]][case.at].startswith(("setup", "verify"))


def swept(chosen: Any, kind: type[Repn] = Repn) -> tuple[list[str], int]:
    outcomes = [found(case, kind) for case in chosen]
    return [wrong for wrong, _ in outcomes if wrong], sum(noticed for _, noticed in outcomes)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(2))
def test_a_sample_of_the_sweep(part: int) -> None:
    wrong, noticed = swept(cases(part, SAMPLE // 2))
    assert wrong == []
    assert noticed > 0.7 * SAMPLE / 2, "lies are noticed, but for those that change nothing"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_sweep(chunk: int) -> None:
    wrong, noticed = swept(cases(100 + chunk, SLOW // CHUNKS))
    assert wrong == []
    assert noticed > 0.7 * SLOW / CHUNKS


class Trusting(Repn):
    """Opens without any check."""

    def verify(self) -> None:
        pass


def test_the_sweep_notices_parties_that_do_not_check() -> None:
    chosen = [
        Case(3, program, (1,), at, "to all: plus 1", 0)
        for program in OPERATIONS
        for at, name in enumerate(exchanges(3, program)[1])
        if not name.startswith(("setup", "verify", "open")) and not name.endswith("input")
    ]
    wrong, _ = swept(chosen, Trusting)
    assert len(wrong) > len(chosen) / 2
    assert {case.program for case in chosen if any(repr(case) in text for text in wrong)} >= {
        "product", "forward", "back", "inner", "fresh", "signs", "words", "bits",
    }  # fmt: skip
