from __future__ import annotations

import pytest

from cofit.transport.rates import TokenBuckets, network_of
from cofit.transport.refusals import Refusals, Refused


def test_a_burst_and_then_the_rate() -> None:
    buckets = TokenBuckets(rate=2.0, burst=3)
    assert [buckets.take("a", 100.0) for _ in range(5)] == [True, True, True, False, False]
    assert buckets.take("b", 100.0)
    assert not buckets.take("a", 100.4)
    assert buckets.take("a", 100.5)
    assert not buckets.take("a", 100.6)
    assert [buckets.take("a", 1000.0) for _ in range(4)] == [True, True, True, False]


def test_refused_tries_do_not_prolong_the_wait() -> None:
    buckets = TokenBuckets(rate=1.0, burst=1)
    assert buckets.take("a", 0.0)
    assert not any(buckets.take("a", step / 100) for step in range(1, 100))
    assert buckets.take("a", 1.01)


def test_a_clock_that_steps_back_gives_nothing() -> None:
    buckets = TokenBuckets(rate=1.0, burst=1)
    assert buckets.take("a", 10.0)
    assert not buckets.take("a", 5.0)


def test_invented_keys_cost_no_memory() -> None:
    buckets = TokenBuckets(rate=1.0, burst=1)
    for number in range(20_000):
        buckets.take(f"{number}", 0.0)
    assert len(buckets) <= 4096


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("socket", "socket"),
    ],
)
def test_an_ipv6_network_counts_as_one(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_token_comes_back_and_the_wait_is_told() -> None:
    buckets = TokenBuckets(rate=2.0, burst=2)
    assert buckets.wait("a", 10.0) == 0
    assert [buckets.take("a", 10.0) for _ in range(3)] == [True, True, False]
    assert buckets.wait("a", 10.0) == pytest.approx(0.5)
    assert buckets.wait("a", 10.2) == pytest.approx(0.3)
    buckets.give_back("a")
    assert buckets.wait("a", 10.0) == 0
    assert [buckets.take("a", 10.0) for _ in range(2)] == [True, False]
    for _ in range(9):
        buckets.give_back("a")
    assert [buckets.take("a", 10.0) for _ in range(3)] == [True, True, False], "never more than the burst"


def test_refusals_are_all_counted_and_reported_but_a_flood_is_not_all_logged() -> None:
    reports: list[tuple[str, str | None, str]] = []
    refusals = Refusals(lambda *report: reports.append(report))
    for _ in range(1000):
        refusals.add(Refused.NO_TLS, None, "192.0.2.7")
    refusals.add(Refused.STUDY, "owner-a", "192.0.2.8")
    assert refusals.counts == {"no-tls": 1000, "study": 1}
    assert len(reports) == 1001
    assert reports[-1] == ("study", "owner-a", "192.0.2.8")
    assert sum(refusals.loggable(Refused.FRAME, "owner-a") for _ in range(1000)) == 50
    assert refusals.loggable(Refused.FRAME, "owner-b")


def test_a_report_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    refusals = Refusals(fail)
    refusals.add(Refused.BUSY, "owner-a", "192.0.2.7")
    assert refusals.counts == {"busy": 1}
    assert "busy" in caplog.text
