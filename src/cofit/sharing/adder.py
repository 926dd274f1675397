"""Addition of two bit-sliced numbers from their carry signals, in logarithmic depth.

For numbers u and v of k bits with generate g = u AND v and propagate p = u XOR v, the carry into position j is the
prefix (g, p)_{j-1} o ... o (g, p)_0 under (g, p) o (g', p') = (g XOR p g', p p'). Sklansky's network (IRE Trans. EC
1960) computes all prefixes in ceil(log2 (k-1)) levels; level l combines every position i whose bit l is set with the
last position before its block. The carry out of the top is never needed.

ANDs per number: at most k per level. Rounds: ceil(log2(k-1)) times the rounds of one AND.
"""

from __future__ import annotations

from abc import abstractmethod

from cofit.arithmetic import PowerOfTwoRing, power_of_two
from cofit.errors import parameter_error
from cofit.sharing.boolean import Boolean
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, Share


class TakesBits(Scheme):
    """A scheme that takes bits by adding numbers whose bits are shared: it says how their carry signals are made."""

    def to_bits(self, a: Share, bits: int | None = None) -> BitShare:
        """Rounds: those of the signals and ceil(log2(k-1)) ANDs; k: as many bits as are taken."""
        with self.label("to_bits"):
            return add_from_signals(self.boolean, *self._signals(a, 0, bits))

    def sign_bits(self, a: Share, low: int = 0, bits: int | None = None) -> BitShare:
        """As ``to_bits``, with the carry into the top position only: 2 (k-2) ANDs instead of k log2 k."""
        with self.label("sign_bits"):
            return top_bit_from_signals(self.boolean, *self._signals(a, low, bits))

    def top_bits(self, a: Share, low: int = 0) -> BitShare:
        """As ``sign_bits``, with one more AND, which takes a round of its own."""
        with self.label("top_bits"):
            return top_two_from_signals(self.boolean, *self._signals(a, low, None))

    def _signals(self, a: Share, low: int, bits: int | None) -> tuple[BitShare, BitShare]:
        return self._carry_signals(a, *planes_of(a, low, bits))

    @abstractmethod
    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """Return the bits of u AND v and of u XOR v, for two numbers u and v whose sum is a, at the places ``planes``:
        without those above in any summand the sum is that of a modulo a smaller power of two, without those below it is
        less than ``summands`` 2^low below that."""


def add_from_signals(boolean: Boolean, generate: BitShare, propagate: BitShare) -> BitShare:
    """Return the k sum bits, modulo 2^k, of two numbers given their carry signals (k rows each)."""
    width = generate.rows
    if width == 1:
        return propagate
    g = boolean.select_rows(generate, slice(0, width - 1))
    p = boolean.select_rows(propagate, slice(0, width - 1))
    level = 0
    while 1 << level < width - 1:
        block = 1 << level
        starts = range(block, width - 1, 2 * block)
        uppers = {start - 1: range(start, min(start + block, width - 1)) for start in starts}
        # The first block reaches position 0, so its propagate signals are never needed again.
        groups = [([j] if j < block else [j, width - 1 + j], upper) for j, upper in uppers.items()]
        product = boolean.products(boolean.stack_rows([g, p]), p, groups)
        rows: list[int] = []
        changed: list[tuple[int, int]] = []
        place = 0
        for (sources, upper), (_, last) in zip(groups, uppers.items(), strict=True):
            rows += range(place, place + len(upper))
            if len(sources) > 1:
                changed += [(i, place + len(upper) + n) for n, i in enumerate(last)]
            place += len(sources) * len(upper)
        upper_rows = [i for upper in uppers.values() for i in upper]
        g_upper = boolean.xor(boolean.select_rows(g, upper_rows), boolean.select_rows(product, rows))
        g = _replace_rows(boolean, g, upper_rows, g_upper)
        p = _replace_rows(boolean, p, [i for i, _ in changed], boolean.select_rows(product, [n for _, n in changed]))
        level += 1
    sums = boolean.xor(boolean.select_rows(propagate, slice(1, width)), g)
    return boolean.gather_rows([(propagate, slice(0, 1)), (sums, slice(0, width - 1))])


def top_bit_from_signals(boolean: Boolean, generate: BitShare, propagate: BitShare) -> BitShare:
    """Return the top sum bit only: a balanced tree over the positions below it, at most 2 ANDs for each."""
    top = generate.rows - 1
    if not top:
        return propagate
    carry = carry_out(boolean, generate, propagate, top)
    return boolean.xor(boolean.select_rows(propagate, slice(top, top + 1)), carry)


def top_two_from_signals(boolean: Boolean, generate: BitShare, propagate: BitShare) -> BitShare:
    """Return the two top sum bits, the lower one first: the carry between them takes one more AND."""
    top = generate.rows - 1
    carry = carry_out(boolean, generate, propagate, top - 1)
    below = slice(top - 1, top)
    g, p = boolean.select_rows(generate, below), boolean.select_rows(propagate, below)
    into_top = boolean.xor(g, boolean.and_(p, carry))
    sums = boolean.stack_rows([carry, into_top])
    return boolean.xor(boolean.select_rows(propagate, slice(top - 1, top + 1)), sums)


def carry_out(boolean: Boolean, generate: BitShare, propagate: BitShare, positions: int) -> BitShare:
    """Return the carry out of the lowest positions; the propagate signal of the lowest is never looked at."""
    if not positions:
        lowest = boolean.select_rows(generate, slice(0, 1))
        return boolean.xor(lowest, lowest)
    g, p = (boolean.select_rows(signal, slice(0, positions)) for signal in (generate, propagate))
    while g.rows > 1:
        pairs = g.rows // 2
        high = slice(1, 2 * pairs, 2)
        # The lowest group reaches position 0, so its propagate signal is never needed again.
        groups = [([2 * i + 1], [2 * i, g.rows + 2 * i] if i else [0]) for i in range(pairs)]
        product = boolean.products(p, boolean.stack_rows([g, p]), groups)
        carried = [0, *range(1, 2 * pairs - 1, 2)]
        joined = boolean.xor(boolean.select_rows(g, high), boolean.select_rows(product, carried))
        odd = slice(2 * pairs, g.rows)
        p = boolean.gather_rows([(p, slice(0, 1)), (product, slice(2, product.rows, 2)), (p, odd)])
        g = joined if 2 * pairs == g.rows else boolean.stack_rows([joined, boolean.select_rows(g, odd)])
    return g


def _replace_rows(boolean: Boolean, bits: BitShare, rows: list[int], new: BitShare) -> BitShare:
    order = list(range(bits.rows))
    for position, row in enumerate(rows):
        order[row] = bits.rows + position
    return boolean.select_rows(boolean.stack_rows([bits, new]), order)


def planes_of(a: Share, low: int = 0, bits: int | None = None) -> tuple[PowerOfTwoRing, slice]:
    """Return the ring of a, and which bits of its summands are added: from ``low`` to below ``bits``, or to the top."""
    ring = power_of_two(a.ring, "Taking bits by adding those of summands")
    end = ring.bits if bits is None else bits
    if not 0 <= low < end <= ring.bits:
        raise parameter_error("bits", "taking bits", f"above {low} and at most {ring.bits}", bits)
    return ring, slice(low, end)


def plane_count(planes: slice) -> int:
    """Return how many bits of every summand ``planes`` are."""
    return int(planes.stop - planes.start)
