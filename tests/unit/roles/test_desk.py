"""The desk of a computing party: who may ask what, what an owner may upload, and rows that must be the same."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cofit.errors import CofitError, StateError, TransportError
from cofit.roles import analyst
from cofit.roles import desk as desk_module
from cofit.roles.audit_file import read_audit
from cofit.roles.desk import BusyError, Desk, answerable
from cofit.roles.manifest import DealtContribution
from cofit.roles.published import Release, largest_release
from cofit.roles.sealing import RefusedError
from cofit.study.statement import expected_certificate
from cofit.transport.conversation import MAX_PAYLOAD_BYTES
from cofit.transport.strict_json import encode_header
from unit.roles.desks import RANK, Counter, planned

SEALED_AT = "2026-01-02T03:04:05+00:00"
OWNERS = ("owner-a", "owner-b")
ROWS, OTHER_ROWS = "ab" * 32, "cd" * 32
FILE = "labels.x_2"


def make(folder: Path, partition: str) -> Iterator[Counter]:
    counter = Counter(folder, *planned(partition))
    yield counter
    counter.state.close()
    counter.audit.close()


@pytest.fixture
def horizontal(tmp_path: Path) -> Iterator[Counter]:
    yield from make(tmp_path, "horizontal")


@pytest.fixture
def vertical(tmp_path: Path) -> Iterator[Counter]:
    yield from make(tmp_path, "vertical")


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
    assert horizontal.told()["owner-a"] == "incomplete"


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


# --- replacing, replaying, sealing -------------------------------------------------------------------------


def test_another_manifest_under_the_same_id(horizontal: Counter) -> None:
    dealt = horizontal.begin("owner-a")
    changed = {**horizontal.dealt("owner-a").manifest, "upload": dealt.manifest["upload"]}
    assert "other contents before" in horizontal.refused("owner-a", "upload.begin", manifest=changed)
    horizontal.send("owner-a", dealt)
    horizontal.commit("owner-a", dealt)
    assert "other contents before" in horizontal.refused("owner-a", "upload.begin", manifest=changed)
    assert horizontal.told()["owner-a"] == "complete"


def test_another_plan_is_refused_with_the_remedy(horizontal: Counter) -> None:
    manifest = {**horizontal.dealt("owner-a").manifest, "plan": "ab" * 32}
    text = horizontal.refused("owner-a", "upload.begin", manifest=manifest)
    assert "run the same cofit release as the parties" in text
    assert horizontal.told()["owner-a"] == "missing"


def test_a_newer_upload_replaces_an_older_one_which_never_comes_back(horizontal: Counter) -> None:
    old = horizontal.whole("owner-a")
    new = horizontal.begin("owner-a")
    assert horizontal.told()["owner-a"] == "incomplete"
    assert horizontal.files() == {}
    upload = old.manifest["upload"]
    for kind, fields in (
        ("upload.begin", {"manifest": old.manifest}),
        ("upload.chunk", {"upload": upload, "file": FILE, "offset": 0}),
        ("upload.commit", {"upload": upload}),
    ):
        assert "replaced" in horizontal.refused("owner-a", kind, b"x" * 16, **fields)
    horizontal.send("owner-a", new)
    horizontal.commit("owner-a", new)
    assert "replaced" in horizontal.refused("owner-a", "upload.begin", manifest=old.manifest)
    newest = horizontal.whole("owner-a")
    for past in (old, new):
        assert "replaced" in horizontal.refused("owner-a", "upload.begin", manifest=past.manifest)
    assert horizontal.ask("owner-a", "upload.begin", manifest=newest.manifest)["committed"] is True


def test_nothing_changes_after_sealing(horizontal: Counter) -> None:
    old = horizontal.whole("owner-a")
    dealt = horizontal.whole("owner-a")
    horizontal.whole("owner-b")
    ready, files = horizontal.sealing.ready(), horizontal.files()
    horizontal.sealing.seal(SEALED_AT, ready)
    for past in (old, horizontal.dealt("owner-a")):
        assert "sealed" in horizontal.refused("owner-a", "upload.begin", manifest=past.manifest)
        horizontal.refused("owner-a", "upload.commit", upload=past.manifest["upload"])
    upload = dealt.manifest["upload"]
    horizontal.refused("owner-a", "upload.chunk", b"x", upload=upload, file=FILE, offset=0)
    assert horizontal.ask("owner-a", "upload.begin", manifest=dealt.manifest)["committed"] is True
    assert horizontal.commit("owner-a", dealt) == {"committed": True}
    assert (horizontal.sealing.ready(), horizontal.files()) == (ready, files)


def hold(counter: Counter, contributions: Any, instead_of: Any = None) -> None:
    counter.ask("party-a", "party.hold", contributions=contributions, instead_of=instead_of)


def begin(counter: Counter, contributions: Any) -> None:
    counter.ask("party-a", "party.begin", session="ab" * 16, contributions=contributions, created=SEALED_AT)


def reopened(counter: Counter) -> None:
    """The same as after a kill: what is in memory is gone."""
    counter.state.close()
    counter.state.__init__(counter.folder / "state", counter.desk._study.hash, "party-c")  # type: ignore[misc]


@pytest.mark.parametrize("whole", [False, True], ids=["announced", "complete"])
@pytest.mark.parametrize("killed", [False, True])
def test_what_is_held_is_sealed_although_an_owner_replaces_it(horizontal: Counter, whole: bool, killed: bool) -> None:
    """Between the leader's question and its invitation, and twice: the leader's set must not be lost."""
    dealt = {owner: horizontal.whole(owner) for owner in OWNERS}
    ready, files = horizontal.sealing.ready(), horizontal.files()
    hold(horizontal, ready)
    for _ in range(2):
        other = horizontal.begin("owner-a")
        if whole:
            horizontal.send("owner-a", other)
            horizontal.commit("owner-a", other)
        if killed:
            reopened(horizontal)
    assert horizontal.ask("party-a", "party.state")["held"] == ready
    assert horizontal.sealing.ready() != ready
    hold(horizontal, ready)  # the leader asks again
    begin(horizontal, ready)
    assert (horizontal.state.phase, horizontal.sealing.ready()) == ("sealed", ready)
    assert horizontal.files() == files, "what was sent since is deleted"
    for past in (other, horizontal.dealt("owner-a")):
        assert "sealed" in horizontal.refused("owner-a", "upload.begin", manifest=past.manifest)
    horizontal.refused("owner-a", "upload.chunk", b"x", upload=other.manifest["upload"], file=FILE, offset=0)
    for owner in OWNERS:
        assert horizontal.ask(owner, "upload.begin", manifest=dealt[owner].manifest)["committed"] is True


def test_what_is_held_is_let_go_only_by_its_name(horizontal: Counter) -> None:
    """A leader that has another set by now names the one that it will never seal; a request that is late does not."""
    for owner in OWNERS:
        horizontal.whole(owner)
    first = horizontal.sealing.ready()
    hold(horizontal, first)
    horizontal.whole("owner-a")
    second, files = horizontal.sealing.ready(), horizontal.files()
    for named in (None, second, {**(first or {}), "owner-b": "0" * 64}):
        assert "held" in horizontal.refused("party-a", "party.hold", contributions=second, instead_of=named)
    assert horizontal.files() == files
    hold(horizontal, second, first)
    assert len(horizontal.files()) < len(files), "shares that nobody will seal are deleted"
    for late in (None, first):
        horizontal.refused("party-a", "party.hold", contributions=first, instead_of=late)
    horizontal.refused("party-a", "party.begin", session="ab" * 16, contributions=first, created=SEALED_AT)
    third = horizontal.whole("owner-a")
    begin(horizontal, second)
    assert horizontal.sealing.ready() == second
    assert third.manifest["upload"] not in str(horizontal.state.upload("owner-a"))


def test_nothing_is_held_that_is_not_complete_here(horizontal: Counter) -> None:
    horizontal.whole("owner-a")
    named = dict.fromkeys(OWNERS, "0" * 64)
    wrong: list[Any] = [None, {}, named, []]
    for contributions in wrong:
        horizontal.refused("party-a", "party.hold", contributions=contributions, instead_of=None)
    horizontal.whole("owner-b")
    horizontal.begin("owner-b")
    for contributions in wrong:
        horizontal.refused("party-a", "party.hold", contributions=contributions, instead_of=None)
    assert horizontal.sealing.held() is None


def test_only_the_leader_holds_and_begins(horizontal: Counter) -> None:
    for owner in OWNERS:
        horizontal.whole(owner)
    ready = horizontal.sealing.ready()
    for peer in ("party-b", "party-c", "owner-a", "analyst"):
        horizontal.refused(peer, "party.hold", contributions=ready, instead_of=None)
        horizontal.refused(peer, "party.begin", session="ab" * 16, contributions=ready, created=SEALED_AT)
    assert (horizontal.sealing.held(), horizontal.state.phase) == (None, "collecting")


@pytest.mark.parametrize(
    "created",
    ["", "2026", "20260102T030405Z", "2026-01-02 03:04:05+00:00", "2026-01-02T03:04:05.5+00:00", "2026-W01-1"],
)
def test_dates_have_one_form(horizontal: Counter, created: str) -> None:
    for owner in OWNERS:
        horizontal.whole(owner)
    fields: dict[str, Any] = {"session": "ab" * 16, "contributions": horizontal.sealing.ready()}
    assert "'created'" in horizontal.refused("party-a", "party.begin", created=created, **fields)
    assert horizontal.state.phase == "collecting"
    horizontal.ask("party-a", "party.begin", created=SEALED_AT, **fields)
    assert horizontal.state.fact("created") == SEALED_AT


def test_a_party_that_has_forgotten_takes_nothing_and_says_so(horizontal: Counter) -> None:
    dealt = horizontal.whole("owner-a")
    assert horizontal.ask("party-a", "party.state")["forgotten"] is False
    horizontal.state.forget_shares()
    assert horizontal.ask("party-a", "party.state")["forgotten"] is True
    for past in (dealt, horizontal.dealt("owner-a")):
        assert "cofit forget" in horizontal.refused("owner-a", "upload.begin", manifest=past.manifest)
    assert horizontal.files() == {}


def test_only_the_newest_invitation_is_kept(horizontal: Counter) -> None:
    for owner in OWNERS:
        horizontal.whole(owner)
    fields: dict[str, Any] = {"contributions": horizontal.sealing.ready(), "created": SEALED_AT}
    for session in range(50):
        horizontal.ask("party-a", "party.begin", session=f"{session:032x}", **fields)
    assert horizontal.desk.invitations.qsize() == 1
    assert horizontal.desk.invitations.get_nowait().session == (49).to_bytes(16, "big")


# --- rows of a vertical study --------------------------------------------------------------------------------


def test_equal_rows_are_ready(vertical: Counter) -> None:
    vertical.whole("owner-a", ROWS)
    vertical.whole("owner-b", ROWS)
    assert vertical.told() == dict.fromkeys(OWNERS, "complete")
    assert vertical.sealing.ready() is not None


def test_other_rows_are_refused_with_both_names_and_the_remedy(vertical: Counter) -> None:
    vertical.whole("owner-a", ROWS)
    dealt = vertical.begin("owner-b", OTHER_ROWS)
    vertical.send("owner-b", dealt)
    assert vertical.told() == {"owner-a": "complete", "owner-b": "incomplete"}, "an announcement alone tells nobody"
    text = vertical.refused("owner-b", "upload.commit", upload=dealt.manifest["upload"])
    for part in ("'owner-a'", "'owner-b'", "cofit align", "contributes again"):
        assert part in text
    assert ROWS not in text and OTHER_ROWS not in text
    assert vertical.told() == {"owner-a": "complete", "owner-b": "rows differ"}
    assert vertical.sealing.ready() is None
    last = read_audit(vertical.folder / "state" / "audit.jsonl")[-1]
    assert (last["event"], last["owner"], last["others"]) == ("rows differ", "owner-b", ["owner-a"])
    vertical.whole("owner-b", ROWS)
    assert vertical.told() == dict.fromkeys(OWNERS, "complete")
    assert vertical.sealing.ready() is not None


def test_the_first_owner_may_be_the_one_who_was_wrong(vertical: Counter) -> None:
    vertical.whole("owner-a", OTHER_ROWS)
    dealt = vertical.begin("owner-b", ROWS)
    vertical.send("owner-b", dealt)
    vertical.refused("owner-b", "upload.commit", upload=dealt.manifest["upload"])
    corrected = vertical.begin("owner-a", ROWS)
    assert vertical.told() == dict.fromkeys(OWNERS, "incomplete")
    vertical.send("owner-a", corrected)
    vertical.commit("owner-a", corrected)
    assert vertical.commit("owner-b", dealt) == {"committed": True}  # what it had sent before
    assert vertical.sealing.ready() is not None


def test_a_replacement_with_other_rows_is_refused_too(vertical: Counter) -> None:
    vertical.whole("owner-a", ROWS)
    vertical.whole("owner-b", ROWS)
    dealt = vertical.begin("owner-b", OTHER_ROWS)
    vertical.send("owner-b", dealt)
    vertical.refused("owner-b", "upload.commit", upload=dealt.manifest["upload"])
    assert vertical.sealing.ready() is None


def test_of_two_commits_at_once_with_different_rows_one_is_refused(vertical: Counter) -> None:
    for attempt in range(5):
        dealt = {"owner-a": vertical.begin("owner-a", ROWS), "owner-b": vertical.begin("owner-b", OTHER_ROWS)}
        for owner in OWNERS:
            vertical.send(owner, dealt[owner])
        refusals: list[str] = []

        def commit(owner: str, dealt: DealtContribution, refusals: list[str]) -> None:
            try:
                vertical.commit(owner, dealt)
            except StateError:
                refusals.append(owner)

        threads = [threading.Thread(target=commit, args=(owner, dealt[owner], refusals)) for owner in OWNERS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refusals) == 1, attempt
        assert vertical.sealing.ready() is None


def test_stored_contributions_of_different_rows_are_never_ready(vertical: Counter) -> None:
    """Even where they are there, as after an error of another release."""
    vertical.whole("owner-a", ROWS)
    dealt = vertical.begin("owner-b", OTHER_ROWS)
    vertical.send("owner-b", dealt)
    vertical.state.commit("owner-b", dealt.manifest["upload"])
    assert vertical.sealing.ready() is None
    assert vertical.told() == dict.fromkeys(OWNERS, "rows differ")


# --- the model -----------------------------------------------------------------------------------------------


class Line:
    """A conversation of an analyst with a desk, without a network; ``twist`` may change what is answered."""

    def __init__(self, desk: Desk, twist: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]) -> None:
        self.peer = "party-c"
        self.asked = 0
        self._desk = desk
        self._twist = twist

    def request(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        self.asked += 1
        header, content = self._twist(*self._desk.answer("analyst", request, b""))
        assert len(content) <= MAX_PAYLOAD_BYTES
        return header, content


def release_at(counter: Counter, weights: int) -> Release:
    small = expected_certificate(*planned("horizontal"))
    assert small.sensitivity_total is not None
    assert small.noise_scale is not None
    (one,) = small.releases  # twice the sensitivity: room for the rounding of more weights
    doubled = replace(one, dimension=weights, sensitivity=2 * one.sensitivity, scale=2 * one.scale)
    certificate = replace(
        small,
        d=weights,
        sensitivity_total=2 * small.sensitivity_total,
        noise_scale=2 * small.noise_scale,
        noise_expected_norm=2 * small.noise_expected_norm * math.sqrt(weights / small.d),
        releases=(doubled,),
    )
    release = Release(tuple((np.arange(weights) / 7 + 0.1).tolist()), certificate)
    (counter.folder / "state" / "published.json").write_text(release.to_json())
    counter.state.advance("released")
    return release


def test_a_model_of_any_size_comes_in_pieces(horizontal: Counter) -> None:
    release = release_at(horizontal, 500_000)
    line: Any = Line(horizontal.desk, lambda header, content: (header, content))
    text = analyst._fetched(line, largest_release(500_000))
    assert len(text) > 2 * MAX_PAYLOAD_BYTES
    assert Release.from_json(text) == release
    assert line.asked == -(-len(text) // MAX_PAYLOAD_BYTES)
    fetched = [r for r in read_audit(horizontal.folder / "state" / "audit.jsonl") if r["event"] == "model fetched"]
    assert len(fetched) == 1
    for offset in (len(text), 1 << 63):
        header, content = horizontal.desk.answer("analyst", {"request": "model", "offset": offset}, b"")
        assert (header, content) == ({"size": len(text)}, b"")


@pytest.mark.parametrize(
    "twist",
    [
        lambda header, content: ({"size": 1 << 40}, content),
        lambda header, content: ({"size": 5}, content),
        lambda header, content: ({"size": 0}, b""),
        lambda header, content: ({"size": True}, content),
        lambda header, content: ({}, content),
        lambda header, content: (header, b""),
        lambda header, content: (header, content + b"x"),
        lambda header, content: (header, b"\xff" * len(content)),
    ],
)
def test_a_party_that_sends_anything_else_is_named(horizontal: Counter, twist: Any) -> None:
    """Nothing more is taken in than a release can have, and nobody is asked for ever."""
    release_at(horizontal, 1000)
    line: Any = Line(horizontal.desk, twist)
    with pytest.raises(TransportError, match="What 'party-c' sends"):
        analyst._fetched(line, largest_release(1000))
    assert line.asked == 1


@pytest.mark.parametrize("offset", [None, -1, True, 1.0, "0"])
def test_offsets_of_a_model(horizontal: Counter, offset: object) -> None:
    release_at(horizontal, 10)
    assert "'offset'" in horizontal.refused("analyst", "model", offset=offset)


# --- garbage -------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**19), 10**19)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("manifest", "upload", "file", "offset", "session", "contributions", "instead_of", "created")
KINDS = ("upload.begin", "upload.chunk", "upload.commit", "status", "model", "party.state", "party.hold", "party.begin")
PEERS = ("owner-a", "owner-b", "party-a", "party-b", "analyst", "stranger")
ALLOWED = {("status", peer) for peer in PEERS} | {("party.state", "party-a"), ("party.state", "party-b")}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Counter, DealtContribution]]:
    for counter in make(tmp_path_factory.mktemp("desk"), "horizontal"):
        yield counter, counter.begin("owner-a")


@given(
    kind=st.sampled_from(KINDS) | JSON,
    peer=st.sampled_from(PEERS),
    fields=st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), JSON, max_size=4),
    payload=st.binary(max_size=50),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_answered_with_an_error_that_can_be_told(
    begun: tuple[Counter, DealtContribution], kind: object, peer: str, fields: dict[str, Any], payload: bytes
) -> None:
    counter, _ = begun
    try:
        counter.desk.answer(peer, {**fields, "request": kind}, payload)
    except CofitError as error:
        told = answerable(error)
        assert told is not None
        encode_header(told)
    else:
        assert (kind, peer) in ALLOWED
    assert counter.files() == {}
    assert counter.state.phase == "collecting"


@given(field=st.sampled_from(["upload", "file", "offset", "payload"]), value=JSON)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_field_of_garbage_in_a_good_piece(
    begun: tuple[Counter, DealtContribution], field: str, value: object
) -> None:
    counter, dealt = begun
    good: dict[str, Any] = {"upload": dealt.manifest["upload"], "file": FILE, "offset": 0}
    payload = b"" if field == "payload" else b"x"
    if field != "payload" and value != good[field]:
        good[field] = value
        counter.refused("owner-a", "upload.chunk", payload, **good)
    assert counter.files() == {}


@given(
    path=st.sampled_from([("upload",), ("plan",), ("rows",), ("components",), ("components", FILE)])
    | st.tuples(st.just("components"), st.just(FILE), st.sampled_from(["ranks", "size", "sha256", "more"])),
    value=JSON,
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_field_of_garbage_in_a_good_manifest(
    begun: tuple[Counter, DealtContribution], path: tuple[str, ...], value: object
) -> None:
    counter, dealt = begun
    if path == ("rows",) and value is None:
        return

    def replaced(place: Any, steps: tuple[str, ...]) -> Any:
        return {**place, steps[0]: replaced(place.get(steps[0]), steps[1:])} if steps else value

    counter.refused("owner-a", "upload.begin", manifest=replaced(dealt.manifest, path))
    current = counter.state.upload("owner-a")
    assert current is not None
    assert current.upload == dealt.manifest["upload"]
