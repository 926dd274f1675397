"""What a plan says of its weights, as those who answer with them know it."""

from __future__ import annotations

import numpy as np

from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from support.asking import FIVE, PAPER, TWO


def test_scores_of_served_weights_are_those_of_the_model() -> None:
    """The same released numbers, by the model of a published release and by what the parties multiply."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (20, 6))
    for facts in (TWO, PAPER, FIVE):
        plan = plan_training(training_facts(**facts))
        released = np.array(plan.opened.blank()) + 0.01 * rng.standard_normal(plan.opened.count)
        scoring = plan.scoring(released)
        weights = plan.public_weights(released)
        rows = plan.rows_for_scores(X, released[plan.opened.of_scores :])
        assert (np.linalg.norm(rows, axis=1) <= 1 + 1e-12).all()
        found = rows @ weights.weights + weights.intercepts
        if scoring.rows is not None:
            expected = scoring.rows(X) @ weights.weights + np.asarray(scoring.intercept)
        else:
            lengths = np.hypot(np.linalg.norm(X, axis=1), scoring.constant)
            expected = ((X @ released[:6] + scoring.intercept) / lengths)[:, None]
        assert np.allclose(found, expected, atol=1e-9)
