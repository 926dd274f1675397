"""The clipped residual of a real target: exact on secrets, bounded for every score, and 0 for a record that failed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, FixedPoint
from cofit.learn.losses.clipped_difference import ClippedDifference, clipped_at
from cofit.learn.losses.clipped_margin import ClippedMargin

SCORES = np.concatenate([np.linspace(-3, 3, 97), [0.0, 40.0, -40.0]])
SCORES = np.trunc(SCORES * 4096) / 4096


@pytest.mark.parametrize("clip", [Fraction(1, 8), Fraction(1, 4), Fraction(1)])
@pytest.mark.parametrize("target", [-1.0, 0.375, 1.0])
def test_the_parties_compute_it_exactly(clip: Fraction, target: float) -> None:
    residual = clipped_at(clip)
    wanted = np.clip((target - SCORES) / float(clip), -1, 1)
    assert np.allclose(residual.signed(np.full(len(SCORES), target), SCORES), wanted, atol=1e-12)

    def program(party: Party) -> npt.NDArray[np.float64]:
        scores = party.constant(SCORES, FixedPoint(12))
        labels = party.constant(np.full(len(SCORES), target), FixedPoint(12))
        _, targets = residual.prepared(labels, party.constant(np.ones(len(SCORES), np.int64), FixedPoint(0)))
        evaluation = ClippedMargin(Z64, Fraction(1), 16, 12, residual)
        found = evaluation.clipped(residual.argument(scores, targets))
        assert found.bound <= 1
        return np.asarray(party.open(found, reason="test"), dtype=np.float64)

    found = next(iter(run_local(program, scheme="clear", parties=1).results.values()))
    assert np.array_equal(found, wanted)


def test_a_record_that_failed_has_no_target_and_no_sign() -> None:
    residual = clipped_at(Fraction(1, 4))

    def program(party: Party) -> list[list[float]]:
        labels = party.constant(np.array([0.5, 0.5]), FixedPoint(12))
        both = residual.prepared(labels, party.constant(np.array([1, 0]), FixedPoint(0)))
        return [party.open(part, reason="test").tolist() for part in both if part is not None]

    signs, targets = next(iter(run_local(program, scheme="clear", parties=1).results.values()))
    assert (signs, targets) == ([1, 0], [0.5, 0.0])


def test_it_is_told_apart_from_that_of_margins() -> None:
    residual = clipped_at(Fraction(1, 4))
    assert isinstance(residual, ClippedDifference)
    assert residual.clip == Fraction(1, 4)
    assert str(residual) == "clip(4 (y - z), -1, 1)"
    assert residual.largest_target == 1
