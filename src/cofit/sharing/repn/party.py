"""``repn``: replicated sharing among 3, 5 or 7 parties, of whom a minority may do anything; security with abort."""

from __future__ import annotations

from collections.abc import Sequence

from cofit.sharing.costs import Costs
from cofit.sharing.packed_bits import PackedBoolean
from cofit.sharing.repn.check import Checking
from cofit.sharing.repn.costs import costs_of
from cofit.sharing.repn.geometry import geometry_of
from cofit.sharing.shares import Share
from cofit.sharing.spec import SchemeInfo, Spec
from cofit.sharing.summands import SummandInputs
from cofit.transport import Mesh


class Repn(Checking):
    """One of the parties."""

    info = SchemeInfo(
        name="repn",
        parties=(3, 7),
        step=2,
        default_parties=3,
        adversary="active: corrupted parties may do anything; a run that they disturb is aborted",
        most_corrupted=lambda parties: (parties - 1) // 2,
        corrupted="{threshold} of {parties} (honest majority)",
        active=True,
        assumptions="AES-256 is a pseudorandom function; no more than {threshold} of the {parties} parties collude",
    )

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """The table at the head of this file, for programs that count."""
        return costs_of(spec.parties)

    @classmethod
    def inputs(cls, spec: Spec) -> SummandInputs:
        """Seeds of the summands of all groups but the last, whose summand comes in full."""
        geometry = geometry_of(spec.parties)
        held = tuple(tuple(geometry.groups.index(g) for g in groups) for groups in geometry.held)
        return SummandInputs(cls.info.name, held, len(geometry.groups) - 1)

    def refresh(self, share: Share) -> Share:
        """The openers deal the summands of which they are the first holders. 1 round, t (t + 1) elements."""
        self.verification.refuse_after_failure()
        own = self._first_summand(share)
        with self._whole():
            fresh = self._run("refresh", self._summed(share.ring, share.shape, self.geometry.openers, own))
            self.relations.note_zero(self.sub(fresh, share))
        return fresh
