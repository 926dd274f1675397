"""One release: whatever crashes, is deleted or lies, a value that may have been opened is never drawn again."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest import mock

import pytest

from adversary.roles.release_programs import KEY, after_barrier, release, release_and_die_at_b
from cofit import LocalRun, Party, run_local
from cofit.errors import CofitError, InvalidInputError, PartyFailedError, ProtocolError
from cofit.roles import FileStore, MemoryStore
from cofit.secret import ReleaseStore
from cofit.transport import Mesh

PARTIES = ("party-a", "party-b", "party-c")
SCHEMES = pytest.mark.parametrize("scheme", ["rep3", "clear"])
MIXES = [holders for size in (1, 2) for holders in itertools.combinations(PARTIES, size)]
TIMEOUT = 20.0


class Crash(Exception):  # noqa: N818
    """The end of a party."""


class Drawn:
    """Counts the draws of all parties."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.count += 1


def fresh() -> dict[str, ReleaseStore]:
    return {name: MemoryStore() for name in PARTIES}


def run(stores: Mapping[str, ReleaseStore], drawn: Drawn, scheme: str = "rep3", key: str = KEY) -> LocalRun[list[int]]:
    def program(party: Party) -> list[int]:
        return [int(bit) for bit in release(party, stores, key, drawn)]

    return run_local(program, scheme=scheme, parties=PARTIES, timeout=TIMEOUT)


def value_of(finished: LocalRun[list[int]]) -> list[int]:
    """What all parties saw alike."""
    (value,) = {tuple(result) for result in finished.results.values()}
    assert [opening.reason for opening in finished.openings] == ["the release"]
    return list(value)


def refused(stores: Mapping[str, ReleaseStore], drawn: Drawn, key: str = KEY) -> PartyFailedError:
    """Run, see that nobody opens or draws, and return the error."""
    before = drawn.count
    with (
        mock.patch.object(Party, "open", side_effect=AssertionError("opened")),
        pytest.raises(PartyFailedError) as info,
    ):
        run(stores, drawn, key=key)
    assert drawn.count == before, "a second draw"
    assert not any(isinstance(error, AssertionError) for error in info.value.failures.values()), "an opening"
    return info.value


@SCHEMES
def test_the_first_release_and_its_repetitions(scheme: str) -> None:
    stores, drawn = fresh(), Drawn()
    first = run(stores, drawn, scheme)
    assert drawn.count == 3
    for _ in range(3):
        again = run(stores, drawn, scheme)
        assert value_of(again) == value_of(first)
        assert drawn.count == 3, "a second draw"
    for name in PARTIES:
        assert first.traffic[name]["release/announce"].rounds == 3
        assert again.traffic[name]["release/announce"].rounds == 2
    assert value_of(run(fresh(), drawn, scheme)) != value_of(first)


# --- crashes -----------------------------------------------------------------------------------------------


@SCHEMES
@pytest.mark.parametrize("victim", PARTIES)
def test_a_crash_between_saving_and_opening(scheme: str, victim: str) -> None:
    stores, drawn = fresh(), Drawn()
    seen: list[list[int]] = []

    def crash() -> None:
        raise Crash

    def program(party: Party) -> None:
        if party.name == victim:
            after_barrier(party, crash)
        seen.append([int(bit) for bit in release(party, stores, drawn=drawn)])

    with pytest.raises(PartyFailedError) as info:
        run_local(program, scheme=scheme, parties=PARTIES, timeout=TIMEOUT)
    assert isinstance(info.value.failures[victim], Crash)
    assert drawn.count == 3
    value = value_of(run(stores, drawn, scheme))
    assert drawn.count == 3, "a second draw"
    assert all(early == value for early in seen), "somebody saw another value before the restart"
    assert not seen  # nobody opens before everybody has noted that all have stored


@SCHEMES
def test_a_crash_before_anybody_saved_draws_afresh(scheme: str) -> None:
    stores, drawn = fresh(), Drawn()

    def program(party: Party) -> None:
        def failing() -> None:
            party.barrier("all are here")
            raise Crash

        release(party, stores, drawn=failing)

    with pytest.raises(PartyFailedError):
        run_local(program, scheme=scheme, parties=PARTIES, timeout=TIMEOUT)
    assert all(store.load() is None for store in stores.values())
    value_of(run(stores, drawn, scheme))
    assert drawn.count == 3


def test_a_full_disk_at_one_party_stops_all_before_the_opening() -> None:
    class FullStore(MemoryStore):
        def save(self, record: bytes) -> None:
            raise OSError(28, "No space left on device")

    stores = fresh() | {"party-c": FullStore()}
    with (
        mock.patch.object(Party, "open", side_effect=AssertionError("opened")),
        pytest.raises(PartyFailedError) as info,
    ):
        run(stores, Drawn())
    assert info.value.party == "party-c"
    assert not any(isinstance(error, AssertionError) for error in info.value.failures.values())


def test_processes_that_die_and_files(tmp_path: Path) -> None:
    stores = {name: FileStore(tmp_path / name) for name in PARTIES}
    with pytest.raises(PartyFailedError, match="'party-b' died"):
        run_local(functools.partial(release_and_die_at_b, stores=stores), processes=True, timeout=TIMEOUT)
    records = [store.load() for store in stores.values()]
    results = run_local(functools.partial(release, stores=stores), processes=True, timeout=TIMEOUT).results
    assert [store.load() for store in stores.values()] == records
    drawn = Drawn()
    assert value_of(run(stores, drawn)) == results["party-a"].tolist() == results["party-b"].tolist()
    assert drawn.count == 0


# --- the order ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slow", PARTIES)
def test_everybody_has_saved_when_the_first_opening_message_is_sent(slow: str) -> None:
    class SlowStore(MemoryStore):
        def save(self, record: bytes) -> None:
            time.sleep(0.2)
            super().save(record)

    stores = fresh() | {slow: SlowStore()}
    original = Mesh.exchange
    saved: list[bool] = []

    def exchange(
        self: Mesh,
        label: str,
        send: Mapping[str, memoryview | Sequence[memoryview]],
        receive: Mapping[str, memoryview],
        states: Mapping[str, int] | None = None,
    ) -> None:
        if label == "open":
            saved.extend(store.load() is not None for store in stores.values())
        original(self, label, send, receive, states)

    with mock.patch.object(Mesh, "exchange", exchange):
        run(stores, Drawn())
    assert saved == [True] * 9


# --- records that are missing, damaged or strange ----------------------------------------------------------


@pytest.mark.parametrize("holders", MIXES, ids="+".join)
def test_a_record_deleted_after_the_opening_gives_no_second_draw(holders: tuple[str, ...]) -> None:
    """The attack: delete a file, restart, and average the noise of two openings away."""
    stores, drawn = fresh(), Drawn()
    value = value_of(run(stores, drawn))
    left = {name: store if name in holders else MemoryStore() for name, store in stores.items()}
    error = refused(left, drawn)
    for name in PARTIES:
        found = error.failures[name]
        assert isinstance(found, CofitError)
        if isinstance(found, ProtocolError):
            lost = [each for each in PARTIES if each not in holders]
            assert f"{', '.join(holders)} stored a record of it and {', '.join(lost)} did not" in str(found)
            assert "another name" in str(found)
    assert isinstance(error.__cause__, ProtocolError)
    assert all(left[name].load() is None for name in PARTIES if name not in holders)
    assert value_of(run(stores, drawn)) == value  # with the records restored


@pytest.mark.parametrize("position", [3, 9, 20, 60, 200, -100, -1])
def test_a_damaged_file_is_refused(tmp_path: Path, position: int) -> None:
    stores, drawn = {name: FileStore(tmp_path / name) for name in PARTIES}, Drawn()
    run(stores, drawn)
    record = bytearray((tmp_path / "party-b").read_bytes())
    record[position] ^= 0x10
    (tmp_path / "party-b").write_bytes(record)
    error = refused(stores, drawn)
    assert error.party == "party-b"
    assert isinstance(error.__cause__, InvalidInputError)
    assert "parameter of a stored release" in str(error)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    stores = {name: FileStore(tmp_path / name) for name in PARTIES}
    (tmp_path / "party-b").touch()
    assert "'length' parameter of a stored release" in str(refused(stores, Drawn()))


def test_the_record_of_another_release_is_refused() -> None:
    stores, drawn = fresh(), Drawn()
    run(stores, drawn)
    error = refused(stores, drawn, key="study 1, run 2")
    assert "'key' parameter of a stored release must be 'study 1, run 2'" in str(error)


def test_the_record_of_another_party_is_refused() -> None:
    stores, drawn = fresh(), Drawn()
    run(stores, drawn)
    swapped = {"party-a": stores["party-b"], "party-b": stores["party-a"], "party-c": stores["party-c"]}
    assert "'rank' parameter of a stored share" in str(refused(swapped, drawn))


def test_records_of_different_draws_are_refused() -> None:
    first, second, drawn = fresh(), fresh(), Drawn()
    run(first, drawn)
    run(second, drawn)
    error = refused(first | {"party-b": second["party-b"]}, drawn)
    assert isinstance(error.__cause__, ProtocolError)
    assert "different draws" in str(error)


def test_parties_must_agree_on_the_key() -> None:
    stores, drawn = fresh(), Drawn()

    def program(party: Party) -> None:
        release(party, stores, key=f"run of {party.name}", drawn=drawn)

    with pytest.raises(PartyFailedError, match="SequenceError"):
        run_local(program, parties=PARTIES, timeout=TIMEOUT)
    assert drawn.count == 0


@pytest.mark.parametrize("key", ["", " ", None, 7])
def test_a_key_is_text(key: str) -> None:
    with pytest.raises(PartyFailedError, match="'key' parameter of release_once"):
        run(fresh(), Drawn(), key=key)


# --- a party that lies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("deceived", [("party-a",), ("party-b",), ("party-a", "party-b")], ids="+".join)
def test_a_party_that_denies_its_record_gets_no_second_draw(deceived: tuple[str, ...]) -> None:
    stores, drawn = fresh(), Drawn()
    value = value_of(run(stores, drawn))
    honest_draws: list[str] = []
    opened: list[list[int]] = []
    original = Mesh.exchange

    def exchange(
        self: Mesh,
        label: str,
        send: Mapping[str, Sequence[memoryview]],
        receive: Mapping[str, memoryview],
        states: Mapping[str, int] | None = None,
    ) -> None:
        if self.name == "party-c" and label == "release/announce":
            nothing = [memoryview(bytes(17))]
            send = {peer: nothing if peer in deceived else message for peer, message in send.items()}
        original(self, label, send, receive, states)

    def program(party: Party) -> None:
        opened.append([int(b) for b in release(party, stores, drawn=lambda: honest_draws.append(party.name))])

    with mock.patch.object(Mesh, "exchange", exchange), pytest.raises(PartyFailedError) as info:
        run_local(program, parties=PARTIES, timeout=TIMEOUT)
    assert isinstance(info.value.__cause__, ProtocolError)
    assert all(isinstance(info.value.failures[name], CofitError) for name in deceived)
    assert honest_draws == []
    assert all(bits == value for bits in opened)
