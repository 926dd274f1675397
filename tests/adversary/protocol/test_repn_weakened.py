"""Attacks on schemes like repn, as they are known: each succeeds where one check is left out, and fails as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from adversary.protocol.repn_cheats import (
    OPERATIONS,
    A,
    Lie,
    Outcome,
    Program,
    Results,
    Send,
    given,
    opened,
    problem,
    program_of,
    run,
    wrong,
)
from adversary.protocol.repn_corrupt import FittingClaims, Remembers, TwoStories, no_bits
from adversary.protocol.repn_lies import gone
from cofit.arithmetic import Z64, Generator, Ring, RingArray
from cofit.errors import ProtocolError
from cofit.sharing.repn.check import _Coins
from cofit.sharing.repn.fields import drawn_prime, public_stream
from cofit.sharing.repn.folding import InnerProduct
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import Noted
from cofit.sharing.shares import Share
from cofit.sharing.steps import Protocol

# --- weakened parties ------------------------------------------------------------------------------------


class Uncompared(Repn):
    """Hears digests of what was told, and does not look at them."""

    def _compared(self) -> Protocol[None]:
        yield next(super()._compared())


class UncheckedOpening(Repn):
    """Believes what was opened under a mask."""

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._truncated("truncate", a.ring, self._first_summand(a), a.shape, shift, None)[1]


class UncheckedBits(Repn):
    """Believes that maskers deal bits."""

    def _note_binary(self, values: Share) -> None:
        del values


class UncheckedKeys(Repn):
    """Does not compare keys."""

    def _agree_on(self, operation: str, texts: Mapping[int, bytes], complaint: str, owner: str | None = None) -> None:
        if operation != "setup":
            super()._agree_on(operation, texts, complaint, owner)


class KnownCoins(Repn):
    """Coins follow from their number alone: everybody knows them beforehand."""

    def _seen(self, coins: _Coins, said: list[bytes]) -> Generator:
        coins.said.append(said)
        return known_coin(len(coins.said) - 1)


def known_coin(number: int) -> Generator:
    return public_stream("known", bytes([number]))


class Ones(Generator):
    """A stream of ones."""

    __slots__ = ()

    def draw(self, count: int) -> Any:
        return np.full(count, 255, np.uint8)


class FixedCoefficients(Repn):
    """Adds up relations as they are."""

    def _claims(self, noted: Noted, coin: Generator, coins: _Coins) -> list[InnerProduct]:
        return super()._claims(noted, Ones(bytes(32)), coins)


class UnopenedClaims(Repn):
    """Does not open what must be 0: claims need not fit what was dealt."""

    def _claims(self, noted: Noted, coin: Generator, coins: _Coins) -> list[InnerProduct]:
        self._blind = True
        found = super()._claims(noted, coin, coins)
        self._blind = False
        return found

    _blind = False

    def _opened(self, share: Share, receivers: Any) -> Protocol[RingArray | None]:
        value = yield from super()._opened(share, receivers)
        return share.ring.zeros(share.shape) if self._blind else value


# --- attacks ---------------------------------------------------------------------------------------------


def adds(kind: type[Repn], errors: tuple[int, ...]) -> type[Repn]:
    """Return a party that adds errors to the first elements of its summand of a product, and believes them."""

    class Adds(kind):  # type: ignore[misc, valid-type]
        def _mul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
            summand: RingArray = super()._mul_summand(ring, a, b)
            for i, error in enumerate(errors if ring is Z64 else ()):
                summand[i] = ring.add(summand[i : i + 1], ring.from_int(np.array([error])))[0]
            return summand

    return Adds


def shifts_what_is_opened(kind: type[Repn]) -> type[Repn]:
    """Return a party that adds 2^20 to what it tells the openers, and believes it."""

    class Shifts(kind):  # type: ignore[misc, valid-type]
        def _to_openers(self, ring: Ring, own: RingArray) -> Protocol[RingArray | None]:
            more = ring.add(own, ring.from_int(np.full(own.shape, 1 << 20))) if ring is Z64 else own
            seen: RingArray | None = yield from super()._to_openers(ring, more)
            return seen

    return Shifts


def knows_the_prime(kind: type[Repn]) -> type[Repn]:
    """Return a party whose product is off by the prime that will be drawn, and whose claims fit."""

    class Knows(FittingClaims, kind):  # type: ignore[misc, valid-type]
        error = drawn_prime(known_coin(1))

    return Knows


def remembers_the_prime(kind: type[Repn]) -> type[Repn]:
    return type("RemembersIt", (Remembers, kind), {})


def two_products(p: Repn) -> Results:
    """One after the other, with a check of its own for each."""
    opened(p, {"product": OPERATIONS["product"](p)})
    return opened(p, {"product": OPERATIONS["product"](p)})


def two_keys(kind: type[Repn]) -> type[Repn]:
    """Return a party that tells the members of its first group different contributions to their key."""

    class TwoKeys(kind):  # type: ignore[misc, valid-type]
        told = 0

        def _exchange(self, operation: str, send: Any = None, receive: Any = None) -> None:
            if operation == "setup" and not self.told:
                other = self.geometry.groups[0][-1]
                pair, first, *rest = send[other]
                send = {**send, other: [pair, first ^ np.uint8(1), *rest]}
                self.told = 1
            super()._exchange(operation, send, receive)

    return TwoKeys


def telling_two_stories(kind: type[Repn]) -> type[Repn]:
    return type("Stories", (TwoStories, kind), {})


def a_random_value(p: Repn) -> Results:
    return opened(p, {"random": p._random(Z64, (2,))})


def an_input(p: Repn) -> Results:
    return opened(p, {"input": given(p, 0, A)})


def differ(outcome: Outcome, corrupted: int) -> bool:
    """Whether honest parties have different results."""
    found = [
        tuple(map(bytes, r.values())) for i, r in outcome.results.items() if i != corrupted and isinstance(r, dict)
    ]
    return len(set(found)) > 1


def wrong_at_some(outcome: Outcome, corrupted: int) -> bool:
    results = [result for rank, result in outcome.results.items() if rank != corrupted]
    return any(isinstance(result, dict) and wrong(result) for result in results)


Attack = tuple[type[Repn], Callable[[type[Repn]], type[Repn]], int, int, Program]
"""Who is weak, the attack, the number of parties, the corrupted one, and the program."""
WRONG: dict[str, Attack] = {
    "an unchecked opening": (UncheckedOpening, shifts_what_is_opened, 3, 1, program_of("truncated")),
    "an unchecked opening of five": (UncheckedOpening, shifts_what_is_opened, 5, 3, program_of("truncated")),
    "unchecked bits": (UncheckedBits, lambda kind: type("Two", (no_bits(2), kind), {}), 3, 2, program_of("bits")),
    "unchecked bits of five": (UncheckedBits, lambda kind: type("Two", (no_bits(2), kind), {}), 5, 4,
                               program_of("bits")),
    "known coins": (KnownCoins, knows_the_prime, 3, 1, program_of("product")),
    "known coins of five": (KnownCoins, knows_the_prime, 5, 4, program_of("product")),
    "coins that come again": (KnownCoins, remembers_the_prime, 3, 1, two_products),
    "fixed coefficients": (FixedCoefficients, lambda kind: adds(kind, (1, -1)), 3, 0, program_of("product")),
    "unopened claims": (UnopenedClaims, lambda kind: adds(kind, (5,)), 3, 0, program_of("product")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_attack_makes_a_result_wrong_where_a_check_is_left_out(name: str) -> None:
    weak, attack, parties, corrupted, program = WRONG[name]
    assert wrong_at_some(run(program, parties, kinds={corrupted: attack(weak)}, kind=weak), corrupted)
    assert problem(run(program, parties, kinds={corrupted: attack(Repn)}), [corrupted], must_end=True) == ""


@pytest.mark.parametrize("name", WRONG)
def test_the_weak_are_right_where_nobody_attacks(name: str) -> None:
    weak, _, parties, _, program = WRONG[name]
    outcome = run(program, parties, kind=weak)
    assert problem(outcome, []) == "" and not outcome.errors(range(parties))


@pytest.mark.parametrize(
    ("weak", "attack", "program"),
    [(Uncompared, telling_two_stories, an_input), (UncheckedKeys, two_keys, a_random_value)],
)
def test_an_attack_tells_honest_parties_different_things(weak: Any, attack: Any, program: Program) -> None:
    assert differ(run(program, 5, kinds={0: attack(weak)}, kind=weak), 0)
    outcome = run(program, 5, kinds={0: attack(Repn)})
    assert len(outcome.errors(range(1, 5))) == 4


# --- after a failure -------------------------------------------------------------------------------------

LATER: dict[str, Callable[[Repn, Share], object]] = {
    "open": lambda p, a: p.open(a),
    "verify": lambda p, a: p.verify(),
    "mul": lambda p, a: p.mul(a, a),
    "mul and truncate": lambda p, a: p.mul(a, a, 3),
    "truncate": lambda p, a: p.truncate(a, 3),
    "inner": lambda p, a: p.inner(a, a),
    "matmul": lambda p, a: p.matmul(a, a),
    "refresh": lambda p, a: p.refresh(a),
    "input": lambda p, a: given(p, 0, A),
    "to_bits": lambda p, a: p.to_bits(a),
    "sign_bits": lambda p, a: p.sign_bits(a),
    "announce": lambda p, a: p.announce("said", b"x"),
    "barrier": lambda p, a: p.barrier("here"),
    "check_stored": lambda p, a: p.check_stored([a]),
}


def gone_at(name: str) -> Lie:
    """Say nothing any more from the first exchange of that name on."""

    def lie(party: Repn, at: int, called: str, send: Send) -> Send:
        if called == name:
            return gone(at)(party, at, called, send)
        return send

    return lie


def failed_at(when: str) -> Outcome:
    """A run that ends in one of several ways."""
    if when == "told":
        return run(an_input, 5, kinds={0: telling_two_stories(Repn)})
    if when == "broken off":
        return run(program_of("product"), 5, {0: gone_at("verify/coin")}, timeout=1.0)
    return run(program_of("product"), 5, kinds={0: adds(Repn, (1,))})


@pytest.mark.parametrize("when", ["told", "proof", "broken off"])
def test_nothing_is_done_after_a_failure(when: str) -> None:
    """Neither by parties that found something wrong, nor by those whose check did not come to its end for it."""
    outcome = failed_at(when)
    assert len(outcome.errors(range(1, 5))) == 4
    for rank in range(1, 5):
        party = outcome.parties[rank]
        if party.transcript.pending:  # else its own check was over before the others stopped
            assert not party._groups and not party._pairs and not any(party._common.values()), "no key is left"
            share = Share(Z64, tuple(Z64.zeros((2,)) for _ in range(party._part_count)))
            for name, later in LATER.items():
                with pytest.raises(ProtocolError, match="has ended"):
                    later(party, share)
                    raise AssertionError(name)
    assert any(outcome.parties[rank].transcript.pending for rank in range(1, 5))
