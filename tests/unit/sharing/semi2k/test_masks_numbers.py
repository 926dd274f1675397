"""Ring elements from the digits of numbers with ``semi2k``: everybody sees the sums, under masks that nobody knows.

All parties but one see the messages of that one and of the dealer, and lack its dealer's seed. The dealer, who knows
the masks, sees nothing. How that is shown: see ``support.numbers``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, IntegerRing, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import BitShare, Scheme
from cofit.sharing.correlations import MaskDigits
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.semi2k.party import Semi2k
from support.masks import Recorder
from support.numbers import WIDTHS, Change, Scripted, Seen, exposed, masking, totals, two_sums
from support.runs import run_scheme


def seen_with_semi2k(parties: int, ring: PowerOfTwoRing, honest: int, broken: str, change: Change) -> Seen:
    everything: dict[int, list[tuple[int, RingArray]]] = {rank: [] for rank in range(parties)}
    seen = Seen()

    def stream(rank: int) -> Scripted:
        return Scripted(rank, change if rank == honest else Change())

    def mask(words: RingArray) -> RingArray:
        return words if not broken else np.concatenate([words[:-1], BITS.zeros((1, words.shape[1]))])

    class Instrumented(Recorder, Semi2k):
        sizes: Sequence[int] = ()

        def setup(self) -> None:
            super().setup()
            self._source._stream = stream(self.rank)  # type: ignore[attr-defined]

        def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], int]:
            with masking(self._source._stream):  # type: ignore[attr-defined]
                (share,), kept = super()._number_masks(width, count, ring)
            return [PackedBits(words_of(share).map(mask), count)], kept

        def _opened(self, operation: str, ring: Ring, own: Sequence[RingArray]) -> list[RingArray]:
            self.sizes = () if operation == "unmask" else [array.size for array in own]
            found = super()._opened(operation, ring, own)
            if operation == "unmask":
                everything[self.rank].append((-1, found[0].copy()))
            return found

        def received(self, operation: str, arrays: Mapping[int, RingArray]) -> None:
            for rank, array in arrays.items():
                if rank == parties:
                    everything[self.rank].append((rank, array.copy()))
                elif rank == honest and self.sizes:
                    pieces = np.split(array.reshape(-1), np.cumsum(self.sizes)[:-1])
                    everything[self.rank] += [(rank, piece.copy()) for piece in pieces]

    class InstrumentedDealer(Semi2kDealer):
        def setup(self) -> None:
            super().setup()
            self._source._streams = [stream(rank) for rank in range(parties)]  # type: ignore[attr-defined]

        def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], MaskDigits]:
            with masking(*self._source._streams):  # type: ignore[attr-defined]
                share, digits = super()._number_masks(width, count, ring)
            return share, MaskDigits(mask(digits.words), digits.number)

    def program(s: Scheme) -> None:
        two_sums(s, ring)
        if isinstance(s, Semi2k) and s.rank == honest:
            seen.draws = s._source._stream.draws  # type: ignore[attr-defined]

    with mock.patch("support.runs.dealer_of", return_value=InstrumentedDealer):
        run_scheme(Instrumented, program, parties=parties)
    for rank in (rank for rank in range(parties) if rank != honest):
        for sender, array in everything[rank]:
            if sender == -1 and len(seen.sums) < len(WIDTHS):
                seen.opened(array)
            elif sender == parties or (sender == honest and rank == (honest + 1) % parties):
                seen.messages.append(array)
    return seen


def exposed_with_semi2k(parties: int, ring: PowerOfTwoRing, honest: int, broken: str = "") -> list[str]:
    return exposed(functools.partial(seen_with_semi2k, parties, ring, honest, broken), totals(parties))


@pytest.mark.parametrize("ring", [Z64, pytest.param(Z128, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize(("parties", "honest"), [(2, 0), (2, 1), (3, 0), (3, 2)])
def test_semi2k_hides_all_that_is_sent(ring: PowerOfTwoRing, parties: int, honest: int) -> None:
    seen = seen_with_semi2k(parties, ring, honest, "", Change())
    assert tuple(len(seen.messages[i]) for i in seen.sums) == WIDTHS
    assert exposed_with_semi2k(parties, ring, honest) == []


@pytest.mark.parametrize("honest", [0, 1])
def test_semi2k_without_the_top_digit_of_a_mask_is_noticed(honest: int) -> None:
    assert exposed_with_semi2k(2, Z64, honest, "no top digit")
