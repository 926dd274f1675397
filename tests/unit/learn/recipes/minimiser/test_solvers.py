"""The rates, the error bounds and the radii of the solvers, against an adversary who chooses every error."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from cofit.errors import InvalidInputError
from cofit.learn.losses import loss_named
from cofit.learn.losses.loss import STEP_BITS
from cofit.learn.recipes.minimiser.solvers import Solver, accelerated, gradient_descent, with_learning_rate
from support.training import minimise

Reals = npt.NDArray[np.float64]
Gradient = Callable[[Reals], Reals]


def iterates(
    solver: Solver, gradient: Gradient, start: Reals, epochs: int, spoil: Callable[[Reals], Reals]
) -> list[Reals]:
    """The recurrence of the module's note, with ``spoil`` added to every step (it sees the step)."""
    alpha, shrink = float(solver.step), float(solver.shrink)
    theta, momentum = float(solver.extrapolation), float(solver.momentum)
    w = before = start
    seen = [start]
    for _ in range(epochs):
        p = w + theta * (w - before)
        step = shrink * p - alpha * gradient(p) + momentum * (w - before)
        w, before = step + spoil(step), w
        seen.append(w)
    return seen


def away_from(target: Reals, size: float) -> Callable[[Reals], Reals]:
    """The error that takes a step straight away from the minimiser."""

    def spoil(step: Reals) -> Reals:
        gap = step - target
        norm = np.linalg.norm(gap)
        return np.asarray(gap / norm * size if norm else np.full_like(gap, size / len(gap) ** 0.5))

    return spoil


def solvers(l2: float, smoothness: float) -> list[Solver]:
    exact, smooth = Fraction(l2), Fraction(smoothness)
    return [
        gradient_descent(exact, smooth, 50),
        accelerated(exact, smooth, 50),
        with_learning_rate(exact, smooth, 50, Fraction(0.7) / (exact + smooth)),
    ]


def assert_bound(solver: Solver, gradient: Gradient, minimum: Reals, gradient_at_zero: float, error: float) -> None:
    distance = float(np.linalg.norm(minimum))
    constant = np.full_like(minimum, error / len(minimum) ** 0.5)
    for spoil in (away_from(minimum, error), lambda _: constant, lambda _: -constant):
        seen = iterates(solver, gradient, np.zeros_like(minimum), 80, spoil)
        for epochs in (1, 2, 5, 20, 80):
            left, grown = solver.remaining(epochs, distance, gradient_at_zero), solver.amplified(error)
            assert left is not None
            assert grown is not None
            assert np.linalg.norm(seen[epochs] - minimum) <= left + grown + 1e-12


@pytest.mark.parametrize("error", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("l2", [0.01, 0.3, 10.0])
def test_rates_hold_on_quadratics(l2: float, error: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        d = int(rng.integers(1, 6))
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        hessian = turn @ np.diag(rng.choice([0.0, 0.25, rng.uniform(0, 0.25)], d)) @ turn.T
        b = rng.normal(size=d)
        minimum = np.linalg.solve(hessian + l2 * np.eye(d), b)
        for solver in solvers(l2, 0.25):
            assert_bound(solver, lambda w, h=hessian, c=b: h @ w - c, minimum, float(np.linalg.norm(b)), error)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["logistic", "huber_hinge"])
@pytest.mark.parametrize("l2", [0.05, 1.0])
def test_rates_hold_on_losses(name: str, l2: float) -> None:
    rng = np.random.default_rng(2)
    loss = loss_named(name)
    x = rng.normal(size=(50, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (x[:, 0] > 0).astype(np.float64)
    minimum = minimise(loss, x, y, l2)
    for solver in solvers(l2, float(loss.smoothness)):
        for error in (0.0, 1e-4):
            assert_bound(solver, lambda w: x.T @ loss.derivative(y, x @ w) / 50, minimum, 1.0, error)


def test_the_bound_of_gradient_descent_is_attained() -> None:
    """The flattest quadratic and a constant error: so a smaller bound would be false."""
    solver = gradient_descent(Fraction(1), Fraction(1, 4), 50)
    minimum = np.array([1.0])
    spoil = away_from(minimum, 1e-3)
    last = iterates(solver, lambda w: np.asarray(0 * w - 1.0), np.zeros(1), 60, spoil)[-1]
    assert float(abs(last - minimum)[0]) > 0.99 * (solver.amplified(1e-3) or 0)


@pytest.mark.parametrize("l2", [1e-3, 0.1, 1.0, 30.0])
def test_auto_epochs_are_the_fewest(l2: float) -> None:
    for solver in solvers(l2, 0.25):
        epochs = solver.epochs_for(1e-6, 2.0, 1.0)
        assert (solver.remaining(epochs, 2.0, 1.0) or 1) <= 1e-6
        assert epochs == 1 or (solver.remaining(epochs - 1, 2.0, 1.0) or 0) > 1e-6


def test_acceleration_pays_for_small_penalties() -> None:
    slow, fast = (make(Fraction(1, 1000), Fraction(1, 4), 50) for make in (gradient_descent, accelerated))
    assert fast.epochs_for(1e-6, 2.0, 1.0) < slow.epochs_for(1e-6, 2.0, 1.0)


@pytest.mark.parametrize("rows", [2, 3, 50, 1713, 10**6, 2**40])
@pytest.mark.parametrize("l2", [1e-4, 0.1, 1.0, 1e4])
def test_steps_are_below_the_wanted_and_short_in_binary(rows: int, l2: float) -> None:
    for solver, wanted in (
        (gradient_descent(Fraction(l2), Fraction(1, 4), rows), 2 / (2 * l2 + 0.25)),
        (accelerated(Fraction(l2), Fraction(1, 4), rows), 1 / (l2 + 0.25)),
    ):
        assert wanted * (1 - 2.0 ** (1 - STEP_BITS)) <= float(solver.step) <= wanted * (1 + 1e-12)
        assert Fraction(1, 2) <= solver.factor <= 1
        assert (solver.factor * (1 << STEP_BITS)).denominator == 1


# --- radius ----------------------------------------------------------------------------------------------


def responses(solver: Solver, epochs: int) -> tuple[Reals, Reals]:
    """What one unit of input, and a unit start, leave of w and p after each step."""
    shrink, theta, momentum = float(solver.shrink), float(solver.extrapolation), float(solver.momentum)
    rows = []
    for start, first in ((0.0, 1.0), (1.0, 0.0)):
        w, before, push = start, start, first
        seen = []
        for _ in range(epochs):
            p = w + theta * (w - before)
            w, before = shrink * p + momentum * (w - before) + push, w
            push = 0.0
            seen.append((w, w + theta * (w - before)))
        rows.append(np.array(seen))
    return rows[0], rows[1]


RADII = [
    gradient_descent(Fraction(1), Fraction(1, 4), 50),
    gradient_descent(Fraction(1, 50), Fraction(1), 50),
    accelerated(Fraction(1, 50), Fraction(1, 4), 50),
    accelerated(Fraction(5), Fraction(1, 4), 50),
    with_learning_rate(Fraction(1), Fraction(1, 4), 50, Fraction(19, 10)),
    with_learning_rate(Fraction(1, 10), Fraction(1, 4), 50, Fraction(1, 2), Fraction(9, 10), Fraction(245, 100)),
    with_learning_rate(Fraction(1), Fraction(1, 4), 50, Fraction(3), Fraction(9, 10), Fraction(2)),
    with_learning_rate(Fraction(1), Fraction(1, 4), 50, Fraction(1, 10), Fraction(1, 2)),
]


@pytest.mark.parametrize("solver", RADII, ids=lambda s: f"{s.name}, step {float(s.step):g}")
def test_no_gradients_lead_beyond_the_radius_and_some_come_close(solver: Solver) -> None:
    """The worst gradients of norm G have the signs of the impulse response."""
    gradient = 0.8
    of_input, of_start = responses(solver, 3000)
    start = float(solver.initial_radius)
    reach = [
        gradient * float(solver.step) * np.abs(of_input[:, i]).cumsum() + start * np.abs(of_start[:, i]) for i in (0, 1)
    ]
    farthest = max(start, *(float(r.max()) for r in reach))
    radius = solver.radius(gradient)
    assert farthest <= radius * (1 + 1e-9)
    assert solver.initial_radius or farthest > 0.999 * radius


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("factor", [1.01, 10.0])
def test_diverging_steps_are_refused(momentum: float, factor: float) -> None:
    rate = Fraction(factor * 2 * (1 + momentum))
    solver = with_learning_rate(Fraction(1), Fraction(1, 4), 50, rate, Fraction(momentum))
    with pytest.raises(InvalidInputError, match="'learning_rate' parameter of a plan must be below"):
        solver.radius(1.0)


def test_what_has_no_rate_says_so() -> None:
    moving = with_learning_rate(Fraction(1), Fraction(1, 4), 50, Fraction(1, 2), Fraction(1, 2))
    hasty = with_learning_rate(Fraction(1), Fraction(1, 4), 50, Fraction(19, 10))
    for solver in (moving, hasty):
        assert solver.rate is None
        assert solver.remaining(5, 1.0, 1.0) is None
        assert solver.amplified(1e-3) is None
        with pytest.raises(InvalidInputError, match="epochs='auto' needs a method with a proven rate"):
            solver.epochs_for(1e-3, 1.0, 1.0)


def test_too_many_epochs_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="Use a larger l2"):
        gradient_descent(Fraction(1, 10**6), Fraction(1, 4), 50).epochs_for(1e-6, 1.0, 1.0)
