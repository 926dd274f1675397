"""Who may not do what: refused with a reason, noted in the audit log, and without any effect on the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adversary.study.asking import Request, ask, dealt, impatient, noted, upload_whole
from cofit.errors import CertificateError, HandshakeError, InvalidInputError, StudyMismatchError, TransportError
from cofit.roles.analyst.fetch import fetch_release
from cofit.transport import Identity, RequestRefusedError, generate_identity
from support.identities import dated
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]


def expired(name: str) -> Identity:
    """A certificate that was valid until yesterday."""
    return dated(name, -timedelta(days=9), -timedelta(days=1))


# --- at the door -----------------------------------------------------------------------------------------


def test_a_stranger_and_a_forged_name_are_refused(lab: Lab) -> None:
    study = impatient(lab)
    for name in ("stranger", "owner-a", "analyst", "party-b"):
        with pytest.raises(TransportError):
            ask(study, generate_identity(name), "party-a", {"request": "status"})
    noted(lab, "party-a", "connection refused", kind="certificate", peer=None)


def test_the_key_of_another_is_refused(lab: Lab) -> None:
    """owner-b's certificate with owner-a's key, and owner-b's key under owner-a's name."""
    a, b = lab.identity("owner-a"), lab.identity("owner-b")
    study = impatient(lab)
    with pytest.raises((TransportError, InvalidInputError)):
        ask(study, Identity("owner-a", a.certificate_pem, b.private_key_pem), "party-a", {"request": "status"})
    with pytest.raises(HandshakeError):
        ask(study, Identity("owner-a", b.certificate_pem, b.private_key_pem), "party-a", {"request": "status"})


def test_another_study_is_refused_and_said_so(lab: Lab) -> None:
    study = impatient(lab)
    study.__dict__["hash"] = "0" * 64
    with pytest.raises(StudyMismatchError):
        ask(study, lab.identity("owner-a"), "party-a", {"request": "status"})
    noted(lab, "party-a", "connection refused", kind="study", peer="owner-a")


def test_a_party_that_is_not_the_pinned_one_gets_nothing(lab: Lab) -> None:
    """A machine that answers at a party's address with another key: the owner sends nothing."""
    study = impatient(lab)
    a, b, c = study.parties
    swapped = replace(study, parties=(replace(a, port=b.port), b, c))
    swapped.__dict__["hash"] = study.hash
    with pytest.raises(CertificateError):
        ask(swapped, lab.identity("owner-a"), "party-a", {"request": "status"})


def test_an_expired_certificate_is_refused_although_it_is_pinned(make_lab: MakeLab) -> None:
    lab = make_lab()
    old = expired("owner-a")
    for folder in lab.root.iterdir():
        (folder / "owner-a.pem").write_text(old.certificate_pem)
    (lab.root / "owner-a" / "owner-a.key").write_text(old.private_key_pem)
    lab.__dict__.pop("study", None)
    lab.start()
    lab.up()
    with pytest.raises(TransportError):
        ask(impatient(lab), old, "party-a", {"request": "status"})
    noted(lab, "party-a", "connection refused", kind="expired")


# --- at the desk -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("party", PARTIES)
def test_everybody_keeps_to_its_own_requests(lab: Lab, party: str) -> None:
    study = impatient(lab)
    owner = {"request": "upload.begin", "manifest": dealt(lab).manifest}
    wrong: list[tuple[str, Request]] = [
        ("owner-a", {"request": "model"}),
        ("party-b" if party != "party-b" else "party-a", {"request": "model"}),
        ("owner-a", {"request": "party.state"}),
        ("owner-a", {"request": "party.begin", "session": "0" * 32, "contributions": {}, "created": "2026-01-01"}),
        ("party-c" if party != "party-c" else "party-b", {"request": "party.begin", "session": "0" * 32}),
        ("analyst", owner),
        ("analyst", {"request": "upload.commit", "upload": "0" * 32}),
        ("analyst", {"request": "party.state"}),
        ("party-a" if party != "party-a" else "party-b", owner),
        ("owner-a", {"request": "read", "file": "../state.sqlite"}),
        ("owner-a", {"request": ["status"]}),
        ("owner-a", {}),
    ]
    for who, request in wrong:
        with pytest.raises(RequestRefusedError) as caught:
            ask(study, lab.identity(who), party, request)
        assert caught.value.kind == "RefusedError", request
        noted(lab, party, "request refused", peer=who, request=str(request.get("request"))[:64])
    assert lab.phases() == ["collecting"] * 3
    assert not (lab.state(party) / "uploads").exists()


def test_no_model_before_the_release_and_then_for_analysts_alone(lab: Lab) -> None:
    study = impatient(lab)
    with pytest.raises(RequestRefusedError, match="no model yet"):
        ask(study, lab.identity("analyst"), "party-a", {"request": "model", "offset": 0})
    lab.contribute_all()
    lab.wait_released()
    for who in ("owner-a", "party-b"):
        with pytest.raises(RequestRefusedError, match="analyst"):
            fetch_release(study, lab.identity(who))
    lab.check_one_release()


def test_an_owner_writes_no_contribution_but_its_own(make_lab: MakeLab) -> None:
    lab = make_lab(rows=(30, 30))
    lab.start()
    lab.up()
    study, a, b = impatient(lab), lab.identity("owner-a"), lab.identity("owner-b")
    ours = dealt(lab, "owner-a")
    upload = ours.manifest["upload"]
    ask(study, a, "party-a", {"request": "upload.begin", "manifest": ours.manifest})
    name, component = next(iter(ours.files_of(0)))
    piece = b"".join(component.content())
    for request in (
        {"request": "upload.chunk", "upload": upload, "file": name, "offset": 0},
        {"request": "upload.commit", "upload": upload},
        {"request": "upload.begin", "manifest": ours.manifest, "owner": "owner-a"},
    ):
        with pytest.raises(RequestRefusedError):
            ask(study, b, "party-a", request, piece if "chunk" in request["request"] else None)
    answer = ask(study, a, "party-a", {"request": "upload.begin", "manifest": ours.manifest})
    assert set(answer["sizes"].values()) == {0}, "nothing of owner-b's went into owner-a's upload"


@pytest.mark.parametrize(
    "lie",
    [
        lambda entry: entry.update(size=entry["size"] * 1000),
        lambda entry: entry.update(size=-1),
        lambda entry: entry.update(size=float(entry["size"])),
        lambda entry: entry.update(size=True),
        lambda entry: entry.update(ranks=[0, 1, 2]),
        lambda entry: entry.update(ranks=[]),
        lambda entry: entry.update(ranks=[2, 0]),
        lambda entry: entry.update(sha256="0" * 63),
        lambda entry: entry.update(sha256=None),
        lambda entry: entry.update(sha256="A" * 64),
        lambda entry: entry.update(more="x"),
        lambda entry: entry.clear(),
    ],
)
def test_a_manifest_that_lies_is_refused(lab: Lab, lie: Callable[[Request], None]) -> None:
    manifest = dealt(lab).manifest
    lie(next(iter(manifest["components"].values())))
    with pytest.raises(RequestRefusedError):
        ask(impatient(lab), lab.identity("owner-a"), "party-a", {"request": "upload.begin", "manifest": manifest})
    assert not (lab.state("party-a") / "uploads").exists()


def test_manifests_of_another_shape_are_refused(lab: Lab) -> None:
    good = dealt(lab).manifest
    components = good["components"]
    first = next(iter(components))
    bad: list[Any] = [
        None,
        [],
        {},
        {**good, "upload": "../../../tmp/x"},
        {**good, "upload": "A" * 32},
        {**good, "extra": 1},
        {**good, "components": {**components, "../evil": components[first]}},
        {**good, "components": {k: v for k, v in components.items() if k != first}},
        {**good, "components": list(components)},
    ]
    for manifest in bad:
        with pytest.raises(RequestRefusedError):
            ask(impatient(lab), lab.identity("owner-a"), "party-a", {"request": "upload.begin", "manifest": manifest})
    assert not (lab.state("party-a") / "uploads").exists()


def test_a_wrong_digest_is_found_before_anything_is_acknowledged(lab: Lab) -> None:
    study, a = impatient(lab), lab.identity("owner-a")
    ours = dealt(lab)
    for entry in ours.manifest["components"].values():
        entry["sha256"] = "0" * 64
    with pytest.raises(RequestRefusedError, match="other contents than announced"):
        upload_whole(study, a, "party-a", ours)
    assert "upload complete" not in lab.events("party-a")


def test_pieces_out_of_place_change_nothing(lab: Lab) -> None:
    study, a = impatient(lab), lab.identity("owner-a")
    ours = dealt(lab)
    upload = ours.manifest["upload"]
    ask(study, a, "party-a", {"request": "upload.begin", "manifest": ours.manifest})
    files = {name: b"".join(component.content()) for name, component in ours.files_of(0)}
    foreign = next(name for name in ours.components if name not in files)
    name = max(files, key=lambda n: len(files[n]))
    chunk = {"request": "upload.chunk", "upload": upload, "file": name, "offset": 0}
    half = files[name][: len(files[name]) // 2]
    assert ask(study, a, "party-a", chunk, half) == {"size": len(half)}
    for change, payload in (
        ({}, half),  # replayed
        ({"offset": len(half)}, files[name]),  # too long
        ({"offset": len(half) + 1}, b"x"),
        ({"offset": -1}, b"x"),
        ({"offset": True}, b"x"),
        ({"offset": "0"}, b"x"),
        ({"file": foreign}, b"x"),
        ({"file": "../../../../x"}, b"x"),
        ({"file": None}, b"x"),
        ({"upload": "f" * 32}, b"x"),
        ({"upload": None}, b"x"),
        ({"offset": len(half)}, b""),
    ):
        with pytest.raises(RequestRefusedError):
            ask(study, a, "party-a", {**chunk, **change}, payload)
    with pytest.raises(RequestRefusedError, match="not complete"):
        ask(study, a, "party-a", {"request": "upload.commit", "upload": upload})
    sizes = ask(study, a, "party-a", {"request": "upload.begin", "manifest": ours.manifest})["sizes"]
    assert sizes[name] == len(half) and sum(sizes.values()) == len(half)


@pytest.mark.parametrize("odd", [*(pytest.param(p, marks=pytest.mark.slow) for p in PARTIES[:2]), PARTIES[2]])
def test_an_owner_that_gives_one_party_other_shares_starts_nothing(lab: Lab, odd: str) -> None:
    """Shares of two contributions do not fit together: the parties find out before they compute, and say so."""
    study, a = impatient(lab), lab.identity("owner-a")
    for party in PARTIES:
        upload_whole(study, a, party, dealt(lab, seed=b"1" * 32 if party == odd else b"2" * 32))
    assert lab.contribute("owner-b").wait() == 0
    until(lambda: "contributions at" in lab.log("party-a"), "the first party tells that contributions differ", 15)
    assert lab.phases() == ["collecting"] * 3
    assert all("session begins" not in lab.events(party) for party in PARTIES)
    assert lab.contribute("owner-a").wait() == 0, lab.log("owner-a")
    lab.wait_released()
    lab.check_one_release()
