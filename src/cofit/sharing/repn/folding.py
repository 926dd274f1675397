"""One inner product of shared vectors over a field, made shorter and shorter until it can be opened.

Claim: <x, y> = c, all three shared. With the halves x_0, x_1 of x let f(u) = x_0 + u (x_1 - x_0), g(u) likewise and
h(u) = <f(u), g(u)>, a polynomial of degree 2: h(0) = <x_0, y_0>, h(1) = c - h(0), and its leading coefficient is
<x_1 - x_0, y_1 - y_0>. The parties deal their summands of h(0) and of the leading coefficient; then a coin says r, and
the claim <f(r), g(r)> = h(r) is about vectors half as long. If c was wrong, h is wrong, whatever was dealt, and two
different polynomials of degree 2 agree in at most 2 points r. Source: Goyal and Song, "Malicious security comes free in
honest-majority MPC", eprint 2020/134, section 5 (their compression, with halves).

At the end x y = c for single elements. A uniform pair (a, b) takes the place of a second half: what is opened, f(r) and
g(r) with r not 0, is then uniform, and h(r) is their product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cofit.arithmetic import RingArray
from cofit.arithmetic.integers import Words
from cofit.sharing.repn.fields import Field


@dataclass
class InnerProduct:
    """``xs``, ``ys``: our parts of the vectors. ``claim``: our parts of c. ``masks``: which pairs of parts are ours."""

    field: Field
    xs: list[Words]
    ys: list[Words]
    claim: list[int]
    masks: Sequence[int]

    @property
    def length(self) -> int:
        """How long the vectors are."""
        return len(self.xs[0])

    def summands(self) -> RingArray:
        """Return our summands of h(0) and of the leading coefficient."""
        if self.length % 2:
            self.xs = [np.append(x, np.uint64(0)) for x in self.xs]
            self.ys = [np.append(y, np.uint64(0)) for y in self.ys]
        return np.asarray(self.field.halves(self.xs, self.ys, self.masks), np.uint64)

    def fold(self, r: int, dealt: Sequence[RingArray]) -> None:
        """Go on with f(r) and g(r). dealt: by part, h(0) and the leading coefficient."""
        for i, part in enumerate(dealt):
            start, leading = map(int, part)
            self.claim[i] = self._at(r, start, self.field.sub(self.claim[i], start), leading)
        self.xs = [self.field.fold(x, r) for x in self.xs]
        self.ys = [self.field.fold(y, r) for y in self.ys]

    def _at(self, r: int, start: int, end: int, leading: int) -> int:
        """Return h(r), or our part of it, from h(0), h(1) and the leading coefficient."""
        field = self.field
        slope = field.sub(field.sub(end, start), leading)
        return field.add(start, field.mul(r, slope), field.mul(field.mul(r, r), leading))

    def masked_summands(self, masks: RingArray) -> RingArray:
        """Return our summands of a b and of the leading coefficient; ``masks``: our parts of a and b, (2, parts)."""
        field = self.field
        (a, b), x, y = masks.tolist(), [int(v[0]) for v in self.xs], [int(v[0]) for v in self.ys]
        left = [field.sub(p, q) for p, q in zip(a, x, strict=True)]
        right = [field.sub(p, q) for p, q in zip(b, y, strict=True)]
        return np.asarray([field.summand(a, b, self.masks), field.summand(left, right, self.masks)], np.uint64)

    def opening(self, r: int, masks: RingArray, dealt: Sequence[RingArray]) -> RingArray:
        """Return our parts of f(r), g(r) and h(r), (3, parts)."""
        field, (a, b) = self.field, masks.tolist()
        rows: list[list[int]] = [[], [], []]
        for i, part in enumerate(dealt):
            x, y = int(self.xs[i][0]), int(self.ys[i][0])
            end, leading = map(int, part)
            rows[0].append(field.add(x, field.mul(r, field.sub(a[i], x))))
            rows[1].append(field.add(y, field.mul(r, field.sub(b[i], y))))
            rows[2].append(self._at(r, self.claim[i], end, leading))
        return np.asarray(rows, np.uint64)
