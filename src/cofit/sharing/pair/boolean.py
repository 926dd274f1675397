"""Bits of two parties alone: rows that take part in several products choose once for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from cofit.sharing.bit_forms import Outer, SideBySide
from cofit.sharing.blank import BlankBoolean
from cofit.sharing.boolean import Boolean
from cofit.sharing.packed_bits import PackedBoolean
from cofit.sharing.shares import BitShare

Groups = Sequence[tuple[Sequence[int], Sequence[int]]]


class PairBoolean(PackedBoolean):
    """One party's side."""

    def products(self, a: BitShare, b: BitShare, groups: Groups) -> BitShare:
        return grouped(self, a, b, groups)


class BlankPairBoolean(BlankBoolean):
    """The same without values."""

    def products(self, a: BitShare, b: BitShare, groups: Groups) -> BitShare:
        return grouped(self, a, b, groups)


def grouped(boolean: Boolean, a: BitShare, b: BitShare, groups: Groups) -> BitShare:
    """Return the products of every group as one form, in which the side with fewer rows chooses."""
    swapped = [len(rows) > len(others) for rows, others in groups]
    both = boolean.stack_rows([a, b])
    left: list[int] = []
    right: list[int] = []
    order: list[int] = []
    for (rows, others), swap in zip(groups, swapped, strict=True):
        own, other = list(rows), [a.rows + j for j in others]
        place = len(order)
        left += other if swap else own
        right += own if swap else other
        pairs = [(n, m) for n in range(len(own)) for m in range(len(other))]
        order += [place + (m * len(own) + n if swap else n * len(other) + m) for n, m in pairs]
    sizes = [
        (len(others), len(rows)) if swap else (len(rows), len(others))
        for (rows, others), swap in zip(groups, swapped, strict=True)
    ]
    form = SideBySide(tuple((m, n, Outer()) for m, n in sizes))
    made = boolean.bilinear(boolean.select_rows(both, left), boolean.select_rows(both, right), form)
    return boolean.select_rows(made, order)
