"""How often a sum of masks wraps: what openers must know of masks that they do not know, shared among them.

Every masker j has a digit h_j of q bits, private to it: the top digit of its mask, say. Openers know a public digit v.
Their sum has wrapped w(v) = floor((h_0 + h_1 + ... + 2^q - 1 - v) / 2^q) times (``proof.md``, "Wraps"). Here all w(v),
v = 0 ... 2^q - 1, are shared as sums among the openers, each of whom then picks the one that it needs: nobody learns v
or h_j. The digits go in *families*, of which each has its own q; all travel together.

- S_u = [h > u] is the thermometer of a digit h, and e_a = [h = a] its one-hot row. The first masker deals e, the others
  deal S (u < 2^q - 1; S of 2^q - 1 is 0, and e_0 = 1 - e_1 - ...).
- P is the one-hot row of the sum so far modulo 2^q. A further masker but the last: P'_m = sum_a P_a E_(m-a mod 2^q),
  where E_b = S_(b-1) - S_b; what is carried out of it is sum_a P_a S_(2^q-1-a).
- The last one: w(v) = carried + sum_m P_m (S_(v-m mod 2^q) + [m > v]).
- h_0 + h_1 + ... = w(0) + w(1) + ... (Hermite's identity), so w(0) is not computed by products.

With one masker w(v) = S_v, which it deals to the openers as sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.sharing.shamir.resharing import Beside, Resharing
from cofit.sharing.shares import Share

Digits = npt.NDArray[np.uint8]
_Pairs = Sequence[Sequence[tuple[int, int]]]
_TERMS = 8  # products that a kernel adds at once


class Summands(NamedTuple):
    """An opener's summands: of w(v), for every family an array (2^q, ...), and of the maskers' plain values."""

    wraps: list[RingArray]
    plain: RingArray


def digit_values(widths: Sequence[int]) -> int:
    """Return how many values a masker deals for its digits of these widths."""
    return sum((1 << q) - 1 for q in widths)


class Wraps(Resharing):
    """One party, with its part in counting wraps."""

    def _count_wraps(
        self,
        operation: str,
        ring: Ring,
        shape: Shape,
        widths: Sequence[int],
        digits: Sequence[Digits] | None,
        plain: RingArray | None,
        beside: Beside,
        has_plain: bool = True,
    ) -> Summands | None:
        """Share the wraps of every family among the openers; the others return None.

        A masker passes its ``digits`` and, where ``has_plain``, a ``plain`` value, whose sum over the maskers is shared
        as well. beside: what openers send each other in the first exchange. 1 round for one masker, t for t of them.
        """
        count = digit_values(widths)
        if self.geometry.threshold == 1:
            rows = None
            if digits is not None:
                rows = np.concatenate([_thermometer(ring, h, q) for h, q in zip(digits, widths, strict=True)])
            pieces = self._to_openers(operation, ring, _below(rows, plain), (count + has_plain, *shape), beside)
            return None if pieces is None else self._of_one(ring, pieces, widths)
        first, *others = self._dealt_digits(operation, ring, shape, widths, digits, beside)
        *middle, last = others
        sums, carried = first, [ring.zeros(shape) for _ in widths]
        for masker in middle:
            sums, carried = self._added(operation, ring, shape, widths, sums, masker, carried)
        rows = self._last_products(ring, shape, widths, sums, last, carried)
        own = _below(rows, plain) if digits is not None else None
        pieces = self._to_openers(operation, ring, own, (count + has_plain, *shape), Beside({}, {}))
        if pieces is None or rows is None:
            return None
        pieces[:count] = ring.add(pieces[:count], rows)
        return self._with_total(ring, pieces, widths, first, others)

    # --- dealing -----------------------------------------------------------------------------------------

    def _dealt_digits(
        self,
        operation: str,
        ring: Ring,
        shape: Shape,
        widths: Sequence[int],
        digits: Sequence[Digits] | None,
        beside: Beside,
    ) -> list[Share]:
        """Share every masker's rows: one-hot of the first, thermometers of the others. 1 round."""
        maskers, own = self.geometry.maskers, None
        if digits is not None:
            row = _one_hot if self.rank == maskers[0] else _thermometer
            own = np.concatenate([row(ring, h, q) for h, q in zip(digits, widths, strict=True)])
        dealt = self._given(operation, ring, (digit_values(widths), *shape), maskers, own, beside)
        return [dealt[rank] for rank in maskers]

    def _to_openers(
        self, operation: str, ring: Ring, own: RingArray | None, shape: Shape, beside: Beside
    ) -> RingArray | None:
        """Share values of the maskers as sums among the openers, who return their summand of the sum of all. 1 round.

        A masker draws the pieces of all openers but one, with each from its own stream, and sends that one the rest.
        """
        openers, maskers = self.geometry.openers, self.geometry.maskers
        explicit = {masker: openers[i % len(openers)] for i, masker in enumerate(maskers)}
        send, heard, drawn = dict(beside.send), dict(beside.receive), []
        if own is not None:
            draws = [self._pairs[rank].ring(ring, shape) for rank in openers if rank != explicit[self.rank]]
            send[explicit[self.rank]] = [ring.signed_sum([own], draws)]
        elif self.rank in openers:
            told = {masker: ring.empty(shape) for masker in maskers if explicit[masker] == self.rank}
            drawn = [self._pairs[masker].ring(ring, shape) for masker in maskers if masker not in told]
            heard.update(told)
            drawn += told.values()
        self._exchange(operation, send, heard)
        return ring.signed_sum(drawn) if drawn else None

    # --- adding digits -----------------------------------------------------------------------------------

    def _added(
        self,
        operation: str,
        ring: Ring,
        shape: Shape,
        widths: Sequence[int],
        sums: Share,
        masker: Share,
        carried: list[RingArray],
    ) -> tuple[Share, list[RingArray]]:
        """Add a masker's digits: return the one-hot rows of the sums, and our summands of what was carried so far."""
        senders, rows = self.geometry.multipliers, (digit_values(widths), *shape)
        masks = self._masks(ring, rows, senders, self._relay)
        masked, now = None, carried
        if self.rank in senders:
            made = []
            now = []
            for place, q in _places(widths):
                p, s = self._whole_row(sums, place), self._levels(masker, place)
                size = 1 << q
                one_hot = self.sub(
                    self.concatenate([self._ones(ring, shape), self.select(s, slice(0, size - 1))], 0), s
                )
                pairs = [[(a, (m - a) % size) for a in range(size)] for m in range(1, size)]
                made.append(self._sums_of_products(ring, shape, p, one_hot, pairs))
                out = self._sums_of_products(ring, shape, p, s, [[(a, size - 1 - a) for a in range(1, size)]])
                now.append(ring.add(carried[len(now)], out[0]))
            masked = ring.signed_sum([np.concatenate(made), *masks.plus], masks.minus)
        return self._shared(operation, ring, rows, senders, masked, masks.drawn, self._relay), now

    def _last_products(
        self,
        ring: Ring,
        shape: Shape,
        widths: Sequence[int],
        sums: Share,
        last: Share,
        carried: list[RingArray],
    ) -> RingArray | None:
        """Return a multiplier's summands of w(v) for v > 0, family by family."""
        if self.rank not in self.geometry.multipliers:
            return None
        made = []
        for (place, q), carry in zip(_places(widths), carried, strict=True):
            size = 1 << q
            levels = self._levels(last, place)
            above = self.add_public(levels, _ones(ring, (1,) * len(levels.shape)))
            pairs = [[(m, (v - m) % size + (size if m > v else 0)) for m in range(size)] for v in range(1, size)]
            both = self.concatenate([levels, above], 0)
            out = self._sums_of_products(ring, shape, self._whole_row(sums, place), both, pairs)
            made.append(ring.add(out, np.broadcast_to(carry, out.shape)))
        return np.concatenate(made)

    def _whole_row(self, share: Share, place: slice) -> Share:
        """Return a one-hot row with its first element, which is 1 less all others."""
        rest = self.select(share, place)
        total = self.sum(rest, 0).linear(lambda part: part[None])
        return self.concatenate([self.sub(self._ones(share.ring, rest.shape[1:]), total), rest], 0)

    def _levels(self, share: Share, place: slice) -> Share:
        """Return a thermometer with its last element, which is 0."""
        rest = self.select(share, place)
        return self.concatenate([rest, self.constant(share.ring, share.ring.zeros((1, *rest.shape[1:])))], 0)

    def _ones(self, ring: Ring, shape: Shape) -> Share:
        return self.constant(ring, _ones(ring, (1, *shape)))

    def _sums_of_products(self, ring: Ring, shape: Shape, left: Share, right: Share, pairs: _Pairs) -> RingArray:
        """Return our summands of sums of products of rows: for each list of pairs, of left[x] right[y] over (x, y)."""
        factors = ring.combined(right.parts, self._tables(ring).product(self.rank))
        out = ring.empty((len(pairs), *shape))
        for i, terms in enumerate(pairs):
            lhs = [part[x] for x, _ in terms for part in left.parts]
            rhs = [part[y] for _, y in terms for part in factors]
            pieces = [slice(k, k + _TERMS) for k in range(0, len(lhs), _TERMS)]
            out[i] = ring.signed_sum([ring.mul_sum(lhs[piece], rhs[piece]) for piece in pieces])
        return out

    # --- the openers' tables -----------------------------------------------------------------------------

    def _of_one(self, ring: Ring, pieces: RingArray, widths: Sequence[int]) -> Summands:
        """One masker: w(v) = S_v, and 0 for the last v."""
        none = ring.zeros((1, *pieces.shape[1:]))
        wraps = [np.concatenate([pieces[place], none]) for place, _ in _places(widths)]
        return Summands(wraps, pieces[-1])

    def _with_total(
        self, ring: Ring, pieces: RingArray, widths: Sequence[int], first: Share, others: Sequence[Share]
    ) -> Summands:
        """Put w(0) before the others: the sum of all digits, which is linear in what was dealt, less all others."""
        wraps = []
        for place, q in _places(widths):
            total = self.select(others[0], place)
            for masker in others[1:]:
                total = self.add(total, self.select(masker, place))
            weights = ring.from_int(np.arange(1, 1 << q)).reshape(-1, *(1,) * (pieces.ndim - 1))
            total = self.add(total, self.mul_public(self.select(first, place), weights))
            digits = self._summand(self.sum(total, 0), self.geometry.openers)
            rest = pieces[place]
            wraps.append(np.concatenate([ring.sub(digits, ring.sum(rest, 0))[None], rest]))
        return Summands(wraps, pieces[-1])


def _below(rows: RingArray | None, plain: RingArray | None) -> RingArray | None:
    return rows if rows is None or plain is None else np.concatenate([rows, plain[None]])


def picked(wraps: RingArray, digit: Digits) -> RingArray:
    """Return the elements of w(v) that the digit v of every element says."""
    rows = wraps.reshape(len(wraps), -1)
    return np.take_along_axis(rows, digit.reshape(1, -1).astype(np.intp), 0).reshape(wraps.shape[1:])


def _places(widths: Sequence[int]) -> list[tuple[slice, int]]:
    """Return where the values of every family lie among those of all, and its width."""
    places, start = [], 0
    for q in widths:
        places.append((slice(start, start + (1 << q) - 1), q))
        start += (1 << q) - 1
    return places


def _thermometer(ring: Ring, digits: Digits, width: int) -> RingArray:
    levels = np.arange((1 << width) - 1, dtype=np.uint8).reshape(-1, *(1,) * digits.ndim)
    return ring.from_int(digits[None] > levels)


def _one_hot(ring: Ring, digits: Digits, width: int) -> RingArray:
    values = np.arange(1, 1 << width, dtype=np.uint8).reshape(-1, *(1,) * digits.ndim)
    return ring.from_int(digits[None] == values)


def _ones(ring: Ring, shape: Shape) -> RingArray:
    return ring.from_int(np.ones(shape, np.uint8))
