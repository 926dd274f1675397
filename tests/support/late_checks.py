"""A scheme whose checks are put off: the cleartext twin, where parties compare afterwards what numbers they multiplied.

It keeps nothing secret and only shows what the queue of checks and its costs must do for a scheme that verifies late:
parties exchange a digest of all products since the last time, and one more word for every halving of their number.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cofit.arithmetic import Ring, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.errors import ProtocolError
from cofit.sharing import Share
from cofit.sharing.clear.party import Clear
from cofit.sharing.costs import Costs, VerificationCost
from cofit.sharing.spec import Spec

WORD = 8


class LateChecked(Clear):
    """``tampers``: whether this party's next product is wrong."""

    tampers = False

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        costs, links = super().costs(spec), spec.parties * (spec.parties - 1)
        late = replace(costs.product, deferred=1)
        return replace(
            costs,
            product=late,
            truncated_product=late,
            verification=VerificationCost(1, 32 * links, 1, WORD * links),
        )

    def _noted(self, product: Share) -> Share:
        if self.tampers:
            product = self.add_public(product, product.ring.from_int(np.array(1)))
        self.verification.defer(self._compare, product)
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
