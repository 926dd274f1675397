"""Manifests: what an owner may announce, and that everything else is refused."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import InvalidInputError
from cofit.roles.files.manifest import (
    SALT_BYTES,
    DealtContribution,
    check_manifest,
    deal_contribution,
    files_for,
    fresh_upload_seed,
    manifest_hash,
    without_salt,
)
from cofit.secret import InputFacts
from cofit.sharing import scheme_named

FACTS = {
    "features": InputFacts((5, 3), FixedPoint(24, Z64), 1.0),
    "labels": InputFacts((5,), FixedPoint(0, Z64), 1.0),
}
ROWS = "ab" * 32
SEED = bytes(range(32))
REP3, SEMI2K = scheme_named("rep3").info.spec(), scheme_named("semi2k").info.spec(3)
PLAN = "12" * 32


def dealt_manifest(rows: str | None = None, seed: bytes = SEED) -> dict[str, Any]:
    inputs = {name: (facts, facts.format.encode(np.ones(facts.shape), 1.0)) for name, facts in FACTS.items()}
    return deal_contribution(REP3, inputs, seed, PLAN, rows).manifest


def refused(manifest: object, *, vertical: bool = False) -> str:
    with pytest.raises(InvalidInputError) as info:
        check_manifest(manifest, REP3, FACTS, plan=PLAN, vertical=vertical)
    return str(info.value)


def test_what_is_dealt_is_accepted() -> None:
    manifest = dealt_manifest()
    assert check_manifest(manifest, REP3, FACTS, plan=PLAN, vertical=False) == manifest
    with_rows = dealt_manifest(ROWS)
    assert check_manifest(with_rows, REP3, FACTS, plan=PLAN, vertical=True) == with_rows


def test_a_digest_cannot_be_checked_without_the_salt_that_its_holders_get() -> None:
    """Rank 0 holds both seeds, so it knows the x_2 of every guess: the digest of a bare x_2 would confirm the right."""
    inputs = {name: (facts, facts.format.encode(np.ones(facts.shape), 1.0)) for name, facts in FACTS.items()}
    dealt = deal_contribution(REP3, inputs, SEED, PLAN)
    files = {name: b"".join(map(bytes, c.content())) for name, c in dealt.components.items()}
    held = b"".join(files[name] for name, _ in dealt.files_of(0))
    for name, entry in dealt.manifest["components"].items():
        salt, content = files[name][:SALT_BYTES], bytes(without_salt(memoryview(files[name])))
        assert entry["sha256"] == hashlib.sha256(salt + content).hexdigest()
        assert entry["sha256"] != hashlib.sha256(content).hexdigest()
        assert (salt in held) == (0 in entry["ranks"])
    salts = {files[name][:SALT_BYTES] for name in files}
    assert len(salts) == len(files)


def test_the_same_seed_gives_the_same_manifest_and_another_another() -> None:
    assert dealt_manifest() == dealt_manifest()
    one, other = dealt_manifest(), dealt_manifest(seed=fresh_upload_seed())
    assert one["upload"] != other["upload"]
    for name in one["components"]:
        assert one["components"][name]["sha256"] != other["components"][name]["sha256"]


def test_digests_are_those_of_the_bytes_that_are_sent() -> None:
    inputs = {name: (facts, facts.format.encode(np.ones(facts.shape), 1.0)) for name, facts in FACTS.items()}
    dealt = deal_contribution(REP3, inputs, SEED, PLAN)
    assert repr(dealt) == f"<DealtContribution {dealt.manifest['upload']}>"
    for rank in range(3):
        files = files_for(dealt.manifest, rank)
        sent = {name: b"".join(component.content()) for name, component in dealt.files_of(rank)}
        assert set(files) == set(sent)
        for name, content in sent.items():
            assert files[name] == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize("plan", ["", "34" * 32, PLAN + "\n", 1, None, [PLAN]])
def test_the_plan_is_that_of_the_party(plan: object) -> None:
    text = refused({**dealt_manifest(), "plan": plan})
    assert "'plan'" in text and "run the same cofit release as the parties" in text


def test_the_hash_covers_the_rows() -> None:
    hashes = {manifest_hash(dealt_manifest(rows)) for rows in (None, ROWS, "cd" * 32)}
    assert len(hashes) == 3


@pytest.mark.parametrize("rows", ["", "ab", "AB" * 32, "g" * 64, ROWS + "\n", 1, True, [ROWS], {}])
def test_rows_that_are_no_digest(rows: object) -> None:
    assert "'rows'" in refused({**dealt_manifest(), "rows": rows}, vertical=True)
    assert "'rows'" in refused({**dealt_manifest(), "rows": rows})


def test_rows_belong_to_vertical_studies_and_only_there() -> None:
    assert "vertical" in refused(dealt_manifest(), vertical=True)
    assert "null in a horizontal study" in refused(dealt_manifest(ROWS))


@pytest.mark.parametrize("manifest", [None, 1, "x", [], {}, {"upload": "a" * 32}, {**dealt_manifest(), "more": 1}])
def test_no_manifests(manifest: object) -> None:
    assert "'manifest'" in refused(manifest)


@pytest.mark.parametrize("upload", ["", "a" * 31, "A" * 32, "../" + "a" * 29, "a" * 32 + "\n", 7, None, ["a" * 32]])
def test_ids_that_are_none(upload: object) -> None:
    assert "'upload'" in refused({**dealt_manifest(), "upload": upload})


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"ranks": [0, 2], "size": 33},
        {"ranks": [0, 1], "size": 32},
        {"ranks": [2, 0], "size": 32},
        {"ranks": [0], "size": 32},
        {"ranks": [False, 2], "size": 32},
        {"ranks": [0.0, 2], "size": 32},
        {"ranks": [0, 2], "size": 32.0},
        {"ranks": [0, 2], "size": "32"},
        {"ranks": [0, 2], "size": 32, "path": "/etc"},
    ],
)
def test_entries_are_exactly_those_of_the_study(entry: object) -> None:
    manifest = copy.deepcopy(dealt_manifest())
    digest = manifest["components"]["features.seed_0"]["sha256"]
    manifest["components"]["features.seed_0"] = {**entry, "sha256": digest} if isinstance(entry, dict) else entry
    assert "components.features.seed_0" in refused(manifest)


@pytest.mark.parametrize("digest", [None, 1, "", "ab" * 31, "AB" * 32, "zz" * 32, ["ab" * 32]])
def test_digests_that_are_none(digest: object) -> None:
    manifest = copy.deepcopy(dealt_manifest())
    manifest["components"]["labels.x_2"]["sha256"] = digest
    assert "components.labels.x_2" in refused(manifest)


def test_files_are_those_of_the_study() -> None:
    manifest = dealt_manifest()
    wrong: tuple[Any, ...] = ({}, [], None, {**manifest["components"], "../x": {}}, {"labels.x_2": {}})
    for components in wrong:
        assert "'components'" in refused({**manifest, "components": components})


# --- owners that are parties -------------------------------------------------------------------------------


def kept(holder: int | None, scheme: str = "semi2k") -> DealtContribution:
    inputs = {name: (facts, facts.format.encode(np.ones(facts.shape), 1.0)) for name, facts in FACTS.items()}
    return deal_contribution(scheme_named(scheme).info.spec(3), inputs, SEED, PLAN, holder=holder)


@pytest.mark.parametrize("holder", [0, 1, 2])
def test_an_owner_that_is_a_party_sends_to_itself_alone(holder: int) -> None:
    dealt = kept(holder)
    for rank in range(3):
        files = {name: b"".join(map(bytes, c.content())) for name, c in dealt.files_of(rank)}
        wanted = ["features.values", "labels.values"] if rank == holder else []
        assert list(files) == wanted == list(files_for(dealt.manifest, rank))
        for name, content in files.items():
            facts = FACTS[name.partition(".")[0]]
            assert content[SALT_BYTES:] == facts.format.encode(np.ones(facts.shape), 1.0).tobytes()
            entry = dealt.manifest["components"][name]
            assert entry["sha256"] == hashlib.sha256(content).hexdigest()
            assert entry["sha256"] != hashlib.sha256(content[SALT_BYTES:]).hexdigest(), "a guess could be checked"
    checked = check_manifest(dealt.manifest, SEMI2K, FACTS, plan=PLAN, vertical=False, holder=holder)
    assert checked == dealt.manifest


@pytest.mark.parametrize("announced", [None, 0, 1, 2])
@pytest.mark.parametrize("expected", [None, 0, 1, 2])
def test_values_for_another_party_are_refused(announced: int | None, expected: int | None) -> None:
    manifest = kept(announced).manifest
    if announced == expected:
        check_manifest(manifest, SEMI2K, FACTS, plan=PLAN, vertical=False, holder=expected)
        return
    with pytest.raises(InvalidInputError, match="components"):
        check_manifest(manifest, SEMI2K, FACTS, plan=PLAN, vertical=False, holder=expected)


def test_other_schemes_share_the_data_of_a_party_too() -> None:
    assert kept(1, "rep3").manifest == kept(None, "rep3").manifest
