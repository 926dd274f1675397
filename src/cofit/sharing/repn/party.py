"""``repn``: replicated sharing among 3, 5 or 7 parties; a minority of them may do anything; security with abort.

Sharing. x is the sum of a summand for every group of t + 1 of the n = 2t + 1 parties, known to its members: a party has
2, 6 or 20 of 3, 10 or 35. Any t parties miss one. Bits are shared in the same way, with XOR.

Everything that parties tell is believed at first, and noted (``relations.py``); all of it is checked together before
anything is opened, stored or exported (``check.py``). Sources: ``proof.md``, which has the argument.

Cost in ring elements per output element (all parties together) and rounds, for n = 3, 5, 7; checks come on top
(``tally.py`` counts them):

    operation               rounds    elements            where
    input by an owner       2         t + 1 and seeds     and a digest from each party to each other one
    input by a party        1         1, 2, 3             t
    open to all             1         6, 60, 420          copies from all holders
    product of any kind     1         3, 10, 21           n t
    truncation, and any     2, 8, 10  12, 152, 483        and 0, 428, 1734 words of bits for 64 of them
      product with it
    fresh sharing           1         2, 6, 12            t (t + 1)
    random bits (Boolean)   0         0
    bit -> ring element     3, 3, 4   3, 20, 63           and 4, 12, 24 words for every 64 bits
    ring element -> k bits  2, 3, 4 rounds, 4, 34, 156 words for 64 bits, and the ANDs of ``add_from_signals``
"""

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

    in_memory = "what was multiplied is kept until it has been checked"
    info = SchemeInfo(
        name="repn",
        parties=(3, 7),
        step=2,
        default_parties=3,
        adversary="active: corrupted parties may do anything; a run that they disturb is aborted",
        most_corrupted=lambda parties: (parties - 1) // 2,
        corrupted="{threshold} of {parties} (honest majority)",
        active=True,
        soundness_bits=40,  # 2^-50 for a session, and a study has at most 512
        assumptions="AES-256 is a pseudorandom function; SHA-256 is collision-resistant, hides nonces that were "
        "committed to, and makes coins of them as good as random; no more than {threshold} of the "
        "{parties} parties collude",
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
