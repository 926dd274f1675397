"""The random oblivious transfers of two parties, in both directions: made many at a time, each taken once.

In a transfer the sender has two random strings and the chooser a random bit and that one of the two. Both parties take
transfers in the same order, in words of 64; when one direction runs out, both are filled up, by one message each way
(``Refills`` says by how many: public facts). Nothing is kept from one session to the next: base transfers, trees and
Delta are fresh, separate for each direction, and a transfer's number is the tweak of its hash, which never comes again.

Sources: ``base_ot``, ``trees``, ``extension``, ``hashing``. The argument: ``proof.md``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import PowerOfTwoRing, RingArray
from cofit.arithmetic.integers import Words
from cofit.arithmetic.prg import derive_seed
from cofit.sharing.pair import base_ot, hashing, trees
from cofit.sharing.pair.extension import QUANTUM, Chooser, Sender, corrections_bytes

Bytes = npt.NDArray[np.uint8]
Swap = Callable[[str, Bytes, Bytes], None]
"""Sends bytes to the other party and fills an array with what it sends, under the label of an operation."""

WORD = 64
FEWEST = 1 << 12
MOST = 1 << 21
"""So many transfers are made at once, or as many as are needed: each takes 16 bytes in either direction."""
SETUP_ROUNDS = 2
SETUP_BYTES = 2 * (base_ot.OFFER_BYTES + base_ot.REPLY_BYTES + trees.SUMS_BYTES)
_DIRECTION = 1 << 62  # of tweaks: rank 0 sends below it, rank 1 from it on


class Refills:
    """How many transfers are left for either sender, and how many are made when: the same at both parties."""

    def __init__(self) -> None:
        self._left = [0, 0]
        self._made = 0

    def take(self, by_first: int, by_second: int) -> int:
        """Return how many are made, in both directions, before so many are taken; numbers of transfers.

        by_first: with the party of rank 0 as their sender.
        """
        short = max(by_first - self._left[0], by_second - self._left[1])
        made = 0
        if short > 0:
            made = -(-max(short, min(MOST, max(FEWEST, self._made))) // QUANTUM) * QUANTUM
            self._made += made
        self._left = [self._left[0] + made - by_first, self._left[1] + made - by_second]
        return made


def refill_bytes(made: int) -> int:
    """Return what both parties together send for ``made`` transfers in each direction."""
    return 2 * corrections_bytes(made)


class Sending(NamedTuple):
    """Transfers of which we have both strings: the rows, the number of the first, Delta, and the hash's key."""

    rows: Words
    first: int
    delta: Words
    key: bytes = hashing.KEY

    def __repr__(self) -> str:
        return "<Sending>"

    def bits(self) -> tuple[Words, Words]:
        """Return both strings of one bit, 64 transfers in a word."""
        zeros = hashing.bits(self.rows, self.first, None, self.key)
        return zeros, hashing.bits(self.rows, self.first, self.delta, self.key)

    def planes(self, count: int) -> tuple[Words, Words]:
        """Return both strings of ``count`` bits, a row for each bit."""
        if count == 1:
            zeros, ones = self.bits()
            return zeros[None], ones[None]
        zeros = hashing.planes(self.rows, self.first, count, None, self.key)
        return zeros, hashing.planes(self.rows, self.first, count, self.delta, self.key)

    def elements(self, ring: PowerOfTwoRing) -> tuple[RingArray, RingArray]:
        """Return both strings as elements of a ring."""
        zeros = _elements(ring, self.rows, self.first, None, self.key)
        return zeros, _elements(ring, self.rows, self.first, self.delta, self.key)


class Choosing(NamedTuple):
    """Transfers of which we have the chosen string: rows, the number of the first, the choices, packed, and the
    hash's key.
    """

    rows: Words
    first: int
    choices: Words
    key: bytes = hashing.KEY

    def __repr__(self) -> str:
        return "<Choosing>"

    def bits(self) -> Words:
        """Return the chosen strings of one bit."""
        return hashing.bits(self.rows, self.first, None, self.key)

    def planes(self, count: int) -> Words:
        """Return the chosen strings of ``count`` bits, a row for each bit."""
        if count == 1:
            return self.bits()[None]
        return hashing.planes(self.rows, self.first, count, None, self.key)

    def elements(self, ring: PowerOfTwoRing) -> RingArray:
        """Return the chosen strings as elements of a ring."""
        return _elements(ring, self.rows, self.first, None, self.key)


class Transfers:
    """One party's end of both directions."""

    def __init__(self, rank: int, swap: Swap) -> None:
        self._rank = rank
        self._swap = swap
        self._refills = Refills()
        self._sent = self._chosen = 0
        self._sending = np.empty((0, 2), np.uint64)
        self._choosing = np.empty((0, 2), np.uint64)
        self._choices = np.empty(0, np.uint64)

    def start(self, session: bytes, swap: Swap, offer_with: Bytes, heard_with: Bytes) -> None:
        """Make the base transfers and trees of both directions; 2 rounds.

        swap: for these messages. offer_with, heard_with: what else travels in the first message, and room for the
        other party's.
        """
        delta = np.frombuffer(secrets.token_bytes(trees.DELTA_BITS), np.uint8) & np.uint8(1)
        self._key = derive_seed(session, "pair hash")[: hashing.KEY_BYTES]
        mine, theirs = (session + bytes([rank]) for rank in (self._rank, 1 - self._rank))
        offer, message = base_ot.offered(trees.base_choices(delta))
        heard = np.empty(len(heard_with) + base_ot.OFFER_BYTES, np.uint8)
        swap("setup", np.concatenate([offer_with, message]), heard)
        heard_with[:] = heard[: len(heard_with)]
        pairs, reply = base_ot.replied(heard[len(heard_with) :], theirs)
        leaves, sums = trees.grown(pairs)
        answer = np.empty(base_ot.REPLY_BYTES + trees.SUMS_BYTES, np.uint8)
        swap("setup", np.concatenate([reply, sums]), answer)
        keys = base_ot.received(offer, answer[: base_ot.REPLY_BYTES], mine)
        self._sender = Sender(trees.punctured(delta, keys, answer[base_ot.REPLY_BYTES :]), delta)
        self._chooser = Chooser(leaves)

    @property
    def position(self) -> int:
        """How many were taken, in a number that tells the directions apart; the same at both parties."""
        both = (self._sent, self._chosen)
        return both[self._rank] * 3 + both[1 - self._rank] * 5

    def take(self, sent: int, chosen: int) -> tuple[Sending, Choosing]:
        """Return so many words of transfers that we send, and that we choose; new ones are made where these are short.

        The other party takes as many the other way round.
        """
        counts = sent * WORD, chosen * WORD
        made = self._refills.take(counts[self._rank], counts[1 - self._rank])
        if made:
            self._refill(made)
        sending = Sending(
            self._sending[: counts[0]], self._tweak(self._rank, self._sent), self._sender.delta, self._key
        )
        choosing = Choosing(
            self._choosing[: counts[1]], self._tweak(1 - self._rank, self._chosen), self._choices[:chosen], self._key
        )
        self._sending, self._choosing = self._sending[counts[0] :], self._choosing[counts[1] :]
        self._choices = self._choices[chosen:]
        self._sent, self._chosen = self._sent + counts[0], self._chosen + counts[1]
        return sending, choosing

    def _refill(self, count: int) -> None:
        rows, choices, corrections = self._chooser.extend(count)
        heard = np.empty(corrections_bytes(count), np.uint8)
        self._swap("transfers", corrections, heard)
        self._choosing = np.concatenate([self._choosing, rows])
        self._choices = np.concatenate([self._choices, choices])
        self._sending = np.concatenate([self._sending, self._sender.extend(count, heard)])

    @staticmethod
    def _tweak(sender: int, number: int) -> int:
        return sender * _DIRECTION + number


def _elements(ring: PowerOfTwoRing, rows: Words, first: int, delta: Words | None, key: bytes) -> RingArray:
    hashed = hashing.words(rows, first, delta, key) if ring.words == 1 else hashing.wide(rows, first, delta, key)
    return ring.from_words(hashed.reshape(-1))
