"""Products of shared values: every party deals its summand of the product, and the product is noted, to be checked.

Every pair of groups has a party in common, so every product x_A y_B of summands is known to somebody:
``Geometry.pairs`` says who takes which. What was dealt is believed until ``verify``: see ``relations.py`` and
``proof.md``.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.bit_forms import BitForm, pieces
from cofit.sharing.repn.dealing import Dealing
from cofit.sharing.repn.relations import Relations, most_form_bits
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.sharing.steps import Protocol
from cofit.transport import Mesh

_TERMS = 8  # products that a kernel adds at once


class Products(Dealing):
    """One party, with its part in products."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.relations = Relations()
        self._within = 0

    # --- summands ----------------------------------------------------------------------------------------

    def _pairs_of(self, ring: Ring) -> RingArray:
        """Return which parts of the right operand go with each part of the left one, as a matrix of 0 and 1."""
        return _matrix_of(ring, self.geometry.pairs[self.rank])

    def _rights(self, ring: Ring, parts: Sequence[RingArray]) -> tuple[RingArray, ...]:
        """Return what every part of the left operand is multiplied with."""
        return ring.combined(parts, self._pairs_of(ring))

    def _mul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        rights = self._rights(ring, b.parts)
        pieces = [slice(i, i + _TERMS) for i in range(0, len(rights), _TERMS)]
        sums = [ring.mul_sum(a.parts[piece], rights[piece]) for piece in pieces]
        return sums[0] if len(sums) == 1 else ring.signed_sum(sums)

    def _matmul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        rights, placed = self._rights(ring, b.parts), a.placed
        pieces = [range(i, min(i + _TERMS, len(rights))) for i in range(0, len(rights), _TERMS)]
        sums = [placed.only(*piece).matmul_sum([rights[i] for i in piece]) for piece in pieces]
        return sums[0] if len(sums) == 1 else ring.signed_sum(sums)

    def _inner_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        left, right, sums = a.placed, b.placed, []
        for part, mask in enumerate(self.geometry.pairs[self.rank]):
            others = [i for i in range(self._part_count) if mask >> i & 1]
            for few in (others[i : i + _TERMS] for i in range(0, len(others), _TERMS)):
                sums.append(left.inner_sum((part,) * len(few), right, few))
        return sums[0] if len(sums) == 1 else ring.signed_sum(sums)

    def _first_summand(self, a: Share) -> RingArray | None:
        """Return the sum of those of our parts of which we are the first holder: summands of the value. Local."""
        own = [part for group, part in zip(self._own_groups, a.parts, strict=True) if group[0] == self.rank]
        if not own:
            return None
        return own[0] if len(own) == 1 else a.ring.signed_sum(own)

    # --- products ----------------------------------------------------------------------------------------

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._reduced("mul", ring, self._mul_summand(ring, a, b), shape, shift, plus, (a, b))

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._reduced("matmul", ring, self._matmul_summand(ring, a, b), shape, shift, plus, (a, b))

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        return self._reduced("inner", ring, self._inner_summand(ring, a, b), shape, shift, None, (a, b))

    def _reduced(
        self,
        kind: str,
        ring: Ring,
        summand: RingArray,
        shape: Shape,
        shift: int,
        plus: Share | None,
        factors: tuple[Share, Share],
    ) -> Share:
        """Turn summands of a product into a sharing of (product + plus) / 2^shift, and note what is to be checked."""
        self.verification.refuse_after_failure()
        with self._whole():
            if shift:
                product, result = self._truncated(kind, ring, summand, shape, shift, plus)
            else:
                product = self._run(kind, self._summed(ring, shape, self._everybody, summand))
                result = product if plus is None else self.add(product, plus)
            self.relations.note(kind, *factors, product)
        return result

    @abstractmethod
    def _truncated(
        self, operation: str, ring: Ring, summand: RingArray | None, shape: Shape, shift: int, plus: Share | None
    ) -> tuple[Share, Share]:
        """Return a sharing of the product as it follows from what was opened, and of (product + plus) / 2^shift."""

    @abstractmethod
    def _verify_if_many(self) -> None:
        """Check what was noted, if it is much."""

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """An operation made of others: what they noted is checked after it, not in the middle."""
        self._within += 1
        try:
            yield
        finally:
            self._within -= 1
        self._verify_if_many()

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        """In pieces: what was noted of one is checked, and its memory is used for the next."""
        self.verification.refuse_after_failure()
        found = []
        for words in pieces(form, a.shape[0], b.shape[0], shape[1], most_form_bits(self._part_count)):
            left, right = (self.select(share, (slice(None), words)) for share in (a, b))
            own = form.part(words)
            with self._whole():
                summand = own.sum(left.parts, self._rights(BITS, right.parts))
                product = self._run("forms", self._summed(BITS, summand.shape, self._everybody, summand))
                self.relations.note_form(left, right, own, product)
            found.append(product)
        return found[0] if len(found) == 1 else self.concatenate(found, 1)

    def _times_known(self, ring: Ring, known: RingArray | None, values: Share) -> Protocol[Share]:
        """Return the sum over the first axis of values times what all openers know, of the same shape.

        The openers deal. 1 round, t (t + 1) elements.
        """
        own = None
        if known is not None:
            chosen = [values.parts[i] for i in self.geometry.with_openers[self.rank]]
            own = ring.sum(ring.mul(ring.signed_sum(chosen), known), 0)
        result = yield from self._summed(ring, values.shape[1:], self.geometry.openers, own)
        factor = self._of_openers(ring, values.shape, known)
        self.relations.note("inner", _last(factor), _last(values), result)
        return result

    def _note_binary(self, values: Share) -> None:
        """Have it checked that all values are 0 or 1: x x = x leaves nothing else, in Z_2^k and in fields."""
        self.relations.note("mul", values, values, values)


def _last(a: Share) -> Share:
    return a.linear(lambda part: np.moveaxis(part, 0, -1))


@functools.cache
def _matrix_of(ring: Ring, masks: tuple[int, ...]) -> RingArray:
    bits = [[mask >> i & 1 for i in range(len(masks))] for mask in masks]
    if ring is BITS:
        return np.asarray([[(1 << 64) - 1 if bit else 0 for bit in row] for row in bits], np.uint64)
    return ring.from_int(np.asarray(bits))
