"""The speed of lines, measured through a proxy that has one."""

from __future__ import annotations

import pytest

from cofit.transport import LineSpeed, Mesh, measure_lines
from support.proxy import Shape
from unit.transport.cluster import NAMES, results, run_cluster
from unit.transport.wires import wires


def test_latency_and_rate_of_a_far_line() -> None:
    with wires(shape=Shape(delay=0.04, rate=1e6)) as net:
        speeds = results(net.run(measure_lines))
    for speed in speeds.values():
        assert 0.039 < speed.latency < 0.08
        assert 0.4e6 < speed.rate < 1.5e6


def test_every_member_measures_and_the_rounds_are_counted() -> None:
    def program(mesh: Mesh) -> tuple[LineSpeed, int]:
        return measure_lines(mesh), mesh.counts["lines"].rounds

    for speed, rounds in results(run_cluster("memory", program, NAMES)).values():
        assert isinstance(speed, LineSpeed)
        assert speed.latency > 0 and speed.rate > 0
        assert rounds == 6
        assert speed.to_dict() == {"latency": pytest.approx(speed.latency), "bytes_per_second": speed.rate}
