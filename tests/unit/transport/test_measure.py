"""The speed of lines, measured through a proxy that has one."""

from __future__ import annotations

import pytest

from cofit.transport import LineSpeed, Mesh, measure, measure_lines
from support.proxy import Shape
from unit.transport.cluster import NAMES, results, run_cluster
from unit.transport.wires import wires


def test_latency_and_rate_of_a_far_line() -> None:
    with wires(shape=Shape(delay=0.04, rate=1e6)) as net:
        speeds = results(net.run(measure_lines))
    for speed in speeds.values():
        assert 0.039 < speed.latency < 0.08
        assert 0.4e6 < speed.rate < 1.5e6


class Scripted:
    """A mesh whose exchanges take so many seconds, one after the other, and the clock that shows it."""

    name, peers = "P0", ("P1", "P2")

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self._seconds = iter(seconds)

    def exchange(self, label: str, send: object, receive: object) -> None:
        self.now += next(self._seconds)

    def monotonic(self) -> float:
        return self.now


def test_a_line_that_jitters_has_its_mean_and_what_came_late_by_chance_is_no_lack_of_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All have met, eight rounds of which one was held up, three times the bulk, the last round."""
    rounds = (0.02, 0.05, 0.03, 9.0, 0.06, 0.04, 0.05, 0.03)
    mesh = Scripted(7.0, *rounds, 0.09, 0.03, 0.07, 0.02)
    monkeypatch.setattr(measure, "time", mesh)
    speed = measure_lines(mesh)  # type: ignore[arg-type]
    assert speed.latency == pytest.approx(0.04)
    assert speed.rate == pytest.approx((1 << 17) / 0.01)


def test_every_member_measures_and_the_rounds_are_counted() -> None:
    def program(mesh: Mesh) -> tuple[LineSpeed, int]:
        return measure_lines(mesh), mesh.counts["lines"].rounds

    for speed, rounds in results(run_cluster("memory", program, NAMES)).values():
        assert isinstance(speed, LineSpeed)
        assert speed.latency > 0 and speed.rate > 0
        assert rounds == 13
        assert speed.to_dict() == {"latency": pytest.approx(speed.latency), "bytes_per_second": speed.rate}
