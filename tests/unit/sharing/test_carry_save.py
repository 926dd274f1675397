"""Addition of many numbers bit by bit, against the sum of integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.sharing import Scheme
from cofit.sharing.carry_save import carry_signals, levels
from support.runs import run_scheme

WIDTH, COUNT = 9, 70


@pytest.mark.parametrize("how_many", [2, 3, 4, 5, 7, 10])
def test_the_last_two_numbers_have_the_sum_of_all(how_many: int) -> None:
    rng = np.random.default_rng(how_many)
    bits = rng.integers(0, 2, (how_many, WIDTH, COUNT), dtype=np.uint8)

    def program(s: Scheme) -> tuple[np.ndarray, np.ndarray]:
        signals = carry_signals(s.boolean, [s.boolean.constant(one) for one in bits])
        generate, propagate = (s.boolean.open(signal) for signal in signals)
        assert generate is not None and propagate is not None
        return generate, propagate

    weights = 1 << np.arange(WIDTH)
    total = np.tensordot(weights, bits.sum(axis=0, dtype=np.int64), axes=1) % (1 << WIDTH)
    for generate, propagate in run_scheme("clear", program, parties=1).results:
        assert not (generate & propagate).any(), "a place where both are one has no carry to pass on"
        both = 2 * (weights @ generate.astype(np.int64)) + weights @ propagate.astype(np.int64)
        np.testing.assert_array_equal(both % (1 << WIDTH), total)


@pytest.mark.parametrize(("count", "rounds"), [(0, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 3), (7, 4), (9, 4), (10, 5)])
def test_levels(count: int, rounds: int) -> None:
    assert levels(count) == rounds


@pytest.mark.parametrize("how_many", [3, 6, 10])
def test_every_level_is_one_round(how_many: int) -> None:
    def program(s: Scheme) -> None:
        carry_signals(s.boolean, [s.boolean.random(WIDTH, COUNT) for _ in range(how_many)])

    run = run_scheme("rep3", program)
    assert max(counts.total.rounds for counts in run.traffic) == levels(how_many) + 1
