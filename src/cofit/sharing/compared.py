"""Owners may cheat with any scheme: parties that were dealt one component see that it is the same for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cofit.sharing.inputs import DIGEST_BYTES, common_digests
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import ComponentFacts
from cofit.sharing.summands import dealt_differently


class ComparesDealt(Scheme):
    """A passive scheme in which every two parties are dealt something in common."""

    def _compare_dealt(self, owner: str, layout: Sequence[ComponentFacts], received: Mapping[str, memoryview]) -> None:
        """Every two parties compare what both were dealt. 1 round, n (n - 1) digests."""
        digests = common_digests(layout, received, self.rank)
        heard = {rank: np.empty(DIGEST_BYTES, np.uint8) for rank in digests}
        told = {rank: [np.frombuffer(digest, np.uint8)] for rank, digest in digests.items()}
        self._exchange("input", told, heard)
        for rank, digest in digests.items():
            if heard[rank].tobytes() != digest:
                raise dealt_differently(owner, self.mesh.name, self.names[rank])
