"""The party as a whole: which numbers of parties there are, keys, what is told, and checks before anything goes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, RingArray
from cofit.errors import CofitError, DisputeError, InvalidInputError
from cofit.secret import Party
from cofit.sharing import Scheme
from cofit.sharing.repn.check import _Coins
from cofit.sharing.repn.geometry import geometry_of
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.transcript import Transcript
from support.runs import run_scheme
from unit.sharing.repn.repn_runs import drawn, plain, run, shared

VALUES = Z64.from_int(np.arange(4))


@pytest.mark.parametrize("parties", [1, 2, 4, 6, 8, 9])
def test_other_numbers_of_parties_are_refused(parties: int) -> None:
    with pytest.raises(InvalidInputError, match="3, 5 or 7 computing parties"):
        Repn.info.spec(parties)


@pytest.mark.parametrize(("parties", "threshold"), [(3, 1), (5, 2), (7, 3)])
def test_the_threshold_is_the_largest_minority(parties: int, threshold: int) -> None:
    spec = Repn.info.spec(parties)
    assert spec.threshold == threshold and spec.active
    with pytest.raises(InvalidInputError, match="threshold"):
        Repn.info.spec(parties, threshold + 1)


# --- keys and dealing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("parties", [3, 5])
def test_members_of_a_group_have_its_key_and_others_do_not(parties: int) -> None:
    found = run(lambda p: {g: bytes(s.draw(16)) for g, s in p._groups.items()}, parties)
    keys: dict[Any, set[bytes]] = {}
    for own in found:
        for group, drawing in own.items():
            keys.setdefault(group, set()).add(drawing)
    assert len(keys) == len(geometry_of(parties).groups)
    assert all(len(same) == 1 for same in keys.values())
    assert len(set.union(*keys.values())) == len(keys)


@pytest.mark.parametrize("parties", [3, 5, 7])
def test_dealt_values_add_up(parties: int) -> None:
    def program(p: Repn) -> Any:
        own = drawn(Z64, (4,), f"value {p.rank}")
        each = p._run("deal", p._given(Z64, (4,), p._everybody, own))
        total = p._run("deal", p._summed(Z64, (4,), p._everybody, own))
        return {**{rank: share.parts for rank, share in each.items()}, "all": total.parts}

    found = run(program, parties)
    for rank in range(parties):
        assert np.array_equal(plain(Z64, [own[rank] for own in found], parties), drawn(Z64, (4,), f"value {rank}"))
    total = Z64.signed_sum([drawn(Z64, (4,), f"value {rank}") for rank in range(parties)])
    assert np.array_equal(plain(Z64, [own["all"] for own in found], parties), total)


@pytest.mark.parametrize("parties", [3, 5])
def test_openers_learn_a_sum(parties: int) -> None:
    found = run(lambda p: p._run("open", p._to_openers(Z64, Z64.from_int(np.full(3, p.rank + 1)))), parties)
    for rank, seen in enumerate(found):
        if rank in geometry_of(parties).openers:
            assert Z64.to_int(seen).tolist() == [parties * (parties + 1) // 2] * 3
        else:
            assert seen is None


# --- what was told ---------------------------------------------------------------------------------------


def transcripts(parties: int, lie: tuple[str, int, int] | None = None) -> list[Transcript]:
    """What all hear of one message of everybody in every way; ``lie``: what, by whom, and who hears something else."""
    geometry = geometry_of(parties)
    made = [Transcript(geometry, rank) for rank in range(parties)]
    for rank, own in enumerate(made):
        for sender in range(parties):
            texts = {
                what: np.array([sender, lie == (what, sender, rank)], np.uint64)
                for what in ("dealt", "opened", "public")
            }
            if rank in geometry.own_groups[sender]:
                own.dealt(sender, texts["dealt"])
            if rank in geometry.openers:
                own.opened(sender, texts["opened"])
            own.public(sender, texts["public"].tobytes())
    return made


def disputes(made: list[Transcript]) -> set[tuple[int, int]]:
    session, n = bytes(16), len(made)
    return {(i, j) for i in range(n) for j in range(i) if made[i].common(j, session) != made[j].common(i, session)}


@pytest.mark.parametrize("parties", [3, 5, 7])
def test_two_parties_agree_exactly_if_both_were_told_the_same(parties: int) -> None:
    geometry = geometry_of(parties)
    assert not disputes(transcripts(parties))
    for sender in range(parties):
        for what, hearers in (
            ("dealt", set(geometry.own_groups[sender])),
            ("opened", set(geometry.openers)),
            ("public", set(range(parties))),
        ):
            for odd in hearers:
                found = disputes(transcripts(parties, (what, sender, odd)))
                assert found == {(max(odd, o), min(odd, o)) for o in hearers - {odd}}, (what, sender, odd)


def test_public_messages_are_told_apart() -> None:
    digests = set()
    for said in ([(0, b"ab")], [(0, b"a"), (0, b"b")], [(1, b"ab")], [(0, b"a"), (1, b"b")], [(1, b"b"), (0, b"a")]):
        own = Transcript(geometry_of(3), 0)
        for sender, text in said:
            own.public(sender, text)
        digests.add(own.digest_of_public())
    assert len(digests) == 5


def test_a_session_is_part_of_what_is_compared() -> None:
    own = Transcript(geometry_of(3), 0)
    assert own.common(1, bytes(16)) != own.common(1, bytes([1] * 16))


def test_a_coin_follows_from_what_everybody_says_and_from_nothing_else() -> None:
    def program(p: Repn) -> list[bytes]:
        coins, nonces = _Coins([bytes(32)]), [bytes([rank] * 32) for rank in range(3)]
        said = [nonces, *([*nonces[:i], bytes([9] * 32), *nonces[i + 1 :]] for i in range(3)), nonces[::-1]]
        return [p._seen(coins, one).words((2,)).tobytes() for one in (*said, nonces)]

    first, second, third = run(program)
    assert first == second == third
    assert len(set(first)) == 5 and first[0] == first[-1]


def test_a_commitment_is_to_every_nonce() -> None:
    nonces = [bytes([i] * 32) for i in range(3)]
    own = _Coins(list(nonces)).commitment
    assert all(_Coins([*nonces[:i], bytes(32), *nonces[i + 1 :]]).commitment != own for i in (1, 2))


# --- checks come first -----------------------------------------------------------------------------------


class Watching(Repn):
    """Notes in which order it checks and opens; ``wrong``: deals a wrong product."""

    wrong = False

    def _exchange(
        self,
        operation: str,
        send: Mapping[int, Sequence[RingArray]] | None = None,
        receive: Mapping[int, RingArray] | None = None,
    ) -> None:
        vars(self).setdefault("steps", []).append(self._label + operation)
        super()._exchange(operation, send, receive)


def test_an_opening_is_checked_first_and_nothing_is_checked_twice() -> None:
    def program(p: Repn) -> list[str]:
        share = shared(p, Z64, VALUES)
        product = p.mul(share, share)
        p.open(product)
        p.open(product, [1])
        return list(vars(p)["steps"])

    for names in run(program, 3, Watching):
        assert names.index("mul") < names.index("verify/commit") < names.index("verify/open") < names.index("open")
        assert names.count("verify/commit") == 1 and names.count("verify/compare") == 1


def test_what_was_told_is_compared_even_if_there_is_nothing_to_prove() -> None:
    def program(p: Repn) -> list[str]:
        p.open(p.input(0, VALUES if p.rank == 0 else None, Z64, VALUES.shape))
        return [name for name in vars(p)["steps"] if name != "setup"]

    for names in run(program, 3, Watching):
        assert names == ["input", "verify/compare", "open"]


class Wrong(Watching):
    """Party 0 deals a wrong product."""

    def _mul_summand(self, *arguments: Any) -> RingArray:
        return super()._mul_summand(*arguments) + np.uint64(self.rank == 0)


GOES_OUT: dict[str, Callable[[Repn, Any], object]] = {
    "open": lambda p, share: p.open(share),
    "open to one": lambda p, share: p.open(share, [2]),
    "verify": lambda p, share: p.verify(),
    "verify of the program": lambda p, share: Party(p, {}).verify(),
}


@pytest.mark.parametrize("what", GOES_OUT)
def test_nothing_goes_out_after_a_wrong_product(what: str) -> None:
    def program(p: Repn) -> list[str]:
        share = shared(p, Z64, VALUES)
        product = p.mul(share, share)
        with pytest.raises(CofitError):
            GOES_OUT[what](p, product)
        with pytest.raises(CofitError):
            p.open(share)
        return list(vars(p)["steps"])

    for names in run(program, 3, Wrong):
        assert "open" not in names and "verify/compare" not in names


def test_a_failure_is_a_dispute_and_calls_what_is_to_be_called() -> None:
    called = []

    def program(s: Scheme) -> None:
        s.on_failure = lambda: called.append(s.rank)
        share = shared(s, Z64, VALUES)  # type: ignore[arg-type]
        s.open(s.mul(share, share))

    with pytest.raises(DisputeError) as caught:
        run_scheme(Wrong, program)
    assert called and len(caught.value.parties) == 2
