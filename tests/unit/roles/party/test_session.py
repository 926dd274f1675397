"""What a party of a study checks before a session touches a share, although a corrupted leader says otherwise."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cofit.errors import ProtocolError, StateError
from cofit.roles.files.audit import AuditFile
from cofit.roles.jobs.steps import AGREED
from cofit.roles.party.checkpoint_files import Checkpoint
from cofit.roles.party.guard import Guard
from cofit.roles.party.session import MOST_SESSIONS, _basis, begin_once
from cofit.roles.party.state import RELEASE, PartyState
from cofit.secret import Party
from cofit.sharing import Scheme
from cofit.sharing.repn.party import Repn
from support.runs import run_scheme


def job(*owners: str) -> Any:
    return SimpleNamespace(hash="plan", inputs=dict.fromkeys(owners))


@pytest.mark.parametrize("odd", [None, 1, 3])
def test_a_leader_that_tells_two_parties_different_dates_is_found_out(tmp_path: Path, odd: int | None) -> None:
    with contextlib.ExitStack() as closing:
        states = [PartyState(tmp_path / str(rank), "study", f"party-{rank}") for rank in range(4)]
        for rank, state in enumerate(states):
            closing.callback(state.close)
            state.seal(f"2026-01-0{2 if rank == odd else 1}T00:00:00+00:00", take_back=False)

        def program(scheme: Scheme) -> None:
            Party(scheme, {}).agree(AGREED, _basis(job(), states[scheme.rank]))

        if odd is None:
            run_scheme("rep4", program)
            return
        with pytest.raises(ProtocolError, match="do not agree on the certificate's date"):
            run_scheme("rep4", program)


def test_an_owner_whose_contributions_differ_is_named(tmp_path: Path) -> None:
    """With an honest leader nothing is sealed; a corrupted one may invite the parties with different sets."""
    with contextlib.ExitStack() as closing:
        states = [PartyState(tmp_path / str(rank), "study", f"party-{rank}") for rank in range(4)]
        for rank, state in enumerate(states):
            closing.callback(state.close)
            for owner in ("owner-a", "owner-b"):
                common = {"upload": owner, "said": "another" if (rank, owner) == (2, "owner-b") else "the same"}
                state.begin_upload(owner, owner, {"common": common, "files": {}})
            state.seal("2026-01-01T00:00:00+00:00", take_back=False)

        def program(scheme: Scheme) -> None:
            party = Party(scheme, {})
            party.agree(AGREED, _basis(job("owner-a", "owner-b"), states[scheme.rank]))

        with pytest.raises(ProtocolError, match="do not agree on the contribution of 'owner-b'\\."):
            run_scheme("rep4", program)


def test_no_session_is_begun_twice_not_even_after_a_restart(tmp_path: Path) -> None:
    with contextlib.closing(PartyState(tmp_path, "study", "party-0")) as state:
        begin_once(state, bytes(16))
        begin_once(state, bytes([1] * 16))
    with contextlib.closing(PartyState(tmp_path, "study", "party-0")) as state:
        with pytest.raises(StateError, match="a session that was before"):
            begin_once(state, bytes(16))
        begin_once(state, bytes([2] * 16))


def test_a_study_that_is_checked_late_has_so_many_sessions_and_no_more(tmp_path: Path) -> None:
    with contextlib.closing(PartyState(tmp_path, "study", "party-0")) as state:
        state.record(other="fact")
        for i in range(3):
            begin_once(state, bytes([i] * 16), most=3)
        with pytest.raises(StateError, match="has begun 3 sessions, and there must be no more"):
            begin_once(state, bytes([3] * 16), most=3)
        begin_once(state, bytes([3] * 16))  # of another scheme
    assert 2 ** -Repn.info.spec().soundness_bits >= MOST_SESSIONS * 2**-50  # type: ignore[operator]


@pytest.mark.parametrize(
    ("stored", "confirmed", "left"),
    [((0, 1), (), False), ((2,), (), False), ((), (), True), ((0, 1, 2), (), True), ((0, 1), (1,), True)],
    ids=["one has not stored", "one has", "nobody has", "all have", "it may be open"],
)
def test_where_a_release_is_discarded_everybody_deletes_the_checkpoints(
    tmp_path: Path, stored: tuple[int, ...], confirmed: tuple[int, ...], left: bool
) -> None:
    """Also who has stored nothing: all begin anew, with fresh noise."""
    with contextlib.ExitStack() as closing:
        states = [PartyState(tmp_path / str(rank), "study", f"party-{rank}") for rank in range(3)]
        for rank, state in enumerate(states):
            closing.callback(state.close)
            state.save_checkpoint(Checkpoint(5, "a" * 32), b"half-trained weights, and noise")
            if rank in stored:
                (state.directory / RELEASE).write_bytes(b"noisy shares")
            if rank in confirmed:
                state.confirm_release()

        def program(scheme: Scheme) -> None:
            state = states[scheme.rank]
            with contextlib.closing(AuditFile(state.directory / "audit.jsonl")) as audit:
                Guard(job(), state, audit).settle(Party(scheme, {}), 1)

        run_scheme("rep3", program)
        assert [state.has_checkpoints for state in states] == [left] * 3
        kept = left and len(stored) > 0
        assert [(state.directory / RELEASE).exists() for state in states] == [kept and r in stored for r in range(3)]
