"""Whether a run of repn ends after an attack does not depend on the secrets.

Attacks on tiny programs, many times with each of two secrets: the scheme ends every run. A weakened check, of one bit
for every relation, lets about half of the attacks pass; equally often for both secrets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from adversary.protocol.repn_cheats import Lie, Results, run
from adversary.protocol.repn_lies import add, consistent, different, flip
from cofit.arithmetic import Z64, RingArray
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import CHECKS
from cofit.sharing.shares import Share
from cofit.sharing.steps import Protocol
from support.chance import accept
from support.schemes import also_slow

SECRETS = (0, (1 << 31) - 1)
TOLD, OPENED = "a told word", "an opened word"
Program = Callable[[Repn], Results]


class OneBit(Repn):
    """Looks at one claim of all that must be 0."""

    def _opened(self, share: Share, receivers: Any) -> Protocol[RingArray | None]:
        value: RingArray | None = yield from super()._opened(share, receivers)
        if value is not None and self._label == "verify/" and share.shape == (CHECKS,):
            value[1:] = 0
        return value


def product(secret: int) -> Program:
    """The square of a secret that nobody has put in: a fixed sharing."""

    def program(p: Repn) -> Results:
        mask = Z64.from_int(np.array([987654321]))
        parts = [Z64.sub(Z64.from_int(np.array([secret])), mask), mask, Z64.zeros((1,))]
        share = Share(Z64, tuple(parts[p.geometry.groups.index(group)] for group in p._own_groups))
        return {"square": p.open(p.mul(share, share))}

    return program


def truncation(secret: int) -> Program:
    def program(p: Repn) -> Results:
        share = p.constant(Z64, Z64.from_int(np.array([secret])))
        return {"part": p.open(p.truncate(share, 4))}

    return program


def first(name: str, make: Callable[[int], Lie]) -> Lie:
    """The lie ``make`` makes, in the first exchange of that name."""
    made: list[Lie] = []

    def lie(party: Repn, at: int, called: str, send: Any) -> Any:
        if called == name and not made:
            made.append(make(at))
        return made[0](party, at, called, send) if made else send

    return lie


ATTACKS: dict[str, tuple[Callable[[int], Program], int, Callable[[], Lie]]] = {
    TOLD: (product, 1, lambda: first("mul", lambda at: consistent(at, add(1)))),
    "the top bit of a told word": (product, 0, lambda: first("mul", lambda at: consistent(at, flip(63)))),
    "a told word, to one": (product, 2, lambda: first("mul", lambda at: different(at, add(1)))),
    OPENED: (truncation, 2, lambda: first("truncate", lambda at: consistent(at, add(1 << 20)))),
    "a bit of an opened word": (truncation, 1, lambda: first("truncate", lambda at: consistent(at, flip(17)))),
}


def aborts(attack: str, secret: int, runs: int, kind: type[Repn] = Repn) -> int:
    """In how many runs some honest party has ended with an error; the others have all ended with a result."""
    program, corrupted, lie = ATTACKS[attack]
    ended = 0
    for _ in range(runs):
        outcome = run(program(secret), 3, {corrupted: lie()}, kind=kind)
        ended += bool(outcome.errors([rank for rank in range(3) if rank != corrupted]))
    return ended


@pytest.mark.parametrize("runs", also_slow([20], 300))
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.timeout(600)
def test_every_attacked_run_ends_whatever_the_secret_is(attack: str, runs: int) -> None:
    assert [aborts(attack, secret, runs) for secret in SECRETS] == [runs, runs]


@pytest.mark.parametrize("runs", also_slow([60], 400))
@pytest.mark.timeout(600)
def test_a_weak_check_finds_half_of_the_attacks_whatever_the_secret_is(runs: int) -> None:
    ended = [aborts(TOLD, secret, runs, OneBit) for secret in SECRETS]
    table = [[count, runs - count] for count in ended]
    halves = {
        str(secret): float(stats.binomtest(count, runs, 0.5).pvalue)
        for secret, count in zip(SECRETS, ended, strict=True)
    }
    accept({"the same": float(stats.fisher_exact(table).pvalue), **halves})
