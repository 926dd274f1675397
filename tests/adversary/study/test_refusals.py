"""Who may not do what: refused with a reason, noted in the audit log, and without any effect on the study."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cofit.errors import CertificateError, HandshakeError, InvalidInputError, StudyMismatchError, TransportError
from cofit.roles.analyst.fetch import fetch_release
from cofit.roles.files.manifest import deal_contribution
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import prepare
from cofit.roles.service.conversations import connector
from cofit.study.document import Study
from cofit.study.encode import EncodedTable
from cofit.transport import Identity, RequestRefusedError, generate_identity
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
Request = dict[str, Any]


def ask(study: Study, identity: Identity, party: str, request: Request, payload: bytes | None = None) -> Request:
    with connector(study, identity)(party) as conversation:
        return dict(conversation.request(request, payload)[0])


def impatient(lab: Lab) -> Study:
    """The study for a client that gives up soon; its hash, which is sent, is that of the real one."""
    study = replace(lab.study, compute=replace(lab.study.compute, connect_timeout=2.0, timeout=5.0))
    study.__dict__["hash"] = lab.study.hash
    return study


def dealt(lab: Lab, owner: str = "owner-a", seed: bytes = b"s" * 32) -> Any:
    X, y, _ = lab.part(list(lab.owners).index(owner))
    prepared = prepare(Training(lab.study), owner, EncodedTable(X, y, None))
    return deal_contribution(lab.study.spec, prepared.inputs, seed, prepared.job.hash)


def expired(name: str) -> Identity:
    """A certificate that was valid until yesterday."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now - timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Identity(name, pem, private.decode())


@pytest.fixture
def lab(make_lab: MakeLab) -> Lab:
    """Three parties that wait; nobody has contributed."""
    lab = make_lab()
    lab.start()
    lab.up()
    return lab


def noted(lab: Lab, party: str, event: str, **facts: Any) -> None:
    def found() -> bool:
        return any(r["event"] == event and facts.items() <= r.items() for r in lab.audit(party))

    until(found, f"{event} {facts} in the audit log of {party}: {lab.audit(party)}", 10)


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


def upload_whole(study: Study, identity: Identity, party: str, contribution: Any) -> None:
    """Announce, send and commit everything of a contribution that one party is to get."""
    upload, rank = contribution.manifest["upload"], PARTIES.index(party)
    with connector(study, identity)(party) as conversation:
        conversation.request({"request": "upload.begin", "manifest": contribution.manifest})
        for name, component in contribution.files_of(rank):
            offset = 0
            for piece in component.content():
                chunk = {"request": "upload.chunk", "upload": upload, "file": name, "offset": offset}
                conversation.request(chunk, piece)
                offset += len(piece)
        conversation.request({"request": "upload.commit", "upload": upload})


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


# --- repeated contributions ------------------------------------------------------------------------------


def test_half_an_upload_then_silence_delays_nobody_else(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.start()
    lab.up()
    study, a = impatient(lab), lab.identity("owner-a")
    ours = dealt(lab)
    for party in PARTIES:
        ask(study, a, party, {"request": "upload.begin", "manifest": ours.manifest})
    with connector(study, a)("party-a") as silent:
        name, component = next(iter(ours.files_of(0)))
        piece = next(component.content())
        silent.request({"request": "upload.chunk", "upload": ours.manifest["upload"], "file": name, "offset": 0}, piece)
        assert lab.contribute("owner-b").wait() == 0
        assert lab.contribute("owner-a").wait() == 0, "a fresh upload replaces the one that fell silent"
        lab.wait_released()
    lab.check_one_release()


def test_other_data_replace_a_contribution_until_all_is_sealed(make_lab: MakeLab) -> None:
    lab = make_lab(epsilon=20.0, rows=(300, 400))
    lab.start()
    X, y, _ = lab.part(0)
    rng = np.random.default_rng(9)
    lab.write_table("owner-a", -X, rng.integers(0, 2, len(y) if y is not None else 0), name="wrong")
    assert lab.contribute("owner-a", table="wrong.npz").wait() == 0
    assert lab.contribute("owner-a").wait() == 0
    assert lab.contribute("owner-b").wait() == 0
    lab.wait_released()
    release = lab.check_one_release()
    assert np.linalg.norm(np.asarray(release.weights) - lab.minimum()) <= 8 * lab.plan.mechanism.expected_norm
    assert lab.contribute("owner-a", table="wrong.npz").wait() == 1
    assert "sealed" in lab.log("owner-a")
    for party in PARTIES:
        folders = [p for p in (lab.state(party) / "uploads").glob("*/*") if p.is_dir()]
        assert len(folders) == 2, "shares of the replaced contribution are deleted"
    assert lab.check_one_release() == release


def test_an_upload_that_was_replaced_does_not_come_back(lab: Lab) -> None:
    study, a = impatient(lab), lab.identity("owner-a")
    first, second = dealt(lab, seed=b"1" * 32), dealt(lab, seed=b"2" * 32)
    ask(study, a, "party-a", {"request": "upload.begin", "manifest": first.manifest})
    ask(study, a, "party-a", {"request": "upload.begin", "manifest": second.manifest})
    for request in (
        {"request": "upload.begin", "manifest": first.manifest},
        {"request": "upload.commit", "upload": first.manifest["upload"]},
    ):
        with pytest.raises(RequestRefusedError):
            ask(study, a, "party-a", request)


@pytest.mark.parametrize(
    ("pause", "slow_owner"),
    [
        pytest.param("before send party.state", 2.5, marks=pytest.mark.slow),
        pytest.param("before send party.begin", 2.5, marks=pytest.mark.slow),
        pytest.param("before phase sealed", 2.5, marks=pytest.mark.slow),
        pytest.param("before send party.state", 0.0, marks=pytest.mark.slow),
        pytest.param("before phase sealed", 0.0, marks=pytest.mark.slow),
    ],
)
def test_data_replaced_while_the_parties_seal(make_lab: MakeLab, pause: str, slow_owner: float) -> None:
    """Either the replacement is refused everywhere, or the parties wait for it: never a bit of both."""
    lab = make_lab()
    lab.start("party-a", pause={pause: 1.5})
    lab.start("party-b", "party-c")
    X, y, _ = lab.part(0)
    lab.write_table("owner-a", -X, y, name="other")
    lab.contribute_all()
    until(lambda: pause in lab.trace("party-a"), "the first party asks the others")
    replacing = lab.contribute("owner-a", table="other.npz", pause={"after request upload.begin": slow_owner})
    assert replacing.wait(60) in (0, 1)
    lab.wait_released(30)
    lab.check_one_release()


@pytest.mark.parametrize(
    "whole", [pytest.param(False, marks=pytest.mark.slow, id="announced"), pytest.param(True, id="complete")]
)
@pytest.mark.parametrize(
    "pause", ["before send party.begin", pytest.param("before phase sealed", marks=pytest.mark.slow)]
)
def test_an_owner_that_replaces_at_one_party_alone_while_the_leader_seals(
    make_lab: MakeLab, pause: str, whole: bool
) -> None:
    """The leader has asked everybody and seals one contribution; a party that has another by then must not be stuck."""
    lab = make_lab()
    lab.start("party-a", pause={pause: 2.0})
    lab.start("party-b", "party-c")
    lab.up()
    study, a = impatient(lab), lab.identity("owner-a")
    for party in PARTIES:
        upload_whole(study, a, party, dealt(lab, seed=b"1" * 32))
    assert lab.contribute("owner-b").wait() == 0
    until(lambda: pause in lab.trace("party-a"), "the leader has asked the others")
    other = dealt(lab, seed=b"2" * 32)
    if whole:
        upload_whole(study, a, "party-b", other)
    else:
        ask(study, a, "party-b", {"request": "upload.begin", "manifest": other.manifest})
    lab.wait_released(30)
    lab.check_one_release()
    sealed = {_uploads(lab, party) for party in PARTIES}
    assert len(sealed) == 1, "all parties sealed the same contributions"
    assert dealt(lab, seed=b"1" * 32).manifest["upload"] in sealed.pop()
    for party in PARTIES:
        assert len(list((lab.state(party) / "uploads").glob("*/*"))) == 2, "the other shares are deleted"


def _uploads(lab: Lab, party: str) -> tuple[str, ...]:
    with contextlib.closing(sqlite3.connect(lab.state(party) / "state.sqlite")) as database:
        return tuple(row[0] for row in database.execute("SELECT upload FROM uploads ORDER BY owner"))


def test_parties_with_different_studies_do_not_begin(make_lab: MakeLab) -> None:
    lab = make_lab()
    text = (lab.root / "party-c" / "study.toml").read_text()
    (lab.root / "party-c" / "study.toml").write_text(text.replace("epsilon = 1.0", "epsilon = 2.0"))
    lab.start()
    lab.up()
    owner = lab.contribute("owner-a")
    noted(lab, "party-c", "connection refused", kind="study", peer="owner-a")
    assert owner.wait() == 1 and "StudyMismatchError" in lab.log("owner-a")
    assert lab.phases() == ["collecting"] * 3
