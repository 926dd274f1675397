"""Openings, and what all are told.

A party that lacks a summand gets it from every one of the t + 1 that hold it, and stops unless all say the same: one of
them is honest. So what is opened is what the honest parties share, whatever the others do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import RingArray
from cofit.sharing.group_streams import Group
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.repn.conversion import RepnConversion
from cofit.sharing.shares import Share
from cofit.sharing.steps import Messages, Protocol


class Opening(RepnConversion):
    """One party, with what it opens and says."""

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """Everything is verified first. 1 round; to each receiver t + 1 copies of every summand that it lacks."""
        self.verify()
        return self._run("open", self._opened(share, self._everybody if to is None else tuple(sorted(set(to)))))

    def _opened(self, share: Share, receivers: Sequence[int]) -> Protocol[RingArray | None]:
        """Open a value to some ranks, who compare what they are told; the others return None. 1 round."""
        ring, send = share.ring, {}
        for rank in receivers:
            parts = [share.parts[self._places[group]] for group in self._lacked(rank, self.rank)]
            if rank != self.rank and parts:
                send[rank] = [np.stack(parts)]
        heard: dict[int, RingArray] = {}
        if self.rank in receivers:
            lacked = {rank: self._lacked(self.rank, rank) for rank in self._peers}
            heard = {rank: ring.empty((len(groups), *share.shape)) for rank, groups in lacked.items() if groups}
        yield Messages(send, heard)
        if self.rank not in receivers:
            return None
        found: dict[Group, RingArray] = {}
        for rank, told in heard.items():
            for group, part in zip(self._lacked(self.rank, rank), told, strict=True):
                if group in found and not np.array_equal(found[group], part):
                    raise self._failed("open", "Parties told us different summands of what is opened.")
                found[group] = part
        return ring.signed_sum([*share.parts, *found.values()])

    def _lacked(self, rank: int, holder: int) -> list[Group]:
        """Return the groups that ``holder`` is in and ``rank`` is not."""
        return [group for group in self.geometry.held[holder] if rank not in group]

    # --- what all are told -------------------------------------------------------------------------------

    def _published(self, payload: bytes) -> Protocol[list[bytes]]:
        """Tell everybody something, all equally much; return what everybody said, by rank. 1 round.

        With it goes a digest of all that was said so far: whoever heard something else is found out before the next
        step.
        """
        before = self.transcript.digest_of_public()
        message = np.frombuffer(before + payload, np.uint8)
        heard = {rank: np.empty(len(message), np.uint8) for rank in self._peers}
        yield Messages({rank: [message] for rank in self._peers}, heard)
        told = [payload if rank == self.rank else b"" for rank in self._everybody]
        for rank, array in heard.items():
            said = array.tobytes()
            if said[:DIGEST_BYTES] != before:
                raise self._failed("verify", f"'{self.names[rank]}' heard something else than we did.")
            told[rank] = said[DIGEST_BYTES:]
        for rank, said in enumerate(told):
            self.transcript.public(rank, said)
        return told

    def _compared(self) -> Protocol[None]:
        """Every two parties compare a digest of all that both were told. 1 round."""
        session = self.mesh.terms.session
        own = {rank: np.frombuffer(self.transcript.common(rank, session), np.uint8) for rank in self._peers}
        heard = {rank: np.empty(DIGEST_BYTES, np.uint8) for rank in self._peers}
        yield Messages({rank: [digest] for rank, digest in own.items()}, heard)
        for rank, digest in own.items():
            if not np.array_equal(heard[rank], digest):
                what = f"We and '{self.names[rank]}' were told different things by some party, or one of us says so."
                raise self._failed("verify", what)
