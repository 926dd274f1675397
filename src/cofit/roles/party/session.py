"""One session of a computing party: from stored contributions to the released value.

Every session has new seeds. It may end at any moment and another begin: contributions are read from disk and checked
against the owners' digests, the study's coin is the same each time (``party.coin``), a job resumes from the last
common checkpoint, and once the noisy shares are stored only those are ever opened.

The order at every party: charge the ledger, store the noisy shares, meet all others, delete the checkpoints, note that
all have stored, meet again, send the first message of the opening. So an opening message of a party that follows the
protocol means that *every* such party has noted it, and holds no checkpoint; and where a party lacks the stored shares
and no party has that note, nobody can have seen anything: all delete their checkpoints, those who have shares discard
them, and the parties draw again. (Otherwise one party that is killed while
all are storing would end the study.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cofit.errors import StateError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import write_durably
from cofit.roles.files.manifest import manifest_hash, without_salt
from cofit.roles.jobs.job import Job, Outcome, Work
from cofit.roles.jobs.steps import AGREED, agreed_names, run_job
from cofit.roles.party.checkpoints import CheckpointFiles
from cofit.roles.party.coin import study_coin
from cofit.roles.party.guard import Guard
from cofit.roles.party.state import RESULT, PartyState
from cofit.secret import AuditLog, InputFacts, Opening, Party
from cofit.sharing import DealtShare, Scheme
from cofit.sharing.known_inputs import assembled, layout_of
from cofit.study.agreement import Agreement

Report = Callable[[str, int, int], None]
MOST_SESSIONS = 512
"""Of a study whose scheme checks late: its bound on lies that nobody notices is for so many (``repn/proof.md``)."""
_SESSION = "session "


def run_session(
    scheme: Scheme,
    job: Job,
    state: PartyState,
    audit: AuditFile,
    report: Report,
    *,
    sessions: PartyState | None = None,
    charge: Callable[[], object] | None = None,
    spread: Callable[[Party], None] | None = None,
) -> tuple[Outcome, tuple[Opening, ...]]:
    """Do the job with the other parties, on a scheme that is set up; return what it brought, and the openings.

    sessions: where sessions are noted, if not in ``state``. charge: as in ``Guard``. spread: brings the rows to shards.
    """
    guard = Guard(job, state, audit, charge=charge)
    study = job.study
    party = Party(scheme, job.inputs, AuditLog(guard.opening), report)
    begin_once(sessions or state, party.session, None if scheme.spec.soundness_bits is None else MOST_SESSIONS)
    basis = _basis(job, state)
    party.agree(AGREED, basis)
    guard.settle(party, 1)
    if job.replays or not state.stored_at(1).exists():  # otherwise it is opened, and the data are not needed
        for owner, inputs in job.inputs.items():
            _check_intact(study, state, owner)
            for name, facts in inputs.items() if spread is None else ():
                party.take(owner, name, _assembled(scheme, state, owner, name, facts, job.ranks.get(owner)))
    checkpoints = None
    if job.state is not None:
        checkpoints = CheckpointFiles(state, job.hash, job.state)
    coin = partial(study_coin, party, state, audit, b"\0".join(basis.values()))
    keep = partial(write_durably, state.directory / RESULT)
    outcome = run_job(job, Work(party, checkpoints, coin, keep, spread), guard)
    return outcome, party.audit.openings


def begin_once(state: PartyState, session: bytes, most: int | None = None) -> None:
    """Note a session, or raise StateError if this party has begun it before, or ``most`` others.

    The leader chooses ids, and it may be the corrupted party. Checkpoints and releases of different sessions must never
    pass for those of one: their shares do not fit together, and an opening of such a mixture shows a second draw.
    """
    name = f"{_SESSION}{session.hex()}"
    if state.fact(name) is not None:
        raise StateError("The leading party has called to a session that was before. It must take a new id each time.")
    if most is not None and state.count(_SESSION) >= most:
        raise StateError(
            f"This study has begun {most} sessions, and there must be no more: each is another chance for a party that "
            "cheats, and hangs up before it is found out. Find out why they ended, and make a new study."
        )
    state.record(**{name: "begun"})


def _basis(job: Job, state: PartyState) -> dict[str, bytes]:
    """What every party must have in common before it touches a share: the plan, every owner's manifest, and the date
    of the certificate, which the leader told each of them.
    """
    uploads = [state.upload(owner) for owner in job.inputs]
    hashes = ["" if upload is None else manifest_hash(upload.manifest["common"]) for upload in uploads]
    values = (job.hash, state.fact("created") or "", *hashes)
    return {name: value.encode() for name, value in zip(agreed_names(job.inputs), values, strict=True)}


def _check_intact(study: Agreement, state: PartyState, owner: str) -> None:
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
    kind, spec, ring, shape = type(scheme), scheme.spec, facts.format.ring, facts.shape
    layout = layout_of(kind, spec, ring, shape, holder)
    mine = {c.name: without_salt(state.component(owner, f"{name}.{c.name}")) for c in layout if scheme.rank in c.ranks}
    return assembled(kind, spec, ring, shape, scheme.rank, mine, holder)
