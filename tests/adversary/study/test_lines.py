"""Studies over slow and broken lines: one session, one release, equal at all parties.

All addresses of the study are those of proxies (``support.proxy``). A cut hits every connection at once, of sessions
and of conversations alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.nursery import until
from support.proxy import DOWN, UP, Connection, Shape
from support.studies import Lab

MakeLab = Callable[..., Lab]
BEST: dict[str, Any] = {"model": {"recipe": "best"}}
PAPER: dict[str, Any] = {"model": {"epochs": 12}, "compute": {"checkpoint_epochs": 2}}
SCHEMES = ("rep3", "rep4", "semi2k")
FAR = Shape(delay=0.025, rate=2.5e6)
"""50 ms there and back, 20 Mb/s each way."""
slow = pytest.mark.slow
pytestmark = pytest.mark.timeout(300)


def through(make_lab: MakeLab, shape: Shape, settings: dict[str, Any] = BEST, **more: Any) -> Lab:
    compute = {"timeout": 15, "connect_timeout": 15, **settings.get("compute", {}), **more.get("compute", {})}
    return make_lab(shape=shape, **{**settings, **more, "compute": compute})


def finish(lab: Lab, *, sessions: int | None = 1, seconds: float = 120.0) -> None:
    """Wait for the release; how many sessions it may have taken."""
    lab.wait_released(seconds)
    lab.check_one_release()
    for party in lab.parties:
        begun = lab.events(party).count("session begins")
        assert sessions is None or begun == sessions, (party, begun, lab.log(party))


def cut_all(lab: Lab) -> int:
    return sum(proxy.cut() for proxy in lab.proxies.values())


def set_all(lab: Lab, **attributes: Any) -> None:
    """Set attributes of all proxies."""
    for proxy in lab.proxies.values():
        for name, value in attributes.items():
            assert hasattr(proxy, name), name
            setattr(proxy, name, value)


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Do ``work`` beside the block. Where the block fails, what the work then lacks is no failure of its own."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()
    if failures:
        raise failures[0]


def at_epoch(lab: Lab, epoch: int) -> None:
    """Wait until the first party trains that epoch."""
    until(lambda: f"progress train: {epoch}" in lab.trace("party-a"), f"epoch {epoch}")


def train_through(lab: Lab, trouble: Callable[[], object], epoch: int = 5) -> None:
    """A study whose first party takes its time for every epoch; when it comes to this one there is trouble."""

    def wait_for_it() -> None:
        at_epoch(lab, epoch)
        trouble()

    lab.start(*(name for name in lab.servers if name != "party-a"))
    lab.start("party-a", pause={"progress train": 0.1})
    with meanwhile(wait_for_it):
        lab.contribute_all()
        finish(lab)


def returns(lab: Lab, name: str) -> int:
    """How often a party says that a connection is back."""
    return lab.log(name).count("is back: the session goes on")


# --- slow lines ------------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize(
    "shape", [FAR, Shape(delay=0.1), Shape(delay=0.02, jitter=0.05)], ids=["50 ms, 20 Mb/s", "200 ms", "jitter"]
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_slow_lines(make_lab: MakeLab, scheme: str, shape: Shape) -> None:
    lab = through(make_lab, shape, scheme=scheme)
    lab.start()
    lab.contribute_all()
    finish(lab, seconds=240)


@slow
@pytest.mark.parametrize(
    ("shape", "life"),
    [(FAR, None), (Shape(delay=0.1), None), (Shape(delay=0.02, jitter=0.05), None), (FAR, 12.0)],
    ids=["50 ms, 20 Mb/s", "200 ms", "jitter", "cut every 12 s"],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_time_left_holds_on_slow_lines(make_lab: MakeLab, scheme: str, shape: Shape, life: float | None) -> None:
    """What a party first says once it knows is within 30 % of what it then takes."""
    lab = through(make_lab, shape, scheme=scheme, rows=(1200, 800), features=8)
    set_all(lab, life=life)
    lab.start()
    lab.contribute_all()
    told: list[tuple[float, float]] = []

    def said() -> bool:
        answer = lab.statuses()["party-a"]
        if isinstance(answer, dict) and "seconds_left" in answer["progress"]:
            told.append((time.time(), float(answer["progress"]["seconds_left"])))
        return bool(told)

    until(said, "a forecast", 60.0, step=0.2)
    finish(lab, seconds=240)
    end = [moment for moment, point in lab.timed_trace("party-a") if point == "after open"][-1]
    begun, forecast = told[0]
    assert forecast == pytest.approx(end - begun, rel=0.3), (forecast, end - begun)


# --- lines that break ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["rep3", *(pytest.param(scheme, marks=slow) for scheme in ("rep4", "semi2k"))])
def test_every_connection_is_cut_again_and_again(make_lab: MakeLab, scheme: str) -> None:
    """Sessions of seconds over connections that live for less: it would go on for ever without lines."""
    lab = through(make_lab, Shape(delay=0.01), scheme=scheme)
    set_all(lab, life=1.2)
    lab.start()
    lab.contribute_all()
    finish(lab, sessions=None)
    assert sum(returns(lab, party) for party in lab.parties) >= 4
    assert any(lab.events(party).count("session begins") == 1 for party in lab.parties)


@slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_twelve_seconds_on_a_far_line(make_lab: MakeLab, scheme: str) -> None:
    lab = through(make_lab, FAR, scheme=scheme)
    set_all(lab, life=12.0)
    lab.start()
    lab.contribute_all()
    finish(lab, sessions=None, seconds=240)


POINTS = (
    "before begin upload", "before append", "before commit", "before phase sealed", "after phase sealed",
    "after connect", "progress noise", "progress check", "progress train", "before save coin", "after save coin",
    "before charge", "before save release", "after save release", "before barrier", "after barrier", "before confirm",
    "before barrier#2", "before begin opening", "before open", "after open", "before write published.json",
    "before write signature.json", "after phase released",
)  # fmt: skip
SAMPLE = {("rep3", "before open"), ("semi2k", "progress noise")}  # the others: make test-all


@pytest.mark.parametrize(
    ("scheme", "point"),
    [
        pytest.param(scheme, point, marks=() if (scheme, point) in SAMPLE else slow)
        for scheme in SCHEMES
        for point in POINTS
    ],
)
def test_a_cut_in_every_phase(make_lab: MakeLab, scheme: str, point: str) -> None:
    """When one party comes to that point, it pauses and every connection is cut, twice."""
    lab = through(make_lab, Shape(), scheme=scheme)
    step, _, count = point.partition("#")
    lab.start(*(name for name in lab.servers if name != "party-b"))
    lab.start("party-b", pause={step: 0.5})

    def reached() -> bool:
        points = [name.partition(": ")[0] for name in lab.trace("party-b")]
        return points.count(step) >= int(count or 1)

    def cut() -> None:
        until(reached, f"party-b at {point}")
        time.sleep(0.05)
        cut_all(lab)
        time.sleep(0.25)
        cut_all(lab)

    with meanwhile(cut):
        lab.contribute_all()
        # the invitation to the session may be what is cut, or its lines before their keys have come
        early = point == "after connect" or point.endswith("phase sealed")
        finish(lab, sessions=None if early else 1)


@slow
@pytest.mark.parametrize("epoch", range(20))
def test_a_cut_in_every_step_of_the_training(make_lab: MakeLab, epoch: int) -> None:
    lab = through(make_lab, Shape())
    train_through(lab, lambda: cut_all(lab), epoch)
    assert returns(lab, "party-a") >= 1


@pytest.mark.parametrize("most", [pytest.param(9000, marks=slow), 20_000])
def test_uploads_and_fetches_over_connections_that_break_after_some_bytes(make_lab: MakeLab, most: int) -> None:
    """Owners, the leader's questions and analysts open their conversations again; nothing is lost or done twice."""
    lab = through(make_lab, Shape(), rows=(300, 400), features=8)
    set_all(lab, most_bytes=100_000)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    set_all(lab, most_bytes=most)
    lab.check_one_release()
    assert sum(proxy.count for proxy in lab.proxies.values()) > 10


@slow
def test_a_contribution_is_larger_than_what_passes_over_one_connection(make_lab: MakeLab) -> None:
    """Messages of the upload get smaller until whole ones pass, and it goes on where it was."""
    lab = through(make_lab, Shape(), rows=(1500, 400), features=8)
    set_all(lab, most_bytes=60_000)
    lab.start()
    lab.contribute_all()
    uploads = [lab.trace(party).count("before append") for party in lab.parties]
    assert max(uploads) > 4, "no contribution was sent in pieces"
    set_all(lab, most_bytes=100_000)
    finish(lab, sessions=None)


@slow
def test_cuts_while_an_analyst_fetches(make_lab: MakeLab) -> None:
    lab = through(make_lab, Shape(delay=0.03))
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    before = sum(proxy.count for proxy in lab.proxies.values())

    def cut() -> None:
        for _ in range(8):
            time.sleep(0.15)
            cut_all(lab)

    with meanwhile(cut):
        lab.check_one_release()
    assert sum(proxy.count for proxy in lab.proxies.values()) > before + 3


@slow
def test_a_firewall_forgets_the_connection_of_an_upload_that_waits(make_lab: MakeLab) -> None:
    """The party works for longer than the firewall remembers; the owner asks again, and has lost nothing."""
    lab = through(make_lab, Shape(), compute={"timeout": 5})
    lab.start("party-a", "party-c")
    lab.start("party-b", pause={"before commit": 4.0})
    set_all(lab, forgets=2.5)
    lab.contribute_all()
    finish(lab)


@slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_firewall_that_forgets_in_a_study_with_long_local_work(make_lab: MakeLab, scheme: str) -> None:
    """A party computes for longer than the time-out, and every connection is forgotten after a shorter silence."""
    lab = through(make_lab, Shape(), scheme=scheme, compute={"timeout": 6})
    lab.start(*(name for name in lab.servers if name != "party-b"))
    lab.start("party-b", pause={"before save release": 9.0})
    set_all(lab, forgets=2.5)
    lab.contribute_all()
    finish(lab)
    assert not any(returns(lab, party) for party in lab.parties), "no connection had to be brought back"


@slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_lines_of_a_party_at_once(make_lab: MakeLab, scheme: str) -> None:
    """The others dial the first party, so all its lines pass one proxy; theirs with each other stay."""
    lab = through(make_lab, Shape(), scheme=scheme)

    def cut() -> None:
        for epoch in (3, 6):
            at_epoch(lab, epoch)
            assert lab.proxies["party-a"].cut() >= len(lab.servers) - 1

    train_through(lab, cut, epoch=3)
    assert returns(lab, "party-a") >= len(lab.servers) - 1
    assert returns(lab, "party-b") >= 1


@slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_half_open_connections(make_lab: MakeLab, scheme: str) -> None:
    lab = through(make_lab, Shape(), scheme=scheme, compute={"timeout": 6})
    train_through(lab, lambda: [proxy.freeze() for proxy in lab.proxies.values()])
    assert returns(lab, "party-a") >= 1


@slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_lines_are_away_for_a_while(make_lab: MakeLab, scheme: str) -> None:
    lab = through(make_lab, Shape(), scheme=scheme)

    def away() -> None:
        set_all(lab, refuses=True)
        cut_all(lab)
        time.sleep(3.0)
        set_all(lab, refuses=False)

    train_through(lab, away)
    assert returns(lab, "party-a") >= 2


@slow
@pytest.mark.parametrize("lie", ["altered", "repeated", "withheld"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_that_tampers_after_a_reconnect(make_lab: MakeLab, scheme: str, lie: str) -> None:
    """What it changes is refused by TLS; the connection is replaced, and the session goes on."""

    def meddle(connection: Connection, way: str, passed: int, data: bytes) -> bytes:
        if way == DOWN and passed > 3000:
            if lie == "altered":
                return data[:-1] + bytes([data[-1] ^ 1])
            return data + data if lie == "repeated" else data[1:]
        return data

    lab = through(make_lab, Shape(), scheme=scheme, compute={"timeout": 8})

    def tamper() -> None:
        set_all(lab, meddle=meddle)
        cut_all(lab)
        time.sleep(2.0)
        set_all(lab, meddle=None)
        cut_all(lab)

    train_through(lab, tamper)


@slow
def test_a_stall_of_one_direction(make_lab: MakeLab) -> None:
    lab = through(make_lab, Shape())

    def stall() -> None:
        for way in (UP, DOWN):
            set_all(lab, stalled={way})
            time.sleep(3.0)
            set_all(lab, stalled=set())

    train_through(lab, stall)


@slow
def test_a_party_that_is_killed_cannot_resume_and_a_new_session_begins(make_lab: MakeLab) -> None:
    lab = through(make_lab, Shape(), PAPER, compute={"timeout": 60, "connect_timeout": 60, "checkpoint_epochs": 2})
    lab.start("party-a", "party-c")
    lab.start("party-b", die={"after checkpoint": 3})
    start = time.monotonic()
    lab.contribute_all()
    assert lab.children["party-b"].wait() == -9
    lab.start("party-b")
    finish(lab, sessions=2)
    assert time.monotonic() - start < 50, "the others learn it from the new process, not from the time-out"
