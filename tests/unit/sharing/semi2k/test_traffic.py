"""Rounds and bytes of semi2k, exactly: m = n (n - 1) messages for every opened element; of the dealer's, one for every
element that must fit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.sharing import Scheme, Share
from conformance.test_traffic import (
    ADDED,
    COLS,
    NUMBERS,
    ROWS,
    N,
    ands_of_a_top_bit,
    ands_of_an_addition,
    matrix,
    measured,
    of_random_bits,
    summed,
    vector,
)
from support.forms import FORMS
from support.runs import run_scheme

SIZE = ROWS * COLS
Work = Callable[[Scheme, PowerOfTwoRing], object]


def squared(s: Scheme, ring: PowerOfTwoRing, shift: int = 0) -> Share:
    a = vector(s, ring)
    return s.mul(a, a, shift)


def norms(s: Scheme, ring: PowerOfTwoRing, shift: int = 0) -> Share:
    a = matrix(s, ring)
    return s.inner(a, a, shift)


# what, label, the work, rounds, elements for every m, other elements
SEMI2K: list[tuple[str, str, Work, int, int, int]] = [
    ("open", "open", lambda s, r: s.open(vector(s, r)), 1, N, 0),
    ("product", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r)), 1, 2 * N, N),
    ("product, truncated", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), 5), 2, 3 * N, 3 * N),
    ("product plus", "mul", lambda s, r: s.mul(vector(s, r), vector(s, r), 5, vector(s, r)), 2, 3 * N, 3 * N),
    ("broadcast", "mul", lambda s, r: s.mul(matrix(s, r), vector(s, r, COLS)), 1, SIZE + COLS, SIZE),
    ("square", "mul", squared, 1, N, N),
    ("square, truncated", "mul", lambda s, r: squared(s, r, 5), 2, 2 * N, 3 * N),
    ("truncation", "truncate", lambda s, r: s.truncate(vector(s, r), 5), 1, N, 2 * N),
    ("matvec", "matmul", lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS)), 1, SIZE + COLS, ROWS),
    (
        "matvec, truncated",
        "matmul",
        lambda s, r: s.matmul(matrix(s, r), vector(s, r, COLS), 5, vector(s, r, ROWS)),
        2,
        SIZE + COLS + ROWS,
        3 * ROWS,
    ),
    (
        "matmul",
        "matmul",
        lambda s, r: s.matmul(matrix(s, r), matrix(s, r).map(np.transpose)),
        1,
        2 * SIZE,
        ROWS * ROWS,
    ),
    ("inner", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r)), 1, 2 * SIZE, ROWS),
    ("inner, truncated", "inner", lambda s, r: s.inner(matrix(s, r), matrix(s, r), 5), 2, 2 * SIZE + ROWS, 3 * ROWS),
    ("squared norms", "inner", norms, 1, SIZE, ROWS),
    ("squared norms, truncated", "inner", lambda s, r: norms(s, r, 5), 2, SIZE + ROWS, 3 * ROWS),
    ("holding", "hold", lambda s, r: s.hold(matrix(s, r)), 1, SIZE, 0),
    ("holding what is held", "hold", lambda s, r: s.hold(s.hold(matrix(s, r))), 1, SIZE, 0),
]


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("case", SEMI2K, ids=lambda case: case[0])
def test_semi2k_cost_of_an_operation(
    case: tuple[str, str, Work, int, int, int], parties: int, ring: PowerOfTwoRing
) -> None:
    _, label, work, rounds, opened, others = case
    run = measured("semi2k", ring, lambda s: work(s, ring), parties)
    assert run.rounds(label) == rounds
    assert run.bytes_sent(label) == (parties * (parties - 1) * opened + others) * ring.element_bytes
    assert run.everything().bytes_sent == run.bytes_sent(label), "there is traffic under another label"


# what, label, work with a held matrix, rounds, elements for every m, other elements
HELD: list[tuple[str, str, Callable[[Scheme, Share], object], int, int, int]] = [
    ("matvec", "matmul", lambda s, x: s.matmul(x, vector(s, Z64, COLS)), 1, COLS, ROWS),
    ("matvec, truncated", "matmul", lambda s, x: s.matmul(x, vector(s, Z64, COLS), 5), 2, COLS + ROWS, 3 * ROWS),
    ("transposed", "matmul", lambda s, x: s.matmul(x.map(np.transpose), vector(s, Z64, ROWS)), 1, ROWS, COLS),
    ("matmul", "matmul", lambda s, x: s.matmul(x, matrix(s, Z64).map(np.transpose)), 1, SIZE, ROWS * ROWS),
    ("squared norms", "inner", lambda s, x: s.inner(x, x), 1, 0, ROWS),
    ("squared norms, truncated", "inner", lambda s, x: s.inner(x, x, 5), 2, ROWS, 3 * ROWS),
    ("inner", "inner", lambda s, x: s.inner(x, matrix(s, Z64)), 1, SIZE, ROWS),
    ("element-wise: as if not held", "mul", lambda s, x: s.mul(x, vector(s, Z64, COLS)), 1, SIZE + COLS, SIZE),
    ("on the right: as if not held", "matmul", lambda s, x: s.matmul(vector(s, Z64, ROWS), x), 1, SIZE + ROWS, COLS),
]


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("case", HELD, ids=lambda case: case[0])
def test_semi2k_cost_with_a_held_matrix(
    case: tuple[str, str, Callable[[Scheme, Share], object], int, int, int], parties: int
) -> None:
    _, label, work, rounds, opened, others = case
    run = measured("semi2k", Z64, lambda s: work(s, s.hold(matrix(s, Z64))), parties)
    opening = parties * (parties - 1)
    assert run.rounds(label) == rounds
    assert run.bytes_sent(label) == (opening * opened + others) * Z64.element_bytes
    assert run.bytes_sent("hold") == opening * SIZE * Z64.element_bytes


@pytest.mark.parametrize("parties", [2, 3])
def test_semi2k_input_and_fresh_sharing_are_free(parties: int, ring: PowerOfTwoRing) -> None:
    def work(s: Scheme) -> None:
        s.refresh(s.input(1, ring.zeros((N,)) if s.rank == 1 else None, ring, (N,)))

    assert measured("semi2k", ring, work, parties).everything().messages_sent == 0


@pytest.mark.parametrize("parties", [2, 3])
def test_semi2k_opening_to_one_party_sends_to_it_alone(parties: int, ring: PowerOfTwoRing) -> None:
    run = measured("semi2k", ring, lambda s: s.open(vector(s, ring), [1]), parties)
    assert run.everything().bytes_sent == (parties - 1) * N * ring.element_bytes
    assert run.traffic[1].total.messages_sent == 0


@pytest.mark.parametrize("parties", [2, 3])
def test_semi2k_bit_to_ring_element(parties: int, ring: PowerOfTwoRing) -> None:
    rows, count = 3, 130
    run = measured("semi2k", ring, lambda s: s.from_bits(s.boolean.random(rows, count), ring), parties)
    words = rows * -(-count // 64)
    assert run.rounds("from_bits") == 1
    assert run.everything().bytes_sent == rows * count * ring.element_bytes + parties * (parties - 1) * words * 8


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("name", NUMBERS)
def test_semi2k_numbers_from_their_digits(parties: int, ring: PowerOfTwoRing, name: str) -> None:
    """An AND opens two bits to all, and the dealer sends one; then the sum is opened; 2 elements from the dealer."""
    count, opened = 130, parties * (parties - 1)
    run = measured("semi2k", ring, lambda s: summed(s, ring, name, count), parties)
    width, saved, ands, both = ADDED[name]
    products = ands + both + ands_of_an_addition(width)
    assert max(c.total.rounds for c in run.traffic) == saved + 1 + math.ceil(math.log2(width - 1)) + 1
    unmasking = 3 * 8 * opened * width + 2 * count * ring.element_bytes
    assert run.bytes_sent("from_numbers/unmask") == unmasking
    assert run.everything().bytes_sent == 3 * 8 * (2 * opened + 1) * products + unmasking


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("name", FORMS)
def test_semi2k_bilinear_forms(parties: int, name: str) -> None:
    """Every row of an operand is opened once, in however many products it takes part; the dealer sends the results."""
    form, left, right = FORMS[name]
    run = measured(
        "semi2k",
        Z64,
        lambda s: of_random_bits(s, left, right, form),
        parties,
    )
    assert run.rounds("forms") == 1
    opened = parties * (parties - 1) * (left + right)
    assert run.everything().bytes_sent == run.bytes_sent("forms") == 8 * (opened + form.rows(left, right))


@pytest.mark.parametrize(
    ("ring", "parties", "rounds_to_two"), [(Z64, 2, 0), (Z64, 3, 1), (Z64, 4, 2), (Z64, 5, 3), (Z128, 2, 0)], ids=str
)
@pytest.mark.parametrize("kind", ["bits", "signs"])
def test_semi2k_ring_element_to_bits(kind: str, parties: int, rounds_to_two: int, ring: PowerOfTwoRing) -> None:
    count, k = 128, ring.bits

    def work(s: Scheme) -> None:
        a = vector(s, ring, count)
        s.to_bits(a) if kind == "bits" else s.sign_bits(a)

    run = measured("semi2k", ring, work, parties)
    ands = (parties - 1) * k + (ands_of_an_addition(k) if kind == "bits" else ands_of_a_top_bit(k))
    assert max(c.total.rounds for c in run.traffic) == 1 + rounds_to_two + math.ceil(math.log2(k - 1))
    assert run.everything().bytes_sent == (2 * parties * (parties - 1) + 1) * ands * count // 8


@pytest.mark.parametrize("parties", [2, 3])
def test_semi2k_owner_sends_one_summand_and_seeds_for_the_rest(parties: int, ring: PowerOfTwoRing) -> None:
    values = ring.zeros((50, 3))

    def program(s: Scheme) -> None:
        s.receive_input("owner", ring, values.shape).expand()

    run = run_scheme("semi2k", program, deal={"x": (ring, values)}, parties=parties)
    assert run.owner is not None
    assert run.owner.total.bytes_sent == (parties - 1) * 32 + values.nbytes
    assert run.everything().messages_sent == 0


def test_semi2k_holds_a_large_matrix_in_several_messages() -> None:
    rows = 3 * (1 << 20) // 8 // 64 + 1
    run = measured("semi2k", Z64, lambda s: s.hold(s.constant(Z64, Z64.zeros((rows, 64)))))
    assert run.rounds("hold") == 4
    assert run.everything().bytes_sent == 2 * rows * 64 * 8
