"""Comparisons cost what a proven range needs; a liar's values have none, and yet change not one bit of what is opened.

Every lie is planted in the same place of the same table, without noise and with the same masks in every run: then the
whole release must be the same integers. A comparison that is narrowed before the verdict of the check is multiplied in
must show, or these runs would prove nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import FixedPoint, Generator, IntegerRing, Ring, Shape
from cofit.learn.base_plan import Plan
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.losses.logistic import AnySigmoid, SmallSigmoid
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent import noisy, program
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.minimiser.program import train
from cofit.roles.local.run import run_local
from cofit.secret import Party, SecretArray, SecretBits
from cofit.sharing import Scheme, Share
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.sums import Clip, Kind, Product, ProductSum
from support.lies import COIN, contributions, lying
from support.schemes import also_slow, form, local

ROWS, COLS, LIAR = 70, 6, 41
GEOMETRIES: dict[str, dict[str, Any]] = {
    "owners scale": {"clip_rows": False, "feature_bound": None},
    "level and centre": {"clip_rows": False},
    "clipped": {"clip_rows": True},
    "paper, any sigmoid": {"recipe": "paper", "l2": 0.1, "initial": "zeros", "allow_unproven": True, "epochs": 4},
    "paper, odd polynomial": {"recipe": "paper", "feature_bound": None, "l2": 2.0, "rows": 1000},
    "paper, parties": {"recipe": "paper", "normalised_by": "parties", "fit_intercept": False},
}
Integers = npt.NDArray[Any]
Lie = tuple[str, Any, int | None]


def lies(data: int, ring: IntegerRing) -> Iterator[Lie]:
    """What one owner puts into its row, or (second) into its label: where narrow comparisons would look away.

    data: the fractional bits of honest rows.
    """
    half = 1 << (ring.bits - 1)
    yield "an honest label and a row that is too long", 1 << (data + 8), None
    yield "half of the ring, 2^63", half, None
    yield "half of the ring in one place", [half, *[0] * (COLS - 1)], None
    for bits in range(data + 3, ring.bits, 5):  # nothing in the lowest bits: 0 for whoever looks at those alone
        yield f"a multiple of 2^{bits}", [3 << bits, *[-5 << bits] * (COLS - 1)], None
        yield f"2^{bits} beside half of the ring", [1 << bits, *[half] * (COLS - 1)], None
    yield "label of half of the ring", 0, half
    yield "label 1 + 2^33", 0, 1 + (1 << 33)
    yield "label 2^33", 0, 1 << 33
    yield "both", half, half + 1


_SETUP, _SUMS, _CLIPPED = Rep3.setup, Rep3.product_sums, Rep3.clipped_sum


def seeded_setup(self: Rep3) -> None:
    """The same draws in every run."""
    _SETUP(self)
    self._own, self._next = (Generator(bytes([1 + rank % 3] * 32)) for rank in (self.rank, self.rank + 1))


def seeded_stream(self: Shamir, kind: str, given: dict[int, bytes]) -> Generator:
    """The same draws in every run."""
    del self
    return Generator(hashlib.sha256(f"{kind} {sorted(given)}".encode()).digest())


SEEDED: dict[str, tuple[type[Scheme], str, Callable[..., Any]]] = {
    "rep3": (Rep3, "setup", seeded_setup),
    "shamir": (Shamir, "_stream", seeded_stream),
}


@contextmanager
def repeatable(scheme: str) -> Iterator[None]:
    """On shares, every truncation of the same value returns the same: its mask is that of a value, not of a product,
    which has summands in it of parties that know the mask, or a part of it."""

    def apart(original: Callable[..., Share]) -> Callable[..., Share]:
        def product(self: Scheme, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, *more: Any) -> Share:
            exact = original(self, ring, a, b, shape, 0, *more)
            return self._truncate(exact, shift) if shift else exact

        return product

    def sums_apart(self: Rep3, wanted: Sequence[ProductSum]) -> list[Share]:
        exact = _SUMS(self, [one._replace(shift=0) for one in wanted])
        return [self._truncate(sum, one.shift) if one.shift else sum for sum, one in zip(exact, wanted, strict=True)]

    def clipped_apart(self: Rep3, one: ProductSum, clip: Clip) -> Share:
        once = self.constant(one.ring, np.ones(one.shape, np.uint64))
        return _CLIPPED(self, ProductSum((Product(Kind.MUL, (sums_apart(self, [one])[0],), (once,)),)), clip)

    kind, place, seeded = SEEDED[scheme]
    with mock.patch.object(kind, place, seeded), ExitStack() as patches:
        for name in ("_mul", "_matmul", "_inner"):
            patches.enter_context(mock.patch.object(kind, name, apart(getattr(kind, name))))
        patches.enter_context(mock.patch.multiple(Rep3, product_sums=sums_apart, clipped_sum=clipped_apart))
        yield


@cache
def planned(geometry: str, scheme: str) -> Plan:
    facts = {"rows": ROWS, "epsilon": 8.0, "feature_bound": 1.0, **GEOMETRIES[geometry]}
    given = {k: v for k, v in facts.items() if v is not None}
    return plan_training(training_facts(cols=COLS, scheme=form(scheme).spec.name, **given))


def without_noise(party: Party, laws: list[tuple[Any, int]], ring: IntegerRing, *, precision: int) -> list[SecretArray]:
    del precision
    return [party.constant(np.zeros(size), FixedPoint(0, ring)) for _, size in laws]


def released(plan: Plan, scheme: str, *columns: Sequence[Integers]) -> Integers:
    """All that a run opens, as integers, for rows, labels and perhaps weights of each owner; without noise."""
    given, holders = contributions(plan, *columns)

    def whole(party: Party) -> Integers:
        if isinstance(plan, DescentPlan):
            result = program.descend(party, plan, holders, COIN)
        else:
            weights = train(party, plan, holders, COIN)  # type: ignore[arg-type]
            result = weights.ldexp(weights.format.fraction_bits)
        return np.asarray(party.open(result, reason="a test of lies")).astype(object)

    with (
        lying(),
        mock.patch.object(noisy, "discrete_gaussians", without_noise),
        nullcontext() if scheme == "clear" else repeatable(plan.facts.scheme),
    ):
        run = run_local(whole, **local("clear/1" if scheme == "clear" else scheme), owners=given, timeout=120)
    return next(iter(run.results.values()))


def opened(geometry: str, lie: Lie, scheme: str = "clear") -> Integers:
    """All that a run opens, as integers."""
    _, row, label = lie
    plan = planned(geometry, scheme)
    rng = np.random.default_rng(6)
    count = plan.facts.rows
    rows = prepared_features(plan, rng.uniform(-1, 1, (count, COLS)))
    values = np.rint(np.ldexp(rows, plan.formats.data)).astype(np.int64).astype(object)
    labels = rng.integers(0, 2, count).astype(object)
    values[LIAR, :COLS] = row
    labels[LIAR] = labels[LIAR] if label is None else label
    return released(plan, scheme, [values[:30], values[30:]], [labels[:30], labels[30:]])


@contextmanager
def narrowed() -> Iterator[None]:
    """The tests of the check take as few bits as the bounds of what they test would need if nobody lied."""

    def sign_bits(self: SecretArray, low: int = 0) -> SecretBits:
        bits = max(low + 1, min(self.integer_limit.bit_length() + 1, self.format.ring.bits))
        return SecretBits(self._scheme, self._scheme.sign_bits(self._share, low, bits), self.shape)

    def top_bits(self: SecretArray, low: int = 0) -> SecretBits:
        sign = sign_bits(self, low)
        return sign.join(sign)

    with mock.patch.object(SecretArray, "sign_bits", sign_bits), mock.patch.object(SecretArray, "top_bits", top_bits):
        yield


def differing(geometry: str, scheme: str = "clear", tried: slice = slice(None)) -> Iterator[str]:
    """The lies that open anything else than the first one."""
    formats = planned(geometry, scheme).formats
    first, *others = lies(formats.data, formats.ring)
    wanted = opened(geometry, first, scheme)
    assert np.abs(wanted).max() > 0
    return (lie[0] for lie in others[tried] if (opened(geometry, lie, scheme) != wanted).any())


def test_both_ways_of_taking_a_verdict_in_are_among_them() -> None:
    taken = {geometry: type(getattr(planned(geometry, "clear").formats, "evaluation", None)) for geometry in GEOMETRIES}
    assert taken["paper, odd polynomial"] is SmallSigmoid
    assert taken["paper, any sigmoid"] is AnySigmoid


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_no_lie_changes_a_bit_of_what_is_opened(geometry: str) -> None:
    assert list(differing(geometry)) == []


@pytest.mark.parametrize(
    ("scheme", "geometry"),
    also_slow(
        [("rep3", "clipped"), ("shamir", "clipped")],
        ("rep3", "level and centre"),
        ("shamir/5", "level and centre"),
        ("shamir/5", "clipped"),
        ("shamir/7", "clipped"),
        ("shamir/5/king", "clipped"),
    ),
)
def test_nor_on_shares(scheme: str, geometry: str) -> None:
    assert list(differing(geometry, scheme, slice(0, None, 7))) == []


@pytest.mark.parametrize("scheme", also_slow(["rep3"], "shamir/5"))
def test_on_shares_a_check_that_is_narrowed_is_noticed(scheme: str) -> None:
    with narrowed():
        assert next(differing("clipped", scheme, slice(0, None, 7)), None) is not None


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_check_that_is_narrowed_is_noticed(geometry: str) -> None:
    with narrowed():
        assert next(differing(geometry), None) is not None
