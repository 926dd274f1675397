"""What parties do that may meet cheats: compare what both were told, and end a run for good when a check fails."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from cofit.errors import DisputeError
from cofit.sharing.inputs import DIGEST_BYTES, common_digests
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import ComponentFacts, Share


class Active(Scheme):
    """A party of a scheme in which corrupted parties may do anything."""

    @property
    def _peers(self) -> tuple[int, ...]:
        """The ranks of all others."""
        return tuple(rank for rank in range(len(self.names)) if rank != self.rank)

    def _agree_on(self, operation: str, texts: Mapping[int, bytes], complaint: str, owner: str | None = None) -> None:
        """Compare, with each of some ranks, a text that both must have: digests both ways. 1 round.

        A digest says nothing new to a party that has the text, and it goes to no other. ``owner``: from whom both have
        the text, if from nobody else; then only that owner and the other party are in dispute.
        """
        self.verification.refuse_after_failure()
        session = self.mesh.terms.session
        digests = {
            rank: np.frombuffer(hashlib.sha256(session + text).digest(), np.uint8) for rank, text in texts.items()
        }
        heard = {rank: np.empty(DIGEST_BYTES, np.uint8) for rank in texts}
        self._exchange(operation, {rank: [digest] for rank, digest in digests.items()}, heard)
        for rank, digest in digests.items():
            if not np.array_equal(heard[rank], digest):
                other = self.names[rank]
                suspects = None if owner is None else (owner, other)
                raise self._failed(operation, f"'{other}' does not agree. {complaint}", suspects)

    def _compare_dealt(self, owner: str, layout: Sequence[ComponentFacts], received: Mapping[str, memoryview]) -> None:
        """Every two parties compare what both were dealt: an owner may lie, too. 1 round, n (n - 1) digests."""
        self._agree_on(
            "input",
            common_digests(layout, received, self.rank),
            f"Owner '{owner}' has dealt the two of them different shares, or that party lies.",
            owner,
        )

    def check_stored(self, shares: Sequence[Share]) -> None:
        """Every two parties compare the summands that both hold. 1 round, n (n - 1) digests.

        A share that was stored is believed no more than one that an owner deals: a corrupted party may have changed its
        own, and an honest one may have been given back an old file.
        """
        with self.label("stored"):
            texts = {
                peer: b"".join(share.parts[i].tobytes() for share in shares for i in self._parts_in_common(peer))
                for peer in self._peers
            }
            self._agree_on("check", texts, "The shares that they stored do not fit together.")

    @abstractmethod
    def _parts_in_common(self, rank: int) -> Sequence[int]:
        """Return which of our parts of a share that party holds, too."""

    def announce(self, label: str, message: bytes) -> tuple[bytes, ...]:
        """As for every scheme, and then every two parties compare all that they heard, so that nobody can tell two
        parties different things. 2 rounds; n (n - 1) digests beside the messages.
        """
        self.verification.refuse_after_failure()
        told = super().announce(label, message)
        with self.label(label):
            text = b"".join(told)
            self._agree_on("echo", dict.fromkeys(self._peers, text), "A party told two others different things.")
        return told

    # --- the end -----------------------------------------------------------------------------------------

    def _failed(self, operation: str, what: str, parties: tuple[str, ...] | None = None) -> DisputeError:
        """End the run for good, and return the error to raise. ``parties``: in dispute; None: all others."""
        failure = f"A check failed at '{self.mesh.name}' in '{self._label}{operation}'. {what}"
        self.verification.fail(failure)
        self._forget()
        self.on_failure()
        self.mesh.abort(failure)
        suspects = tuple(self.names[rank] for rank in self._peers) if parties is None else parties
        return DisputeError(f"{failure} Do not repeat the run before you know why.", suspects)

    @abstractmethod
    def _forget(self) -> None:
        """Drop all keys."""
