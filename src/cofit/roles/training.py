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
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, Shape
from cofit.errors import InvalidInputError, ProtocolError, parameter_error
from cofit.learn.certify import certify
from cofit.learn.contribution import prepared_features
from cofit.learn.plan import Plan
from cofit.learn.private_training import private_training
from cofit.learn.train import FEATURES, LABELS, Holders
from cofit.privacy.certificate import Certificate
from cofit.roles.durable import write_durably
from cofit.roles.local import DEALER, LocalRun, party_names, run_local
from cofit.roles.member import Contribution
from cofit.roles.progress import Progress
from cofit.roles.release_store import FileStore, MemoryStore
from cofit.secret.stored import ReleaseStore
from cofit.sharing import scheme_named

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class OwnerTable:
    """What one owner holds, in the clear: features (rows x columns), labels (0 and 1), or both."""

    features: npt.NDArray[Any] | None = None
    labels: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name, dimensions in (("features", 2), ("labels", 1)):
            array = getattr(self, name)
            if array is not None and (not isinstance(array, np.ndarray) or array.ndim != dimensions):
                kind = type(array).__name__ if not isinstance(array, np.ndarray) else f"shape {array.shape}"
                raise parameter_error(name, "OwnerTable", f"a NumPy array of {dimensions} dimensions, or None", kind)

    def __repr__(self) -> str:
        return f"<OwnerTable, features {_shape(self.features)}, labels {_shape(self.labels)}>"


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
    parties: Sequence[str] | None = None,
    processes: bool = False,
    threads: int | None = None,
    state: str | Path | None = None,
    timeout: float = 60.0,
    progress: Callable[[Progress], None] | None = None,
    warnings: Sequence[str] = (),
) -> TrainingRun:
    """Train as ``plan`` says on the joint data of ``owners`` (in the order of rows, or of columns).

    state: a directory in which every party keeps its share of the noisy weights (a folder for each, mode 0700) before
        they are opened. Running again with the same directory, plan and data opens the same weights; no fresh noise is
        drawn. Other data or another plan are refused there: use a directory for each release.
        None: nothing is kept, and every call is a release of its own: k calls on the same data cost k times epsilon,
        and their average has sqrt(k) times less noise.
    warnings: sentences that the certificate is to carry beside the plan's.
    The other arguments are those of ``run_local``.
    """
    holders = _holders(plan, owners)
    contributions = {name: _contributions(plan, name, table) for name, table in owners.items()}
    names = list(party_names(scheme_named(plan.facts.scheme).info.default_parties if parties is None else parties))
    stores: dict[str, ReleaseStore] = {name: _store(state, name) for name in names}
    key = secrets.token_hex(16) if state is None else _release_key(Path(state), contributions)
    shapes = {owner: {name: np.shape(c.values) for name, c in named.items()} for owner, named in contributions.items()}
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    dealer = DEALER if scheme_named(plan.facts.scheme).info.dealer else None
    stated = partial(certify, plan, parties=names, dealer=dealer, owners=shapes, created=created, warnings=warnings)
    stated(openings=())  # whatever cannot be certified is refused before anything is computed
    run = run_local(
        partial(private_training, plan=plan, holders=holders, stores=stores, key=key),
        scheme=plan.facts.scheme,
        parties=names,
        owners=contributions,
        processes=processes,
        threads=threads,
        timeout=timeout,
        progress=progress,
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
            values = np.ascontiguousarray(contribution.values)
            digest.update(f"{owner} {name} {values.dtype} {values.shape} ".encode())
            digest.update(values.tobytes())
    if known is None:
        known = {"salt": salt.hex(), "data": digest.hexdigest(), "release": secrets.token_hex(16)}
        write_durably(path, json.dumps(known).encode())
    elif not hmac.compare_digest(known["data"], digest.hexdigest()):
        raise InvalidInputError(
            f"The state directory {state} holds the release of other data. Use a new directory for every release."
        )
    return str(known["release"])


def _holders(plan: Plan, owners: Mapping[str, OwnerTable]) -> Holders:
    """Return who holds what, or refuse tables that do not make up the plan's."""
    facts = plan.facts
    features = {name: table.features.shape for name, table in owners.items() if table.features is not None}
    labels = {name: len(table.labels) for name, table in owners.items() if table.labels is not None}
    if not features or not labels:
        raise parameter_error("owners", "run_training", "with features and with labels", list(owners.values()))
    joined, common = (1, 0) if facts.partition == "vertical" else (0, 1)
    total = sum(shape[joined] for shape in features.values())
    widths = {shape[common] for shape in features.values()}
    wanted = (facts.rows, facts.cols)
    if total != wanted[joined] or widths != {wanted[common]} or sum(labels.values()) != facts.rows:
        raise InvalidInputError(
            f"The owners' tables do not make up the {facts.rows} rows, {facts.cols} columns and {facts.rows} labels of "
            f"the plan ({facts.partition}). Features: {features}; labels: {labels}."
        )
    if facts.partition == "horizontal" and labels != {name: shape[0] for name, shape in features.items()}:
        raise InvalidInputError(
            f"Every owner of rows must bring a label for each of them. Features: {features}; labels: {labels}."
        )
    return Holders(tuple(features), tuple(labels))


def _contributions(plan: Plan, owner: str, table: OwnerTable) -> dict[str, Contribution]:
    formats = plan.formats
    result = {}
    if table.features is not None:
        try:
            values = prepared_features(plan, table.features)
        except InvalidInputError as error:
            raise type(error)(f"Owner '{owner}': {error}") from None
        result[FEATURES] = Contribution(values, 1.0, formats.of(formats.data))
    if table.labels is not None:
        if not np.isin(table.labels, (0, 1)).all():
            raise InvalidInputError(f"Owner '{owner}': labels must be 0 and 1, one for each row.")
        result[LABELS] = Contribution(table.labels.astype(np.int64), 1.0, FixedPoint(0, formats.ring))
    return result


def _shape(array: npt.NDArray[Any] | None) -> Shape | None:
    return None if array is None else array.shape
