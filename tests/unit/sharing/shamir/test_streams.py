"""The streams of ``shamir``: all members contribute to a seed, nobody else sees it, and parties keep in step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Generator, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import SEED_BYTES
from cofit.errors import SequenceError, TransportError
from cofit.sharing import Scheme
from cofit.sharing.group_streams import Group
from cofit.sharing.shamir.geometry import geometry_of
from cofit.sharing.shamir.party import Shamir
from support.coalitions import numbers
from support.runs import run_scheme
from support.schemes import also_slow, form
from support.views import watched

Key = tuple[str, Group]
NAMES = also_slow(["shamir", "shamir/5"], "shamir/4", "shamir/5/1", "shamir/6", "shamir/7")


def streams_of(s: Scheme) -> dict[Key, Generator]:
    assert isinstance(s, Shamir)
    pairs = {("pair", tuple(sorted((rank, s.rank)))): stream for rank, stream in s._pairs.items()}
    return {**pairs, **{("group", group): stream for group, stream in s._groups.items()}}


def expected(name: str) -> set[Key]:
    spec = form(name).spec
    groups = {("group", group) for group in geometry_of(spec.parties, spec.threshold).groups}
    return {("pair", pair) for pair in combinations(range(spec.parties), 2)} | groups


def first_draws(s: Scheme) -> dict[Key, bytes]:
    return {key: stream.draw(32).tobytes() for key, stream in streams_of(s).items()}


@pytest.mark.parametrize("name", NAMES)
def test_members_of_a_stream_and_nobody_else_draw_the_same(name: str) -> None:
    drawn: dict[Key, bytes] = {}
    for rank, own in enumerate(run_scheme(name, first_draws).results):
        assert set(own) == {key for key in expected(name) if rank in key[1]}
        for key, draw in own.items():
            assert drawn.setdefault(key, draw) == draw
    assert set(drawn) == expected(name)
    assert len(set(drawn.values())) == len(drawn), "every stream is another one, also of a pair that is a group"


# --- seeds -----------------------------------------------------------------------------------------------


class Telling(Shamir):
    """A party that keeps what went into its seeds."""

    def setup(self) -> None:
        self.given: dict[Key, dict[int, bytes]] = {}
        super().setup()

    def _stream(self, kind: str, given: dict[int, bytes]) -> Generator:
        self.given[kind, tuple(sorted(given))] = dict(given)
        return super()._stream(kind, given)


def given_to_all(name: str) -> tuple[dict[Key, dict[int, bytes]], dict[int, bytes]]:
    """What members gave, by stream; and all that each party received."""
    with watched() as views:
        results = run_scheme(Telling, lambda s: s.given, spec=form(name).spec).results  # type: ignore[attr-defined]
    given: dict[Key, dict[int, bytes]] = {}
    for own in results:
        for key, contributions in own.items():
            assert given.setdefault(key, contributions) == contributions, "members have other contributions"
    return given, {rank: views.of(f"party-{rank}", "setup") for rank in range(len(results))}


@pytest.mark.parametrize("name", NAMES)
def test_every_member_contributes_and_no_other_party_sees_it(name: str) -> None:
    given, received = given_to_all(name)
    assert set(given) == expected(name)
    contributions = [(key, rank, seed) for key, own in given.items() for rank, seed in own.items()]
    assert len({seed for _, _, seed in contributions}) == len(contributions), "a contribution is used twice"
    for (_, members), rank, seed in contributions:
        assert len(seed) == SEED_BYTES
        assert {other for other, data in received.items() if seed in data} == set(members) - {rank}
    for (_, members), own in given.items():
        assert set(own) == set(members)


def stream(kind: str, given: dict[int, bytes], session: bytes) -> bytes:
    """The first bytes of a stream of these contributions."""
    names = tuple(f"party-{i}" for i in range(7))
    mesh = SimpleNamespace(terms=SimpleNamespace(session=session))
    party: Any = SimpleNamespace(mesh=mesh, names=names, info=Shamir.info)
    return Shamir._stream(party, kind, given).draw(32).tobytes()


@pytest.mark.parametrize("members", [(0, 1), (1, 3), (0, 2, 4)])
def test_a_seed_depends_on_every_contribution_the_session_the_kind_and_the_members(members: Group) -> None:
    given = {rank: bytes([rank + 1] * SEED_BYTES) for rank in members}
    seen = {stream("group", given, bytes(16)), stream("pair", given, bytes(16)), stream("group", given, b"\x01" * 16)}
    assert stream("group", dict(reversed(given.items())), bytes(16)) in seen, "the order in which they came"
    for rank in members:
        for bit in (0, 8 * SEED_BYTES - 1):
            changed = bytearray(given[rank])
            changed[bit // 8] ^= 1 << bit % 8
            seen.add(stream("group", {**given, rank: bytes(changed)}, bytes(16)))
    seen.add(stream("group", {rank + 1: seed for rank, seed in given.items()}, bytes(16)))
    assert len(seen) == 3 + 2 * len(members) + 1


@pytest.mark.parametrize("name", ["shamir", "shamir/5"])
def test_a_restart_has_new_seeds(name: str) -> None:
    (first, _), (second, _) = given_to_all(name), given_to_all(name)
    contributions = [seed for given in (first, second) for own in given.values() for seed in own.values()]
    assert len(set(contributions)) == len(contributions)
    draws = [run_scheme(name, first_draws).results[0] for _ in range(2)]
    assert not set(draws[0].values()) & set(draws[1].values())


# --- in step ---------------------------------------------------------------------------------------------


def apart(kind: type[Shamir], name: str, drawn: Callable[[Shamir], Generator | None]) -> bool:
    """Whether parties stop when one of them has drawn once more from a stream."""

    def program(s: Scheme) -> None:
        assert isinstance(s, Shamir)
        extra = drawn(s)
        if extra is not None:
            extra.ring(BITS, (1,))
        s.open(s.mul(numbers(s, Z64, 0), numbers(s, Z64, 1)))

    try:
        run_scheme(kind, program, spec=form(name).spec)
    except TransportError as error:
        assert isinstance(error, SequenceError) or "another step" in str(error)
        return True
    return False


@pytest.mark.parametrize("name", ["shamir", "shamir/king", "shamir/5", "shamir/5/king"])
def test_parties_whose_streams_are_apart_stop(name: str) -> None:
    spec = form(name).spec
    geometry = geometry_of(spec.parties, spec.threshold)
    assert not apart(Shamir, name, lambda s: None)
    for rank in (1, spec.parties - 1):
        for group in [g for g in geometry.groups if rank in g][:2]:
            assert apart(Shamir, name, lambda s, r=rank, g=group: s._groups[g] if s.rank == r else None)  # type: ignore[misc]
        other = (rank + 1) % spec.parties
        assert apart(Shamir, name, lambda s, r=rank, o=other: s._pairs[o] if s.rank == r else None)  # type: ignore[misc]


def test_without_positions_in_the_tags_they_would_go_on() -> None:
    """Broken on purpose: then parties open different values, and masks are reused."""
    with mock.patch.object(Shamir, "_common_state", lambda *_: 0):
        assert not apart(Shamir, "shamir/5", lambda s: s._groups[0, 1, 2] if s.rank == 1 else None)


def test_the_tag_has_the_positions_of_all_common_streams() -> None:
    def program(s: Scheme) -> list[tuple[int, Group, bool]]:
        assert isinstance(s, Shamir)
        found = []
        for rank in s._others:
            for key, one in streams_of(s).items():
                before = s._common_state(rank)
                one.ring(Z64, (3,))
                found.append((rank, key[1], s._common_state(rank) != before))
        return found

    for own, found in enumerate(run_scheme("shamir/5", program).results):
        for rank, members, moved in found:
            assert moved == ({rank, own} <= set(members))


def test_no_word_of_a_stream_is_one_of_another() -> None:
    drawn: dict[Key, RingArray] = {}
    for own in run_scheme("shamir/5", lambda s: {k: g.ring(Z64, (1000,)) for k, g in streams_of(s).items()}).results:
        drawn |= own
    together = np.concatenate(list(drawn.values()))
    assert len(drawn) == 20
    assert len(np.unique(together)) == len(together)
