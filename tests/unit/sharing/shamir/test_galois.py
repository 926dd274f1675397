"""The Galois rings that points of ``shamir`` lie in: ring axioms, inverses, and differences of points."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.arithmetic import F61
from cofit.sharing.shamir.galois import LARGEST_DEGREE, Element, GaloisRing, degree_for

MODULI = {"2": 2, "2^64": 1 << 64, "2^128": 1 << 128, "2^61-1": F61.modulus}
REDUCTIONS = {2: (1, 1, 1), 3: (1, 1, 0, 1)}  # coefficients of h, the constant one first

rings = pytest.mark.parametrize(
    "ring", [GaloisRing(modulus, degree) for modulus in MODULI.values() for degree in REDUCTIONS], ids=str
)


def elements(ring: GaloisRing) -> st.SearchStrategy[Element]:
    edge = st.sampled_from([0, 1, ring.modulus - 1, ring.modulus // 2])
    return st.tuples(*[edge | st.integers(0, ring.modulus - 1)] * ring.degree)


def add(ring: GaloisRing, a: Element, b: Element) -> Element:
    return ring.sub(a, ring.sub(ring.whole(0), b))


@rings
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_it_is_a_commutative_ring(ring: GaloisRing, data: st.DataObject) -> None:
    a, b, c = (data.draw(elements(ring)) for _ in range(3))
    assert ring.mul(a, b) == ring.mul(b, a)
    assert ring.mul(ring.mul(a, b), c) == ring.mul(a, ring.mul(b, c))
    assert ring.mul(a, add(ring, b, c)) == add(ring, ring.mul(a, b), ring.mul(a, c))
    assert ring.mul(a, ring.whole(1)) == a
    assert ring.mul(a, ring.whole(3)) == add(ring, a, add(ring, a, a))
    assert ring.sub(a, a) == ring.whole(0)


@rings
def test_the_power_of_the_degree_is_what_the_polynomial_says(ring: GaloisRing) -> None:
    """h(X) = 0, X being a power of itself below the degree."""
    x, value, power = ring.power(1), ring.whole(0), ring.whole(1)
    for coefficient in REDUCTIONS[ring.degree]:
        value = add(ring, value, ring.mul(ring.whole(coefficient), power))
        power = ring.mul(power, x)
    assert value == ring.whole(0)
    assert [ring.power(i)[i] for i in range(ring.degree)] == [1] * ring.degree


@pytest.mark.parametrize("degree", REDUCTIONS)
def test_the_polynomial_is_irreducible_modulo_two(degree: int) -> None:
    """Of degree 2 or 3 it would have a root; and then every element but 0 has an inverse."""
    assert all(sum(c * root**i for i, c in enumerate(REDUCTIONS[degree])) % 2 for root in (0, 1))
    field = GaloisRing(2, degree)
    for a in product((0, 1), repeat=degree):
        if any(a):
            assert field.mul(a, field.inverse(a)) == field.whole(1)


@rings
def test_all_differences_of_points_and_zero_are_invertible(ring: GaloisRing) -> None:
    points = [ring.point(number) for number in range(1 << ring.degree)]
    assert len(set(points)) == 1 << ring.degree
    assert points[0] == ring.whole(0)
    for a, b in combinations(points, 2):
        for difference in (ring.sub(a, b), ring.sub(b, a)):
            assert ring.mul(difference, ring.inverse(difference)) == ring.whole(1)


@pytest.mark.parametrize("modulus", [1 << 64, 1 << 128], ids=str)
def test_more_points_would_not_do(modulus: int) -> None:
    """Of points that are equal modulo 2 the difference has no inverse: there are 2^m at most, 0 being one of them."""
    ring = GaloisRing(modulus, 3)
    with pytest.raises(ValueError, match="not invertible"):
        ring.inverse(ring.sub((3, 0, 1), ring.point(5)))
    assert 1 << LARGEST_DEGREE == 8


@pytest.mark.parametrize(("points", "degree"), [(4, 2), (5, 3), (6, 3), (8, 3)])
def test_the_degree_has_room_for_all_points(points: int, degree: int) -> None:
    assert degree_for(points) == degree


@rings
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_polynomials_are_found_from_their_values(ring: GaloisRing, data: st.DataObject) -> None:
    """Lagrange: at any other point and at 0, from any of as many points as there are coefficients."""
    points = tuple(ring.point(number) for number in range(1, 1 << ring.degree))
    count = data.draw(st.integers(1, len(points)))
    coefficients = [data.draw(elements(ring)) for _ in range(count)]
    chosen = tuple(data.draw(st.permutations(points))[:count])

    def value(at: Element) -> Element:
        result = ring.whole(0)
        for coefficient in reversed(coefficients):
            result = add(ring, ring.mul(result, at), coefficient)
        return result

    for at in (ring.whole(0), *points):
        found = ring.whole(0)
        for i, point in enumerate(chosen):
            found = add(ring, found, ring.mul(value(point), ring.lagrange(chosen, i, at)))
        assert found == value(at)
