"""A party program in a prime field: nothing that it is made of assumes a power of two."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Contribution, FixedPoint, Party, run_local
from cofit.arithmetic import F61
from cofit.errors import RangeError
from cofit.protocols import less, sigmoid_polynomial
from cofit.protocols.clamp import clamp
from cofit.protocols.sigmoid import sigmoid_polynomial_error
from support.schemes import MORE, SECRET, local

ROWS, COLS = 40, 6
FORMAT = FixedPoint(24, F61)


def data() -> tuple[npt.NDArray[Any], ...]:
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, (ROWS, COLS)) / COLS
    return x, rng.integers(0, 2, ROWS).astype(float), rng.uniform(-1, 1, COLS)


def test_a_step_of_logistic_regression() -> None:
    """Owners' inputs, matrix products both ways, a sigmoid, a comparison, a mean and a clamp, within their errors."""
    x, y, w = data()

    def program(party: Party) -> tuple[list[float], list[int], list[float]]:
        features = party.joined([("owner", "x")], 0, held=2)
        weights = party.constant(w, FORMAT)
        scores = (features @ weights).with_bound(2)
        residual = sigmoid_polynomial(scores) - party.input("owner", "y")
        gradient = (features.T @ residual) / ROWS
        small = less(scores, 0.1)
        limited = clamp(scores, Fraction(0), Fraction(1, 8))
        opened = (party.open(value, reason="test") for value in (gradient, small, limited))
        step, below, held = opened
        return step.tolist(), below.tolist(), held.tolist()

    owners = {"owner": {"x": Contribution(x, 1, FORMAT), "y": Contribution(y, 1, FORMAT)}}
    step, below, held = run_local(program, owners=owners, scheme="clear").results["party-a"]
    scores = x @ w
    exact = x.T @ (1 / (1 + np.exp(-scores)) - y) / ROWS
    unit = 2.0**-24
    off = float(sigmoid_polynomial_error(FORMAT, Fraction(2))) + 4 * COLS * unit
    assert np.abs(np.array(step) - exact).max() < off + 4 * unit + ROWS * unit
    clear_cut = np.abs(scores - 0.1) > 4 * COLS * unit
    assert (np.array(below)[clear_cut] == (scores < 0.1)[clear_cut]).all()
    assert np.abs(np.array(held) - np.clip(scores, 0, 1 / 8)).max() < 8 * COLS * unit


@pytest.mark.parametrize("scheme", [name for name in (*SECRET, *MORE) if name != "pair"])  # modulo powers of two alone
def test_products_and_sums_with_secrets(scheme: str) -> None:
    """Owners' inputs and matrix products both ways, of whole numbers, exactly: what needs no truncation."""
    whole = FixedPoint(0, F61)
    rng = np.random.default_rng(9)
    x, w = rng.integers(-(1 << 15), 1 << 15, (ROWS, COLS)), rng.integers(-(1 << 12), 1 << 12, COLS)

    def program(party: Party) -> tuple[list[int], list[int]]:
        features = party.joined([("owner", "x")], 0, held=2)
        scores = features @ party.constant(w, whole)
        both = features.T @ scores, scores * 3 - features.inner(features)
        first, second = (party.open(value, reason="test") for value in both)
        return first.tolist(), second.tolist()

    owners = {"owner": {"x": Contribution(x, 1 << 15, whole)}}
    scores = x @ w
    wanted = (x.T.astype(object) @ scores).tolist(), (scores * 3 - (x * x).sum(axis=1)).tolist()
    for found in run_local(program, owners=owners, **local(scheme)).results.values():
        assert found == wanted


def test_what_could_leave_the_range_of_the_field_is_refused() -> None:
    """The largest value is 2^59 - 1: a power of two less than the signed range, and less than in Z_2^64."""

    def program(party: Party) -> list[int]:
        largest = party.constant([F61.capacity], FixedPoint(0, F61))
        with pytest.raises(RangeError, match="holds less than 2\\^59"):
            largest + 1
        with pytest.raises(RangeError, match="holds less than 2\\^59"):
            party.constant([1 << 30], FixedPoint(0, F61)) * (1 << 29)
        opened: list[int] = party.open(-largest, reason="test").tolist()
        return opened

    assert run_local(program, scheme="clear").results["party-a"] == [-F61.capacity]
