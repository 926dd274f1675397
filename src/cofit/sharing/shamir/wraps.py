"""How often a sum of masks wraps: what openers must know of masks that they do not know, shared among them.

Every masker j has a digit h_j of q bits, private to it: the top digit of its mask, say. Openers know a public digit v.
The sum has wrapped w(v) = floor((h_0 + h_1 + ... + 2^q - 1 - v) / 2^q) times (``proof.md``, "Wraps"). Openers get w(v)
as a sum; nobody learns v or h_j. Rows and families: ``digits.py``.

**One masker**: w(v) = S_v. It deals S to the openers as sums, and each picks the one of its v.

**Two maskers**, one-hot row e and thermometer S: w(v) = sum_a e_a (S_(v-a mod 2^q) + [a > v]). All w(v), v > 0, are
computed and shared as sums among the openers. h_0 + h_1 = w(0) + w(1) + ... (Hermite's identity), so w(0) follows.

**Three maskers**: rows of three bits would be many ring elements. So w(v) is computed in bits, and the two bits of the
one of v are turned into elements (``masked_bits.py``). Let P be the one-hot row of h_0 + h_1 modulo 2^q, and C what
that sum carries: P_m = sum_a e_a E_(m-a), where E_b = S'_(b-1) - S'_b, and C = sum_a e_a S'_(2^q-1-a). With A_v = sum_m
P_m [m > v] and B_v = sum_m P_m S_(v-m), w(v) = A_v + B_v + C, each of them 0 or 1. Openers pick the bits of their v
from their shares, which is linear.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from cofit.arithmetic import Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, packed_length
from cofit.sharing.bit_forms import Lookup
from cofit.sharing.shamir.digits import Digits, digit_values, one, places, rows_of
from cofit.sharing.shamir.masked_bits import MaskedBits
from cofit.sharing.shares import Share
from cofit.sharing.steps import Protocol

IN_BITS = 3
"""From so many maskers on, wraps are counted in bits."""
_TERMS = 8  # products that a kernel adds at once
_Pairs = tuple[tuple[tuple[int, int], ...], ...]


class MaskedSums(NamedTuple):
    """What openers see under masks, ``size`` numbers, and the ``widths`` of the digits of every family.

    A masker has its ``digits``, arrays of ``size``, and a ``plain`` value, whose sum over the maskers is shared too.
    """

    ring: Ring
    size: int
    widths: Sequence[int]
    digits: Sequence[Digits] | None
    plain: RingArray | None


Opening: TypeAlias = Protocol[RingArray | None]
"""How openers learn what they see; the others return None."""
Reading: TypeAlias = Callable[[RingArray], Sequence[Digits]]
"""The digits of that, for every family."""


class Counted(NamedTuple):
    """An opener's summands: of w(v) for every family, and of the maskers' plain values."""

    wraps: list[RingArray]
    plain: RingArray


class Wraps(MaskedBits):
    """One party, with its part in counting wraps."""

    def _count_wraps(
        self, operation: str, sums: MaskedSums, opening: Opening, public: Reading
    ) -> tuple[RingArray | None, Counted | None]:
        """Return what ``opening`` does, and an opener's summands for the digits ``public`` of that.

        Rounds: 1 for one masker, 2 for two; for three 2 and those of three products.
        """
        if self.geometry.threshold >= IN_BITS:
            return self._count_in_bits(operation, sums, opening, public)
        opened, tables = self._together(operation, opening, self._all_wraps(*sums))
        if opened is None or tables is None:
            return opened, None
        rows = places([1 << q for q in sums.widths])
        found = [_picked(tables[place], v) for place, v in zip(rows, public(opened), strict=True)]
        return opened, Counted(found, tables[-1])

    # --- in the ring -------------------------------------------------------------------------------------

    def _all_wraps(
        self, ring: Ring, count: int, widths: Sequence[int], digits: Sequence[Digits] | None, plain: RingArray | None
    ) -> Protocol[RingArray | None]:
        """Share all w(v) of every family among the openers, and the plain values: rows, one below the other."""
        values = digit_values(widths)
        at = places([(1 << q) - 1 for q in widths])
        shape = (values + 1, count)
        if self.geometry.threshold == 1:
            own = None
            if digits is not None and plain is not None:
                own = np.concatenate([rows_of(ring, digits, widths, one_hot=False), plain[None]])
            pieces = yield from self._to_openers(ring, own, shape)
            if pieces is None:
                return None
            none = ring.zeros((1, count))
            return np.concatenate([*(row for place in at for row in (pieces[place], none)), pieces[-1:]])
        first, last = yield from self._dealt_digits(ring, (count,), widths, digits)
        rows = self._two_digits(ring, widths, first, last) if self._multiplies else None
        own = None if rows is None or plain is None else np.concatenate([rows, plain[None]])
        pieces = yield from self._to_openers(ring, own, shape)
        if pieces is None or rows is None:
            return None
        pieces[:values] = ring.add(pieces[:values], rows)
        made = []
        for place, q in zip(at, widths, strict=True):
            weights = ring.from_int(np.arange(1, 1 << q))[:, None]
            total = self.add(self.mul_public(self.select(first, place), weights), self.select(last, place))
            both = self._summand(self.sum(total, 0), self.geometry.openers)
            made += [ring.sub(both, ring.sum(pieces[place], 0))[None], pieces[place]]
        return np.concatenate([*made, pieces[-1:]])

    def _two_digits(self, ring: Ring, widths: Sequence[int], first: Share, last: Share) -> RingArray:
        """Return our summands of w(v) for v > 0, family by family."""
        made = []
        table = self._tables(ring).product(self.rank)
        for place, q in zip(places([(1 << q) - 1 for q in widths]), widths, strict=True):
            row, levels = self._whole_row(first, place), self._levels(last, place)
            both = self.concatenate([levels, self.add_public(levels, one(ring))], 0)
            factors = ring.combined(both.parts, table)
            for pairs in _wrap_pairs(1 << q):
                lhs = [part[x] for x, _ in pairs for part in row.parts]
                rhs = [part[y] for _, y in pairs for part in factors]
                pieces = [slice(k, k + _TERMS) for k in range(0, len(lhs), _TERMS)]
                made.append(ring.signed_sum([ring.mul_sum(lhs[piece], rhs[piece]) for piece in pieces]))
        return np.stack(made)

    # --- in bits -----------------------------------------------------------------------------------------

    def _count_in_bits(
        self, operation: str, sums: MaskedSums, opening: Opening, public: Reading
    ) -> tuple[RingArray | None, Counted | None]:
        """As ``_count_wraps``, for three maskers."""
        ring, count, widths, digits, plain = sums
        rows, words = 2 * len(widths), packed_length(count)
        masks, kept = self._maskers_bits((rows, words))
        opened, bits, rho = self._together(
            operation,
            opening,
            self._wraps_as_bits(widths, digits, words),
            self._xor_of_maskers(ring, rows, count, kept, plain, with_plain=True),
        )
        own = None
        if opened is not None:
            at = places([1 << q for q in widths])
            chosen = [
                _chosen(self.select(all_rows, place), v)
                for place, v in zip(at, public(opened), strict=True)
                for all_rows in bits
            ]
            own = self._openers_summand(self.concatenate(chosen, 0), masks)
        masked = self._run(operation, self._to_each_other(BITS, own))
        if masked is None or rho is None:
            return opened, None
        found = self._unmasked_bits(ring, masked, rho[:rows])
        wraps = [ring.signed_sum([found[i], found[i + 1], found[i + 1]]) for i in range(0, rows, 2)]
        return opened, Counted(wraps, rho[rows])

    def _wraps_as_bits(
        self, widths: Sequence[int], digits: Sequence[Digits] | None, words: int
    ) -> Protocol[tuple[Share, Share]]:
        """Return the lower and the upper bits of all w(v), for every family. 1 round and those of three products."""
        first, second, last = yield from self._dealt_digits(BITS, (words,), widths, digits)
        sizes = tuple(1 << q for q in widths)
        at = places([size - 1 for size in sizes])
        row = self.concatenate([self._whole_row(first, place) for place in at], 0)
        levels = self.concatenate([*(self._levels(second, place) for place in at), self._ones(BITS, (words,))], 0)
        sums = yield from self._bit_products(row, levels, _sum_form(sizes, words))
        row = self.concatenate([self._whole_row(sums, place) for place in at], 0)
        levels = self.concatenate([self._levels(last, place) for place in at], 0)
        below = yield from self._bit_products(row, levels, _level_form(sizes, words))
        above = row.linear(lambda part: _above(part, sizes))
        which = [digit_values(widths) + i for i, size in enumerate(sizes) for _ in range(size)]
        carry = self.select(sums, which)
        left, right = self.add(above, carry), self.add(below, carry)
        product = (
            BITS.bilinear(left.parts, right.parts, self._tables(BITS).product(self.rank)) if self._multiplies else None
        )
        both = yield from self._shared_products(BITS, left.shape, product)
        return self.add(left, below), self.add(both, carry)

    def _bit_products(self, left: Share, right: Share, form: Lookup) -> Protocol[Share]:
        """Return a public bilinear map of rows of bits."""
        shape = (form.rows(left.shape[0], right.shape[0]), left.shape[1])
        product = None
        if self._multiplies:
            product = form.sum(left.parts, BITS.combined(right.parts, self._tables(BITS).product(self.rank)))
        return (yield from self._shared_products(BITS, shape, product))


@functools.cache
def _wrap_pairs(size: int) -> _Pairs:
    """Return, for v > 0, which e_a goes with which of S and, after those, S + 1."""
    return tuple(tuple((a, (v - a) % size + (size if a > v else 0)) for a in range(size)) for v in range(1, size))


@functools.cache
def _sum_form(sizes: tuple[int, ...], words: int) -> Lookup:
    """Return the rows P_m, m > 0, of every family, and then the carry C of each, from e of all families, and from S' of
    all families with a row of ones after them: S' of -1.
    """
    sums: list[dict[int, int]] = []
    carries: list[dict[int, int]] = []
    for place, size in zip(places(sizes), sizes, strict=True):
        level = [*(1 << (place.start + u) for u in range(size - 1)), 0, 1 << sum(sizes)]  # the last one is that of -1
        for m in range(1, size):
            factors = {a: (m - a) % size for a in range(size)}
            sums.append({place.start + a: level[b - 1] ^ level[b] for a, b in factors.items()})
        carries.append({place.start + a: level[size - 1 - a] for a in range(1, size)})
    return _lookup([*sums, *carries], sum(sizes), sum(sizes) + 1, words)


def _above(part: RingArray, sizes: tuple[int, ...]) -> RingArray:
    """Return A_v for every v of every family."""
    return np.stack(
        [BITS.sum(part[place][v + 1 :], 0) for place, n in zip(places(sizes), sizes, strict=True) for v in range(n)]
    )


@functools.cache
def _level_form(sizes: tuple[int, ...], words: int) -> Lookup:
    """Return the rows B_v of every family, from P and S of all families."""
    forms = [
        {place.start + m: 1 << (place.start + (v - m) % size) for m in range(size)}
        for place, size in zip(places(sizes), sizes, strict=True)
        for v in range(size)
    ]
    return _lookup(forms, sum(sizes), sum(sizes), words)


def _lookup(forms: list[dict[int, int]], lefts: int, rights: int, words: int) -> Lookup:
    matrix = np.zeros((len(forms), lefts), np.uint64)
    for form, terms in enumerate(forms):
        for left, chosen in terms.items():
            matrix[form, left] = chosen
    return Lookup(rights, [(words, matrix)])


def _picked(wraps: RingArray, digit: Digits) -> RingArray:
    """Return the elements of w(v) that the digit v of every element says."""
    return np.asarray(np.take_along_axis(wraps, digit[None].astype(np.intp), 0)[0])


def _chosen(rows: Share, digit: Digits) -> Share:
    """Return one row of bits: that of row v where the digit of an element is v."""
    masks = [pack(digit == v) for v in range(rows.shape[0])]
    return rows.linear(lambda part: BITS.mul_sum(list(part), masks)[None])
