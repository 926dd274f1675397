"""Circuits that run side by side: results in order, one exchange for all products of a round, and what waits waits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, Party, SecretBits, run_local
from cofit.arithmetic import IntegerRing
from cofit.errors import PartyFailedError, ShapeError
from cofit.secret.circuits import Circuit, Product, beside, run
from cofit.secret.conversions import numbers_to_array
from cofit.sharing.bit_forms import Dot, Each, Outer

RNG = np.random.default_rng(23)
COUNT = 70
SCHEMES = ["clear", "rep3", "rep4", "repn", "semi2k"]
Bits = npt.NDArray[np.uint8]


def bits(rows: int) -> Bits:
    return RNG.integers(0, 2, (rows, COUNT), dtype=np.uint8)


def secret(party: Party, values: Bits) -> SecretBits:
    return SecretBits(party._scheme, party._scheme.boolean.constant(values), (values.shape[1],))


def product_of_all(x: SecretBits) -> Circuit[SecretBits]:
    """The product of all rows, in ceil(log2(rows)) rounds."""
    while x.width > 1:
        half = x.width // 2
        (paired,) = yield [Product(x[:half], x[half : 2 * half], Each())]
        x = paired.join(x[2 * half :]) if x.width % 2 else paired
    return x


def two_products(x: SecretBits) -> Circuit[tuple[SecretBits, SecretBits]]:
    """Two forms in one round, and a second round for one of them."""
    outer, inner = yield [Product(x[:2], x[1:4], Outer()), Product(x[:2], x[2:4], Dot(2))]
    (last,) = yield [Product(inner, outer[5], Each())]
    return outer, last


def nothing() -> Circuit[str]:
    return "done"
    yield []


def waiting_for(seen: list[SecretBits], rounds: list[int]) -> Circuit[SecretBits]:
    """Ask for nothing until somebody else is done."""
    while not seen:
        rounds.append(len(rounds))
        yield []
    (found,) = yield [Product(seen[0], seen[0], Each())]
    return found


def telling(x: SecretBits, seen: list[SecretBits]) -> Circuit[None]:
    result = yield from product_of_all(x)
    seen.append(result)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_results_come_in_order_whatever_takes_how_long(scheme: str) -> None:
    a, b, c = bits(8), bits(5), bits(4)

    def program(party: Party) -> list[Bits]:
        first, none, (outer, last), second = run(
            beside(
                product_of_all(secret(party, a)),
                nothing(),
                two_products(secret(party, c)),
                product_of_all(secret(party, b)),
            )
        )
        assert none == "done"
        return [np.asarray(party.open(one, reason="test")) for one in (first, outer, last, second)]

    for first, outer, last, second in run_local(program, scheme=scheme).results.values():
        np.testing.assert_array_equal(first[0], a.all(axis=0))
        np.testing.assert_array_equal(second[0], b.all(axis=0))
        expected = np.array([x & y for x in c[:2] for y in c[1:4]])
        np.testing.assert_array_equal(outer, expected)
        inner = (c[0] & c[2]) ^ (c[1] & c[3])
        np.testing.assert_array_equal(last[0], inner & expected[5])


def rounds_and_bytes(circuits: int) -> tuple[int, int]:
    def program(party: Party) -> None:
        run(beside(*(product_of_all(party.random_secret_bits((64,), 8)) for _ in range(circuits))))

    totals = [counts.get_or_zero("forms") for counts in run_local(program, scheme="rep3").traffic.values()]
    return max(total.rounds for total in totals), sum(total.bytes_sent for total in totals)


def test_products_of_all_circuits_take_one_round() -> None:
    assert rounds_and_bytes(1) == (3, 3 * 8 * 7)
    assert rounds_and_bytes(5) == (3, 5 * 3 * 8 * 7)


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
def test_a_circuit_waits_for_another_and_is_told_nothing_else(scheme: str) -> None:
    values = bits(8)

    def program(party: Party) -> tuple[Bits, list[int]]:
        seen: list[SecretBits] = []
        rounds: list[int] = []
        _, found = run(beside(telling(secret(party, values), seen), waiting_for(seen, rounds)))
        return np.asarray(party.open(found, reason="test")), rounds

    for found, rounds in run_local(program, scheme=scheme).results.values():
        np.testing.assert_array_equal(found[0], values.all(axis=0))
        assert rounds == [0, 1, 2], "three rounds, in which the other one was busy"


def test_circuits_within_circuits_run_in_step() -> None:
    def nested(party: Party) -> Circuit[list[SecretBits]]:
        both = yield from beside(
            product_of_all(party.random_secret_bits((64,), 4)), product_of_all(party.random_secret_bits((64,), 4))
        )
        return both

    def program(party: Party) -> None:
        run(beside(nested(party), nested(party), product_of_all(party.random_secret_bits((64,), 2))))

    totals = [counts.get_or_zero("forms") for counts in run_local(program, scheme="rep3").traffic.values()]
    assert max(total.rounds for total in totals) == 2


# --- bits and numbers --------------------------------------------------------------------------------------


def test_forms_need_bits_of_one_shape() -> None:
    def program(party: Party) -> None:
        party.random_secret_bits((64,), 2).bilinear(party.random_secret_bits((8, 8), 2), Each())

    with pytest.raises(PartyFailedError) as caught:
        run_local(program, scheme="clear", parties=1)
    assert isinstance(caught.value.__cause__, ShapeError)
    assert "A bilinear form needs bits of one shape; got (64,) and (8, 8)." in str(caught.value)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ones_are_one(scheme: str) -> None:
    results = run_local(lambda p: p.open(p.random_secret_bits((2, 35), 3).ones(), reason="test"), scheme=scheme).results
    for one in results.values():
        assert np.asarray(one).sum() == 70


@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda ring: ring.name)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_numbers_become_integers_of_their_shape(scheme: str, ring: IntegerRing) -> None:
    digits = [(0, bits(5)), (3, bits(7)), (20, bits(2))]
    expected = sum(int(1 << (place + j)) * rows[j].astype(object) for place, rows in digits for j in range(len(rows)))

    def program(party: Party) -> tuple[list[int], int, int]:
        shaped = [
            (place, SecretBits(party._scheme, party._scheme.boolean.constant(rows), (7, 10))) for place, rows in digits
        ]
        found = numbers_to_array(shaped, ring)
        assert found.shape == (7, 10) and found.format.ring is ring
        return party.open(found, reason="test").reshape(-1).tolist(), found.integer_limit, found.format.fraction_bits

    for values, limit, fraction_bits in run_local(program, scheme=scheme).results.values():
        assert values == list(expected)
        assert (limit, fraction_bits) == (31 + 8 * 127 + (3 << 20), 0)
