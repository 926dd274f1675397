"""Corrupted parties of repn that know what they do: they deal what is no bit, prove with other numbers, throw other
coins than they committed to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import fresh_seed
from cofit.sharing.repn.check import _Coins
from cofit.sharing.repn.fields import drawn_prime
from cofit.sharing.repn.folding import InnerProduct
from cofit.sharing.repn.integer_claims import IntegerClaims
from cofit.sharing.repn.lifted import claim_bytes
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import CHECKS, Noted
from cofit.sharing.repn.wraps import CARRY_BITS, Family
from cofit.sharing.shares import Share
from cofit.sharing.steps import Messages, Protocol

CLAIM = claim_bytes(Z64)
CLAIMS = CLAIM * CHECKS


class NoBits(Repn):
    """Deals something else than a bit where it deals masks."""

    value = 2

    def _own_bits(self, rows: int, count: int) -> npt.NDArray[Any]:
        bits = super()._own_bits(rows, count).astype(np.int64)
        bits[0, 0] = self.value
        return bits


def no_bits(value: int) -> type[Repn]:
    """Return a masker that deals this in place of a bit."""
    return type("NoBits", (NoBits,), {"value": value})


class WrongDigits(Repn):
    """Deals digits that do not add up to what its groups have: bits, but of another number."""

    def _total(self, family: Family, masker: int) -> npt.NDArray[np.int64]:
        total = super()._total(family, masker)
        total[0] ^= 1
        return total


class WrongNumbers(Repn):
    """Deals numbers in place of binary digits that add up to the right number: h_0 + 2, h_1 - 1."""

    def _given(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, Share]]:
        if own is not None and "verify" not in self._label and len(shape) == 2 and shape[0] > 2:
            own = own.copy()
            start = 2 * CARRY_BITS if len(self.geometry.maskers) > 1 else 0
            own[start] += np.uint64(2)
            own[start + 1] -= np.uint64(1)
        return super()._given(ring, shape, dealers, own)


class WrongCarries(Repn):
    """Deals wrong carries where it adds up its summands in binary."""

    def _given(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, Share]]:
        if own is not None and "bits" in self._label and "verify" not in self._label:
            own = own.copy()
            own[0, 0] ^= np.uint64(1)
        return super()._given(ring, shape, dealers, own)


# --- in the check ----------------------------------------------------------------------------------------


def other_nonce(which: int) -> type[Repn]:
    """Return a party that throws another coin than it committed to, of so many: -1 is the last."""

    class Other(Repn):
        def _coin(self, coins: _Coins) -> Generator:
            self._change(coins, len(coins.said))
            return super()._coin(coins)

        def _claims(self, noted: Noted, coin: Generator, coins: _Coins) -> list[InnerProduct]:
            self._change(coins, 1)
            return super()._claims(noted, coin, coins)

        def _change(self, coins: _Coins, number: int) -> None:
            if number == which % len(coins.own):
                coins.own[number] = fresh_seed()

    return Other


class WrongProduct(Repn):
    """Adds an error to the first element of every product outside of checks, and believes it."""

    error = 1

    def _mul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        summand = super()._mul_summand(ring, a, b)
        if ring is Z64:
            summand.reshape(-1)[:1] += np.uint64(self.error)
        return summand


class FittingClaims(WrongProduct):
    """And deals claims that fit the wrong product modulo 2^k: P + b e in place of P, as integers."""

    _chosen: npt.NDArray[np.uint64] | None = None
    _deals = False

    def _seen(self, coins: _Coins, said: list[bytes]) -> Generator:
        """Keep the same coin once more."""
        self._again = super()._seen(coins, said)
        coins.said.pop()
        return super()._seen(coins, said)

    def _claims(self, noted: Noted, coin: Generator, coins: _Coins) -> list[InnerProduct]:
        self._chosen = None
        if self.error:
            found = IntegerClaims(Z64, noted.products[Z64], [], self._again)
            self._chosen = np.unpackbits(found._batches[0].coefficients[0], bitorder="little").astype(np.uint64)
            self._deals = True
        return super()._claims(noted, coin, coins)

    def _given(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, Share]]:
        if self._deals and self._chosen is not None and own is not None:
            own, self._deals = ring.add(own, self._chosen * np.uint64(self.error)), False
        return super()._given(ring, shape, dealers, own)

    def _published(self, payload: bytes) -> Protocol[list[bytes]]:
        """W was rounded down where something was added."""
        if self._chosen is not None and len(payload) == CLAIMS:
            told = [int.from_bytes(payload[i : i + CLAIM], "little") for i in range(0, CLAIMS, CLAIM)]
            payload = b"".join((w + int(b)).to_bytes(CLAIM, "little") for w, b in zip(told, self._chosen, strict=True))
        return super()._published(payload)


class Remembers(FittingClaims):
    """Its first product is right; the second is off by the prime that was drawn for the first."""

    error = 0

    def _integer_instance(self, *arguments: Any) -> InnerProduct:
        type(self).error = drawn_prime(self._again)
        return super()._integer_instance(*arguments)


class WrongClaims(Repn):
    """Tells another W, ``told``; or deals another claim, ``dealt``."""

    told, dealt = 0, 0

    def _published(self, payload: bytes) -> Protocol[list[bytes]]:
        if self.told and len(payload) == CLAIMS:
            first = int.from_bytes(payload[:CLAIM], "little") + self.told
            payload = (first % (1 << 8 * CLAIM)).to_bytes(CLAIM, "little") + payload[CLAIM:]
        return super()._published(payload)

    def _given(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, Share]]:
        if own is not None and self._label == "verify/" and self.dealt:
            own = own.copy()
            own[0] += np.uint64(self.dealt)
        return super()._given(ring, shape, dealers, own)


def wrong_claims(told: int, dealt: int) -> type[Repn]:
    """Return a party whose first claim is off: by 2^k ``told`` + ``dealt``."""
    return type("WrongClaims", (WrongClaims,), {"told": told, "dealt": dealt})


class TwoStories(Repn):
    """Tells the last receiver of what it deals another value than the others, and goes on with the first."""

    def _dealt(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, dict[tuple[int, ...], RingArray]]]:
        protocol = super()._dealt(ring, shape, dealers, own)
        messages = next(protocol)
        yield Messages(self._told(ring, messages.send), messages.receive)
        try:
            next(protocol)
        except StopIteration as end:
            found: dict[int, dict[tuple[int, ...], RingArray]] = end.value
            return found
        raise AssertionError("one exchange")

    def _told(self, ring: Ring, send: Mapping[int, Sequence[RingArray]]) -> dict[int, Sequence[RingArray]]:
        told = dict(send)
        if told and "verify" not in self._label:
            last = max(told)
            told[last] = [ring.add(array, ring.from_int(np.ones(array.shape, np.int64))) for array in told[last]]
        return told
