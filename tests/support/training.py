"""Training without noise, seen from outside: trained weights opened, exact minimisers, extreme data, checked ranges.

Opening trained weights is for tests alone: no product path does it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from cofit import Contribution, Party, SecretArray, run_local
from cofit.arithmetic import FixedPoint, IntegerRing, Ring, RingArray, Shape
from cofit.learn.contribution import prepared_features
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders
from cofit.learn.losses import Loss
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.learn.recipes.minimiser.program import train
from cofit.learn.weights import weight_facts
from cofit.privacy.mechanisms import Mechanism
from cofit.sharing import Scheme, Share
from cofit.sharing.clear.party import Clear
from support.facts import paper_facts
from support.schemes import local

Reals = npt.NDArray[np.float64]
Contributions = dict[str, dict[str, Contribution]]
TABLES = ("normal", "skewed", "equal", "aligned", "zero rows", "tiny rows", "constant column", "zero column", "zeros")
_AT_ONCE = 2000
LABELLINGS = ("random", "all 0", "all 1", "one 1", "by sign")


@functools.lru_cache(maxsize=512)
def planned(rows: int, cols: int, **facts: Any) -> MinimiserPlan:
    """The plan for these facts, made once."""
    return plan_minimiser(paper_facts(rows, cols, **facts))


COIN = bytes(range(32))
"""For the check of rows, where it is no matter who drew it."""


def table(kind: str, rng: np.random.Generator, plan: MinimiserPlan) -> Reals:
    """Features of one kind, within the feature bound of the plan."""
    n, d = plan.facts.rows, plan.facts.cols
    x = rng.normal(size=(n, d))
    if kind == "skewed":
        x = rng.lognormal(sigma=2, size=(n, d)) * rng.choice([0.001, 1.0, 1000.0], size=d)
    elif kind in ("equal", "aligned"):
        x = np.tile(rng.normal(size=d), (n, 1))
        x = x * rng.choice([-1, 1], size=(n, 1)) if kind == "aligned" else x
    elif kind == "zero rows":
        x[rng.random(n) < 0.5] = 0
    elif kind == "tiny rows":
        x = x * rng.choice([1e-9, 1e-3, 1.0], size=(n, 1))
    elif kind == "constant column":
        x[:, 0] = 3.0
    elif kind == "zero column":
        x[:, -1] = 0.0
    elif kind == "zeros":
        x[:] = 0
    largest = np.abs(x).max()
    bound = float(plan.facts.feature_bound)
    return np.clip(x / largest * bound, -bound, bound) if largest else x


def labels(kind: str, rng: np.random.Generator, x: Reals) -> npt.NDArray[np.int64]:
    """Labels of one kind."""
    n = len(x)
    if kind == "by sign":
        return (x @ rng.normal(size=x.shape[1]) > 0).astype(np.int64)
    y = np.ones(n, np.int64) if kind == "all 1" else np.zeros(n, np.int64)
    if kind == "one 1":
        y[rng.integers(n)] = 1
    return rng.integers(0, 2, n) if kind == "random" else y


def contributions(
    plan: MinimiserPlan,
    x: npt.ArrayLike,
    y: npt.NDArray[Any],
    weights: npt.NDArray[np.float64] | None = None,
    *,
    owners: int = 2,
) -> tuple[Contributions, Holders]:
    """Split rows or columns among owners; the first owner of a vertical study holds the labels."""
    formats = plan.formats
    values = np.asarray(x, dtype=np.float64)
    vertical = plan.facts.partition == "vertical"
    blocks = [b for b in np.array_split(values, owners, axis=int(vertical)) if b.size]
    names = tuple(f"owner-{i}" for i in range(len(blocks)))
    parts = [y] if vertical else np.split(y, np.cumsum([len(b) for b in blocks])[:-1])
    result: Contributions = {
        name: {FEATURES: Contribution(prepared_features(plan, block), 1.0, formats.of(formats.data))}
        for name, block in zip(names, blocks, strict=True)
    }
    for name, part in zip(names, parts, strict=False):
        result[name][LABELS] = Contribution(plan.target.encoded(part), 1.0, plan.target.format(formats.ring))
    if weights is not None:
        shared = [weights] if vertical else np.split(weights, np.cumsum([len(b) for b in blocks])[:-1])
        for name, part in zip(names, shared, strict=False):
            result[name][WEIGHTS] = Contribution(part, 1.0, weight_facts(len(part), formats.ring).format)
    return result, Holders(names, names[: len(parts)])


def trained(plan: MinimiserPlan, x: npt.ArrayLike, y: npt.NDArray[np.int64], scheme: str = "clear") -> Reals:
    """The weights before any noise."""
    owners, holders = contributions(plan, x, y)

    def program(party: Party) -> Reals:
        return np.asarray(party.open(train(party, plan, holders, COIN), reason="a test of training"), dtype=np.float64)

    run = run_local(program, **local("clear/1" if scheme == "clear" else scheme), owners=owners, timeout=120)
    return next(iter(run.results.values()))


# --- the exact minimiser ---------------------------------------------------------------------------------


WIDTHS = {"huber_hinge": 1 / 2, "hinge": 1 / 4}
"""h of the Huberised hinges."""
CLIPS = {"huber": 1 / 8, "clipped_squares": 1 / 4}
"""c of the Huber losses."""


def loss_value(loss: Loss, y: Reals, z: Reals) -> Reals:
    """l(y, z) in the clear."""
    if loss.name == "logistic":
        return np.asarray(np.logaddexp(0, z) - y * z)
    if loss.name in CLIPS:
        c, u = CLIPS[loss.name], np.abs(z - y)
        return np.asarray(np.where(u < c, u**2 / (2 * c), u - c / 2))
    h = WIDTHS[loss.name]
    m = (2 * y - 1) * z
    return np.asarray(np.where(m > 1 + h, 0, np.where(m < 1 - h, 1 - m, (1 + h - m) ** 2 / (4 * h))))


def curvature(loss: Loss, y: Reals, z: Reals) -> Reals:
    """l''(y, z), where it exists."""
    if loss.name == "logistic":
        s = 0.5 * (1 + np.tanh(z / 2))
        return np.asarray(s * (1 - s))
    if loss.name in CLIPS:
        return np.asarray(np.where(np.abs(z - y) < CLIPS[loss.name], 1 / CLIPS[loss.name], 0.0))
    h = WIDTHS[loss.name]
    return np.asarray(np.where(np.abs(1 - (2 * y - 1) * z) < h, 1 / (2 * h), 0.0))


def minimise(loss: Loss, x: Reals, y: npt.ArrayLike, l2: float) -> Reals:
    """The minimiser of J, by Newton's method with a line search and then by plain descent, to within 1e-12 / l2.

    That is checked, not hoped: J is l2-strongly convex, so the distance is at most the gradient's norm over l2.
    """
    labels = np.asarray(y, dtype=np.float64)
    n, d = x.shape
    w = np.zeros(d)

    def value(at: Reals) -> float:
        return float(loss_value(loss, labels, x @ at).mean() + l2 / 2 * at @ at)

    def gradient(at: Reals) -> Reals:
        return np.asarray(x.T @ loss.derivative(labels, x @ at) / n + l2 * at)

    for _ in range(500):
        g = gradient(w)
        if np.linalg.norm(g) <= 1e-15:
            break
        hessian = x.T @ (curvature(loss, labels, x @ w)[:, None] * x) / n + l2 * np.eye(d)
        move = np.linalg.solve(hessian, g)
        step = 1.0
        while step > 1e-9 and value(w - step * move) > value(w) - 1e-4 * step * float(g @ move) + 1e-15:
            step /= 2
        if np.linalg.norm(gradient(w - move)) < np.linalg.norm(g) / 2:
            step = 1.0  # near the minimum values do not tell, gradients do
        w = w - step * move
    rate = 1 / (float(loss.smoothness) + l2)
    for _ in range(20_000):  # Newton's method may go back and forth across a corner of the derivative
        if np.linalg.norm(gradient(w)) <= 1e-12:
            break
        w = w - rate * gradient(w)
    assert np.linalg.norm(gradient(w)) <= 1e-12, "the reference itself did not converge"
    return w


def minimiser(plan: MinimiserPlan, x: npt.ArrayLike, y: npt.ArrayLike) -> Reals:
    """The exact minimiser of the plan's objective."""
    return minimise(plan.loss, plan.comparable_rows(x), y, float(plan.facts.l2))


# --- nothing wraps ---------------------------------------------------------------------------------------


def _integers(ring: Ring, array: RingArray) -> npt.NDArray[np.object_]:
    return np.asarray(ring.to_int(array)).astype(object)


@contextmanager
def checked_ranges() -> Iterator[list[float]]:
    """Under ``clear``, check every secret value against its public limit, and every total before its truncation.

    Yields the list of the shares of the limits that values used. Totals are recomputed with unbounded integers.
    """
    used: list[float] = []
    make = SecretArray.__init__
    mul, matmul, inner, truncate = Clear._mul, Clear._matmul, Clear._inner, Clear._truncate

    def init(self: SecretArray, scheme: Scheme, share: Share, format: FixedPoint, limit: int) -> None:
        make(self, scheme, share, format, limit)
        if not isinstance(scheme, Clear):
            return
        largest = format.ring.largest_magnitude(share.parts[0]) if share.parts[0].size else 0
        assert largest <= limit, f"a value of {largest} in {format} exceeds its proven limit {limit}"
        used.append(largest / limit if limit else 0.0)

    def fits(ring: Ring, total: npt.NDArray[np.object_], shift: int, plus: Share | None) -> None:
        if shift and isinstance(ring, IntegerRing) and total.size:
            whole = total if plus is None else total + _integers(ring, plus.parts[0])
            largest = int(np.abs(whole).max())
            assert largest < 1 << (ring.bits - 2), f"a total of {largest} wraps before its truncation"

    def checked_mul(self: Clear, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        if shift:
            fits(ring, _integers(ring, a.parts[0]) * _integers(ring, b.parts[0]), shift, plus)
        return mul(self, ring, a, b, shape, shift, plus)

    def checked_matmul(
        self: Clear, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None
    ) -> Share:
        if shift:
            fits(ring, np.asarray(_integers(ring, a.parts[0]) @ _integers(ring, b.parts[0])), shift, plus)
        return matmul(self, ring, a, b, shape, shift, plus)

    def checked_inner(self: Clear, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        product = np.asarray((_integers(ring, a.parts[0]) * _integers(ring, b.parts[0])).sum(axis=-1))
        fits(ring, product, 1, None)  # exact or not: a squared norm must not wrap
        return inner(self, ring, a, b, shape, shift)

    def checked_truncate(self: Clear, a: Share, shift: int) -> Share:
        fits(a.ring, _integers(a.ring, a.parts[0]), shift, None)
        return truncate(self, a, shift)

    with (
        mock.patch.object(SecretArray, "__init__", init),
        mock.patch.object(Clear, "_mul", checked_mul),
        mock.patch.object(Clear, "_matmul", checked_matmul),
        mock.patch.object(Clear, "_inner", checked_inner),
        mock.patch.object(Clear, "_truncate", checked_truncate),
    ):
        yield used


# --- noise -----------------------------------------------------------------------------------------------


def published(mechanism: Mechanism, weights: Reals, format: FixedPoint, count: int, scheme: str = "clear") -> Reals:
    """``count`` independent releases of the same weights, shape (count, d), by the mechanism's own secure code."""
    amounts = [min(_AT_ONCE, count - start) for start in range(0, count, _AT_ONCE)]

    def program(party: Party) -> Reals:
        opened = []
        for amount in amounts:
            tiled = party.constant(np.tile(weights, (amount, 1)), format)
            opened.append(party.open(mechanism.perturb_each(party, tiled), reason="a test of the noise"))
        return np.concatenate(opened).astype(np.float64)

    run = run_local(program, **local("clear/1" if scheme == "clear" else scheme), timeout=120)
    return next(iter(run.results.values()))
