"""The desk of a computing party: who may ask what, and what an owner may upload."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from cofit.errors import StateError
from cofit.roles.files.audit import read_audit
from cofit.roles.party import desk as desk_module
from cofit.roles.service.doors import BusyError, RefusedError, answerable
from unit.roles.desks import FILE, OWNERS, RANK, Counter, make

# --- a contribution --------------------------------------------------------------------------------------


def test_a_contribution_from_announcement_to_commit(horizontal: Counter) -> None:
    assert horizontal.told() == dict.fromkeys(OWNERS, "missing")
    dealt = horizontal.begin("owner-a")
    assert horizontal.told()["owner-a"] == "incomplete"
    horizontal.send("owner-a", dealt)
    assert horizontal.told()["owner-a"] == "incomplete"
    assert horizontal.commit("owner-a", dealt) == {"committed": True}
    assert horizontal.told() == {"owner-a": "complete", "owner-b": "missing"}
    assert horizontal.sealing.ready() is None
    horizontal.whole("owner-b")
    ready = horizontal.sealing.ready()
    assert ready is not None
    assert set(ready) == set(OWNERS)


def test_a_broken_upload_goes_on_at_the_size_that_is_told(horizontal: Counter) -> None:
    dealt = horizontal.begin("owner-a")
    upload = dealt.manifest["upload"]
    content = b"".join(dict(dealt.files_of(RANK))[FILE].content())
    assert horizontal.ask("owner-a", "upload.chunk", content[:70], upload=upload, file=FILE, offset=0) == {"size": 70}
    told = horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)
    assert (told["sizes"][FILE], told["committed"]) == (70, False)
    horizontal.ask("owner-a", "upload.chunk", content[70:], upload=upload, file=FILE, offset=70)
    assert horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)["sizes"][FILE] == len(content)


def test_commits_may_be_repeated_and_then_nothing_can_be_written(horizontal: Counter) -> None:
    dealt = horizontal.whole("owner-a")
    assert horizontal.commit("owner-a", dealt) == {"committed": True}
    assert horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)["committed"] is True
    before = horizontal.files()
    upload = dealt.manifest["upload"]
    for offset in (0, 4800):
        horizontal.refused("owner-a", "upload.chunk", b"x", upload=upload, file=FILE, offset=offset)
    assert horizontal.files() == before


def test_incomplete_and_damaged_uploads_are_not_committed(horizontal: Counter) -> None:
    dealt = horizontal.begin("owner-a")
    assert "is not complete" in horizontal.refused("owner-a", "upload.commit", upload=dealt.manifest["upload"])
    for name, component in dealt.files_of(RANK):
        content = bytes(component.facts.size)
        horizontal.ask("owner-a", "upload.chunk", content, upload=dealt.manifest["upload"], file=name, offset=0)
    text = horizontal.refused("owner-a", "upload.commit", upload=dealt.manifest["upload"])
    assert "other contents than announced" in text


def test_files_that_are_not_what_was_announced_are_named_until_they_are_sent_again(horizontal: Counter) -> None:
    """Another holder of the same share has what the owner announced: shares that do not fit together."""
    dealt = horizontal.begin("owner-a")
    upload = dealt.manifest["upload"]
    for _ in range(2):  # tried twice, noted once
        for name, component in dealt.files_of(RANK):
            with contextlib.suppress(StateError):
                content = bytes(component.facts.size)
                horizontal.ask("owner-a", "upload.chunk", content, upload=upload, file=name, offset=0)
        horizontal.refused("owner-a", "upload.commit", upload=upload)
    assert horizontal.told() == {"owner-a": "shares differ", "owner-b": "missing"}
    log = read_audit(horizontal.folder / "state" / "audit.jsonl")
    assert [(line["owner"], line["upload"]) for line in log if line["event"] == "shares differ"] == [
        ("owner-a", upload)
    ]
    horizontal.whole("owner-a")
    assert horizontal.told()["owner-a"] == "complete"


def test_the_incarnation_of_the_state_is_told(horizontal: Counter, tmp_path: Path) -> None:
    told = horizontal.ask("owner-a", "status")["incarnation"]
    dealt = horizontal.begin("owner-a")
    assert horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)["incarnation"] == told
    (tmp_path / "anew").mkdir()
    for other in make(tmp_path / "anew", "horizontal"):
        assert other.ask("owner-a", "status")["incarnation"] not in ("", told)


# --- who ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", ["party-a", "party-c", "analyst", "stranger", "", "owner-a ", "OWNER-A"])
@pytest.mark.parametrize("kind", ["upload.begin", "upload.chunk", "upload.commit"])
def test_only_owners_upload(horizontal: Counter, peer: str, kind: str) -> None:
    dealt = horizontal.begin("owner-a")
    text = horizontal.refused(peer, kind, b"x", manifest=dealt.manifest, upload=dealt.manifest["upload"])
    assert "only an owner" in text
    last = read_audit(horizontal.folder / "state" / "audit.jsonl")[-1]
    assert (last["event"], last["peer"], last["request"]) == ("request refused", peer, kind)


def test_an_owner_has_no_way_to_the_contribution_of_another(horizontal: Counter) -> None:
    dealt = horizontal.begin("owner-a")
    upload = dealt.manifest["upload"]
    assert "not announced" in horizontal.refused(
        "owner-b", "upload.chunk", b"x" * 16, upload=upload, file=FILE, offset=0
    )
    assert "not announced" in horizontal.refused("owner-b", "upload.commit", upload=upload)
    assert "'components" in horizontal.refused("owner-b", "upload.begin", manifest=dealt.manifest)
    assert horizontal.files() == {}
    own = horizontal.dealt("owner-b").manifest  # the same id is another folder
    horizontal.ask("owner-b", "upload.begin", manifest={**own, "upload": upload})
    horizontal.ask("owner-b", "upload.chunk", b"x" * 16, upload=upload, file=FILE, offset=0)
    assert horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)["sizes"][FILE] == 0


# --- how often -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "kind"), [("owner-a", "status"), ("analyst", "upload.chunk"), ("party-a", "nonsense")]
)
def test_too_many_requests_are_told_busy_and_leave_no_trace(horizontal: Counter, peer: str, kind: str) -> None:
    log = horizontal.folder / "state" / "audit.jsonl"
    horizontal.pause = 0.0
    for _ in range(100):
        with contextlib.suppress(RefusedError):
            horizontal.ask(peer, kind)
    before = log.read_bytes()
    for _ in range(50):
        with pytest.raises(BusyError) as info:
            horizontal.ask(peer, kind)
    told = answerable(info.value)
    assert told is not None and told["error"]["kind"] == "busy"
    assert log.read_bytes() == before
    horizontal.ask("owner-b", "status")  # the others are not held up
    horizontal.now += 1.0
    horizontal.ask(peer, "status")


def test_pieces_of_an_upload_do_not_count(horizontal: Counter) -> None:
    dealt = horizontal.begin("owner-a")
    upload = dealt.manifest["upload"]
    content = b"".join(dict(dealt.files_of(RANK))[FILE].content())
    horizontal.pause = 0.0
    for offset in range(300):
        piece = content[offset : offset + 1]
        horizontal.ask("owner-a", "upload.chunk", piece, upload=upload, file=FILE, offset=offset)
    horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)


def test_replacements_are_limited(horizontal: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "_MOST_REPLACEMENTS", 3)
    uploads = [horizontal.begin("owner-a") for _ in range(4)]
    text = horizontal.refused("owner-a", "upload.begin", manifest=horizontal.dealt("owner-a").manifest)
    assert "replaced its contribution 3 times" in text
    horizontal.send("owner-a", uploads[-1])
    assert horizontal.commit("owner-a", uploads[-1]) == {"committed": True}
    horizontal.begin("owner-b")
    horizontal.begin("owner-b")


# --- pieces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "size"),
    [(0, 1), (31, 10), (33, 10), (64, 1), (10**15, 1), (32, 4832 - 31), (32, 4833), (0, 32), (16, 32)],
)
def test_pieces_that_overlap_or_leave_gaps_or_are_too_long(horizontal: Counter, offset: int, size: int) -> None:
    dealt = horizontal.begin("owner-a")
    upload = dealt.manifest["upload"]
    horizontal.ask("owner-a", "upload.chunk", b"y" * 32, upload=upload, file=FILE, offset=0)
    before = horizontal.files()
    text = horizontal.refused("owner-a", "upload.chunk", b"x" * size, upload=upload, file=FILE, offset=offset)
    assert "32 bytes are here" in text
    assert horizontal.files() == before


@pytest.mark.parametrize("payload", [b"", bytes((4 << 20) + 1)])
def test_pieces_of_no_or_excessive_size(horizontal: Counter, payload: bytes) -> None:
    upload = horizontal.begin("owner-a").manifest["upload"]
    text = horizontal.refused("owner-a", "upload.chunk", payload, upload=upload, file=FILE, offset=0)
    assert "1 to 4194304 bytes" in text


@pytest.mark.parametrize(
    "name",
    [
        "labels.seed_1",  # exists, but is not for this party
        "labels.x_3",
        "",
        ".",
        "..",
        "...",
        "../labels.x_2",
        "labels.x_2/..",
        "/etc/passwd",
        "labels.x_2\x00",
        "labels.x_2\n",
        "labels\\x_2",
        "l\u00e4bels.x_2",
        "l" * 65,
        "con",
    ],
)
def test_unknown_files_and_tricks_with_names(horizontal: Counter, name: str) -> None:
    upload = horizontal.begin("owner-a").manifest["upload"]
    outside = sorted((horizontal.folder / "state").iterdir())
    horizontal.refused("owner-a", "upload.chunk", b"x", upload=upload, file=name, offset=0)
    assert horizontal.files() == {}
    assert sorted((horizontal.folder / "state").iterdir()) == outside


@pytest.mark.parametrize("upload", ["", ".", "..", "../..", "a" * 32, "0" * 33, "\x00"])
def test_unknown_uploads(horizontal: Counter, upload: str) -> None:
    horizontal.begin("owner-a")
    assert "not announced" in horizontal.refused("owner-a", "upload.chunk", b"x", upload=upload, file=FILE, offset=0)
    assert "not announced" in horizontal.refused("owner-a", "upload.commit", upload=upload)
