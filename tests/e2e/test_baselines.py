"""The protocol of the averages over real processes and TLS."""

from __future__ import annotations

import numpy as np

from cofit.baselines.averaged import Jayaraman
from cofit.baselines.averaged_in_mpc import REASON, average_in_mpc
from unit.baselines.neighbours import random_part


def test_average_of_two_owners_over_tls() -> None:
    rng = np.random.default_rng(1)
    method, parts = Jayaraman(1.0), [random_part(rng, 40, 20), random_part(rng, 50, 20)]
    found = average_in_mpc(method, parts, "rep3", processes=True)
    error = np.linalg.norm(found.weights - np.mean(method.models(parts), axis=0)) / found.mechanism.expected_norm * 2
    assert 0.1 < error < 4, "the length of the noise is Gamma(20), times its scale"
    assert [opening.reason for opening in found.run.openings] == [REASON]
