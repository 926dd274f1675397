"""Two checks of repn that race: what is noted while one is under way must be checked, and with a coin thrown later.

Checks of peers were broken so: relations were added while a batch was verified, and were cleared with it; or they
were verified with coins that were public when they were made. Parties here go on with their program in the middle of
a check, which those of ``repn`` never do by themselves. Where a check is weakened, an attack makes a result wrong; as
it is, the same attack ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adversary.protocol.repn_cheats import Outcome, Results, given, run
from cofit.arithmetic import Z64, Generator, Ring, RingArray
from cofit.errors import ProtocolError
from cofit.sharing.repn.check import _Coins
from cofit.sharing.repn.fields import public_stream
from cofit.sharing.repn.folding import InnerProduct
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import CHECKS, Noted
from cofit.sharing.shares import Share

EARLY, LATE = 70, CHECKS + 2
"""Products that are noted before and while a check is under way: together as many folds as the early ones alone."""
X, Y = np.arange(EARLY) * 3 + 1, np.arange(EARLY) - 5


class Meanwhile(Repn):
    """Goes on with ``task`` when the first coin of a check is there, which everybody knows then."""

    task: Callable[[Any], object] | None = None
    told: Sequence[bytes] = ()
    within = False

    def _coin(self, coins: _Coins) -> Generator:
        coin = super()._coin(coins)
        if self.task is not None:
            task, self.task = self.task, None
            self.told, self.within = coins.said[0], True
            outer, self._label = self._label, "meanwhile/"
            task(self)
            self._label, self.within = outer, False
        return coin


def a_race(p: Meanwhile) -> Results:
    """One product before a check, and one in the middle of it; the second is opened."""
    x, y = given(p, 0, X), given(p, len(p.names) - 1, Y)
    p.mul(x, y)
    late: list[Share] = []
    p.task = lambda own: late.append(own.mul(own.select(x, slice(0, LATE)), own.select(y, slice(0, LATE))))
    p.verify()
    return {"late": p.open(late[0])}


# --- weakened parties ------------------------------------------------------------------------------------


class ClearsBehindItself(Meanwhile):
    """Forgets at the end of a check all that was noted by then."""

    def _check(self, noted: Noted) -> None:
        super()._check(noted)
        self.relations.taken()


class TakesMore(Meanwhile):
    """Checks what was noted while the first coin was thrown, too, and with that coin."""

    def _claims(self, noted: Noted, coin: Generator, coins: _Coins) -> list[InnerProduct]:
        for ring, products in self.relations.taken().products.items():
            noted.products[ring] += products
        return super()._claims(noted, coin, coins)


# --- attacks ---------------------------------------------------------------------------------------------


def adds_one(kind: type[Meanwhile]) -> type[Meanwhile]:
    """Return a party whose product is off by one, in the middle of a check."""

    class AddsOne(kind):  # type: ignore[misc, valid-type]
        def _mul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
            summand: RingArray = super()._mul_summand(ring, a, b)
            if self.within:
                summand[0] += np.uint64(1)
            return summand

    return AddsOne


def fits_the_coin(kind: type[Meanwhile]) -> type[Meanwhile]:
    """Return a party that adds 2^63 to such products that all sums which the first coin chooses stay right."""

    class Fits(kind):  # type: ignore[misc, valid-type]
        def _mul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
            summand: RingArray = super()._mul_summand(ring, a, b)
            if self.within:
                coin = public_stream("cofit repn coin", self.mesh.terms.session, *self.told)
                chosen = coin.draw(7 * (EARLY + LATE)).reshape(-1, 7)[EARLY:]
                summand[_unseen(chosen)] ^= np.uint64(1 << 63)
            return summand

    return Fits


def _unseen(chosen: npt.NDArray[np.uint8]) -> list[int]:
    """Return relations of which each of the 56 bits chooses an even number."""
    reduced: list[tuple[int, set[int]]] = []
    for i, row in enumerate(chosen):
        bits, members = int.from_bytes(row.tobytes(), "little"), {i}
        for other, more in reduced:
            if bits >> other.bit_length() - 1 & 1:
                bits, members = bits ^ other, members ^ more
        if not bits:
            return sorted(members)
        reduced.append((bits, members))
    raise AssertionError("more relations than bits")


def is_wrong(outcome: Outcome, corrupted: int) -> bool:
    right = Z64.from_int((X * Y)[:LATE])
    results = [result for rank, result in outcome.results.items() if rank != corrupted]
    return any(isinstance(result, dict) and not np.array_equal(result["late"], right) for result in results)


RACES: dict[str, tuple[type[Meanwhile], Callable[[type[Meanwhile]], type[Meanwhile]]]] = {
    "cleared unchecked": (ClearsBehindItself, adds_one),
    "checked with a public coin": (TakesMore, fits_the_coin),
}


@pytest.mark.parametrize(("parties", "corrupted"), [(3, 1), (5, 4)])
@pytest.mark.parametrize("name", RACES)
def test_what_is_noted_during_a_check_is_checked_with_a_later_coin(name: str, parties: int, corrupted: int) -> None:
    weak, attack = RACES[name]
    assert is_wrong(run(a_race, parties, kinds={corrupted: attack(weak)}, kind=weak), corrupted)  # type: ignore[arg-type]
    outcome = run(a_race, parties, kinds={corrupted: attack(Meanwhile)}, kind=Meanwhile)  # type: ignore[arg-type]
    assert len(outcome.errors([rank for rank in range(parties) if rank != corrupted])) == parties - 1
    assert "not what the parties dealt" in " ".join(map(str, outcome.results.values()))


@pytest.mark.parametrize("kind", [Meanwhile, ClearsBehindItself, TakesMore])
def test_where_nobody_attacks_all_is_right(kind: type[Meanwhile]) -> None:
    outcome = run(a_race, 3, kind=kind)  # type: ignore[arg-type]
    assert not outcome.errors(range(3)) and not is_wrong(outcome, -1)


def a_check_in_a_check(p: Meanwhile) -> Results:
    x, y = given(p, 0, X), given(p, 1, Y)
    product = p.mul(x, y)

    def another(own: Meanwhile) -> None:
        own.mul(x, y)
        own.verify()

    p.task = another
    return {"late": p.open(product)}


def test_no_check_begins_while_another_is_under_way() -> None:
    """They would share memory, and the coins of one could be known before the relations of the other."""
    outcome = run(a_check_in_a_check, 3, kind=Meanwhile)  # type: ignore[arg-type]
    assert len(outcome.errors(range(3))) == 3
    for rank in range(3):
        assert isinstance(outcome.results[rank], ProtocolError) and "under way" in str(outcome.results[rank])
        with pytest.raises(ProtocolError, match="has ended"):
            outcome.parties[rank].verify()
