"""The desk in a vertical study: rows that must be the same at all owners."""

from __future__ import annotations

import threading

from cofit.errors import StateError
from cofit.roles.files.audit import read_audit
from cofit.roles.files.manifest import DealtContribution
from unit.roles.desks import OTHER_ROWS, OWNERS, ROWS, Counter


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
