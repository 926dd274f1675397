"""Desk: contributions that are replaced, replayed, held and sealed."""

from __future__ import annotations

from typing import Any

import pytest

from cofit.roles.party.desk import Begin
from unit.roles.desks import FILE, OWNERS, SEALED_AT, Counter


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
    assert horizontal.desk.invitations.get(0) == Begin((49).to_bytes(16, "big"), SEALED_AT)
    assert horizontal.desk.invitations.get(0) is None
