"""Bilinear forms of bits, and numbers from their digits, with every scheme."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import PowerOfTwoRing
from cofit.errors import InvalidInputError, ShapeError
from cofit.sharing import Scheme
from cofit.sharing.bit_forms import BitForm, Dot, Each, Lookup, Outer, SideBySide, Spread
from cofit.sharing.shares import BitShare, PlacedBits
from support.runs import run_scheme
from support.schemes import SECRET

RNG = np.random.default_rng(77)
COUNT = 200
Bits = npt.NDArray[np.uint8]


def bits(rows: int, count: int = COUNT) -> Bits:
    return RNG.integers(0, 2, (rows, count), dtype=np.uint8)


def shared(s: Scheme, values: Bits, source: int = 0) -> BitShare:
    return s.boolean.input(source, values if s.rank == source else None, *values.shape)


def lookup(chosen: npt.NDArray[np.uint8]) -> Lookup:
    """Two ranges of words, with other coefficients in the second; ``chosen``: shape (2, forms, lefts, rights)."""
    weights = np.uint64(1) << np.arange(chosen.shape[3], dtype=np.uint64)
    first, second = (chosen.astype(np.uint64) * weights).sum(axis=3)
    return Lookup(chosen.shape[3], [(1, first), (3, second)])


CHOSEN = RNG.integers(0, 2, (2, 5, 3, 7), dtype=np.uint8)


def looked_up(a: Bits, b: Bits) -> Bits:
    ranges = [slice(0, 64), slice(64, COUNT)]
    return np.concatenate(
        [np.einsum("rpq,pn,qn->rn", c, a[:, at], b[:, at]) % 2 for c, at in zip(CHOSEN, ranges, strict=True)], axis=1
    )


FORMS: dict[str, tuple[BitForm, int, int]] = {
    "each": (Each(), 3, 3),
    "outer": (Outer(), 3, 2),
    "spread": (Spread(3), 2, 6),
    "dot": (Dot(4), 8, 8),
    "lookup": (lookup(CHOSEN), 3, 7),
    "side by side": (SideBySide(((2, 2, Each()), (1, 3, Outer()), (4, 4, Dot(2)))), 7, 9),
}


def plain(name: str, a: Bits, b: Bits) -> Bits:
    if name == "each":
        return a & b
    if name == "outer":
        return np.array([x & y for x in a for y in b])
    if name == "spread":
        return np.array([a[i // 3] & b[i] for i in range(6)])
    if name == "dot":
        return np.array([(a[i : i + 4] & b[i : i + 4]).sum(axis=0) % 2 for i in (0, 4)])
    if name == "lookup":
        return looked_up(a, b)
    dots = [(a[i : i + 2] & b[i + 2 : i + 4]).sum(axis=0) % 2 for i in (3, 5)]
    return np.array([*(a[:2] & b[:2]), *(a[2] & b[2:5]), *dots])


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_the_sum_of_products_that_it_names(scheme: str, name: str) -> None:
    form, left, right = FORMS[name]
    a, b = bits(left), bits(right)

    def program(s: Scheme) -> Bits | None:
        return s.boolean.open(s.boolean.bilinear(shared(s, a), shared(s, b, 1), form))

    for opened in run_scheme(scheme, program).results:
        assert opened is not None
        np.testing.assert_array_equal(opened, plain(name, a, b))


@pytest.mark.parametrize(("name", "left", "right"), [("each", 3, 2), ("spread", 2, 5), ("dot", 6, 6), ("lookup", 3, 6)])
def test_operands_that_do_not_fit_are_refused(name: str, left: int, right: int) -> None:
    with pytest.raises(ShapeError, match=f"{left} and {right} rows"):
        FORMS[name][0].rows(left, right)


NUMBERS = {
    "one": [(0, 9)],
    "one bit": [(0, 1)],
    "apart": [(0, 5), (8, 6)],
    "overlapping": [(0, 12), (7, 12), (14, 12)],
    "five": [(0, 9), (4, 9), (8, 9), (12, 9), (16, 9)],
    "wide": [(0, 30), (20, 30), (3, 1)],
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_from_their_digits(scheme: str, ring: PowerOfTwoRing, name: str) -> None:
    digits = [(place, bits(rows)) for place, rows in NUMBERS[name]]
    for _, one in digits:
        one[:, 0], one[:, 1] = 1, 0  # the largest and the smallest
    expected = sum((1 << (place + j)) * one[j].astype(object) for place, one in digits for j in range(len(one)))

    def program(s: Scheme) -> npt.NDArray[np.uint64] | None:
        return s.open(s.from_numbers([PlacedBits(place, shared(s, one)) for place, one in digits], ring))

    for _ in range(2):  # other masks
        for opened in run_scheme(scheme, program).results:
            assert opened is not None
            assert ring.to_int(opened).tolist() == list(expected)


@pytest.mark.parametrize("scheme", SECRET)
def test_numbers_that_do_not_fit_are_refused(scheme: str, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        with pytest.raises(InvalidInputError, match="too large"):
            s.from_numbers([PlacedBits(0, s.boolean.random(ring.bits - 1, 3))], ring)

    run_scheme(scheme, program)
