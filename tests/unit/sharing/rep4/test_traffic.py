"""Rounds, elements and digests of ``rep4``, exactly as it documents them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import PowerOfTwoRing
from cofit.sharing import Scheme, Share
from conformance.test_traffic import ADDED, NUMBERS, ands_of_an_addition, summed
from support.forms import FORMS
from support.runs import run_scheme

N = 37
ROWS, COLS = 11, 7
DIGEST = 32


def vector(s: Scheme, ring: PowerOfTwoRing, count: int = N) -> Share:
    return s.constant(ring, ring.zeros((count,)))


def matrix(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.constant(ring, ring.zeros((ROWS, COLS)))


# what, label, rounds, ring elements and digests sent by all parties together
Case = tuple[str, Callable[[Scheme, PowerOfTwoRing], object], int, int, int]
COSTS: list[Case] = [
    ("input", lambda s, r: s.input(1, vector(s, r).parts[0] if s.rank == 1 else None, r, (N,)), 2, 2 * N, 2),
    ("open", lambda s, r: s.open(vector(s, r)), 1, 4 * N, 4),
    ("open", lambda s, r: s.open(vector(s, r), [2]), 1, N, 1),
    ("mul", lambda s, r: s.mul(vector(s, r), vector(s, r)), 1, 6 * N, 6),
    ("mul", lambda s, r: s.mul(vector(s, r), vector(s, r), plus=vector(s, r)), 1, 6 * N, 6),
    ("mul", lambda s, r: s.mul(vector(s, r), vector(s, r), 5, vector(s, r)), 2, 16 * N, 9),
    ("truncate", lambda s, r: s.truncate(vector(s, r), 5), 2, 12 * N, 9),
    ("matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS)), 1, 6 * ROWS, 6),
    ("matmul", lambda s, r: s.matmul(vector(s, r, ROWS), matrix(s, r), 5), 2, 16 * COLS, 9),
    ("matmul", lambda s, r: s.matmul(matrix(s, r), matrix(s, r).map(np.transpose)), 1, 6 * ROWS * ROWS, 6),
    ("inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r)), 1, 6 * ROWS, 6),
    ("inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r), shift=5), 2, 16 * ROWS, 9),
    ("from_bits", lambda s, r: s.from_bits(s.boolean.random(1, N), r), 1, 8 * N, 8),
]


@pytest.mark.parametrize("case", COSTS, ids=lambda case: f"{case[0]}-{case[3]}")
def test_cost_of_an_operation(case: Case, ring: PowerOfTwoRing) -> None:
    label, work, rounds, elements, digests = case

    def program(s: Scheme) -> None:
        work(s, ring)

    run = run_scheme("rep4", program)
    assert run.rounds(label) == rounds
    assert run.bytes_sent(label) == elements * ring.element_bytes + digests * DIGEST
    assert run.everything().bytes_sent == run.bytes_sent(label), "there is traffic under another label"


def test_a_fresh_sharing_is_free(ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        s.refresh(vector(s, ring))

    assert run_scheme("rep4", program).everything().messages_sent == 0


def test_an_announcement_is_echoed() -> None:
    run = run_scheme("rep4", lambda s: s.announce("said", b"12345"))
    assert run.rounds("said/announce") == run.rounds("said/echo") == 1
    assert run.bytes_sent("said/announce") == 12 * 5
    assert run.bytes_sent("said/echo") == 12 * DIGEST


def test_and_of_bits() -> None:
    def program(s: Scheme) -> None:
        bits = s.boolean.random(4, 640)
        s.boolean.and_(bits, bits)

    run = run_scheme("rep4", program)
    assert run.rounds("mul") == 1
    assert run.everything().bytes_sent == 6 * 4 * 640 // 8 + 6 * DIGEST


@pytest.mark.parametrize("name", FORMS)
def test_bilinear_forms(name: str) -> None:
    """6 bits for every result, however many products it is the sum of."""
    form, left, right = FORMS[name]

    def program(s: Scheme) -> None:
        s.boolean.bilinear(s.boolean.random(left, 64), s.boolean.random(right, 64), form)

    run = run_scheme("rep4", program)
    assert run.rounds("forms") == 1
    assert run.everything().bytes_sent == run.bytes_sent("forms") == 6 * 8 * form.rows(left, right) + 6 * DIGEST


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_from_their_digits(ring: PowerOfTwoRing, name: str) -> None:
    """The additions; 2 words for every 64 digits to open the sum to two parties; 10 elements to unmask it."""
    count = 130

    def program(s: Scheme) -> None:
        summed(s, ring, name, count)

    run = run_scheme("rep4", program)
    width, saved, ands, both = ADDED[name]
    levels = math.ceil(math.log2(width - 1))
    products = ands + both + ands_of_an_addition(width)
    assert max(counts.total.rounds for counts in run.traffic) == saved + 1 + levels + 2
    opening = 3 * 8 * 2 * width + 2 * DIGEST
    unmasking = 10 * count * ring.element_bytes + 10 * DIGEST
    assert run.bytes_sent("from_numbers/open") == opening
    assert run.bytes_sent("from_numbers/unmask") == unmasking
    ands_sent = 3 * 8 * 6 * products + 6 * (saved + 1 + levels) * DIGEST
    assert run.everything().bytes_sent == ands_sent + opening + unmasking


@pytest.mark.parametrize("sign", [False, True])
def test_bits_and_signs_of_ring_elements(ring: PowerOfTwoRing, sign: bool) -> None:
    count, k = 128, ring.bits

    def program(s: Scheme) -> None:
        a = vector(s, ring, count)
        _ = s.sign_bits(a) if sign else s.to_bits(a)

    run = run_scheme("rep4", program)
    levels = math.ceil(math.log2(k - 1))
    assert max(counts.total.rounds for counts in run.traffic) == 1 + levels
    ands, groups = 0, k - 1
    if sign:
        while groups > 1:
            ands += groups // 2 + groups // 2 - 1
            groups -= groups // 2
    else:
        for level in range(levels):
            upper = [i for i in range(k - 1) if i >> level & 1]
            ands += len(upper) + sum(1 for i in upper if (i >> level << level) - 1 >= 1 << level)
    assert run.everything().bytes_sent == (8 * k + 6 * ands) * count // 8 + (8 + 6 * levels) * DIGEST


def test_an_owner_sends_one_share_to_three_parties_and_seeds_for_the_rest(ring: PowerOfTwoRing) -> None:
    values = ring.zeros((50, 3))

    def program(s: Scheme) -> None:
        s.receive_input("owner", ring, values.shape).expand()

    run = run_scheme("rep4", program, deal={"x": (ring, values)})
    assert run.owner is not None
    assert run.owner.total.bytes_sent == 9 * 32 + 3 * values.nbytes
    assert run.everything().bytes_sent == 12 * DIGEST


def test_traffic_does_not_depend_on_the_mesh(mesh: str, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        a = vector(s, ring)
        s.open(s.truncate(s.mul(a, s.from_bits(s.to_bits(a), ring).map(lambda part: part[0])), 3))

    assert run_scheme("rep4", program, mesh=mesh).traffic == run_scheme("rep4", program).traffic
