"""Between numbers and bits in ``repn``.

**Elements to bits.** A summand is known to a group, and so are its bits. The first members of groups add up what they
hold: party i the summands of all groups of which it is the first. It deals the carries of these additions, one word for
every addition, and each is checked: with carries q into every place, u + v = u XOR v XOR q, and q_(j+1) is the majority
of u_j, v_j and q_j, that is (u_j XOR q_j)(v_j XOR q_j) XOR q_j. The t + 1 numbers are then added as in other schemes.

**Bits to elements.** ``masked_bits.py``. **Numbers of binary digits to elements.** The masks are numbers whose digits
the maskers deal as ring elements 0 and 1, as there; c = T + r_0 + r_1 + ... modulo 2^K is opened to the openers, and
T = c - r_0 - r_1 - ... + 2^K w(v), with the wraps w(v) of the top digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import from_planes, packed_length, to_planes
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.carry_save import carry_signals
from cofit.sharing.group_streams import Group
from cofit.sharing.masked_opening import power, top_digit_of_planes
from cofit.sharing.numbers import FromNumbers
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.repn.truncation import Truncation, top_width
from cofit.sharing.repn.wraps import CARRY_BITS, Family, Prepared
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.steps import Protocol

Numbers = tuple[list[Share], list[Share]]
"""By masker: the digits of its masks, (K, count), and bits that are masks of carries."""


class RepnConversion(TakesBits, FromNumbers, Truncation):
    """One party, with its conversions."""

    @property
    def summands(self) -> int:
        """One for every group."""
        return max(super().summands, len(self.geometry.groups))

    # --- elements to bits --------------------------------------------------------------------------------

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """Every opener adds up the summands of the groups whose first member it is, and deals the carries."""
        self.verification.refuse_after_failure()
        count, width = math.prod(a.shape), plane_count(planes)
        plain = {
            group: ring.shr(np.ascontiguousarray(part).reshape(-1), planes.start)
            for group, part in zip(self._own_groups, a.parts, strict=True)
        }
        shape = (width, packed_length(count))
        with self._whole():
            numbers = self._together(
                "summands", *(self._added_by(dealer, ring, plain, shape) for dealer in self.geometry.openers)
            )
            return carry_signals(self.boolean, [PackedBits(number, count) for number in numbers])

    def _added_by(
        self, dealer: int, ring: PowerOfTwoRing, plain: dict[Group, RingArray], shape: Shape
    ) -> Protocol[Share]:
        """Return the bits, modulo 2^width, of the sum of what groups know of which ``dealer`` is the first member."""
        width, words = shape
        groups = [group for group in self.geometry.groups if group[0] == dealer]
        bits = {group: to_planes(ring, plain[group])[:width] for group in groups if group in plain}
        shares = [self._of_groups(BITS, shape, [{g: bits[g]}] if g in bits else []) for g in groups]
        if len(groups) == 1:
            return shares[0]
        made = None
        if self.rank == dealer:
            made = np.concatenate(list(_carries_of(ring, [plain[group] for group in groups], width)))
        dealt = (yield from self._given(BITS, ((len(groups) - 1) * width, words), [dealer], made))[dealer]
        result = shares[0]
        for i, share in enumerate(shares[1:]):
            carries = self.select(dealt, slice(i * width, (i + 1) * width))
            into = carries.linear(lambda part: np.concatenate([np.zeros((1, words), np.uint64), part[:-1]]))
            left, right = self.add(result, into), self.add(share, into)
            self.relations.note_form(left, right, None, self.add(carries, into))
            result = self.add(left, share)
        return result

    # --- bits to elements --------------------------------------------------------------------------------

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """3 rounds, and one more for three maskers."""
        self.verification.refuse_after_failure()
        with self.label("from_bits"), self._whole():
            masks = self._run("from_bits", self._masking_bits(ring, bits.rows, bits.count))
            return self._unmasked_bits("from_bits", ring, bits, masks)

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], Numbers]:
        """Every masker deals the digits of a number as ring elements, and bits for the carries."""
        self.verification.refuse_after_failure()
        maskers = self.geometry.maskers
        more = CARRY_BITS if len(maskers) > 1 else 0
        with self._whole():
            dealt = self._run("masks", self._masking_bits(ring, width + more, count))
        digits = [self.select(share, slice(0, width)) for share in dealt]
        masks: list[BitShare] = [PackedBits(self._lowest(ring, share), count) for share in digits]
        return masks, (digits, [self.select(share, slice(width, None)) for share in dealt])

    def _unmasked(self, masked: BitShare, kept: Numbers, ring: IntegerRing) -> Share:
        with self._whole():
            return self._without_masks(masked, kept, ring)

    def _without_masks(self, masked: BitShare, kept: Numbers, ring: IntegerRing) -> Share:
        """Openers learn c; T = c - r_0 - r_1 - ... + 2^K w(v), v the top digit of c."""
        digits, bits = kept
        count, width, maskers = masked.count, masked.rows, self.geometry.maskers
        opened = self._run("unmask", self._opened_words(masked))
        top = top_width(len(maskers))
        rows = [_padded(self, share, top) for share in digits]
        seen = None if opened is None else top_digit_of_planes(opened, top, count)
        if len(maskers) == 1:
            known = None if seen is None else ring.from_int((seen == 0).astype(np.int64))[None]
            wraps = self._run("unmask", self._times_known(ring, known, rows[0]))
        else:
            family = Family(top, {})
            prepared = Prepared({m: [share] for m, share in zip(maskers, rows, strict=True)}, bits)
            (wraps,) = self._carries("unmask", ring, count, [family], prepared, None if seen is None else [seen])
        c = None if opened is None else from_planes(ring, opened, count)
        result = self.add(self._of_openers(ring, (count,), c), self.mul_public(wraps, power(ring, width)))
        for share in digits:
            result = self.sub(result, self._weighted(ring, share))
        return result


def _carries_of(ring: PowerOfTwoRing, numbers: Sequence[RingArray], width: int) -> Iterator[RingArray]:
    """Yield the carries out of every place, as planes, of one addition after the other."""
    total = numbers[0]
    for number in numbers[1:]:
        both = ring.add(total, number)
        u, v, w = (to_planes(ring, value)[:width] for value in (total, number, both))
        into = u ^ v ^ w
        yield (u & v) | (into & (u | v))
        total = both


def _padded(scheme: RepnConversion, digits: Share, top: int) -> Share:
    """Return the top digits of numbers; of fewer digits, with zeros before them."""
    rows = digits.shape[0]
    chosen = scheme.select(digits, slice(max(0, rows - top), rows))
    missing = top - chosen.shape[0]
    if not missing:
        return chosen
    zeros = chosen.ring.zeros((missing, digits.shape[1]))
    return chosen.linear(lambda part: np.concatenate([zeros, part]))
