"""The check of everything that was noted, in one go: before anything is opened, stored or exported.

1. Every two parties compare digests of what both were told. Everybody commits to the coins that it will throw.
2. A coin. Claims about all relations follow from it (``lifted.py``, ``bit_claims.py``); they are dealt, and told.
3. What must be 0 modulo 2^k is opened. A second coin says which prime, and how claims are added up.
4. One inner product in each field is folded (``folding.py``), with a coin for every step, and one more under a mask.
5. Every two parties compare again, and the commitments are looked at: then everybody has heard the same coins, thrown
   as committed. The last three elements in each field are opened, and must fit.

A coin is a digest of a nonce of every party. A party says its nonce when all that it awaits of the step before has
come. So no message of a step can depend on the coin after it (``proof.md``).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cofit.arithmetic import Generator, IntegerRing, PowerOfTwoRing, RingArray
from cofit.arithmetic.prg import SEED_BYTES, fresh_seed
from cofit.sharing.repn.bit_claims import FIELD, BitClaims
from cofit.sharing.repn.fields import PrimeField, drawn_prime, public_stream
from cofit.sharing.repn.folding import InnerProduct
from cofit.sharing.repn.integer_claims import IntegerClaims
from cofit.sharing.repn.opening import Opening
from cofit.sharing.repn.relations import Noted, most_elements
from cofit.sharing.repn.vectors import Buffers, Vectors
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.sharing.steps import Protocol
from cofit.transport import Mesh

NONCE_BYTES = SEED_BYTES


@dataclass
class _Coins:
    """Our nonces, and those that everybody said."""

    own: list[bytes]
    said: list[list[bytes]] = field(default_factory=list)

    @property
    def commitment(self) -> bytes:
        return hashlib.sha256(b"".join(self.own)).digest()


class Checking(Opening):
    """One party, with its checks."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._buffers = Buffers()

    def verify(self) -> None:
        """Check all that was noted, and that all were told the same."""
        self.verification.refuse_after_failure()
        if self.relations.any or self.transcript.pending:
            self._check(self.relations.taken())

    def _verify_if_many(self) -> None:
        """Check what takes much memory, after an operation; matrices wait."""
        if not self._within and self.relations.elements >= most_elements(self._part_count):
            self._check(self.relations.taken(matrices=False))

    def _check(self, noted: Noted) -> None:
        try:
            with self.verification.checking(), self.label("verify"):
                self._checked(noted)
        except BaseException:
            self._forget()
            raise

    def _checked(self, noted: Noted) -> None:
        if not noted.any:
            self._run("compare", self._compared())
            self.transcript.pending = False
            return
        lengths = noted.lengths
        levels = max((length - 1).bit_length() for length in lengths.values())
        coins = _Coins([fresh_seed() for _ in range(levels + 3)])
        _, commitments = self._together("commit", self._compared(), self._published(coins.commitment))
        coin = self._coin(coins)
        instances = self._claims(noted, coin, coins)
        for _ in range(levels):
            active = [one for one in instances if one.length > 1]
            dealt = self._together("fold", *(self._dealt_halves(one) for one in active))
            coin = self._coin(coins)
            for one, parts in zip(active, dealt, strict=True):
                one.fold(one.field.draw(coin), parts)
        masks = [self._random(one.field.scalars, (2,)).parts for one in instances]
        dealt = self._together(
            "mask", *(self._dealt_masked(one, _rows(mask)) for one, mask in zip(instances, masks, strict=True))
        )
        coin = self._coin(coins)
        points = [one.field.draw(coin) for one in instances]
        self._run("compare", self._compared())
        self._check_commitments(coins, commitments)
        self._open_last(instances, points, masks, dealt)
        self._buffers.give_back()
        self.transcript.pending = False

    # --- coins -------------------------------------------------------------------------------------------

    def _coin(self, coins: _Coins) -> Generator:
        """Throw the next coin. 1 round."""
        number = len(coins.said)
        return self._seen(coins, self._run("coin", self._published(coins.own[number])))

    def _seen(self, coins: _Coins, said: list[bytes]) -> Generator:
        coins.said.append(said)
        return public_stream("cofit repn coin", self.mesh.terms.session, *said)

    def _check_commitments(self, coins: _Coins, commitments: Sequence[bytes]) -> None:
        for rank in self._peers:
            if hashlib.sha256(b"".join(said[rank] for said in coins.said)).digest() != commitments[rank]:
                raise self._failed("verify", f"'{self.names[rank]}' threw other coins than it had committed to.")

    # --- claims ------------------------------------------------------------------------------------------

    def _claims(self, noted: Noted, coin: Generator, coins: _Coins) -> list[InnerProduct]:
        """Return the inner products that all relations come down to."""
        masks, parts = self.geometry.pairs[self.rank], self._part_count
        integer = {
            ring: IntegerClaims(ring, noted.products.get(ring, []), noted.matrices.get(ring, []), coin)
            for ring in noted.integer_rings
        }
        bits = BitClaims(noted.bits, noted.zero_bits, parts, coin) if noted.has_bits else None
        protocols: list[Protocol[object]] = [
            self._given(ring, (claims.count,), self._everybody, claims.own(masks)) for ring, claims in integer.items()
        ]
        if bits is not None:
            own = bits.own_points(masks)
            protocols.append(self._summed(FIELD.scalars, own.shape, self._everybody, own))
        dealt = self._together("claims", *protocols)
        for (ring, claims), shares in zip(integer.items(), dealt, strict=False):
            claims.take(shares, self._hiding(ring, claims), self._own_groups, self.rank)
        told = b"".join(claims.told for claims in integer.values())
        said = self._run("claims", self._published(told))
        zeros: list[Protocol[object]] = [
            self._opened(Share(ring, claims.zeros(parts)), self._everybody) for ring, claims in integer.items()
        ]
        published, *opened = self._together("coin", self._published(coins.own[1]), *zeros)
        for ring, values in zip(integer, opened, strict=True):
            if not np.array_equal(values, ring.zeros(values.shape)):
                raise self._failed("verify", "Some product is not what the parties dealt.")
        coin = self._seen(coins, published)
        instances = []
        if integer:
            instances.append(self._integer_instance(integer, noted.lengths["integers"], said, coin))
        if bits is not None:
            vectors = Vectors(parts, noted.lengths["bits"], self._buffers)
            claim = bits.claims(dealt[len(integer)].parts, coin, vectors)
            instances.append(InnerProduct(FIELD, *vectors.whole(), claim, masks))
        instances += [self._prime_instance(prime, noted, coin) for prime in noted.prime_rings]
        return instances

    def _hiding(self, ring: PowerOfTwoRing, claims: IntegerClaims) -> list[dict[int, bytes]]:
        """Draw what hides the integers that everybody is told: by dealer, and by our part."""
        size = claims.count * claims.hiding_bytes
        return [
            {self._places[group]: self._groups[group].draw(size).tobytes() for group in held if group in self._places}
            for held in self.geometry.held
        ]

    def _integer_instance(
        self, integer: dict[PowerOfTwoRing, IntegerClaims], length: int, said: list[bytes], coin: Generator
    ) -> InnerProduct:
        modulo, vectors = PrimeField(drawn_prime(coin)), Vectors(self._part_count, length, self._buffers)
        total = [0] * self._part_count
        start = 0
        for claims in integer.values():
            size = len(claims.told)
            own = [message[start : start + size] for message in said]
            start += size
            parts = claims.add_to(modulo, coin, vectors, own, self._constant_part, self._part_count)
            total = [modulo.add(a, b) for a, b in zip(total, parts, strict=True)]
        return InnerProduct(modulo, *vectors.whole(), total, self.geometry.pairs[self.rank])

    def _prime_instance(self, ring: IntegerRing, noted: Noted, coin: Generator) -> InnerProduct:
        """Relations in a prime field need no integers: their weighted sum is the claim."""
        modulo, vectors = PrimeField(ring.modulus), Vectors(self._part_count, noted.lengths[ring.name], self._buffers)
        claim = [0] * self._part_count
        for item in noted.products[ring]:
            weights = modulo.draws(coin, item.count)
            for i, z in enumerate(item.z):
                claim[i] = modulo.add(claim[i], modulo.weighted_sum(z, weights))
            if item.x is not None and item.y is not None:
                xs = [functools.partial(modulo.scale_into, x, weights, terms=item.terms) for x in item.x]
                vectors.add(item.length, xs, [functools.partial(modulo.scale_into, y, None) for y in item.y])
        return InnerProduct(modulo, *vectors.whole(), claim, self.geometry.pairs[self.rank])

    # --- folding -----------------------------------------------------------------------------------------

    def _dealt_halves(self, one: InnerProduct) -> Protocol[tuple[RingArray, ...]]:
        share = yield from self._summed(one.field.scalars, (2,), self._everybody, one.summands())
        return share.parts

    def _dealt_masked(self, one: InnerProduct, masks: RingArray) -> Protocol[tuple[RingArray, ...]]:
        share = yield from self._summed(one.field.scalars, (2,), self._everybody, one.masked_summands(masks))
        return share.parts

    def _open_last(
        self,
        instances: Sequence[InnerProduct],
        points: Sequence[int],
        masks: Sequence[tuple[RingArray, ...]],
        dealt: Sequence[Sequence[RingArray]],
    ) -> None:
        shares = []
        for one, r, mask, parts in zip(instances, points, masks, dealt, strict=True):
            rows = one.opening(r, _rows(mask), parts)
            shares.append(Share(one.field.scalars, tuple(np.ascontiguousarray(column) for column in rows.T)))
        opened = self._together("open", *(self._opened(share, self._everybody) for share in shares))
        for one, values in zip(instances, opened, strict=True):
            x, y, product = map(int, values)
            if one.field.mul(x, y) != product:
                raise self._failed("verify", "Some product is not what the parties dealt.")


def _rows(parts: Sequence[RingArray]) -> RingArray:
    return np.stack(list(parts), axis=1)
