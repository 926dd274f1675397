"""A scheme whose checks are put off: the cleartext twin, where parties compare afterwards what numbers they multiplied.

It keeps nothing secret and only shows what the queue of checks and its costs must do for a scheme that verifies late:
parties exchange a digest of all products since the last time, and one more word for every halving of their number.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cofit.arithmetic import Ring, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.errors import ProtocolError
from cofit.sharing import Share
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.clear.party import Clear
from cofit.sharing.costs import Costs, LateChecks, Sent
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

WORD = 8


class Counted(LateChecks):
    """How many products there were, and what it takes to compare them among so many links."""

    def __init__(self, links: int) -> None:
        self.links, self.count = links, 0

    def told(self) -> None:
        pass

    def products(self, ring: Ring, count: int, terms: int = 1) -> None:
        del ring, terms
        self.count += count

    def zeros(self, ring: Ring, count: int) -> None:
        pass

    def matrix(self, a: Share, columns: int) -> None:
        self.count += math.prod(a.shape[:-1]) * columns

    def ands(self, words: int) -> None:
        pass

    def form(self, form: BitForm, left: int, right: int, words: int) -> None:
        pass

    def grown(self) -> Sent:
        return Sent(0, 0)

    def verify(self) -> Sent:
        halvings, any_ = (self.count - 1).bit_length(), bool(self.count)
        self.count = 0
        return Sent(1 + halvings, self.links * (32 + WORD * halvings)) if any_ else Sent(0, 0)


class LateChecked(Clear):
    """``tampers``: whether this party's next product is wrong."""

    tampers = False

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.noted: list[Share] = []

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        return replace(super().costs(spec), late=functools.partial(Counted, spec.parties * (spec.parties - 1)))

    def verify(self) -> None:
        with self.verification.checking():
            noted, self.noted = self.noted, []
            if noted:
                self._compare(noted)

    def _noted(self, product: Share) -> Share:
        self.verification.refuse_after_failure()
        if self.tampers:
            product = self.add_public(product, product.ring.from_int(np.array(1)))
        self.noted.append(product)
        return product

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        product = super()._mul(ring, a, b, shape, shift, plus)
        return product if ring is BITS else self._noted(product)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._noted(super()._matmul(ring, a, b, shape, shift, plus))

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        return self._noted(super()._inner(ring, a, b, shape, shift))

    def _compare(self, products: Sequence[Share]) -> None:
        digest = hashlib.sha256(b"".join(product.parts[0].tobytes() for product in products)).digest()
        others = [rank for rank in range(len(self.names)) if rank != self.rank]
        for message in (digest, *[digest[:WORD]] * (sum(map(_elements, products)) - 1).bit_length()):
            heard = {rank: np.empty(len(message), np.uint8) for rank in others}
            self._exchange("verify", {rank: [np.frombuffer(message, np.uint8)] for rank in others}, heard)
            if any(heard[rank].tobytes() != message for rank in others):
                raise ProtocolError("The parties have multiplied differently.")


def _elements(share: Share) -> int:
    return math.prod(share.shape)
