"""Truncation between two parties: floor or floor plus one, always; which of the two follows from z and a summand.

All of it on summands that are chosen by hand, at the ends of the ring and where the shift cuts.
"""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.sharing.pair import conversion
from cofit.sharing.pair.party import Pair
from support.schemes import also_slow
from unit.sharing.pair.pair_runs import Integers, edges, elements, given, run_pair, some

RINGS = (Z64, Z128)
RNG = np.random.default_rng(99)


def values(ring: PowerOfTwoRing, shift: int) -> Integers:
    """z at the ends of its range, about zero and about multiples of 2^shift, and some others."""
    most, step = 1 << (ring.bits - 2), 1 << shift
    near = [e + d for e in (-most, -step, 0, step, most - 1) for d in (-2, -1, 0, 1, 2)]
    near += [k * step for k in (-7, -2, 3, 5)] + [(k << 1 | 1) * step // 2 for k in (-3, 2)]
    drawn = [int(x) % (2 * most) - most for x in some(RNG, ring, 20)]
    return np.array(sorted({z for z in near + drawn if -most <= z < most}), dtype=object)


def summands(ring: PowerOfTwoRing, shift: int) -> list[int]:
    """Of party 0: the ends, and where z + 2^(k-2) or a remainder turns over."""
    low = (1 << shift) - 1
    quarter = 1 << (ring.bits - 2)
    return sorted({*edges(ring), quarter, quarter - 1, 3 * quarter, 3 * quarter - 1, low, low + 1, (5 << shift) | 1})


def truncated(ring: PowerOfTwoRing, first: Integers, second: Integers, shifts: list[int]) -> list[Integers]:
    """z / 2^s for every s, as both parties open it."""
    own = [elements(ring, first), elements(ring, second)]

    def program(s: Pair) -> list[Integers]:
        share = given(s, ring, *own)
        opened = [s.open(s.truncate(share, shift)) for shift in shifts]
        return [ring.to_int(each).astype(object) for each in opened if each is not None]

    one, other = run_pair(program).results
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    return list(one)


def check(ring: PowerOfTwoRing, shifts: list[int]) -> None:
    pairs = [(z, x) for shift in shifts for z in values(ring, shift) for x in summands(ring, shift)]
    z, x = (np.array(each, dtype=object) for each in zip(*dict.fromkeys(pairs), strict=True))
    for given_to in (0, 1):  # whose summand is at the ends
        own = (x, (z - x) % (1 << ring.bits))
        for shift, got in zip(shifts, truncated(ring, own[given_to], own[1 - given_to], shifts), strict=True):
            off = got - (z >> shift)
            assert set(off.tolist()) <= {0, 1}, f"{shift}: neither floor nor floor plus one"
            assert not off[z % (1 << shift) == 0].any(), f"{shift}: exact multiples must stay exact"
            assert shift == 0 or 0 < off.mean() < 1, "both occur"


@pytest.mark.parametrize(("ring", "shifts"), [(Z64, [1, 2, 17, 24, 40, 61, 62]), (Z128, [1, 24, 64, 65, 126])], ids=str)
def test_floor_or_floor_plus_one_at_every_end(ring: PowerOfTwoRing, shifts: list[int]) -> None:
    check(ring, shifts)


@pytest.mark.slow
@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_floor_or_floor_plus_one_at_every_end_and_shift(ring: PowerOfTwoRing) -> None:
    for start in range(1, ring.bits - 1, 9):
        check(ring, list(range(start, min(start + 9, ring.bits - 1))))


@pytest.mark.parametrize("ring", also_slow([Z64], Z128), ids=str)
def test_every_shift_of_a_few_values(ring: PowerOfTwoRing) -> None:
    most = 1 << (ring.bits - 2)
    z = np.array([0, 1, -1, most - 1, -most, 12345, -(1 << 40)], dtype=object)
    x = np.resize(some(RNG, ring, 3), len(z))
    shifts = list(range(1, ring.bits - 1))
    for shift, got in zip(shifts, truncated(ring, x, (z - x) % (1 << ring.bits), shifts), strict=True):
        assert set((got - (z >> shift)).tolist()) <= {0, 1}
        assert got[0] == 0, "zero stays zero: the check of inputs rests on it"


@pytest.mark.parametrize("ring", RINGS, ids=str)
@pytest.mark.parametrize("shift", [1, 3, 5])
@pytest.mark.parametrize("rank", [0, 1])
def test_for_a_fixed_summand_the_result_is_a_step_function_of_z(ring: PowerOfTwoRing, shift: int, rank: int) -> None:
    """All steps are one high and 2^s apart, wherever the party's own summand puts them: K-norm noise needs that."""
    step = 1 << shift
    z = np.arange(-5 * step, 5 * step, dtype=object)
    fixed = [0, 1, step - 1, step, (1 << ring.bits) - 1, (1 << (ring.bits - 1)) + 2, *some(RNG, ring, 3)]
    x = np.repeat(np.array(fixed, dtype=object), len(z))
    pair = (x, (np.tile(z, len(fixed)) - x) % (1 << ring.bits))
    (got,) = truncated(ring, pair[rank], pair[1 - rank], [shift])
    for result in got.reshape(len(fixed), -1):
        rises = np.diff(result)
        assert set(rises.tolist()) == {0, 1}
        at = np.flatnonzero(rises)
        assert set(np.diff(at).tolist()) == {step}
        assert at[0] < step, "the first step is among the first 2^s values"


def test_where_the_steps_are_follows_from_the_summand() -> None:
    """So rounding is not a coin: for one z, one summand gives the floor and another the floor plus one."""
    z = np.full(16, 5, dtype=object)
    x = np.arange(16, dtype=object)
    (got,) = truncated(Z64, x, (z - x) % 2**64, [4])
    rest = (5 - x) % 16
    np.testing.assert_array_equal(got, np.where((rest > 0) & (x % 16 + rest < 16), 1, 0))


@pytest.mark.parametrize("ring", RINGS, ids=str)
@pytest.mark.parametrize("count", also_slow([1, 65], 63, 64, 130))
def test_any_number_of_elements_and_any_shape(ring: PowerOfTwoRing, count: int) -> None:
    z = np.arange(count, dtype=object) * 1000 - 7000
    x = some(RNG, ring, count)
    (got,) = truncated(ring, x, (z - x) % (1 << ring.bits), [10])
    assert set((got - (z >> 10)).tolist()) <= {0, 1}
    own = [elements(ring, each.reshape(1, -1)) for each in (x, (z - x) % (1 << ring.bits))]
    shapes = run_pair(lambda s: s.truncate(given(s, ring, *own), 10).shape).results
    assert shapes == [(1, count)] * 2


# --- what is broken on purpose is noticed ----------------------------------------------------------------


def test_without_the_ceiling_exact_multiples_are_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "_rounded_up", lambda ring, x, shift: ring.shr(x, shift))
    with pytest.raises(AssertionError, match=r"neither|exact"):
        check(Z64, [4])


def test_without_the_wrap_results_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    products = Pair._own_bits

    def none(self: Pair, *arguments: object) -> object:
        return products(self, *arguments) * np.uint64(0)  # type: ignore[arg-type]

    monkeypatch.setattr(Pair, "_own_bits", none)
    with pytest.raises(AssertionError, match="neither"):
        check(Z64, [4])


def test_with_a_coin_in_the_rounding_steps_are_not_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right within one unit, but of no use to K-norm noise."""
    rounded = conversion._rounded_up

    def coin(ring: PowerOfTwoRing, x: Integers, shift: int) -> Integers:
        up = rounded(ring, x, shift)
        down = ring.shr(x, shift)
        return np.where(np.random.default_rng(1).integers(0, 2, x.shape) == 1, up, down)

    monkeypatch.setattr(conversion, "_rounded_up", coin)
    with pytest.raises(AssertionError):
        test_for_a_fixed_summand_the_result_is_a_step_function_of_z(Z64, 3, 0)
