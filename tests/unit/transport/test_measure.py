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

    name, peers = "P0", ("P1",)

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self._seconds = iter(seconds)

    def exchange(self, label: str, send: object, receive: object) -> None:
        self.now += next(self._seconds)

    def monotonic(self) -> float:
        return self.now


def test_a_round_that_was_late_by_chance_is_taken_neither_for_the_latency_nor_for_the_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mesh = Scripted(9.0, 0.02, 0.05, 0.03, 0.06, 0.02)  # all have met, three rounds, the bulk, the last round
    monkeypatch.setattr(measure, "time", mesh)
    speed = measure_lines(mesh)  # type: ignore[arg-type]
    assert speed.latency == pytest.approx(0.03)
    assert speed.rate == pytest.approx((1 << 17) / 0.01)


def test_every_member_measures_and_the_rounds_are_counted() -> None:
    def program(mesh: Mesh) -> tuple[LineSpeed, int]:
        return measure_lines(mesh), mesh.counts["lines"].rounds

    for speed, rounds in results(run_cluster("memory", program, NAMES)).values():
        assert isinstance(speed, LineSpeed)
        assert speed.latency > 0 and speed.rate > 0
        assert rounds == 6
        assert speed.to_dict() == {"latency": pytest.approx(speed.latency), "bytes_per_second": speed.rate}
