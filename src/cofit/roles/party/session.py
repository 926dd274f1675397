"""One session of a computing party: from stored contributions to the released weights.

Every session has new seeds. It may end at any moment and another begin: contributions are read from disk and checked
against the owners' digests, the study's coin is the same each time (``coin_file``), training goes on from the last
common checkpoint, and once the noisy shares are stored only those are ever opened.

The order at every party: charge the ledger, store the noisy shares, meet all others, note that all have stored, meet
again, send the first message of the opening. So an opening message of a party that follows the protocol means that
*every* such party has noted it; and where a party lacks the stored shares and no party has that note, nobody can have
seen anything: those who have shares discard them, and the parties draw again. (Otherwise one party that is killed while
all are storing would end the study.)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from cofit.errors import StateError
from cofit.learn.inputs import Holders
from cofit.learn.plan import Plan
from cofit.learn.private_training import private_training
from cofit.learn.releases import accounted_releases
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.manifest import manifest_hash, without_salt
from cofit.roles.files.release_store import FileStore
from cofit.roles.party.checkpoints import CheckpointFiles
from cofit.roles.party.coin import study_coin
from cofit.roles.party.state import LEDGER, RELEASE, PartyState
from cofit.secret import AuditLog, InputFacts, Opening, Party
from cofit.sharing import DealtShare, Scheme
from cofit.sharing.known_inputs import assembled, layout_of
from cofit.study.document import Study
from cofit.study.expected import party_ranks

Report = Callable[[str, int, int], None]
AGREED = "plan and contributions"
CHECKPOINT_EPOCHS = 25
"""How often a checkpoint is kept where the study does not say."""
_log = logging.getLogger(__name__)


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
        record = self.store.load()
        if record is not None:  # a crash may have come between storing and noting
            self._note()
        return record

    def save(self, record: bytes) -> None:
        epsilon, delta = self.plan.facts.epsilon, self.plan.total_delta
        releases = accounted_releases(self.plan)
        self.ledger.charge("release", self.study.hash, self.study.name, epsilon, delta, releases)
        self.store.save(record)
        self._note()

    def confirm(self) -> None:
        self.state.confirm_release()

    def _note(self) -> None:
        if self.state.phase not in ("stored", "released"):
            epsilon, delta = self.plan.facts.epsilon, self.plan.total_delta
            self.state.advance("stored")
            self.audit.write("release stored", epsilon=float(epsilon), delta=float(delta))
            _log.info("stored: the noisy shares are on disk, and the privacy budget is charged")


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
        state.begin_opening()
        audit.write("opening", reason=opening.reason, shape=list(opening.shape), learned_by=list(opening.learned_by))

    party = Party(scheme, expected, AuditLog(opened), report)
    begin_once(state, party.session)
    basis = _basis(plan, state, expected)
    party.agree(AGREED, basis)
    _settle(party, state, audit)
    if not (state.directory / RELEASE).exists():  # otherwise it is opened, and the data are not needed
        ranks = party_ranks(study)
        for owner, inputs in expected.items():
            _check_intact(study, state, owner)
            for name, facts in inputs.items():
                party.take(owner, name, _assembled(scheme, state, owner, name, facts, ranks.get(owner)))
    ledger = Ledger(state.directory / LEDGER)
    store = ChargedStore(FileStore(state.directory / RELEASE), ledger, study, plan, state, audit)
    checkpoints = None
    if plan.state is not None:
        checkpoints = CheckpointFiles(state, study.compute.checkpoint_epochs or CHECKPOINT_EPOCHS, plan.state)
    coin = partial(study_coin, party, state, audit, b"\0".join(basis.values()))
    weights = private_training(party, plan, holders, {party.name: store}, study.hash, checkpoints, coin=coin)
    return weights, party.audit.openings


def begin_once(state: PartyState, session: bytes) -> None:
    """Note a session, or raise StateError if this party has begun it before.

    The leader chooses ids, and it may be the corrupted party. Checkpoints and releases of different sessions must never
    pass for those of one: their shares do not fit together, and an opening of such a mixture shows a second draw.
    """
    name = f"session {session.hex()}"
    if state.fact(name) is not None:
        raise StateError("The leading party has called to a session that was before. It must take a new id each time.")
    state.record(**{name: "begun"})


def _settle(party: Party, state: PartyState, audit: AuditFile) -> None:
    """Discard stored shares that some party lacks and that no party knows to be stored everywhere. 2 rounds.

    Why it is safe: a party opens only after a barrier that all reach after noting that all have stored. If one party
    that follows the protocol has no such note, no message of the opening was sent by any that does.
    """
    mine = bytes([(state.directory / RELEASE).exists(), state.release_confirmed])
    told = party.announce("stored release", mine)
    discarded = not (any(confirmed for _, confirmed in told) or all(held for held, _ in told))
    party.agree("stored release", bytes([discarded]))
    if not discarded or not mine[0]:
        return
    state.discard_release()
    audit.write("stored release discarded", why="a party was stopped before it had stored it; nothing was opened")
    _log.info("a party was stopped while all were storing: nothing was opened, and the parties draw again")


def _basis(plan: Plan, state: PartyState, expected: Mapping[str, object]) -> dict[str, bytes]:
    """What every party must have in common before it touches a share: the plan, every owner's manifest, and the date
    of the certificate, which the leader told each of them.
    """
    uploads = [state.upload(owner) for owner in expected]
    hashes = ["" if upload is None else manifest_hash(upload.manifest["common"]) for upload in uploads]
    values = (plan.hash, state.fact("created") or "", *hashes)
    return {name: value.encode() for name, value in zip(agreed_names(expected), values, strict=True)}


def agreed_names(owners: Iterable[str]) -> list[str]:
    """Return what the parties agree on when a session begins, as errors call it."""
    return ["the plan", "the certificate's date", *(f"the contribution of '{owner}'" for owner in owners)]


def _check_intact(study: Study, state: PartyState, owner: str) -> None:
    """Raise StateError, with the remedy, if a file of a contribution is not what the owner announced."""
    damaged, upload = state.damaged(owner), state.upload(owner)
    if damaged is None or upload is None:
        return
    ranks = upload.manifest["common"]["components"][damaged.name]["ranks"]
    others = [f"'{party.name}'" for rank, party in enumerate(study.parties) if rank in ranks]
    others = [name for name in others if name != f"'{state.fact('party')}'"]
    copy = f", or a copy from {' or '.join(others)}, which may have the same file at the same place" if others else ""
    raise StateError(
        f"A share of the contribution of '{owner}' is damaged or missing: {damaged.relative_to(state.directory)} in "
        f"the state directory. Nothing is computed with it. Put back a backup of this file{copy}. If there is none, "
        f"agree on a new study."
    )


def _assembled(
    scheme: Scheme, state: PartyState, owner: str, name: str, facts: InputFacts, holder: int | None
) -> DealtShare:
    kind, parties, ring, shape = type(scheme), len(scheme.names), facts.format.ring, facts.shape
    layout = layout_of(kind, ring, shape, parties, holder)
    mine = {c.name: without_salt(state.component(owner, f"{name}.{c.name}")) for c in layout if scheme.rank in c.ranks}
    return assembled(kind, ring, shape, scheme.rank, parties, mine, holder)
