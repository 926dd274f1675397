"""What is left to chance in a session: small parameters while they are good enough, then large ones, then no more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128
from cofit.errors import InvalidInputError
from cofit.sharing import Scheme
from cofit.sharing.pair import allowance as allowance_module
from cofit.sharing.pair import rules
from cofit.sharing.pair.allowance import STATISTICAL_BITS, Allowance, chance
from cofit.sharing.pair.meter import PairMeter
from cofit.sharing.pair.party import Pair
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import parameters_for, slip
from unit.sharing.pair.pair_runs import elements, given, numbers, run_pair

SMALL, LARGE = parameters_for(64), parameters_for(64, large=True)
MOST = 2.0**-40
ROWS, INNER, COLUMNS = 1713, 1874, 20


def test_a_product_leaves_to_chance_what_its_results_do() -> None:
    """Of every result 2 beta and 2^-80, recomputed from beta: by fractions, rounded up in units of 2^-64."""
    for packing in (MatrixPacking(40, 300, 3, SMALL), RowsPacking(70, 500, SMALL)):
        results = math.prod(packing.result_shape)
        beta = float(slip(SMALL, packing.terms))
        assert results * (2 * beta + 2.0**-80) <= chance(packing) <= results * (2 * beta + 2.0**-61 + 2.0**-80)
    large = MatrixPacking(40, 300, 3, LARGE)
    assert chance(large) == pytest.approx(120 * (2 * float(slip(LARGE, large.terms)) + 2.0**-80))
    assert chance(large) < 2.0**-60


def test_small_parameters_until_seven_eighths_are_used_and_large_ones_after() -> None:
    allowance = Allowance()
    assert allowance.bits == math.inf
    once = chance(MatrixPacking(ROWS, INNER, COLUMNS, SMALL))
    used, chosen = 0.0, []
    for _ in range(40):
        packing = allowance.matrix(Z64, ROWS, INNER, COLUMNS)
        chosen.append(packing.parameters)
        used += chance(packing)
        assert 2.0**-allowance.bits == pytest.approx(used)
    few = int(7 / 8 * MOST / once)
    assert few == 4
    assert chosen == [SMALL] * few + [LARGE] * (40 - few)
    assert few * once <= 7 / 8 * MOST < (few + 1) * once
    assert used <= MOST


@pytest.mark.parametrize("sessions", [2, 5, 65])
def test_sessions_at_once_leave_no_more_to_chance_than_one(sessions: int) -> None:
    """Each takes all that it is given: together they stay below what one alone may use."""
    used = 0.0
    for _ in range(sessions):
        allowance = Allowance(lambda: sessions)
        for _ in range(20):
            allowance.matrix(Z64, ROWS // 4, INNER, COLUMNS)
        used += 2.0**-allowance.bits
        allowance._used = MOST / sessions
        with pytest.raises(InvalidInputError, match="fewer shards"):
            allowance.matrix(Z64, ROWS, INNER, COLUMNS)
    assert 0 < used <= MOST


def test_less_still_fits_after_something_large_did_not() -> None:
    allowance = Allowance()
    sizes = [(ROWS, INNER, COLUMNS)] * 5 + [(4, 4, 1)]
    assert [allowance.matrix(Z64, *size).parameters for size in sizes] == [SMALL] * 4 + [LARGE, SMALL]
    assert allowance.rows(Z64, 4, 4).parameters == SMALL


def test_numbers_of_128_bits_have_one_choice() -> None:
    allowance = Allowance()
    assert {allowance.matrix(Z128, 20, 300, 20).parameters for _ in range(3)} == {parameters_for(128)}


def test_beyond_the_bound_the_run_stops_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    allowance = Allowance()
    allowance._used = MOST * (1 - 2.0**-30)
    with pytest.raises(
        InvalidInputError, match=r"exceed 2\^-40\. Train with fewer epochs, fewer rows or fewer shards, or with a third"
    ):
        allowance.matrix(Z64, ROWS, INNER, COLUMNS)
    assert STATISTICAL_BITS == Pair.info.statistical_bits == 40
    assert Pair.info.spec().statistical_bits == 40


def test_the_bound_is_held_to_the_end() -> None:
    """Whatever is asked for in whatever order: the sum of all chances never exceeds 2^-40."""
    rng = np.random.default_rng(8)
    allowance, used = Allowance(), 0.0
    with pytest.raises(InvalidInputError, match="third party"):
        for _ in range(10**6):
            rows, inner = (int(n) for n in rng.integers(1, 10**7, 2))
            packing: Any = allowance.rows(Z64, rows, inner)
            used += chance(packing)
            assert used <= MOST


# --- runs ------------------------------------------------------------------------------------------------


def products(s: Scheme, x: Any, w: Any, count: int) -> list[Any]:
    return [s.matmul(s.hold(x), w) for _ in range(count)]


@pytest.mark.parametrize("sessions", [1, 3])
def test_parties_and_the_meter_choose_alike_and_results_stay_right(
    monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    """With a bound that two products of this size use up, in one of so many sessions."""
    monkeypatch.setattr(rules, "_FEWEST", 12)
    monkeypatch.setattr(allowance_module, "_SMALL", 2.5 * sessions * chance(MatrixPacking(5, 4, 1, SMALL)))
    monkeypatch.setattr(allowance_module, "_MOST", 4 * sessions * chance(MatrixPacking(5, 4, 1, SMALL)))
    x = [elements(Z64, np.arange(20, dtype=object).reshape(5, 4) * k) for k in (1 << 60, -7)]
    w = [elements(Z64, np.arange(4, dtype=object) - k) for k in (3, 1 << 63)]

    def program(s: Pair) -> tuple[list[Any], set[Any], float]:
        s.sessions = sessions
        made = products(s, given(s, Z64, *x), given(s, Z64, *w), 3)
        return [s.open(each) for each in made], set(s._ends), s._allowance.bits

    run = run_pair(program)
    wanted = (numbers(Z64, x[0]) + numbers(Z64, x[1])).dot(numbers(Z64, w[0]) + numbers(Z64, w[1])) % 2**64
    for results, ends, _ in run.results:
        assert ends == {SMALL, LARGE}
        for got in results:
            np.testing.assert_array_equal(numbers(Z64, got), wanted)
    meter = PairMeter(Pair)
    meter.sessions = sessions
    made = products(meter, meter.constant(Z64, Z64.zeros((5, 4))), meter.constant(Z64, Z64.zeros((4,))), 3)
    for each in made:
        meter.open(each)
    assert meter._keys == {SMALL, LARGE}
    assert [bits for _, _, bits in run.results] == [meter._allowance.bits] * 2
    assert meter.tally.bytes == run.everything().bytes_sent


def test_a_run_stops_before_it_sends_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_FEWEST", 12)
    monkeypatch.setattr(allowance_module, "_MOST", 0.0)
    x = [elements(Z64, np.zeros((5, 4), dtype=object))] * 2
    with pytest.raises(InvalidInputError, match="third party"):
        run_pair(lambda s: s.inner(y := given(s, Z64, *x), y))
    meter = PairMeter(Pair)
    blank = meter.constant(Z64, Z64.zeros((5, 4)))
    with pytest.raises(InvalidInputError, match="third party"):
        meter.inner(blank, blank)


def test_a_meter_that_chooses_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cofit.sharing.pair.meter.Allowance", Generous)
    with pytest.raises(AssertionError):
        test_parties_and_the_meter_choose_alike_and_results_stay_right(monkeypatch, 1)


class Generous(Allowance):
    """Always takes small parameters."""

    def _chosen(self, small: Any, large: Any) -> Any:
        return small
