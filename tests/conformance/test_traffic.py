"""Rounds and bytes, exactly as the schemes document them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import Z64, PowerOfTwoRing
from cofit.sharing import Scheme, Share
from support.runs import Run, run_scheme

N = 37
ROWS, COLS = 11, 7


def measured(scheme: str, ring: PowerOfTwoRing, work: Callable[[Scheme], object]) -> Run[None]:
    def program(s: Scheme) -> None:
        work(s)

    return run_scheme(scheme, program)


def vector(s: Scheme, ring: PowerOfTwoRing, count: int = N) -> Share:
    return s.constant(ring, ring.zeros((count,)))


def matrix(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.constant(ring, ring.zeros((ROWS, COLS)))


# scheme, what, label, the work, rounds, ring elements sent by all parties together
COSTS: list[tuple[str, str, Callable[[Scheme, PowerOfTwoRing], object], int, int]] = [
    ("rep3", "input", lambda s, r: s.input(1, vector(s, r).parts[0] if s.rank == 1 else None, r, (N,)), 1, N),
    ("rep3", "open", lambda s, r: s.open(vector(s, r)), 1, 3 * N),
    ("rep3", "open", lambda s, r: s.open(vector(s, r), [2]), 1, N),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r)), 1, 3 * N),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), shift=5), 2, 8 * N),
    ("rep3", "truncate", lambda s, r: s.truncate(vector(s, r), 5), 2, 6 * N),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS)), 1, 3 * ROWS),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), shift=5), 2, 8 * ROWS),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), matrix(s, r).map(np.transpose)), 1, 3 * ROWS * ROWS),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), plus=vector(s, r)), 1, 3 * N),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), 5, vector(s, r)), 2, 8 * N),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), 0, vector(s, r, ROWS)), 1, 3 * ROWS),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), 5, vector(s, r, ROWS)), 2, 8 * ROWS),
    ("rep3", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r)), 1, 3 * ROWS),
    ("rep3", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r), shift=5), 2, 8 * ROWS),
    ("clear", "input", lambda s, r: s.input(1, vector(s, r).parts[0] if s.rank == 1 else None, r, (N,)), 1, 2 * N),
    ("clear", "open", lambda s, r: s.open(vector(s, r)), 0, 0),
    ("clear", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), shift=5), 0, 0),
    ("clear", "truncate", lambda s, r: s.truncate(vector(s, r), 5), 0, 0),
    ("clear", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r), shift=5), 0, 0),
    ("clear", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS)), 0, 0),
]


@pytest.mark.parametrize("case", COSTS, ids=lambda case: f"{case[0]}-{case[1]}-{case[4]}")
def test_cost_of_an_operation(
    case: tuple[str, str, Callable[[Scheme, PowerOfTwoRing], object], int, int], ring: PowerOfTwoRing
) -> None:
    scheme, label, work, rounds, elements = case
    run = measured(scheme, ring, lambda s: work(s, ring))
    assert run.rounds(label) == rounds
    assert run.bytes_sent(label) == elements * ring.element_bytes
    assert run.everything().bytes_sent == run.bytes_sent(label), "there is traffic under another label"


def test_linear_maps_and_random_bits_are_free(scheme: str, ring: PowerOfTwoRing) -> None:
    def work(s: Scheme) -> None:
        a = vector(s, ring)
        s.add(s.neg(a), s.sub(a, a))
        s.narrow(a, Z64)
        s.mul_public(s.add_public(a, a.parts[0]), a.parts[0])
        s.matmul_public(matrix(s, ring), ring.zeros((COLS,)))
        bits = s.random_bits(2, 100)
        s.not_(s.xor(bits, bits))

    assert measured(scheme, ring, work).everything().messages_sent == 0


def test_rep3_and_of_bits_sends_one_bit_a_party() -> None:
    def work(s: Scheme) -> None:
        bits = s.random_bits(4, 640)
        s.and_(bits, bits)

    run = run_scheme("rep3", work)
    assert run.rounds("mul") == 1
    assert run.everything().bytes_sent == 3 * 4 * 640 // 8


def test_rep3_bit_to_ring_element(ring: PowerOfTwoRing) -> None:
    run = measured("rep3", ring, lambda s: s.from_bits(s.random_bits(1, N), ring))
    assert max(counts.total.rounds for counts in run.traffic) == 2
    assert run.everything().bytes_sent == 3 * N * ring.element_bytes


def test_rep3_ring_element_to_bits(ring: PowerOfTwoRing) -> None:
    count = 128
    run = measured("rep3", ring, lambda s: s.to_bits(vector(s, ring, count)))
    k = ring.bits
    levels = math.ceil(math.log2(k - 1))
    assert max(counts.total.rounds for counts in run.traffic) == 2 + levels
    ands = 0
    for level in range(levels):
        upper = [i for i in range(k - 1) if i >> level & 1]
        ands += len(upper) + sum(1 for i in upper if (i >> level << level) - 1 >= 1 << level)
    assert ands <= k * levels, "more ANDs than documented"
    assert run.everything().bytes_sent == (3 * k + 3 * ands) * count // 8


def test_rep3_sign_of_a_ring_element(ring: PowerOfTwoRing) -> None:
    count = 128
    run = measured("rep3", ring, lambda s: s.sign_bits(vector(s, ring, count)))
    k = ring.bits
    assert max(counts.total.rounds for counts in run.traffic) == 2 + math.ceil(math.log2(k - 1))
    ands, groups = 0, k - 1
    while groups > 1:
        ands += groups // 2 + groups // 2 - 1
        groups = groups - groups // 2
    assert ands <= 2 * (k - 2), "more ANDs than documented"
    assert run.everything().bytes_sent == (3 * k + 3 * ands) * count // 8


def test_rep3_owner_sends_one_share_to_two_parties_and_seeds_for_the_rest(ring: PowerOfTwoRing) -> None:
    values = ring.zeros((50, 3))

    def program(s: Scheme) -> None:
        s.receive_input("owner", ring, values.shape).expand()

    run = run_scheme("rep3", program, deal={"x": (ring, values)})
    assert run.owner is not None
    assert run.owner.total.bytes_sent == 4 * 32 + 2 * values.nbytes
    assert run.everything().messages_sent == 0


def test_traffic_does_not_depend_on_the_mesh(mesh: str, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        a = vector(s, ring)
        s.open(s.truncate(s.mul(a, s.from_bits(s.to_bits(a), ring).map(lambda part: part[0])), 3))

    assert run_scheme("rep3", program, mesh=mesh).traffic == run_scheme("rep3", program).traffic
