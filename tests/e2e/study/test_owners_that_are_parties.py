"""Hospitals as the parties of ``semi2k`` or ``pair``: each keeps its own data, nothing of them reaches the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adversary.study.test_dealer_kill import dying
from adversary.study.test_kill import SETTINGS, finish
from cofit.roles.files.manifest import SALT_BYTES
from cofit.roles.files.tables import read_owner_table
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import align_table, prepare
from cofit.roles.party.state import PartyState
from cofit.sharing.inputs import in_chunks
from cofit.sharing.member import as_bytes
from cofit.study.encode import encode_table
from cofit.units import size
from e2e.study.test_commands import cofit
from e2e.study.weights import check_weights
from support.schemes import also_slow
from support.studies import Lab

MakeLab = Callable[..., Lab]
BOTH = ("party-a", "party-b")
HORIZONTAL: dict[str, Any] = {"owners": BOTH, "rows": (300, 500)}
VERTICAL: dict[str, Any] = {"owners": BOTH, "partition": "vertical", "rows": (700, 700), "features": 4}
MIXED: dict[str, Any] = {"owners": ("party-b", "owner-a", "party-a"), "rows": (200, 300, 300)}


def files(lab: Lab, party: str, owner: str) -> dict[str, bytes]:
    """What a party has on its disk of an owner's contribution, without the salts."""
    folder = lab.state(party) / "uploads" / hashlib.sha256(owner.encode()).hexdigest()[:32]
    assert folder.is_dir(), "every party knows of every contribution"
    return {path.name: path.read_bytes()[SALT_BYTES:] for path in folder.rglob("*") if path.is_file()}


def encoded(lab: Lab, owner: str) -> dict[str, bytes]:
    """The owner's values as they are in its party's files."""
    vertical = lab.partition == "vertical"
    path = lab.root / owner / ("table.csv" if vertical else "table.npz")
    table, rows = encode_table(lab.study, owner, read_owner_table(lab.study, owner, path)), None
    if vertical:
        table, rows = align_table(lab.study, table, b"s" * 32, {})
    inputs = prepare(Training(lab.study), owner, table, rows).inputs
    return {
        f"{name}.values": b"".join(bytes(as_bytes(chunk)) for chunk in in_chunks(facts.format.ring, values))
        for name, (facts, values) in inputs.items()
    }


@pytest.mark.parametrize(
    ("scheme", "settings", "count"),
    [
        pytest.param("semi2k", HORIZONTAL, 2, id="horizontal"),
        pytest.param("semi2k", VERTICAL, 2, id="vertical"),
        pytest.param("semi2k", MIXED, 3, id="three-parties-mixed", marks=pytest.mark.slow),
        pytest.param("pair", HORIZONTAL, 2, id="pair-horizontal"),
        pytest.param("pair", VERTICAL, 2, id="pair-vertical", marks=pytest.mark.slow),
        pytest.param("pair", MIXED, 2, id="pair-mixed", marks=pytest.mark.slow),
    ],
)
def test_every_owner_keeps_its_data(make_lab: MakeLab, scheme: str, settings: dict[str, Any], count: int) -> None:
    lab = make_lab(scheme=scheme, count=count, epsilon=20.0, **settings)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    check_weights(lab)
    for owner in lab.owners:
        values = encoded(lab, owner)
        for party in lab.parties:
            held = files(lab, party, owner)
            if owner not in lab.parties:
                assert held and not set(held.values()) & set(values.values())
            else:
                assert held == (values if party == owner else {})
    for owner in lab.owners:
        assert lab.contribute(owner).wait() == 0, "a repetition sends nothing, and is no error"
    lab.stop()


@pytest.mark.parametrize(
    "point", [pytest.param("before commit", marks=pytest.mark.slow), "after checkpoint", "progress noise"]
)
@pytest.mark.parametrize(
    ("scheme", "party"),
    also_slow([("semi2k", "party-a")], ("semi2k", "party-b"), ("pair", "party-a"), ("pair", "party-b")),
)
def test_a_hospital_killed_at_a_point(make_lab: MakeLab, scheme: str, party: str, point: str) -> None:
    lab = make_lab(scheme=scheme, owners=BOTH, **SETTINGS)
    for name in lab.servers:
        lab.start(name, die=dying(point) if name == party else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children[party].wait() == -9
    lab.start(party)
    finish(lab, owners)
    if point == "after checkpoint":
        assert max(lab.first_epochs(party)) > 0, "it must go on from a checkpoint"


def test_what_a_party_keeps_can_be_forgotten(make_lab: MakeLab) -> None:
    lab = make_lab(scheme="semi2k", owners=BOTH, model={"epochs": 3})
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    lab.stop()
    assert files(lab, "party-a", "party-a")
    state = PartyState(lab.state("party-a"), lab.study.hash, "party-a")
    state.forget_shares()
    state.close()
    assert not list(lab.state("party-a").rglob("*.values"))


def test_the_command_says_what_stays_and_what_the_study_costs(tmp_path: Path) -> None:
    inside = Lab(tmp_path / "inside", None, scheme="semi2k", owners=BOTH)
    outside = Lab(tmp_path / "outside", None, scheme="semi2k")
    arguments = ["contribute", "study.toml", "--key", "party-b.key", "--data", "table.npz"]
    said = cofit(inside.root / "party-b", *arguments, "--dry-run").splitlines()
    to = {party: next(line for line in said if line.startswith(f"  {party} (")) for party in BOTH}
    assert to["party-a"].endswith(": nothing of the data, not even shares")
    count = sum(len(values) + SALT_BYTES for values in encoded(inside, "party-b").values())
    assert f": {size(count)}, the encoded data as they are" in to["party-b"]
    costs = [
        json.loads(cofit(lab.root / "public", "check", "study.toml", "--no-forecast", "--json"))
        for lab in (inside, outside)
    ]
    kept, shared = (cost["forecast"] for cost in costs)
    ring = inside.plan.formats.ring
    held = sum(inside.rows) * inside.plan.geometry.cols * ring.element_bytes
    assert shared["train"]["bytes"] - kept["train"]["bytes"] == held
