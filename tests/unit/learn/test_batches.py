"""Batches of rows: how many there are, the same results, and that what a row holds at once is what is stated."""

from __future__ import annotations

import functools
import itertools
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, SecretArray, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint, IntegerRing
from cofit.learn import batches
from cofit.learn.batches import batch_count, in_batches
from cofit.learn.contribution import encoded_features, prepared_features
from cofit.learn.losses import Evaluation, loss_named
from cofit.learn.recipes.minimiser.norm import held_by_root
from cofit.protocols import inverse_square_root
from support.training import planned

Reals = npt.NDArray[np.float64]
RINGS = pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda ring: ring.name)


def of(ring: IntegerRing, most: int | None = None) -> Any:
    """What a batch is made of, as far as its size matters."""
    return SimpleNamespace(format=FixedPoint(0, ring), batch_bytes=most)


def test_a_batch_holds_no_more_than_the_memory_allows_but_32_mib() -> None:
    small = (32 << 20) // 16
    assert batch_count(of(Z64, 64 << 20), 10 * small, 10, 10 * small * 20) == 50
    assert batch_count(of(Z64, 1 << 40), 10 * small, 10, 10 * small * 10) == 2
    assert batch_count(of(Z64, 1), small, 10, 10 * small * 20) == 10


def test_a_batch_holds_half_of_the_data_or_32_mib() -> None:
    small = (32 << 20) // 16
    assert batch_count(of(Z64), 1000, 100, 1000 * 5) == 1
    assert batch_count(of(Z64), small, 10, small) == 10
    assert batch_count(of(Z64), small + 1, 1, 0) == 2
    assert batch_count(of(Z64), 10 * small, 10, 10 * small * 20) == 1
    assert batch_count(of(Z64), 10 * small, 10, 10 * small * 10) == 2
    assert batch_count(of(Z128), small, 10, 0) == 20, "elements are twice as large"


@RINGS
def test_batches_give_what_one_gives(ring: IntegerRing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_SMALL_BYTES", 2 * ring.element_bytes * 70)
    values, other = np.arange(37.0) / 37, np.arange(37.0)
    format, sizes = FixedPoint(20, ring), []

    def program(party: Party) -> Reals:
        def shifted(a: SecretArray, b: SecretArray) -> SecretArray:
            sizes.append(len(a))
            return a.multiply(a, 40) + b.widen(40)

        columns = [party.constant(values, format), party.constant(other, format)]
        return np.asarray(party.open(in_batches(shifted, columns, 10, 37), reason="test"), dtype=np.float64)

    (result,) = run_local(program, scheme="clear", parties=1).results.values()
    assert np.abs(result - (values**2 + other)).max() < 2.0**-19
    assert sizes == [6, 6, 6, 6, 6, 7]


def held(
    ring: IntegerRing,
    values: Reals,
    bits: int,
    compute: Callable[[SecretArray], SecretArray],
    scheme: str = "rep3",
    summands: int = 3 * 2,
) -> float:
    """The most shared elements of a value that the parties hold at once, at each on average. ``summands``: that all of
    them together hold of a value: three parties two each."""

    def program(party: Party) -> None:
        compute(party.constant(values, FixedPoint(bits, ring)))

    tracemalloc.start()
    try:
        run_local(program, scheme=scheme)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak / (summands * ring.element_bytes * len(values))


def evaluations(ring: IntegerRing) -> dict[str, tuple[Evaluation, float]]:
    """Every kind that a plan may choose, with the largest argument."""
    bits = 22 if ring is Z64 else 54
    found = {}
    for loss, radius in itertools.product(("logistic", "huber_hinge"), (0.5, 3.0, 8.0, 60.0)):
        evaluation = loss_named(loss).evaluation(ring, Fraction(radius), Fraction(1, 2), bits, Fraction(1, 2 << bits))
        found[f"{type(evaluation).__name__} {radius:g}"] = evaluation, radius
    return found


@RINGS
def test_losses_hold_no_more_than_they_say(ring: IntegerRing) -> None:
    kinds = set()
    for name, (evaluation, radius) in evaluations(ring).items():
        values = np.full(3000, 0.3)
        values[0] = radius

        def compute(z: SecretArray, evaluation: Evaluation = evaluation) -> SecretArray:
            return evaluation(z, (z * 0).ldexp(z.format.fraction_bits))

        found = held(ring, values, evaluation.argument_bits, compute)
        kinds.add(type(evaluation).__name__)
        assert 0.4 * evaluation.temporaries < found <= evaluation.temporaries, f"{name}: {found}"
    assert kinds >= {"PolynomialSigmoid", "AnySigmoid", "ClippedMargin"}
    assert ring is Z128 or "SmallSigmoid" in kinds


@RINGS
def test_inverse_norms_hold_no_more_than_they_say(ring: IntegerRing) -> None:
    bits = 28 if ring is Z64 else 60
    values = np.full(3000, 0.3)
    values[0] = 1000.0
    for least, positions in ((None, ring.bits), (Fraction(1, 64), 16)):
        root = functools.partial(inverse_square_root, fraction_bits=bits, least=least)
        for scheme, summands, weighed in (("rep3", 3 * 2, True), ("rep4", 4 * 3, False)):
            most = held_by_root(positions, weighed=weighed)
            found = held(ring, values, 2 * bits - 8, root, scheme, summands)
            assert 0.3 * most < found < most, (scheme, found)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_features_are_encoded_in_blocks_as_at_once(partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(40, 6, partition=partition)
    format = plan.formats.of(plan.formats.data)
    x = np.random.default_rng(1).uniform(-1, 1, (40, 6))
    x[3] = 0.0
    whole = format.encode(prepared_features(plan, x), 1.0)
    monkeypatch.setattr("cofit.arithmetic.row_blocks.BLOCK_BYTES", 8 * 7 * 11)
    assert np.array_equal(encoded_features(plan, x, format, 1.0), whole)
    assert encoded_features(plan, x[:0], format, 1.0).shape == (0, whole.shape[1])
    x[29, 4] = np.nan
    with pytest.raises(ValueError, match="Row 29, column 4"):
        encoded_features(plan, x, format, 1.0)
