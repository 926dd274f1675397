"""Squares that are weighed once more, without messages for each of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party
from cofit.arithmetic import IntegerRing
from cofit.errors import PartyFailedError
from cofit.secret.foreseen import ForeseenSquares
from unit.secret.runs import SCHEMES, failure, run

RNG = np.random.default_rng(5)
X = RNG.integers(-256, 257, (300, 7)) / 256
ROW = RNG.integers(-256, 257, 7) / 256
WEIGHTS = RNG.integers(-64, 65, 7) / 8
EXACT = np.square(X - ROW) @ WEIGHTS
assert np.abs(EXACT).max() < 100


@pytest.mark.parametrize("cuts", [(0, 300), (0, 1, 130, 300)], ids=str)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_sums_are_exact_where_squares_are_foreseen(scheme: str, ring: IntegerRing, cuts: tuple[int, ...]) -> None:
    def program(party: Party) -> tuple[bool, object]:
        x, row = party.constant(X, FixedPoint(8, ring)), party.constant(ROW, FixedPoint(8, ring))
        weights = party.constant(WEIGHTS, FixedPoint(3, ring))
        foreseen = ForeseenSquares(x, row)
        parts = []
        for start, end in pairwise(cuts):
            squares = x[start:end].squared_distances(row, 2)
            foreseen.take(squares)
            parts.append(party.open(squares, reason="test"))
        assert (np.concatenate(parts) == np.square(X - ROW)).all()
        if not foreseen.possible:
            return False, None
        result = foreseen.weighed(weights, 100)
        assert (result.format, result.bound) == (FixedPoint(19, ring), 100)
        return True, party.open(result, reason="test")

    for possible, got in run(program, scheme).results.values():
        assert possible == (scheme == "rep3")
        assert got is None or (got == EXACT).all()


def test_a_mask_hides_one_vector_of_weights_alone() -> None:
    def program(party: Party) -> None:
        x, row = party.constant(X, FixedPoint(8)), party.constant(ROW, FixedPoint(8))
        foreseen = ForeseenSquares(x, row)
        foreseen.take(x.squared_distances(row, 2))
        for _ in range(2):
            foreseen.weighed(party.constant(WEIGHTS, FixedPoint(3)), 224)

    with pytest.raises(PartyFailedError, match="weighed once"):
        run(program, "rep3")


def test_nothing_is_weighed_that_was_not_taken() -> None:
    def program(party: Party) -> None:
        x, row = party.constant(X, FixedPoint(8)), party.constant(ROW, FixedPoint(8))
        ForeseenSquares(x, row).weighed(party.constant(WEIGHTS, FixedPoint(3)), 224)

    assert "taken" in str(failure(program))
