"""Whether a study has released what it should."""

from __future__ import annotations

import numpy as np

from support.studies import Lab


def check_weights(lab: Lab) -> None:
    """Within 8 times the expected norm of the noise, which is Gamma: beyond that less than once in 10^9."""
    weights = np.asarray(lab.check_one_release().weights)
    limit = 8 * lab.plan.mechanism.expected_norm
    assert np.linalg.norm(weights - lab.minimum()) <= limit
    assert limit < np.linalg.norm(lab.minimum()) / 2, "the test would accept anything"
