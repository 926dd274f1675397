"""Transfers of two parties: how many are made when, that each is taken once, and programs that part ways."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit import kernels
from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.arithmetic.bits import unpack
from cofit.arithmetic.integers import Words
from cofit.errors import ProtocolError, TransportError
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import run_training
from cofit.sharing.pair import hashing, transfers
from cofit.sharing.pair.extension import QUANTUM
from cofit.sharing.pair.party import Pair
from cofit.sharing.pair.transfers import FEWEST, MOST, WORD, Refills, Transfers
from cofit.sharing.regions import KnownShare, Region
from cofit.sharing.shares import PlacedBits
from support.facts import paper_facts
from support.schemes import also_slow
from unit.sharing.pair.pair_runs import elements, given, given_bits, run_pair

DIRECTION = 1 << 62


# --- how many are made -----------------------------------------------------------------------------------


def test_as_many_are_made_as_are_needed_and_more_each_time() -> None:
    refills, made = Refills(), []
    for _ in range(200):
        made.append(refills.take(1 << 15, 1 << 15))
    some = [count for count in made if count]
    assert some[0] == 1 << 15
    assert all(count % QUANTUM == 0 and FEWEST <= count <= MOST for count in some)
    assert some == sorted(some), "never fewer than before"
    for first, second in itertools.pairwise(np.cumsum(some).tolist()):
        assert second - first == min(MOST, first), "as many as there were, up to a bound"
    assert sum(made) >= 200 << 15


@pytest.mark.parametrize("short", [1, QUANTUM, FEWEST, FEWEST + 1, MOST, MOST + 1, 3 * MOST + 5])
def test_one_step_takes_as_many_as_it_wants(short: int) -> None:
    refills = Refills()
    made = refills.take(short, 0)
    assert made >= max(short, FEWEST)
    assert made - max(short, FEWEST) < QUANTUM
    assert refills._left == [made - short, made]


def test_the_direction_that_is_short_fills_up_both() -> None:
    refills = Refills()
    assert refills.take(FEWEST, 0) == FEWEST
    assert refills.take(0, FEWEST) == 0
    assert refills.take(0, 64) == FEWEST
    assert refills._left == [FEWEST, FEWEST - 64]
    assert refills.take(0, 0) == 0
    assert refills.take(FEWEST + 64, 0) == 2 * FEWEST


# --- what is taken ---------------------------------------------------------------------------------------

TAKEN = [(1, 0), (0, 2), (3, 3), (70, 1), (0, 0), (5, 64)]
"""Words that the party of rank 0 sends, and chooses."""


def taken(s: Pair) -> list[tuple[Any, Any]]:
    return [s._transfers.take(*(counts if s.rank == 0 else counts[::-1])) for counts in TAKEN]


def check_pair(sending: Any, choosing: Any, ring: PowerOfTwoRing) -> None:
    """The chooser has one of the two strings, as its choices say."""
    zeros, ones = sending.elements(ring)
    bits = unpack(choosing.choices.reshape(1, -1), len(zeros))[0].astype(bool)
    np.testing.assert_array_equal(choosing.elements(ring), np.where(bits, ones, zeros))
    assert len(np.unique(np.concatenate([zeros, ones]))) == 2 * len(zeros)
    for count in (1, 2, 128):
        both, own = sending.planes(count), choosing.planes(count)
        chosen = (both[0] & ~choosing.choices) ^ (both[1] & choosing.choices)
        np.testing.assert_array_equal(own, chosen)


def test_transfers_of_both_directions_fit_whatever_is_taken() -> None:
    first, second = run_pair(taken).results
    ahead = [0, 0]
    for (sent, chosen), mine, theirs in zip(TAKEN, first, second, strict=True):
        for direction, (count, sending, choosing) in enumerate(
            [(sent, mine[0], theirs[1]), (chosen, theirs[0], mine[1])]
        ):
            assert len(sending.rows) == len(choosing.rows) == count * WORD
            assert sending.first == choosing.first == direction * DIRECTION + ahead[direction]
            ahead[direction] += count * WORD
            if count:
                check_pair(sending, choosing, Z64)
                check_pair(sending, choosing, Z128)


def test_positions_are_common_and_tell_directions_apart() -> None:
    def program(s: Pair) -> list[int]:
        found = [s._transfers.position]
        for counts in TAKEN:
            s._transfers.take(*(counts if s.rank == 0 else counts[::-1]))
            found.append(s._transfers.position)
        return found

    first, second = run_pair(program).results
    assert first == second
    assert len(set(first)) == len(TAKEN), "every step but the empty one moves it"
    one, other = Transfers(0, lambda *_: None), Transfers(0, lambda *_: None)
    one._sent, other._chosen = 64, 64
    assert one.position != other.position


def test_two_sessions_have_nothing_in_common() -> None:
    def program(s: Pair) -> list[RingArray]:
        sending, choosing = s._transfers.take(2, 2)
        return [sending.rows.reshape(-1), sending.delta, choosing.rows.reshape(-1), choosing.choices]

    runs = [run_pair(program).results for _ in range(2)]
    first, second = (np.concatenate([words for result in run for words in result]) for run in runs)
    assert not np.intersect1d(first, second).size


def test_sessions_hash_with_keys_of_their_own() -> None:
    def program(s: Pair) -> set[bytes]:
        return {one.key for one in s._transfers.take(2, 2)}

    keys = [set.union(*run_pair(program).results) for _ in range(2)]
    assert [len(each) for each in keys] == [1, 1], "both parties and directions have one"
    assert keys[0] != keys[1]
    assert hashing.KEY not in keys[0] | keys[1]


def test_every_direction_has_a_delta_of_its_own() -> None:
    first, second = run_pair(lambda s: s._transfers._sender.delta).results
    assert not (first == second).any()


# --- every tweak has one purpose ------------------------------------------------------------------------


class Spy:
    """Which tweaks every party (a thread) hashed, how, and with Delta or without."""

    def __init__(self) -> None:
        self.calls: dict[int, list[tuple[int, int, str, bool, bytes]]] = defaultdict(list)

    def __enter__(self) -> Spy:
        self._patches = []
        for kind in ("bits", "words", "wide", "planes"):
            whole = getattr(hashing, kind)

            def noted(rows: Words, first: int, *rest: Any, kind: str = kind, whole: Any = whole) -> Words:
                delta = next((one for one in rest if isinstance(one, np.ndarray)), None)
                how = f"{kind} {rest[0]}" if kind == "planes" else kind
                log = self.calls[threading.get_ident()]
                log.append((first, len(rows), how, delta is not None, rows.tobytes()))
                return whole(rows, first, *rest)  # type: ignore[no-any-return]

            self._patches.append(mock.patch.object(hashing, kind, noted))
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def problems(self) -> list[str]:
        """Tweaks with more than one purpose, at one party or between the two."""
        found, purposes = [], []
        for calls in self.calls.values():
            by_range: dict[tuple[int, int], list[tuple[str, bool, bytes]]] = defaultdict(list)
            for first, count, *how in calls:
                if count:
                    by_range[first, first + count].append(tuple(how))  # type: ignore[arg-type]
            for (_, end), (start, _) in itertools.pairwise(sorted(by_range)):
                if start < end:
                    found.append(f"tweak {start} occurs in two ranges")
            for (start, _), uses in by_range.items():
                plain, with_delta = ([use for use in uses if use[1] == which] for which in (False, True))
                if len(plain) != 1 or len(with_delta) > 1:
                    found.append(f"tweak {start} is hashed {len(plain)} and {len(with_delta)} times")
                if with_delta and with_delta[0][2] != plain[0][2]:
                    found.append(f"tweak {start}: other rows at choice 1 than at choice 0")
            purposes.append({place: (uses[0][0], len(uses)) for place, uses in by_range.items()})
        one, other = purposes
        for place in one.keys() | other.keys():
            mine, theirs = one.get(place), other.get(place)
            if mine is None or theirs is None or mine[0] != theirs[0] or {mine[1], theirs[1]} != {1, 2}:
                found.append(f"tweak {place}: {mine} at one party and {theirs} at the other")
        directions = [{start >= DIRECTION for (start, _), (_, uses) in each.items() if uses == 2} for each in purposes]
        if sorted(map(sorted, directions)) != [[False], [True]]:
            found.append(f"senders do not have a half of the tweaks each: {directions}")
        return found


def train() -> None:
    plan = plan_minimiser(paper_facts(40, 5, scheme="pair", mechanism="laplace", partition="vertical"))
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1, 1, (40, 5)), rng.integers(0, 2, 40)
    run_training(plan, {"a": OwnerTable(x[:, :3], y), "b": OwnerTable(x[:, 3:], None)})


def operations(s: Pair) -> None:
    x = given(s, Z64, *(elements(Z64, np.arange(70, dtype=object)) for _ in range(2)))
    bits = given_bits(s, *np.zeros((2, 5, 70), np.uint8))
    s.mul(x, x, 5)
    s.mul(x, s.add(x, x), 5)
    s.from_bits(s.boolean.products(bits, bits, [([0, 1], [2, 3, 4])]), Z128)
    s.from_numbers([PlacedBits(0, bits)], Z64)
    s.sign_bits(x)


def test_no_tweak_is_used_for_two_purposes_in_a_training() -> None:
    with Spy() as spy:
        train()
    assert len(spy.calls) == 2
    assert sum(map(len, spy.calls.values())) > 300
    assert spy.problems() == []


def test_the_portable_hash_has_the_same_tweaks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    hashed = hashing.portable_hash

    def noted(rows: Words, delta: Words, first: Words, key: bytes) -> Words:
        seen.append(int(first[0]))
        return hashed(rows, delta, first, key)

    monkeypatch.setattr(hashing, "portable_hash", noted)
    monkeypatch.setattr(kernels, "aes_available", lambda: False)
    run_pair(operations)
    assert {place >= DIRECTION for place in seen} == {False, True}


BREAKS: dict[str, Callable[[Transfers, int, int], tuple[int, int]]] = {
    "numbers begin again": lambda t, sent, chosen: (0, 0),
    "one step too few": lambda t, sent, chosen: (max(sent - 64, 0), max(chosen - 64, 0)),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_a_tweak_that_comes_again_is_noticed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Transfers.take

    def again(self: Transfers, sent: int, chosen: int) -> Any:
        made = take(self, sent, chosen)
        self._sent, self._chosen = BREAKS[broken](self, self._sent, self._chosen)
        return made

    monkeypatch.setattr(Transfers, "take", again)
    with Spy() as spy:
        run_pair(operations)
    assert any("two ranges" in problem or "is hashed" in problem for problem in spy.problems())


def test_one_half_of_the_tweaks_for_both_directions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "_DIRECTION", 0)
    with Spy() as spy:
        run_pair(operations)
    assert spy.problems()


# --- programs that part ways ------------------------------------------------------------------------------


def one_more_draw(s: Pair) -> None:
    s.refresh(given(s, Z64, Z64.zeros((1,)), Z64.zeros((1,))))


def one_more_turn(s: Pair) -> None:
    s._turn()


def transfers_of_its_own(s: Pair) -> None:
    s._transfers._sent += 64


def other_transfers(s: Pair) -> None:
    s._transfers._chosen += 64


@pytest.mark.parametrize("extra", [one_more_draw, one_more_turn, transfers_of_its_own, other_transfers])
@pytest.mark.parametrize("rank", [0, 1])
def test_parties_whose_streams_are_apart_stop(extra: Callable[[Pair], None], rank: int) -> None:
    x = [elements(Z64, [3]), elements(Z64, [4])]
    after: dict[int, int] = {}

    def program(s: Pair) -> object:
        share = given(s, Z64, *x)
        s.mul(share, share)
        if s.rank == rank:
            extra(s)
        try:
            return s.open(share)
        finally:
            after[s.rank] = 1

    with pytest.raises(TransportError, match="another step"):
        run_pair(program)
    assert after, "it is the opening that is refused"


STEPS: dict[str, Callable[[Pair], object]] = {
    "product": lambda s: s.mul(one(s), one(s)),
    "square": lambda s: s.mul(x := one(s), x),
    "truncation": lambda s: s.truncate(one(s), 3),
    "bit to element": lambda s: s.from_bits(a_bit(s), Z64),
    "and": lambda s: s.boolean.and_(a_bit(s), a_bit(s)),
    "signs": lambda s: s.sign_bits(one(s)),
    "nothing": lambda s: None,
}


OTHERS = also_slow(
    [(step, "nothing") for step in STEPS if step != "nothing"],
    *(both for both in itertools.combinations(STEPS, 2) if "nothing" not in both),
)


def one(s: Pair) -> Any:
    return given(s, Z64, Z64.zeros((1,)), Z64.zeros((1,)))


def a_bit(s: Pair) -> Any:
    return given_bits(s, *np.zeros((2, 1, 1), np.uint8))


@pytest.mark.parametrize(("mine", "theirs"), OTHERS, ids=str)
def test_a_party_with_another_step_is_refused(mine: str, theirs: str) -> None:
    def program(s: Pair) -> object:
        STEPS["truncation"](s)
        STEPS[theirs if s.rank else mine](s)
        return s.open(one(s))

    with pytest.raises(TransportError):
        run_pair(program)


def square(s: Pair, holders: tuple[int | None, int | None] = (None, None)) -> Any:
    """A matrix that looks the same from both sides, with rows that somebody may know."""
    rows = [Region((slice(i, i + 1), slice(0, 2)), holder) for i, holder in enumerate(holders)]
    return s.hold(KnownShare(Z64, (Z64.zeros((2, 2)),), tuple(rows)))


ALIKE: dict[str, Callable[[Pair], object]] = {
    "another shift": lambda s: s.truncate(one(s), 3 + s.rank),
    "the transpose": lambda s: s.matmul(square(s).map(np.transpose) if s.rank else square(s), two(s)),
    "other rows known": lambda s: s.matmul(square(s, (0, 1) if s.rank else (1, 0)), two(s)),
}
"""What sends as much, and takes as many transfers, at both parties."""


def two(s: Pair) -> Any:
    return given(s, Z64, Z64.zeros((2,)), Z64.zeros((2,)))


@pytest.mark.parametrize("step", ALIKE)
def test_steps_that_look_alike_are_told_apart(step: str) -> None:
    """Nothing that comes of them is opened."""

    def program(s: Pair) -> object:
        ALIKE[step](s)
        return s.open(one(s))

    with pytest.raises((TransportError, ProtocolError)):
        run_pair(program)
