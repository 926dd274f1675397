"""Run a whole training study on this machine: owners and parties, in memory or as processes over TLS."""

from __future__ import annotations

import datetime
import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.row_blocks import RowBlocks
from cofit.errors import InvalidInputError, ProtocolError
from cofit.learn.certify import certify
from cofit.learn.plan import Plan
from cofit.learn.private_training import private_training
from cofit.learn.recipes.descent.public_map import PublicMap
from cofit.privacy.certificate import Certificate
from cofit.roles.files.durable import write_durably
from cofit.roles.files.release_store import FileStore, MemoryStore
from cofit.roles.local.disk import disk_of
from cofit.roles.local.member import Contribution
from cofit.roles.local.progress import Progress
from cofit.roles.local.run import DEALER, LocalRun, party_names, run_local
from cofit.roles.local.tables import OwnerTable, contributions_of, holders_of
from cofit.secret.stored import ReleaseStore

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrainingRun:
    """The noisy weights (the intercept's last), their certificate, and the run's public facts."""

    plan: Plan
    weights: Reals
    certificate: Certificate
    run: LocalRun[Reals]


def run_training(
    plan: Plan,
    owners: Mapping[str, OwnerTable],
    *,
    parties: int | Sequence[str] | None = None,
    processes: bool = False,
    threads: int | None = None,
    state: str | Path | None = None,
    timeout: float = 60.0,
    progress: Callable[[Progress], None] | None = None,
    warnings: Sequence[str] = (),
    reference: PublicMap | None = None,
) -> TrainingRun:
    """Train as ``plan`` says on the joint data of ``owners`` (in the order of rows, or of columns).

    state: a directory in which every party keeps its share of the noisy weights (a folder for each, mode 0700) before
        they are opened. Running again with the same directory, plan and data opens the same weights; no fresh noise is
        drawn. Other data or another plan are refused there: use a directory for each release.
        None: nothing is kept, and every call is a release of its own: k calls on the same data cost k times epsilon,
        and their average has sqrt(k) times less noise.
    warnings: sentences that the certificate is to carry beside the plan's.
    reference: the public map that the parties apply to the joint rows, where the plan has one for owners of columns.
    The other arguments are those of ``run_local``.
    """
    holders = holders_of(plan, owners, reference)
    contributions = {name: contributions_of(plan, name, table) for name, table in owners.items()}
    names = list(party_names(plan.facts.spec().parties if parties is None else parties))
    spec = plan.facts.spec(len(names))
    stores: dict[str, ReleaseStore] = {name: _store(state, name) for name in names}
    key = secrets.token_hex(16) if state is None else _release_key(Path(state), contributions)
    shapes = {owner: {name: c.shape for name, c in named.items()} for owner, named in contributions.items()}
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    dealer = DEALER if spec.dealer else None
    stated = partial(certify, plan, parties=names, dealer=dealer, owners=shapes, created=created, warnings=warnings)
    stated(openings=())  # whatever cannot be certified is refused before anything is computed
    with disk_of(plan, len(names), len(owners)) as disk:
        run = run_local(
            partial(private_training, plan=plan, holders=holders, stores=stores, key=key),
            scheme=spec.name,
            parties=names,
            threshold=spec.threshold,
            route=spec.route,
            owners=contributions,
            processes=processes,
            threads=threads,
            timeout=timeout,
            progress=progress,
            disk=disk,
        )
    weights = list(run.results.values())
    if any(not np.array_equal(other, weights[0]) for other in weights[1:]):
        raise ProtocolError("The parties opened different weights. Do not use any of them; please report this.")
    certificate = stated(openings=run.openings)
    return TrainingRun(plan, weights[0], certificate, run)


def _store(state: str | Path | None, party: str) -> ReleaseStore:
    if state is None:
        return MemoryStore()
    folder = Path(state) / party
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return FileStore(folder / "release")


def _release_key(state: Path, contributions: Mapping[str, Mapping[str, Contribution]]) -> str:
    """Return the random name of the release in this directory, which belongs to the data of its first run.

    The launcher recognises the data by a keyed hash in a file of its own (mode 0600); parties see the random name only.
    Whoever has that file can test guesses of the whole data set: keep it as the data are kept.
    """
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = state / "launcher.json"
    known = json.loads(path.read_text()) if path.exists() else None
    salt = secrets.token_bytes(32) if known is None else bytes.fromhex(known["salt"])
    digest = hmac.new(salt, digestmod="sha256")
    for owner, named in contributions.items():
        for name, contribution in named.items():
            values = contribution.values
            blocks = values.blocks() if isinstance(values, RowBlocks) else [np.ascontiguousarray(values)]
            kind = values[:0].dtype if isinstance(values, RowBlocks) else np.asarray(values).dtype
            digest.update(f"{owner} {name} {kind} {contribution.shape} ".encode())
            for block in blocks:
                digest.update(np.ascontiguousarray(block).data)
    if known is None:
        known = {"salt": salt.hex(), "data": digest.hexdigest(), "release": secrets.token_hex(16)}
        write_durably(path, json.dumps(known).encode())
    elif not hmac.compare_digest(known["data"], digest.hexdigest()):
        raise InvalidInputError(
            f"The state directory {state} holds the release of other data. Use a new directory for every release."
        )
    return str(known["release"])
