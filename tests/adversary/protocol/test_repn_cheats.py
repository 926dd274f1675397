"""repn with corrupted parties that follow the protocol but for one thing that they know to be wrong: all runs end."""

from __future__ import annotations

import numpy as np
import pytest

from adversary.protocol.repn_cheats import Send, problem, program_of, run
from adversary.protocol.repn_corrupt import (
    FittingClaims,
    TwoStories,
    WrongCarries,
    WrongDigits,
    WrongNumbers,
    WrongProduct,
    no_bits,
    other_nonce,
    wrong_claims,
)
from adversary.protocol.repn_lies import different, flip
from cofit.arithmetic import RingArray
from cofit.sharing.repn.party import Repn
from support.schemes import also_slow

MASKS = (2, -1, -(1 << 63), 3, 1 << 32)
DEALT: dict[str, tuple[type[Repn], str]] = {
    **{f"{value} as a bit of {what}": (no_bits(value), what) for value in MASKS for what in ("bits", "numbers")},
    "other digits": (WrongDigits, "truncated"),
    "other digits for a product": (WrongDigits, "truncated product"),
    "numbers as digits": (WrongNumbers, "truncated"),
    "numbers as digits for a product": (WrongNumbers, "back"),
}
"""What a masker deals, and in which operation."""
PROVED: dict[str, type[Repn]] = {
    "a wrong product": WrongProduct,
    "and fitting claims": FittingClaims,
    "another W": wrong_claims(1, 0),
    "a smaller W": wrong_claims(-1, 0),
    "a W of full size": wrong_claims(1 << 180, 0),
    "another claim": wrong_claims(0, 1),
    "another claim by 2^63": wrong_claims(0, 1 << 63),
    "another claim and W": wrong_claims(-1, 2),
    "two stories": TwoStories,
    **{f"coin {i}": other_nonce(i) for i in (0, 1, 2, 3, -1)},
}
PARTIES = also_slow([3, 5], 7)


@pytest.mark.parametrize("parties", PARTIES)
@pytest.mark.parametrize("lie", DEALT)
def test_what_a_masker_deals_is_checked(lie: str, parties: int) -> None:
    kind, operation = DEALT[lie]
    masker = parties - 1
    outcome = run(program_of(operation), parties, kinds={masker: kind})
    assert problem(outcome, [masker], must_end=True) == ""


@pytest.mark.parametrize("parties", PARTIES)
def test_carries_of_summands_are_checked(parties: int) -> None:
    for operation in ("signs", "words"):
        outcome = run(program_of(operation), parties, kinds={0: WrongCarries})
        assert problem(outcome, [0], must_end=True) == ""


@pytest.mark.parametrize("parties", PARTIES)
@pytest.mark.parametrize("lie", PROVED)
def test_what_is_said_in_a_check_is_checked(lie: str, parties: int) -> None:
    for cheat in (0, parties - 1):
        outcome = run(program_of("product"), parties, kinds={cheat: PROVED[lie]})
        assert problem(outcome, [cheat], must_end=True) == ""


@pytest.mark.parametrize(("one", "other"), [(WrongProduct, FittingClaims), (wrong_claims(0, 1), wrong_claims(0, -1))])
def test_two_of_five_together(one: type[Repn], other: type[Repn]) -> None:
    """Claims that are off by the same, up and down, add up: that is no wrong result."""
    outcome = run(program_of("product"), 5, kinds={1: one, 3: other})
    assert problem(outcome, [1, 3], must_end=one is WrongProduct) == ""


@pytest.mark.parametrize(("said", "then"), [("verify/commit", "verify/claims"), ("verify/coin", "verify/fold")])
def test_who_tells_all_different_things_is_found_out_with_the_next_thing_that_all_are_told(
    said: str, then: str
) -> None:
    """The digest that goes with it: long before all that was told is compared once more."""
    told: list[int] = []

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        if name != said or told:
            return send
        told.append(at)
        return different(at, flip(7, 9 if said == "verify/commit" else 5))(party, at, name, send)

    outcome = run(program_of("product"), 5, {0: lie})
    assert problem(outcome, [0], must_end=True) == "" and len(outcome.errors(range(1, 5))) == 4
    assert told and all(then not in outcome.names[rank] for rank in range(1, 5))


def test_what_is_no_element_of_a_field_is_not_taken() -> None:
    """The last word below 2^64 is no element of a field of 61 bits."""
    told: list[int] = []

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        if name != "verify/fold" or told:
            return send
        told.append(at)
        return {
            rank: [np.full_like(array, np.uint64((1 << 64) - 1)) for array in arrays] for rank, arrays in send.items()
        }

    outcome = run(program_of("product"), 3, {0: lie})
    assert told and any("no element" in str(error) for error in outcome.errors([1, 2]))


@pytest.mark.parametrize(
    ("parties", "cheat", "operation", "exchange", "hearers"),
    [
        (3, 2, "truncated", "truncate", (0, 1)),
        (5, 0, "product", "mul", (1, 2)),
        (5, 3, "truncated", "truncate", (0, 2)),
    ],
)
def test_who_was_told_different_things_proves_nothing(
    parties: int, cheat: int, operation: str, exchange: str, hearers: tuple[int, int]
) -> None:
    """Digests are compared before the first coin: two honest parties that differ say nothing after that."""
    told: list[int] = []

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        if name != exchange or told:
            return send
        told.append(at)
        return {**send, hearers[1]: [_plus_one(array) for array in send[hearers[1]]]}

    outcome = run(program_of(operation), parties, {cheat: lie})
    assert told and problem(outcome, [cheat], must_end=True) == ""
    for rank in hearers:
        assert "told different things" in str(outcome.results[rank]) or "stopped the run" in str(outcome.results[rank])
        assert outcome.names[rank][-1] == "verify/commit"


def _plus_one(array: RingArray) -> RingArray:
    return array + np.uint64(1)
