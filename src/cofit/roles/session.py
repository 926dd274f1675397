"""One session of a computing party: from stored contributions to the released weights.

Every session has new seeds. It may end at any moment and another begin: contributions are read from disk, training
goes on from the last common checkpoint, and once the noisy shares are stored only those are ever opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cofit.learn.plan import Plan
from cofit.learn.private_training import private_training
from cofit.learn.train import Holders
from cofit.roles.audit_file import AuditFile
from cofit.roles.checkpoint_files import CheckpointFiles
from cofit.roles.ledger import Ledger
from cofit.roles.party_state import PartyState
from cofit.roles.release_store import FileStore
from cofit.secret import AuditLog, InputFacts, Opening, Party
from cofit.sharing import DealtShare, Scheme
from cofit.study.document import Study

Report = Callable[[str, int, int], None]
RELEASE = "release"


@dataclass(frozen=True)
class ChargedStore:
    """The release store of a party: saving charges the party's ledger too, and both come before any opening."""

    store: FileStore
    ledger: Ledger
    study: Study
    plan: Plan
    state: PartyState
    audit: AuditFile

    def load(self) -> bytes | None:
        return self.store.load()

    def save(self, record: bytes) -> None:
        mechanism = self.plan.mechanism
        self.ledger.charge(
            "release", self.study.hash, self.study.name, mechanism.epsilon, Fraction(mechanism.total_delta)
        )
        self.store.save(record)
        self.state.advance("stored")
        self.audit.write("release stored", epsilon=float(mechanism.epsilon), delta=float(mechanism.total_delta))


def run_session(
    scheme: Scheme,
    study: Study,
    plan: Plan,
    holders: Holders,
    expected: Mapping[str, Mapping[str, InputFacts]],
    state: PartyState,
    audit: AuditFile,
    report: Report,
) -> tuple[npt.NDArray[np.float64], tuple[Opening, ...]]:
    """Train and release with the other parties, on a scheme that is set up; return the weights and the openings."""

    def opened(opening: Opening) -> None:
        audit.write("opening", reason=opening.reason, shape=list(opening.shape), learned_by=list(opening.learned_by))

    party = Party(scheme, expected, AuditLog(opened), report)
    for owner, inputs in expected.items():
        for name, facts in inputs.items():
            party.take(owner, name, _assembled(scheme, len(study.parties), state, owner, name, facts))
    ledger = Ledger(state.directory / "ledger.sqlite")
    store = ChargedStore(FileStore(state.directory / RELEASE), ledger, study, plan, state, audit)
    checkpoints = None
    if study.compute.checkpoint_epochs is not None:
        checkpoints = CheckpointFiles(state, study.compute.checkpoint_epochs)
    weights = private_training(party, plan, holders, {party.name: store}, study.hash, checkpoints)
    return weights, party.audit.openings


def _assembled(scheme: Scheme, parties: int, state: PartyState, owner: str, name: str, facts: InputFacts) -> DealtShare:
    layout = scheme.layout(facts.format.ring, facts.shape, parties)
    mine = {c.name: state.component(owner, f"{name}.{c.name}") for c in layout if scheme.rank in c.ranks}
    return scheme.assemble(facts.format.ring, facts.shape, scheme.rank, mine)
