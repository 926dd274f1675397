"""What sums of products cost, without values: those of one session, partial sums of shards, and clipped ones."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from cofit.arithmetic import Ring, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.carry_tables import ENTRIES, group_count
from cofit.sharing.adder import carry_out
from cofit.sharing.blank import Blank, blank_bits
from cofit.sharing.costs import Cost, Costs
from cofit.sharing.shares import Share
from cofit.sharing.sums import Clip, Kind, PartialSum, ProductSum


class MeteredSums(Blank):
    """The part of a meter that counts sums of products."""

    _costs: Costs

    def product_sums(self, wanted: Sequence[ProductSum | PartialSum]) -> list[Share]:
        if not self._costs.joins_sums:
            return super().product_sums(wanted)
        for one in wanted:
            if isinstance(one, ProductSum):
                self._count_terms(one)
        costs = [self._costs.truncated_product if one.shift else self._costs.product for one in wanted]
        self._send(max(cost.rounds for cost in costs), 0)
        return [
            self._count(replace(cost, rounds=0), one.ring, one.shape, shift=one.shift)
            for cost, one in zip(costs, wanted, strict=True)
        ]

    def partial_sum(self, one: ProductSum) -> PartialSum:
        """Where products are local before their truncation: nothing is sent, but for what is added to the first."""
        if not self._costs.adds_products:
            return super().partial_sum(one)
        if not self._costs.joins_sums:
            self._with_others(one)
            one = one._replace(products=one.products[:1])
        self._count_terms(one)
        return PartialSum(one.ring, self._blank(one.ring, one.shape).parts, one.shift)

    def _sum_in_turn(self, one: ProductSum | PartialSum) -> Share:
        if isinstance(one, ProductSum) or not self._costs.adds_products:
            return super()._sum_in_turn(one)
        return self._product(one.ring, None, None, one.shape, one.shift)

    def _count_terms(self, one: ProductSum) -> None:
        """Count the multiply-adds of a sum."""
        for product in one.products:
            a, b = product.lefts[0], product.rights[0]
            if product.kind is Kind.MATMUL:
                self._count_products(one.ring, self._terms(a, self._costs.product_terms) * math.prod(b.shape[1:]))
            elif product.kind is Kind.INNER:
                self._count_products(one.ring, self._terms(a, self._costs.inner_terms))

    @property
    def clips(self) -> bool:
        return self._costs.clip is not None

    def clipped_sum(self, one: ProductSum, clip: Clip) -> Share:
        cost = self._costs.clip
        if cost is None:
            return super().clipped_sum(one, clip)
        self._count_terms(one)
        count, groups = math.prod(one.shape), group_count(clip.bits)
        words = packed_length(count)
        self._count(cost.opened, one.ring, one.shape)
        self._send(0, cost.tables * groups * ENTRIES * words * BITS.element_bytes)
        self._count(cost.signals, BITS, (2 * groups - 1, 2 * words))
        signals = blank_bits(groups, 2 * 64 * words)
        carry_out(self.boolean, signals, signals, groups)
        return self._count(cost.result if one.shift else cost.exact_result, one.ring, one.shape, shift=one.shift)

    # --- what a meter has beside -------------------------------------------------------------------------

    @abstractmethod
    def _send(self, rounds: int, size: int) -> None: ...

    @abstractmethod
    def _count(self, cost: Cost, ring: Ring, shape: Shape, *operands: Shape | None, shift: int = 0) -> Share: ...

    @abstractmethod
    def _count_products(self, ring: Ring, multiply_adds: int) -> None: ...

    @abstractmethod
    def _terms(self, a: Share, terms: int) -> int: ...

    @abstractmethod
    def _product(self, ring: Ring, left: Shape | None, right: Shape | None, shape: Shape, shift: int) -> Share: ...
