"""The claims of ``lifted.py`` of one ring, in the order in which they are made, dealt, told and taken up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cofit.arithmetic import Generator, PowerOfTwoRing, RingArray
from cofit.arithmetic.integers import Words
from cofit.sharing.group_streams import Group
from cofit.sharing.repn import lifted
from cofit.sharing.repn.columns import column, entries, repeated
from cofit.sharing.repn.fields import PrimeField
from cofit.sharing.repn.relations import CHECKS, Matrix, Products
from cofit.sharing.repn.vectors import Vectors
from cofit.sharing.shares import Share

_LIMBS = 4  # words in which a hidden integer is taken


class IntegerClaims:
    """All claims: first those of products, then those of every matrix."""

    def __init__(
        self, ring: PowerOfTwoRing, products: Sequence[Products], matrices: Sequence[Matrix], coin: Generator
    ) -> None:
        self.ring = ring
        self._batches = lifted.batches(ring, products, coin)
        self._matrices = [lifted.projected(ring, matrix, coin) for matrix in matrices]
        self.count = CHECKS * (1 + CHECKS * len(matrices))
        self.hiding_bytes = (ring.bits + lifted.HIDING_BITS) // 8

    def own(self, masks: Sequence[int]) -> RingArray:
        """Compute our P, and return them modulo 2^k."""
        sums = [lifted.own_sums(self.ring, self._batches, masks)]
        sums += [lifted.own_products(self.ring, matrix, masks) for matrix in self._matrices]
        self._sums = np.concatenate(sums)
        return self.ring.from_words(self._sums[:, : self.ring.words].reshape(-1))

    def take(
        self, dealt: Mapping[int, Share], hiding: Sequence[Mapping[int, bytes]], groups: Sequence[Group], rank: int
    ) -> None:
        """Take what was dealt, and the draws that hide what we tell; both by dealer and by our part."""
        self._dealt = [
            {i: dealt[dealer].parts[i] for i, group in enumerate(groups) if dealer in group}
            for dealer in range(len(hiding))
        ]
        self._hiding = hiding
        own, bits = self._dealt[rank], self.ring.bits
        total = column(self._sums) + repeated(len(own) << bits, self.count)
        total -= sum(column(self.ring.to_words(part).reshape(self.count, -1)) for part in own.values())
        total -= total & repeated((1 << bits) - 1, self.count)  # 0, unless we deal something else than our sums
        masks = (np.frombuffer(drawn, np.uint8).reshape(self.count, -1) for drawn in hiding[rank].values())
        told = (total >> bits) + sum(map(column, masks))
        self._told = entries(told, self.count, lifted.claim_bytes(self.ring)).tobytes()

    @property
    def told(self) -> bytes:
        """W, for everybody."""
        return self._told

    def zeros(self, parts: int) -> tuple[RingArray, ...]:
        """Return our parts of what must be 0 modulo 2^k."""
        found = []
        for i in range(parts):
            dealt = self.ring.signed_sum(
                [known[i] for known in self._dealt if i in known] or [self.ring.zeros((self.count,))]
            )
            z = [lifted.linear_sums(self.ring, self._batches, i)]
            z += [self.ring.from_words(np.ascontiguousarray(matrix.z[i]).reshape(-1)) for matrix in self._matrices]
            found.append(self.ring.sub(dealt, np.concatenate(z)))
        return tuple(found)

    def add_to(
        self,
        field: PrimeField,
        coin: Generator,
        vectors: Vectors,
        said: Sequence[bytes],
        public: int | None,
        parts: int,
    ) -> list[int]:
        """Add our vectors, and return our parts of the claim: all P, in random combination.

        said: W, by rank. public: which of our parts what is public goes into.
        """
        sigma = field.draws(coin, self.count)
        first = CHECKS
        for batch in self._batches:
            vectors.add_batch(field, self.ring, batch, sigma[:first])
        for i, matrix in enumerate(self._matrices):
            start = first + i * first * first
            vectors.add_matrix(field, self.ring, matrix, sigma[start : start + first * first])
        shift = pow(2, self.ring.bits, field.prime)
        claim = [0] * parts
        for known, drawn in zip(self._dealt, self._hiding, strict=True):
            for i, part in known.items():
                plain = field.weighted_sum(self.ring.to_words(part), sigma, self.ring.words)
                hidden = self._weighted_integers(field, drawn[i], self.hiding_bytes, sigma)
                claim[i] = field.sub(field.add(claim[i], plain), field.mul(shift, hidden))
        if public is not None:
            total = sum(self._weighted_integers(field, w, lifted.claim_bytes(self.ring), sigma) for w in said)
            lost = field.mul(field.total(sigma), parts * len(said))  # every W has one more for every part
            claim[public] = field.add(claim[public], field.mul(shift, field.sub(total % field.prime, lost)))
        return claim

    def _weighted_integers(self, field: PrimeField, raw: bytes, size: int, sigma: Words) -> int:
        padded = np.zeros((self.count, 8 * _LIMBS), np.uint8)
        padded[:, :size] = np.frombuffer(raw, np.uint8).reshape(self.count, size)
        limbs = padded.view(np.uint64)
        halves = [np.ascontiguousarray(limbs[:, 2 * i : 2 * i + 2]).reshape(-1) for i in range(_LIMBS // 2)]
        low, high = (field.weighted_sum(half, sigma, 2) for half in halves)
        return field.add(low, field.mul(high, pow(2, 128, field.prime)))
