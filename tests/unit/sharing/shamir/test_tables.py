"""The public coefficients of ``shamir``: interpolation, products, and values that a group knows."""

from __future__ import annotations

import functools
from itertools import combinations

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, Generator, IntegerRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.shamir.galois import Element, GaloisRing
from cofit.sharing.shamir.geometry import Geometry, geometry_of, modulus_of, tables_of

GEOMETRIES = [(3, 1), (4, 1), (5, 1), (5, 2), (6, 2), (7, 3)]
RINGS: list[Ring] = [Z64, Z128, F61, BITS]
N = 5
every = pytest.mark.parametrize("size", GEOMETRIES, ids=str)
ring_of = pytest.mark.parametrize("ring", RINGS, ids=lambda ring: getattr(ring, "name", "bits"))


def drawn(ring: Ring, salt: int) -> RingArray:
    return Generator(bytes([salt + 1] * 32)).ring(ring, (N,))


def integers(ring: Ring, values: RingArray) -> list[int]:
    """As numbers modulo the modulus; of bits, every bit of every word."""
    if isinstance(ring, IntegerRing):
        return [int(v) % ring.modulus for v in np.asarray(ring.to_int(values)).flat]
    return [int(word) >> i & 1 for word in values.flat for i in range(64)]


def polynomial(galois: GaloisRing, coefficients: list[Element], at: Element) -> Element:
    def step(value: Element, coefficient: Element) -> Element:
        product = galois.mul(value, at)
        return tuple((a + b) % galois.modulus for a, b in zip(product, coefficient, strict=True))

    return functools.reduce(step, reversed(coefficients), galois.whole(0))


def sharing(geometry: Geometry, ring: Ring, degree: int, salt: int) -> tuple[list[int], list[list[RingArray]]]:
    """A random polynomial of this degree whose value at 0 is in the base ring: that value; and all shares."""
    galois = GaloisRing(modulus_of(ring), geometry.degree)
    drawn_parts = [
        [integers(ring, drawn(ring, salt + 10 * i + c)) for c in range(geometry.degree)] for i in range(degree + 1)
    ]
    drawn_parts[0][1:] = [[0] * len(drawn_parts[0][0])] * (geometry.degree - 1)
    shares = []
    for party in range(geometry.parties):
        at = galois.point(party + 1)
        values = [
            polynomial(galois, [tuple(part[e] for part in parts) for parts in drawn_parts], at)
            for e in range(len(drawn_parts[0][0]))
        ]
        shares.append([elements(ring, [v[c] for v in values]) for c in range(geometry.degree)])
    return drawn_parts[0][0], shares


def elements(ring: Ring, values: list[int]) -> RingArray:
    if isinstance(ring, IntegerRing):
        half = ring.modulus // 2
        return ring.from_int(np.array([(v + half) % ring.modulus - half for v in values], dtype=object))
    words = [sum(bit << i for i, bit in enumerate(values[k : k + 64])) for k in range(0, len(values), 64)]
    return np.array(words, np.uint64)


@every
@ring_of
def test_the_summands_of_any_parties_add_up_to_the_value(size: tuple[int, int], ring: Ring) -> None:
    geometry = geometry_of(*size)
    tables, (value, shares) = tables_of(geometry, ring), sharing(geometry, ring, geometry.threshold, 0)
    for among in combinations(range(geometry.parties), geometry.threshold + 1):
        found = ring.signed_sum([ring.combined(shares[r], tables.summand(r, among))[0] for r in among])
        assert integers(ring, found) == value, among


@every
@ring_of
def test_one_party_fewer_does_not_find_the_value(size: tuple[int, int], ring: Ring) -> None:
    geometry = geometry_of(*size)
    tables, (value, shares) = tables_of(geometry, ring), sharing(geometry, ring, geometry.threshold, 0)
    for among in combinations(range(geometry.parties), geometry.threshold):
        found = ring.signed_sum([ring.combined(shares[r], tables.summand(r, among))[0] for r in among])
        assert integers(ring, found) != value


@every
@ring_of
def test_the_multipliers_forms_add_up_to_the_product(size: tuple[int, int], ring: Ring) -> None:
    geometry = geometry_of(*size)
    tables = tables_of(geometry, ring)
    (x, left), (y, right) = (sharing(geometry, ring, geometry.threshold, salt) for salt in (0, 100))
    products = [
        ring.bilinear(left[r], right[r], tables.product(r), [], [])
        if isinstance(ring, IntegerRing)
        else ring.signed_sum(
            [ring.mul(a, b) for a, b in zip(left[r], ring.combined(right[r], tables.product(r)), strict=True)]
        )
        for r in geometry.multipliers
    ]
    modulus = modulus_of(ring)
    assert integers(ring, ring.signed_sum(products)) == [a * b % modulus for a, b in zip(x, y, strict=True)]


@every
@ring_of
def test_polynomials_of_twice_the_degree_are_taken_along(size: tuple[int, int], ring: Ring) -> None:
    """What is added to a product: summands of the multipliers, for polynomials of degree 2t."""
    geometry = geometry_of(*size)
    tables, (value, shares) = tables_of(geometry, ring), sharing(geometry, ring, 2 * geometry.threshold, 0)
    among = geometry.multipliers
    found = ring.signed_sum([ring.combined(shares[r], tables.summand(r, among))[0] for r in among])
    assert integers(ring, found) == value


@every
@ring_of
def test_a_value_that_a_group_knows_is_shared_without_the_others(size: tuple[int, int], ring: Ring) -> None:
    """The value at 0; 0 at all others; and a polynomial of degree t: any t + 1 parties find the same."""
    geometry = geometry_of(*size)
    tables, values = tables_of(geometry, ring), [drawn(ring, salt) for salt in (0, 1)]
    for group in geometry.groups:
        terms = ((group, 1), (group, -1))
        shares = [list(ring.combined(values, tables.share_of(r, terms))) for r in range(geometry.parties)]
        for r in range(geometry.parties):
            assert any(np.any(part != ring.zeros((N,))) for part in shares[r]) == (r in group)
        for among in combinations(range(geometry.parties), geometry.threshold + 1):
            found = ring.signed_sum([ring.combined(shares[r], tables.summand(r, among))[0] for r in among])
            np.testing.assert_array_equal(found, ring.signed_sum(values[:1], values[1:]))


@every
def test_shares_of_a_group_are_invertible_multiples(size: tuple[int, int]) -> None:
    """A member's share of a uniform value is not degenerate: some coefficient is an odd multiple of the value."""
    geometry = geometry_of(*size)
    tables = tables_of(geometry, Z64)
    for group in geometry.groups:
        for r in group:
            assert any(int(c) & 1 for c in tables.share_of(r, ((group, 1),)).flat)
