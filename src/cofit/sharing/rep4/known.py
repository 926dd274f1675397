"""Products of a value that parties 0 and 1 know with one that 2 and 3 know, and what rests on them: truncation.

With u known to 2 and 3, v to 0 and 1, and random a = a_0 + a_1 (from K_0 and K_1: known to 2 and 3), b = b_2 + b_3
(from K_2 and K_3: known to 0 and 1), sharings of a and b cost nothing, and each a_i b_j is known to two parties, who
deal it. epsilon = u - a is told to 0 and 1, delta = v - b to 2 and 3: either is uniform to both, since each lacks one
summand of the mask. Then u v = epsilon delta + epsilon b + delta a + a b is local.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cofit.arithmetic import Ring, RingArray, Shape, power_of_two
from cofit.sharing.masked_opening import no_top, of_wrap, public_part, raised, top
from cofit.sharing.rep4.joint import Joint, JointMessages, Schedule
from cofit.sharing.shares import Share

# The joint deals of a_0 b_2, a_1 b_2, a_0 b_3 and a_1 b_3, messages 2 to 5 of an exchange: to 2 with masks from K_2, to
# 3 with masks from K_3. ``count`` 2: each time with one more array that the same two know.
_FACTORS = {2: (0, 2), 3: (1, 2), 4: (0, 3), 5: (1, 3)}


def _deals(count: int) -> Schedule:
    return Joint(3, 1, 2, count), Joint(3, 0, 2, count), Joint(2, 1, 3, count), Joint(2, 0, 3, count)


KNOWN: Schedule = (Joint(0, 1, 2), Joint(1, 0, 3), *_deals(1), Joint(2, 3, 0), Joint(3, 2, 1))
TRUNCATION: Schedule = (Joint(0, 1, 2, 2), Joint(1, 0, 3, 2), *_deals(1))
FUSED: Schedule = (*TRUNCATION[:2], *_deals(2))
BESIDE: Schedule = (*KNOWN, Joint(2, 3, 0), Joint(0, 1, 2))
SECOND: Schedule = (Joint(2, 3, 0, 2), Joint(3, 2, 1), Joint(0, 1, 2))


class KnownProducts(JointMessages):
    """One of four parties, with products of values that two parties know."""

    def _product_of_known(
        self, operation: str, ring: Ring, u: RingArray | None, v: RingArray | None, shape: Shape
    ) -> tuple[Share, Share, Share]:
        """Return sharings of u (known to 2 and 3), v (known to 0 and 1) and u v. 1 round, 8 elements, 8 digests."""
        u_, v_, product, _ = self._known(operation, ring, u, v, shape, KNOWN, {})
        return u_, v_, product

    def _product_and_sum(
        self,
        operation: str,
        ring: Ring,
        u: RingArray | None,
        v: RingArray | None,
        x: RingArray | None,
        y: RingArray | None,
        shape: Shape,
    ) -> tuple[Share, Share]:
        """Return sharings of u v and of x + y: u and x are known to 2 and 3, v and y to 0 and 1.

        1 round, 10 elements, 10 digests. x is dealt with a mask from K_0 to 0, y with one from K_2 to 2.
        """
        masks = {key: self._draw(key, ring, shape, 1) for key in (0, 2)}
        summands = {key: one[0] for key, one in masks.items() if len(one)}
        beside: dict[int, Sequence[RingArray]] = {}
        if x is not None:
            summands[1] = ring.sub(x, summands[0])
            beside[8] = [summands[1]]
        if y is not None:
            summands[3] = ring.sub(y, summands[2])
            beside[9] = [summands[3]]
        _, _, product, received = self._known(operation, ring, u, v, shape, BESIDE, beside)
        if self.rank == 0:
            summands[1] = received[8]
        elif self.rank == 2:
            summands[3] = received[9]
        return product, Share(ring, tuple(summands[j] for j in self._others))

    def _known(
        self,
        operation: str,
        ring: Ring,
        u: RingArray | None,
        v: RingArray | None,
        shape: Shape,
        schedule: Schedule,
        beside: Mapping[int, Sequence[RingArray]],
    ) -> tuple[Share, Share, Share, dict[int, RingArray]]:
        """Return sharings of u, v and u v, and what else came by the schedule; ``beside``: what else we send."""
        drawn = [self._draw(key, ring, shape, count) for key, count in enumerate((1, 1, 3, 3))]
        a, b = ({key: drawn[key][0] for key in keys if key != self.rank} for keys in ((0, 1), (2, 3)))
        dealt = self._cross_deals(ring, drawn)
        known: dict[int, Sequence[RingArray]] = {n: [value] for n, value in dealt.items()} | dict(beside)
        if v is not None:
            delta = ring.sub(ring.sub(v, b[2]), b[3])
            known |= {0: [delta], 1: [delta]}
        if u is not None:
            epsilon = ring.sub(ring.sub(u, a[0]), a[1])
            known |= {6: [epsilon], 7: [epsilon]}
        received = {n: value[0] for n, value in self._jointly(operation, ring, shape, schedule, known).items()}
        if u is None:
            epsilon = received[6 + self.rank]
        else:
            delta = received[self.rank - 2]
        of_a_b = self._cross_summands(ring, drawn, dealt | received)
        if 0 in a:
            a[0] = ring.add(a[0], epsilon)
        factors = {**dict.fromkeys(a, delta), **dict.fromkeys(b, epsilon)}
        product = {j: ring.add(ring.mul(value, factors[j]), of_a_b[j]) for j, value in (a | b).items()}
        if 2 in b:
            b[2] = ring.add(b[2], delta)
        zeros = ring.zeros(shape)
        return (
            Share(ring, tuple(a.get(j, zeros) for j in self._others)),
            Share(ring, tuple(b.get(j, zeros) for j in self._others)),
            Share(ring, tuple(product[j] for j in self._others)),
            received,
        )

    def _cross_deals(self, ring: Ring, drawn: Sequence[RingArray]) -> dict[int, RingArray]:
        """Return a_i b_j minus its mask for those that we deal, by the number of the message.

        The first draw of every key is a_i or b_j, the next two of K_2 and K_3 are the masks.
        """
        return {
            n: ring.sub(ring.mul(drawn[i][0], drawn[j][0]), drawn[j][1 + i])
            for n, (i, j) in _FACTORS.items()
            if self.rank not in (i, j)
        }

    def _cross_summands(
        self, ring: Ring, drawn: Sequence[RingArray], dealt: Mapping[int, RingArray]
    ) -> dict[int, RingArray]:
        """Return our summands of a b: what was sent is those of indices 0 and 1, the masks are those of 2 and 3."""
        sent = {i: ring.add(dealt[2 + i], dealt[4 + i]) for i in (0, 1) if i != self.rank}
        return sent | {j: ring.add(drawn[j][1], drawn[j][2]) for j in (2, 3) if j != self.rank}

    # --- truncation that never fails ---------------------------------------------------------------------

    def _masked_truncation(
        self,
        operation: str,
        ring: Ring,
        shape: Shape,
        shift: int,
        lacked: Mapping[int, Mapping[int, RingArray]],
        own: RingArray | None,
        first: Schedule,
    ) -> Share:
        """Divide z by 2^shift; the error is 0 or +1 against the floor, always. 2 rounds.

        ``lacked``: the summands of z (one; three if ``first`` is FUSED) that rank 2 lacks and those that rank 3 lacks,
        by place, as far as we know them; ``own``: the sum of the others, at ranks 2 and 3. Each summand is sent
        with a mask from K_2 (from K_3). The sum of all masks is r, known to 0 and 1; 2 and 3 learn c = z +
        2^(k-2) + r, and with u = 1 - top(c) and v = top(r) the rest is ``masked_opening.py``. Here u v = u
        delta + epsilon b + a b: 2 and 3 deal u delta together with c >> shift.
        """
        ring = power_of_two(ring, "Truncation by a masked opening")
        count = 3 if first is FUSED else 1
        drawn = [self._draw(key, ring, shape, n) for key, n in enumerate((2, 1, count + 4, count + 3))]
        masks = {key: drawn[key][3 : count + 3] for key in lacked}
        sums = {key: ring.sum(own_masks, axis=0) for key, own_masks in masks.items()}
        plain = {key: drawn[key][-1] for key in (0, 2) if key != self.rank}  # our summands, but for the wrap
        dealt = self._cross_deals(ring, drawn)
        known: dict[int, Sequence[RingArray]] = {n: [value] for n, value in dealt.items()}
        if count > 1:
            for n in known:
                key, place = 2 + (n > 3), 1 + n % 2
                known[n] = [dealt[n], ring.add(lacked[key][place], masks[key][place])]
        if self.rank in (0, 1):
            r = ring.add(sums[2], sums[3])
            delta = ring.sub(top(ring, r), ring.add(drawn[2][0], drawn[3][0]))
            plain[3] = ring.neg(ring.add(ring.shr(r, shift), plain[2]))
            known[0] = [ring.add(lacked[2][0], masks[2][0]), delta]
            known[1] = [ring.add(lacked[3][0], masks[3][0]), delta]
        received = self._jointly(operation, ring, shape, first, known)

        second: dict[int, Sequence[RingArray]] = {}
        if own is None:
            second[2] = [plain[3]]
        else:
            told = received.pop(self.rank - 2)
            dealt |= {n: value[0] for n, value in received.items()}
            arrived = [told[0], *(value[1] for value in received.values() if count > 1)]
            c = raised(ring, ring.signed_sum([own, *arrived, sums[5 - self.rank]]))
            u = no_top(ring, c)
            epsilon = ring.sub(u, ring.add(drawn[0][0], drawn[1][0]))
            high = ring.add(public_part(ring, c, shift), of_wrap(ring, ring.mul(u, told[1]), shift))
            plain[1] = ring.sub(high, plain[0])
            second |= {0: [epsilon, plain[1]], 1: [epsilon]}
        received = self._jointly(operation, ring, shape, SECOND, second)
        if self.rank == 0:
            epsilon, plain[1] = received[0]
        elif self.rank == 1:
            epsilon = received[1][0]
        elif self.rank == 2:
            plain[3] = received[2][0]
        wraps = self._cross_summands(ring, drawn, dealt)
        for j in lacked:
            wraps[j] = ring.add(wraps[j], ring.mul(epsilon, drawn[j][0]))
        return Share(ring, tuple(ring.add(plain[j], of_wrap(ring, wraps[j], shift)) for j in self._others))
