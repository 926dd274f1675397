"""What a party has told several others, as a digest that they compare: everyone must have been told the same."""

from __future__ import annotations

import hashlib

from cofit.arithmetic import RingArray
from cofit.sharing.member import as_bytes
from cofit.sharing.repn.geometry import Geometry


class Transcript:
    """Running digests of all messages of one party's run: of each dealer to its own group, of each party to the
    openers, and of what all are told.
    """

    def __init__(self, geometry: Geometry, rank: int) -> None:
        self._geometry, self._rank = geometry, rank
        self._dealt = {dealer: hashlib.sha256() for dealer, group in enumerate(geometry.own_groups) if rank in group}
        opens = rank in geometry.openers
        self._opened = {sender: hashlib.sha256() for sender in range(geometry.parties)} if opens else {}
        self._public = hashlib.sha256()
        self.pending = False
        """Whether something was told since the last comparison: by anybody, to anybody."""

    def dealt(self, dealer: int, value: RingArray) -> None:
        """Note what a dealer told its group."""
        self._dealt[dealer].update(as_bytes(value))

    def opened(self, sender: int, value: RingArray) -> None:
        """Note what a party told the openers."""
        self._opened[sender].update(as_bytes(value))

    def public(self, sender: int, value: bytes) -> None:
        """Note what a party told everybody."""
        self._public.update(sender.to_bytes(2, "little") + len(value).to_bytes(8, "little") + value)

    def common(self, rank: int, session: bytes) -> bytes:
        """Return a digest of all that both we and that party were told, or told."""
        both = hashlib.sha256(session + self._public.digest())
        for dealer, digest in self._dealt.items():
            if rank in self._geometry.own_groups[dealer]:
                both.update(digest.digest())
        if rank in self._geometry.openers:
            for digest in self._opened.values():
                both.update(digest.digest())
        return both.digest()

    def digest_of_public(self) -> bytes:
        """Return a digest of all that everybody was told."""
        return self._public.digest()
