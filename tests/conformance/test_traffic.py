"""Rounds and bytes, exactly as the schemes document them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import Z64, PowerOfTwoRing
from cofit.arithmetic.narrow import narrow_bytes
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.shares import PlacedBits
from support.forms import FORMS
from support.runs import Run, run_scheme

N = 37
ROWS, COLS = 11, 7


def measured(
    scheme: str, ring: PowerOfTwoRing, work: Callable[[Scheme], object], parties: int | None = None
) -> Run[None]:
    def program(s: Scheme) -> None:
        work(s)

    return run_scheme(scheme, program, parties=parties)


def vector(s: Scheme, ring: PowerOfTwoRing, count: int = N) -> Share:
    return s.constant(ring, ring.zeros((count,)))


def of_random_bits(s: Scheme, left: int, right: int, form: BitForm) -> BitShare:
    return s.boolean.bilinear(s.boolean.random(left, 64), s.boolean.random(right, 64), form)


def matrix(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.constant(ring, ring.zeros((ROWS, COLS)))


# scheme, what, label, the work, rounds, ring elements sent by all parties together; with a truncation by 5 bits, also
# numbers of that many bits
COSTS: list[tuple[str, str, Callable[[Scheme, PowerOfTwoRing], object], int, int | tuple[int, int]]] = [
    ("rep3", "input", lambda s, r: s.input(1, vector(s, r).parts[0] if s.rank == 1 else None, r, (N,)), 1, N),
    ("rep3", "open", lambda s, r: s.open(vector(s, r)), 1, 3 * N),
    ("rep3", "open", lambda s, r: s.open(vector(s, r), [2]), 1, N),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r)), 1, 3 * N),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), shift=5), 2, (3 * N, 3 * N)),
    ("rep3", "truncate", lambda s, r: s.truncate(vector(s, r), 5), 2, (3 * N, 3 * N)),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS)), 1, 3 * ROWS),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), shift=5), 2, (3 * ROWS, 3 * ROWS)),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), matrix(s, r).map(np.transpose)), 1, 3 * ROWS * ROWS),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), plus=vector(s, r)), 1, 3 * N),
    ("rep3", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), 5, vector(s, r)), 2, (3 * N, 3 * N)),
    ("rep3", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), 0, vector(s, r, ROWS)), 1, 3 * ROWS),
    (
        "rep3",
        "matmul",
        lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), 5, vector(s, r, ROWS)),
        2,
        (3 * ROWS, 3 * ROWS),
    ),
    ("rep3", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r)), 1, 3 * ROWS),
    ("rep3", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r), shift=5), 2, (3 * ROWS, 3 * ROWS)),
    ("clear", "input", lambda s, r: s.input(1, vector(s, r).parts[0] if s.rank == 1 else None, r, (N,)), 1, 2 * N),
    ("clear", "open", lambda s, r: s.open(vector(s, r)), 0, 0),
    ("clear", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), shift=5), 0, 0),
    ("clear", "truncate", lambda s, r: s.truncate(vector(s, r), 5), 0, 0),
    ("clear", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r), shift=5), 0, 0),
    ("clear", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS)), 0, 0),
]


@pytest.mark.parametrize("case", COSTS, ids=lambda case: f"{case[0]}-{case[1]}-{case[4]}")
def test_cost_of_an_operation(
    case: tuple[str, str, Callable[[Scheme, PowerOfTwoRing], object], int, int | tuple[int, int]], ring: PowerOfTwoRing
) -> None:
    scheme, label, work, rounds, sent = case
    elements, numbers = sent if isinstance(sent, tuple) else (sent, 0)
    run = measured(scheme, ring, lambda s: work(s, ring))
    assert run.rounds(label) == rounds
    assert run.bytes_sent(label) == elements * ring.element_bytes + 3 * narrow_bytes(numbers // 3, 5)
    assert run.everything().bytes_sent == run.bytes_sent(label), "there is traffic under another label"


def test_linear_maps_and_random_bits_are_free(scheme: str, ring: PowerOfTwoRing) -> None:
    def work(s: Scheme) -> None:
        a = vector(s, ring)
        s.add(s.neg(a), s.sub(a, a))
        s.narrow(a, Z64)
        s.mul_public(s.add_public(a, a.parts[0]), a.parts[0])
        s.matmul_public(matrix(s, ring), ring.zeros((COLS,)))
        bits = s.boolean.random(2, 100)
        s.boolean.not_(s.boolean.xor(bits, bits))

    assert measured(scheme, ring, work).everything().messages_sent == 0


def test_rep3_and_of_bits_sends_one_bit_a_party() -> None:
    def work(s: Scheme) -> None:
        bits = s.boolean.random(4, 640)
        s.boolean.and_(bits, bits)

    run = run_scheme("rep3", work)
    assert run.rounds("mul") == 1
    assert run.everything().bytes_sent == 3 * 4 * 640 // 8


def test_rep3_bit_to_ring_element(ring: PowerOfTwoRing) -> None:
    run = measured("rep3", ring, lambda s: s.from_bits(s.boolean.random(1, N), ring))
    assert max(counts.total.rounds for counts in run.traffic) == 2
    assert run.everything().bytes_sent == 3 * N * ring.element_bytes


def test_rep3_weighed_bits(ring: PowerOfTwoRing) -> None:
    weights = ring.from_int(np.arange(18).reshape(2, 9))
    run = measured("rep3", ring, lambda s: s.weighed_bits(s.boolean.random(9, N), weights, ring))
    assert max(counts.total.rounds for counts in run.traffic) == 2
    assert run.everything().bytes_sent == (9 + 2 * 2) * N * ring.element_bytes


def ands_of_an_addition(k: int) -> int:
    """How many ANDs a number takes in Sklansky's network, once its carry signals are there."""
    ands = 0
    for level in range(math.ceil(math.log2(k - 1))):
        upper = [i for i in range(k - 1) if i >> level & 1]
        ands += len(upper) + sum(1 for i in upper if (i >> level << level) - 1 >= 1 << level)
    return ands


def ands_of_a_top_bit(k: int) -> int:
    """The same for the carry into the top position alone."""
    ands, groups = 0, k - 1
    while groups > 1:
        ands += groups // 2 + groups // 2 - 1
        groups = groups - groups // 2
    return ands


def test_rep3_ring_element_to_bits(ring: PowerOfTwoRing) -> None:
    count = 128
    run = measured("rep3", ring, lambda s: s.to_bits(vector(s, ring, count)))
    k = ring.bits
    levels = math.ceil(math.log2(k - 1))
    assert max(counts.total.rounds for counts in run.traffic) == 2 + levels
    ands = ands_of_an_addition(k)
    assert ands <= k * levels, "more ANDs than documented"
    assert run.everything().bytes_sent == (3 * k + 3 * ands) * count // 8


def test_rep3_sign_of_a_ring_element(ring: PowerOfTwoRing) -> None:
    count = 128
    run = measured("rep3", ring, lambda s: s.sign_bits(vector(s, ring, count)))
    k = ring.bits
    assert max(counts.total.rounds for counts in run.traffic) == 2 + math.ceil(math.log2(k - 1))
    ands = ands_of_a_top_bit(k)
    assert ands <= 2 * (k - 2), "more ANDs than documented"
    assert run.everything().bytes_sent == (3 * k + 3 * ands) * count // 8


@pytest.mark.parametrize("bits", [2, 17, 18, 25])
def test_rep3_sign_costs_what_the_proven_range_needs(ring: PowerOfTwoRing, bits: int) -> None:
    """Whatever the ring is."""
    count = 128
    run = measured("rep3", ring, lambda s: s.sign_bits(vector(s, ring, count), bits=bits))
    assert max(counts.total.rounds for counts in run.traffic) == 2 + math.ceil(math.log2(bits - 1))
    assert run.everything().bytes_sent == (3 * bits + 3 * ands_of_a_top_bit(bits)) * count // 8


def test_rep3_top_bits_of_a_ring_element(ring: PowerOfTwoRing) -> None:
    """One AND more than the sign, in a round of its own; and less for every bit that is ignored."""
    count, low = 128, 20
    run = measured("rep3", ring, lambda s: s.top_bits(vector(s, ring, count), low))
    k = ring.bits - low
    assert max(counts.total.rounds for counts in run.traffic) == 3 + math.ceil(math.log2(k - 2))
    ands = ands_of_a_top_bit(k - 1) + 1
    assert run.everything().bytes_sent == (3 * k + 3 * ands) * count // 8


NUMBERS = {
    "one": [(0, 9)],
    "apart": [(0, 5), (8, 6)],
    "overlapping": [(0, 12), (7, 12), (14, 12)],
    "five": [(0, 9), (4, 9), (8, 9), (12, 9), (16, 9)],
}
# K digits of the mask; rounds of carry-save and its ANDs; places that have two digits in the last addition
ADDED = {"one": (10, 0, 0, 9), "apart": (15, 0, 0, 11), "overlapping": (28, 1, 19, 26), "five": (27, 2, 34, 25)}


def summed(s: Scheme, ring: PowerOfTwoRing, name: str, count: int) -> Share:
    return s.from_numbers([PlacedBits(place, s.boolean.random(rows, count)) for place, rows in NUMBERS[name]], ring)


@pytest.mark.parametrize("name", NUMBERS)
def test_rep3_numbers_from_their_digits(ring: PowerOfTwoRing, name: str) -> None:
    """The additions; 2 words for every 64 digits to open the sum, 4 elements and 2 rounds to unmask it."""
    count = 130
    run = measured("rep3", ring, lambda s: summed(s, ring, name, count))
    width, saved, ands, both = ADDED[name]
    words = 3 * (ands + both + ands_of_an_addition(width)) + 2 * width
    assert max(c.total.rounds for c in run.traffic) == saved + 1 + math.ceil(math.log2(width - 1)) + 2
    assert run.everything().bytes_sent == 3 * 8 * words + 4 * count * ring.element_bytes
    assert run.bytes_sent("from_numbers/unmask") == 3 * 8 * 2 * width + 4 * count * ring.element_bytes
    assert run.rounds("from_numbers/unmask") == 2
    assert run.traffic[2].get_or_zero("from_numbers/unmask").rounds == 0, "who knows the mask is shown nothing"


@pytest.mark.parametrize("name", FORMS)
def test_rep3_bilinear_forms(name: str) -> None:
    """3 bits for every result, however many products it is the sum of."""
    form, left, right = FORMS[name]
    run = measured("rep3", Z64, lambda s: of_random_bits(s, left, right, form))
    assert run.rounds("forms") == 1
    assert run.everything().bytes_sent == run.bytes_sent("forms") == 3 * 8 * form.rows(left, right)


def test_rep3_owner_sends_one_share_to_two_parties_and_seeds_for_the_rest(ring: PowerOfTwoRing) -> None:
    values = ring.zeros((50, 3))

    def program(s: Scheme) -> None:
        s.receive_input("owner", ring, values.shape).expand()

    run = run_scheme("rep3", program, deal={"x": (ring, values)})
    assert run.owner is not None
    assert run.owner.total.bytes_sent == 4 * 32 + 2 * values.nbytes
    assert run.everything().bytes_sent == 6 * 32, "a digest from each party to each other one"


def test_traffic_does_not_depend_on_the_mesh(mesh: str, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        a = vector(s, ring)
        s.open(s.truncate(s.mul(a, s.from_bits(s.to_bits(a), ring).map(lambda part: part[0])), 3))

    assert run_scheme("rep3", program, mesh=mesh).traffic == run_scheme("rep3", program).traffic
