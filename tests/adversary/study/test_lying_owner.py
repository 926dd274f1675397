"""An owner with software of its own, in a study of real processes: its lies count as nothing, and nobody is told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from support.studies import Lab
from support.training import minimiser

MakeLab = Callable[..., Lab]
LIES = {"horizontal": {"features": 1 << 40, "labels": 30_001}, "vertical": {"labels": 30_001}}


@pytest.mark.parametrize("partition", LIES)
def test_lies_count_as_nothing_in_a_study(make_lab: MakeLab, partition: str) -> None:
    rows = (60, 60) if partition == "horizontal" else (60,)
    lab = make_lab(partition=partition, rows=rows, epsilon=10.0)
    lab.start()
    lab.up()
    assert lab.contribute("owner-b").wait() == 0
    assert lab.contribute("owner-a", lies=LIES[partition]).wait() == 0
    lab.wait_released()
    release = lab.check_one_release()
    weights = np.array(release.weights)
    assert np.linalg.norm(weights - _without(lab, 3 if partition == "horizontal" else 0)) < 0.9
    for party in lab.parties:
        assert not {"check failed", "shares differ", "session failed"} & set(lab.events(party))


def _without(lab: Lab, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The minimiser of the honest records; with few lies among many it hardly matters which are left out."""
    return np.asarray(minimiser(lab.plan, lab.X[count:], lab.y[count:]))
