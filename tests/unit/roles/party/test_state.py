"""The state directory of a party: private, locked, durable facts, uploads, checkpoints, and what may never go back."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.state_directory import FORMAT
from cofit.roles.party import state as party_state
from cofit.roles.party.checkpoint_files import Checkpoint
from cofit.roles.party.state import PartyState, check_file_name

STUDY = "ab" * 32
CONTENT = b"share of x" * 100


def manifest(content: bytes = CONTENT) -> dict[str, Any]:
    return {"common": {}, "files": {"x.0": {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}}}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[PartyState]:
    made = PartyState(tmp_path / "state", STUDY, "party-a")
    yield made
    made.close()


def committed(state: PartyState, upload: str = "u1") -> None:
    state.begin_upload("owner-a", upload, manifest())
    state.append("owner-a", upload, "x.0", 0, CONTENT)
    state.commit("owner-a", upload)


def test_everything_is_private(state: PartyState) -> None:
    committed(state)
    state.save_checkpoint(Checkpoint(2, "0" * 16), b"record")
    for path in (state.directory, *state.directory.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_directory_that_others_can_look_into(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty", tmp_path / "full"
    for folder in (empty, full):
        folder.mkdir()
        folder.chmod(0o755)
    (full / "something").touch()
    PartyState(empty, STUDY, "party-a").close()
    assert empty.stat().st_mode & 0o777 == 0o700
    with pytest.raises(StateError, match="chmod 700"):
        PartyState(full, STUDY, "party-a")


def test_one_process_at_a_time(state: PartyState) -> None:
    with pytest.raises(StateError, match="Another process"):
        PartyState(state.directory, STUDY, "party-a")


@pytest.mark.parametrize(("study", "party"), [("cd" * 32, "party-a"), (STUDY, "party-b")])
def test_a_directory_belongs_to_one_study_and_party(study: str, party: str, tmp_path: Path) -> None:
    PartyState(tmp_path / "state", STUDY, "party-a").close()
    with pytest.raises(StateError, match="belongs to"):
        PartyState(tmp_path / "state", study, party)
    PartyState(tmp_path / "state", STUDY, "party-a").close()


def test_another_format_and_damage_are_refused(tmp_path: Path) -> None:
    PartyState(tmp_path / "state", STUDY, "party-a").close()
    with sqlite3.connect(tmp_path / "state" / "state.sqlite") as database:
        database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    database.close()
    with pytest.raises(StateError, match="has format"):
        PartyState(tmp_path / "state", STUDY, "party-a")
    (tmp_path / "state" / "state.sqlite").write_bytes(b"no database, but long enough to be looked at" * 50)
    with pytest.raises(StateError, match="cannot be read"):
        PartyState(tmp_path / "state", STUDY, "party-a")


def test_facts_and_phases_survive_and_never_go_back(state: PartyState) -> None:
    state.record(created="2026-01-01T00:00:00+00:00")
    state.advance("sealed")
    state.advance("stored")
    with pytest.raises(StateError, match="cannot become sealed"):
        state.advance("sealed")
    state.close()
    state.__init__(state.directory, STUDY, "party-a")  # type: ignore[misc]
    assert (state.phase, state.fact("created")) == ("stored", "2026-01-01T00:00:00+00:00")


# --- uploads -----------------------------------------------------------------------------------------------


def test_an_upload_goes_on_where_it_was(state: PartyState) -> None:
    assert state.begin_upload("owner-a", "u1", manifest()) == {"x.0": 0}
    assert state.append("owner-a", "u1", "x.0", 0, CONTENT[:7]) == 7
    assert state.begin_upload("owner-a", "u1", manifest()) == {"x.0": 7}
    with pytest.raises(StateError, match="not complete"):
        state.commit("owner-a", "u1")
    state.append("owner-a", "u1", "x.0", 7, CONTENT[7:])
    state.commit("owner-a", "u1")
    state.commit("owner-a", "u1")
    assert bytes(state.component("owner-a", "x.0")) == CONTENT


@pytest.mark.parametrize(
    ("name", "offset", "data"), [("x.0", 1, b"a"), ("x.0", 0, CONTENT + b"a"), ("y.0", 0, b"a"), ("../x", 0, b"a")]
)
def test_pieces_that_do_not_fit(state: PartyState, name: str, offset: int, data: bytes) -> None:
    state.begin_upload("owner-a", "u1", manifest())
    with pytest.raises(StateError):
        state.append("owner-a", "u1", name, offset, data)
    assert state.begin_upload("owner-a", "u1", manifest()) == {"x.0": 0}


def test_what_arrives_damaged_is_sent_again(state: PartyState) -> None:
    state.begin_upload("owner-a", "u1", manifest())
    state.append("owner-a", "u1", "x.0", 0, b"!" + CONTENT[1:])
    with pytest.raises(StateError, match="other contents"):
        state.commit("owner-a", "u1")
    assert state.begin_upload("owner-a", "u1", manifest()) == {"x.0": 0}
    with pytest.raises(StateError, match="is not here"):
        state.component("owner-a", "x.0")


def test_replaced_until_sealed(state: PartyState) -> None:
    committed(state, "u1")
    committed(state, "u2")
    assert len(list((state.directory / "uploads").glob("*/*"))) == 1
    with pytest.raises(StateError, match="another one replaced it"):
        state.append("owner-a", "u1", "x.0", 0, b"a")
    state.advance("sealed")
    with pytest.raises(StateError, match="sealed"):
        state.begin_upload("owner-a", "u3", manifest())
    assert state.begin_upload("owner-a", "u2", manifest()) == {"x.0": len(CONTENT)}
    with pytest.raises(StateError, match="announced with other contents"):
        state.begin_upload("owner-a", "u2", manifest(b"other"))


def folders(state: PartyState) -> int:
    return len(list((state.directory / "uploads").glob("*/*")))


def test_what_is_held_is_kept_and_taken_back(state: PartyState) -> None:
    committed(state, "u1")
    state.hold()
    committed(state, "u2")
    state.begin_upload("owner-a", "u3", manifest())
    assert folders(state) == 2, "the last one, and the one that is held"
    state.seal("2026-01-01T00:00:00+00:00", take_back=True)
    taken = state.upload("owner-a")
    assert taken is not None and (taken.upload, taken.committed) == ("u1", True)
    assert bytes(state.component("owner-a", "x.0")) == CONTENT
    assert (folders(state), state.phase, state.held()) == (1, "sealed", {})


def test_what_is_held_is_let_go_by_the_next(state: PartyState) -> None:
    committed(state, "u1")
    state.hold()
    committed(state, "u2")
    state.hold()
    assert (folders(state), [one.upload for one in state.held().values()]) == (1, ["u2"])
    committed(state, "u3")
    state.seal("2026-01-01T00:00:00+00:00", take_back=False)
    assert (folders(state), state.held()) == (1, {})
    current = state.upload("owner-a")
    assert current is not None and current.upload == "u3"


def test_replaced_shares_that_a_killed_process_left_are_deleted(
    state: PartyState, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(state, "u1")
    state.hold()
    with monkeypatch.context() as patch:
        patch.setattr(PartyState, "_delete_replaced", lambda _: None)
        committed(state, "u2")
        committed(state, "u3")
    assert folders(state) == 3
    state.close()
    state.__init__(state.directory, STUDY, "party-a")  # type: ignore[misc]
    assert folders(state) == 2
    state.seal("2026-01-01T00:00:00+00:00", take_back=True)
    assert bytes(state.component("owner-a", "x.0")) == CONTENT


def test_files_are_checked_while_other_requests_go_on(state: PartyState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk; and what was replaced while it was read does not count."""
    reading, go_on = threading.Event(), threading.Event()
    original = party_state._digest_and_sync

    def slowly(path: Path) -> str:
        digest = original(path)
        reading.set()
        assert go_on.wait(20)
        return digest

    monkeypatch.setattr(party_state, "_digest_and_sync", slowly)
    state.begin_upload("owner-a", "u1", manifest())
    state.append("owner-a", "u1", "x.0", 0, CONTENT)
    errors: list[Exception] = []

    def commit() -> None:
        try:
            state.commit("owner-a", "u1")
        except StateError as error:
            errors.append(error)

    thread = threading.Thread(target=commit, daemon=True)
    thread.start()
    assert reading.wait(20)
    done = threading.Event()

    def others() -> None:
        state.begin_upload("owner-b", "v1", manifest())
        state.append("owner-b", "v1", "x.0", 0, b"s")
        state.begin_upload("owner-a", "u2", manifest())
        done.set()

    threading.Thread(target=others, daemon=True).start()
    free = done.wait(5)
    go_on.set()
    thread.join(20)
    assert free, "other requests waited for the check"
    assert ["another one replaced it" in str(error) for error in errors] == [True]
    current = state.upload("owner-a")
    assert current is not None and (current.upload, current.committed) == ("u2", False)


def test_a_commit_that_is_not_allowed_is_not_noted(state: PartyState) -> None:
    state.begin_upload("owner-a", "u1", manifest())
    state.append("owner-a", "u1", "x.0", 0, CONTENT)

    def forbidden() -> None:
        raise StateError("no")

    with pytest.raises(StateError, match="no"):
        state.commit("owner-a", "u1", forbidden)
    current = state.upload("owner-a")
    assert current is not None and not current.committed
    state.commit("owner-a", "u1")


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_damage_at_rest_is_found(state: PartyState, damage: str) -> None:
    committed(state)
    assert state.damaged("owner-a") is None
    (path,) = state.directory.glob("uploads/*/*/x.0")
    if damage == "changed":
        path.write_bytes(b"!" + CONTENT[1:])
    elif damage == "cut":
        os.truncate(path, 100)
    else:
        path.unlink()
    assert state.damaged("owner-a") == path
    path.write_bytes(CONTENT)
    assert state.damaged("owner-a") is None


DESERET = "\N{DESERET CAPITAL LETTER LONG I}"  # 4 bytes


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "x" * 65, None, 3, "a\0", DESERET * 64, "é"])
def test_file_names(name: object) -> None:
    with pytest.raises(InvalidInputError):
        check_file_name(name)


# --- checkpoints, release, forgetting ----------------------------------------------------------------------


def test_the_last_two_checkpoints_are_kept_whatever_the_clock_says(state: PartyState) -> None:
    for i, (epoch, session) in enumerate([(4, "a" * 32), (6, "a" * 32), (5, "b" * 32)]):
        state.save_checkpoint(Checkpoint(epoch, session), b"%d" % epoch)
        os.utime(state.directory / "checkpoints" / f"{epoch}.{session}", (1e9 - i, 1e9 - i))
    assert state.checkpoints() == [Checkpoint(5, "b" * 32), Checkpoint(6, "a" * 32)]
    assert len(list((state.directory / "checkpoints").iterdir())) == 2
    assert state.checkpoint(Checkpoint(5, "b" * 32)) == b"5"
    state.drop_checkpoint(Checkpoint(5, "b" * 32))
    assert state.checkpoints() == [Checkpoint(6, "a" * 32)]
    assert state.has_checkpoints
    state.drop_checkpoints()
    assert state.checkpoints() == []
    assert not state.has_checkpoints
    state.drop_checkpoints()


def test_a_deleted_checkpoint_is_gone_before_anything_else_is_noted(
    state: PartyState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what a killed process left of one; and the directory is synced after the last deletion."""
    state.save_checkpoint(Checkpoint(4, "a" * 32), b"4")
    (state.directory / "checkpoints" / ".5.x").write_bytes(b"half of a share")
    synced: list[bool] = []
    monkeypatch.setattr(
        "cofit.roles.party.checkpoint_files.sync_directory", lambda path: synced.append((path / "checkpoints").exists())
    )
    state.drop_checkpoints()
    assert synced == [False]
    assert state.fact("checkpoints") == ""


def test_a_checkpoint_does_not_outlive_a_discarded_release(state: PartyState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while a release is discarded: where the record is gone, the checkpoints are."""
    state.save_checkpoint(Checkpoint(4, "a" * 32), b"4")
    (state.directory / "release").write_bytes(b"record")
    state.advance("stored")
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok=missing_ok)
        if path.name == "release":
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(KeyboardInterrupt):
        state.discard_release()
    assert not state.has_checkpoints


def test_a_release_that_all_have_stored_is_never_discarded(state: PartyState) -> None:
    (state.directory / "release").write_bytes(b"record")
    state.advance("stored")
    state.confirm_release()
    assert state.confirmed()
    with pytest.raises(StateError, match="never discarded"):
        state.discard_release()
    assert (state.directory / "release").exists()


def test_transactions_survive_a_power_cut(state: PartyState) -> None:
    assert state._database.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA


def test_what_a_killed_process_left_of_a_share_is_deleted(tmp_path: Path) -> None:
    first = PartyState(tmp_path / "p", "ab" * 32, "party-a")
    (first.directory / ".release.abcd").write_bytes(b"half a share")
    first.close()
    second = PartyState(tmp_path / "p", "ab" * 32, "party-a")
    assert not list(second.directory.glob(".release.*"))
    assert len(second.fact("incarnation") or "") == 32
    second.close()


def test_a_stored_release_is_discarded_only_before_the_opening_begins(state: PartyState) -> None:
    record = state.directory / "release"
    record.write_bytes(b"record")
    state.advance("stored")
    state.discard_release()
    assert (record.exists(), state.phase) == (False, "sealed")
    record.write_bytes(b"record")
    state.advance("stored")
    state.begin_opening()
    with pytest.raises(StateError, match="never discarded"):
        state.discard_release()
    assert (record.exists(), state.phase) == (True, "stored")


def test_every_opening_of_a_program_has_its_own_record_and_notes(state: PartyState) -> None:
    for number in (1, 2, 3):
        state.stored_at(number).write_bytes(b"record")
    (state.directory / ".release-2.abcd").write_bytes(b"half a share")
    state.advance("stored")
    state.confirm_release(2)
    state.begin_opening(3)
    assert [state.confirmed(number) for number in (1, 2, 3)] == [False, True, True]
    for number in (2, 3):
        with pytest.raises(StateError, match="never discarded"):
            state.discard_release(number)
    state.discard_release(1)
    assert sorted(path.name for path in state.directory.glob("*release*")) == ["release-2", "release-3"]
    state.forget_shares()
    assert not list(state.directory.glob("*release*"))


def test_forgetting_deletes_every_share_and_nothing_else(state: PartyState) -> None:
    committed(state)
    state.save_checkpoint(Checkpoint(2, "0" * 16), b"record")
    for name in ("release", "published.json", "audit.jsonl"):
        (state.directory / name).write_bytes(b"x")
    assert not state.forgotten
    state.forget_shares()
    assert state.forgotten
    assert {path.name for path in state.directory.iterdir()} == {
        "lock", "state.sqlite", "published.json", "audit.jsonl",
    }  # fmt: skip
    state.forget_shares()
