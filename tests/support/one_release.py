"""That a study has come to one release: what its processes have left on disk must all belong to it."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofit.models.study_model import StudyModel
from cofit.models.verification import verify_model
from cofit.privacy.certificate import Certificate, CertifiedRelease
from cofit.roles.analyst.fetch import fetch_release
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.published import Release
from cofit.roles.party.state import WORKERS
from cofit.secret import common_coin
from cofit.study.plan import study_plan

if TYPE_CHECKING:
    from support.studies import Lab


def check_one_release(lab: Lab) -> Release:
    """Every party holds the same release; everything that was ever stored, charged or opened belongs to it.

    A dealer keeps its audit log and facts about itself, and nothing else.
    """
    signed = fetch_release(lab.study, lab.identity("analyst"))
    release = signed.release
    model = StudyModel.from_release(lab.study, release.weights, release.certificate, signed.signatures)
    (lab.root / "fetched.json").write_text(model.to_json())
    assert verify_model(lab.root / "fetched.json", lab.study).complete
    assert release.certificate.scheme == lab.scheme
    _check_one_coin(lab)
    for party in lab.parties:
        state = lab.state(party)
        records = lab.audit(party)
        assert {record["reason"] for record in records if record["event"] == "opening"} == {
            study_plan(lab.study).release_reason
        }
        assert [r["event"] for r in records].count("contributions sealed") <= 1
        _check_one_draw(lab, party, records)
        _check_charges(lab, state / "ledger.sqlite", "release", release.certificate)
        assert Release.from_json((state / "published.json").read_text()) == release
    for ledger in (lab.root / owner / "owner-state" / "budget.sqlite" for owner in lab.owners):
        if ledger.exists():
            _check_charges(lab, ledger, "data", release.certificate)
    for dealer in lab.dealers:
        assert {path.name for path in lab.state(dealer).iterdir()} == {"audit.jsonl", "lock", "state.sqlite"}
        assert not {"opening", "released", "check failed"} & set(lab.events(dealer))
    for server in lab.servers:
        _check_private(lab.state(server))
    return release


def _check_private(state: Path) -> None:
    """Nobody else may read anything. Below the private directory of Dask's workers are no rows, whoever was killed."""
    workers = state / WORKERS
    for path in (state, *state.rglob("*")):
        if workers in path.parents:
            assert path.is_dir() or path.suffix in (".lock", ".dirlock"), path
        else:
            wanted = 0o700 if path.is_dir() else 0o600
            assert path.stat().st_mode & 0o777 == wanted, path


def _check_one_coin(lab: Lab) -> None:
    """Every party has the record of the same coin; and whoever noted one, noted that, and once."""
    records = [common_coin._decode((lab.state(party) / "coin").read_bytes()) for party in lab.parties]
    ((_, coin),) = {(record.commitments, record.coin) for record in records}
    assert coin is not None
    for party in lab.parties:
        noted = [record["sha256"] for record in lab.audit(party) if record["event"] == "coin drawn"]
        assert noted in ([], [hashlib.sha256(coin).hexdigest()])


def _check_charges(lab: Lab, ledger: Path, dataset: str, certificate: Certificate) -> None:
    """One charge, for the releases that the certificate lists, and each with its part of the account."""
    charges = Ledger(ledger).charges()
    assert [(charge.dataset, charge.study) for charge in charges] == [(dataset, lab.study.hash)]
    assert (charges[0].epsilon, charges[0].delta) == (certificate.epsilon, certificate.delta_total)
    releases = charges[0].releases or ()
    stated = [one.name for one in fields(CertifiedRelease)]
    listed = [CertifiedRelease(**{name: getattr(one, name) for name in stated}) for one in releases]
    assert tuple(listed) == certificate.releases
    assert all(one.amount > 0 and one.distance >= one.sampler_distance for one in releases)


def _check_one_draw(lab: Lab, party: str, records: list[dict[str, Any]]) -> None:
    """What was stored changed only by a note that says so, and never after any party began to open."""
    record = hashlib.sha256((lab.state(party) / "release").read_bytes()).hexdigest()
    stored = [
        (time, point.rpartition(": ")[2])
        for time, point in lab.timed_trace(party)
        if point.startswith("after save release: ")
    ]
    discarded = [r["event"] for r in records].count("stored release discarded")
    assert len({digest for _, digest in stored} | {record}) <= 1 + discarded, "another record was stored"
    opened = [
        time for other in lab.parties for time, point in lab.timed_trace(other) if point == "before begin opening"
    ]
    assert all(digest == record for time, digest in stored if time > min(opened)), "a second draw after an opening"
    kept = [(time, point) for time, point in lab.timed_trace(party) if point.endswith("checkpoint")]
    dropped = [time for time, point in lab.timed_trace(party) if point == "after drop checkpoints"]
    if opened:  # none where nothing is traced, as between hosts
        assert dropped and min(dropped) < min(opened), "checkpoints are deleted before anybody opens"
        assert all(time < min(opened) for time, _ in kept), "a checkpoint after an opening"
    assert not (lab.state(party) / "checkpoints").exists()
