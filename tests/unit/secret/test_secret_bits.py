"""SecretBits: Python's bit operators over Boolean shares, and the way to and from numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray, SecretBits
from cofit.arithmetic import IntegerRing
from cofit.errors import InvalidInputError, ShapeError
from cofit.sharing.adder import add_from_signals
from unit.secret.runs import PARTIES, SCHEMES, WHOLE, at_one, failure, limit, run

Array = npt.NDArray[Any]
SHAPE = (5, 13)  # 65 elements: one more than a word holds
RNG = np.random.default_rng(3)
P = RNG.integers(0, 2, size=(4, *SHAPE), dtype=np.uint8)
Q = RNG.integers(0, 2, size=(4, *SHAPE), dtype=np.uint8)
ONE = RNG.integers(0, 2, size=(1, *SHAPE), dtype=np.uint8)


def bits(party: Party, source: int, values: Array) -> SecretBits:
    """Share bits, of shape (width, *shape), that the party of rank ``source`` holds."""
    scheme = party._scheme
    flat = values.reshape(len(values), -1) if party.rank == source else None
    shape = values.shape[1:]
    return SecretBits(scheme, scheme.boolean.input(source, flat, len(values), int(np.prod(shape, dtype=int))), shape)


EXPRESSIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "p": lambda p, q, one: p,
    "p ^ q": lambda p, q, one: p ^ q,
    "p & q": lambda p, q, one: p & q,
    "p | q": lambda p, q, one: p | q,
    "p ^ one": lambda p, q, one: p ^ one,
    "one ^ p": lambda p, q, one: one ^ p,
    "p & one": lambda p, q, one: p & one,
    "one & p": lambda p, q, one: one & p,
    "p | one": lambda p, q, one: p | one,
    "one | q": lambda p, q, one: one | q,
    "one & one": lambda p, q, one: one & one,
    "nested": lambda p, q, one: (p & q) ^ (p | one) & q,
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_operators(scheme: str) -> None:
    def program(party: Party) -> dict[str, Array]:
        p, q, one = bits(party, 0, P), bits(party, 1, Q), bits(party, 2, ONE)
        results = {name: expression(p, q, one) for name, expression in EXPRESSIONS.items()} | {"~p": ~p}
        return {name: party.open(value, reason=name) for name, value in results.items()}

    for results in run(program, scheme).results.values():
        for name, got in results.items():
            want = 1 - P if name == "~p" else EXPRESSIONS[name](P, Q, ONE)
            assert got.dtype == np.uint8
            assert got.shape == want.shape, name
            assert (got == want).all(), name


SLICES: list[int | slice] = [
    0,
    3,
    -1,
    -4,
    slice(1, 3),
    slice(None),
    slice(None, None, -1),
    slice(3, 0, -2),
    slice(4, None),
]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_selecting_bits(scheme: str) -> None:
    def program(party: Party) -> list[tuple[int, Array]]:
        p = bits(party, 0, P)
        return [(p[index].width, party.open(p[index], reason="test")) for index in SLICES]

    for results in run(program, scheme).results.values():
        for index, (width, got) in zip(SLICES, results, strict=True):
            want = P[index] if isinstance(index, slice) else P[index][np.newaxis]
            assert width == len(want)
            assert got.shape == want.shape
            assert (got == want).all()


def test_xor_and_not_are_local_and_and_takes_one_round() -> None:
    def program(party: Party) -> None:
        p, q = bits(party, 0, P), bits(party, 1, Q)
        with party.label("local"):
            ~(p ^ q)[1:]
        with party.label("and"):
            p & q
        with party.label("or"):
            p | q

    traffic = run(program).traffic
    for name in PARTIES:
        assert not [label for label in traffic[name] if label.startswith("local/")]
        for label in ("and/mul", "or/mul"):
            assert (traffic[name][label].rounds, traffic[name][label].bytes_sent) == (1, 4 * 2 * 8)


@pytest.mark.parametrize("index", [4, -5])
def test_positions_that_do_not_exist(index: int) -> None:
    error = failure(lambda party: bits(party, 0, P)[index])
    assert isinstance(error, InvalidInputError)
    assert "below 4" in str(error)


@pytest.mark.parametrize("other", [P[:2], P[:, :4], P.reshape(4, 65)], ids=["width", "shape", "dimensions"])
@pytest.mark.parametrize("name", ["__xor__", "__and__", "__or__"])
def test_operands_that_do_not_fit(name: str, other: Array) -> None:
    error = failure(lambda party: getattr(bits(party, 0, P), name)(bits(party, 0, other)))
    assert isinstance(error, ShapeError)
    assert "(5, 13) x 4" in str(error)


def test_bits_have_no_visible_value() -> None:
    error = failure(lambda party: bool(bits(party, 0, ONE)))
    assert isinstance(error, TypeError)
    assert "party.open" in str(error)
    assert at_one(lambda party: repr(bits(party, 0, ONE))) == "<SecretBits shape=(5, 13), width 1>"


def test_bits_do_not_compare() -> None:
    assert isinstance(failure(lambda party: bits(party, 0, ONE) == bits(party, 0, ONE)), TypeError)
    assert isinstance(failure(lambda party: bits(party, 0, ONE) != 1), TypeError)
    assert isinstance(failure(lambda party: hash(bits(party, 0, ONE))), TypeError)


@pytest.mark.parametrize("name", ["__xor__", "__and__", "__or__"])
def test_bits_do_not_mix_with_numbers(name: str) -> None:
    for other in (1, True, P, None):
        error = failure(lambda party, other=other: getattr(bits(party, 0, P), name)(other))  # type: ignore[misc]
        assert isinstance(error, InvalidInputError)


# --- from and to numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bits_of_numbers(scheme: str, ring: IntegerRing) -> None:
    top = (1 << (ring.bits - 2)) - 1
    numbers = [0, 1, -1, 2, -2, top, -top, 0x5555555555555555 % top, 12345678901, -98765432109, top >> 3, -(top >> 5)]
    numbers += [int(v) for v in np.random.default_rng(1).integers(-(2**60), 2**60, size=60)]
    values = np.array(numbers, dtype=object).reshape(8, 9)

    def program(party: Party) -> tuple[int, Array]:
        x = party.share("party-b", values if party.rank == 1 else None, (8, 9), FixedPoint(0, ring), top)
        taken = x.bits()
        return taken.width, party.open(taken, reason="test")

    want = [[[(int(v) >> b) & 1 for v in row] for row in values] for b in range(ring.bits)]
    for width, got in run(program, scheme).results.values():
        assert width == ring.bits
        assert got.tolist() == want


def test_bits_of_fractions_are_those_of_the_encoded_integer() -> None:
    def program(party: Party) -> Array:
        return party.open(party.constant([0.5, -0.25], FixedPoint(2)).bits(), reason="test")

    got = run(program).results["party-a"]
    assert got[:, 0].tolist() == [0, 1] + [0] * 62
    assert got[:, 1].tolist() == [1] * 64


@pytest.mark.parametrize(("ring", "rounds"), [(Z64, 8), (Z128, 9)], ids=str)
def test_rounds_of_taking_bits(ring: IntegerRing, rounds: int) -> None:
    """The table in ``rep3``: 2 + ceil(log2(k - 1)) on the longest path, here at the parties who wait in every step."""

    def program(party: Party) -> None:
        party.constant(np.arange(3), FixedPoint(0, ring)).bits()

    traffic = run(program).traffic
    waited = [sum(c.rounds for label, c in traffic[name].items() if label.startswith("to_bits/")) for name in PARTIES]
    assert max(waited) == rounds


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bits_to_numbers(scheme: str, ring: IntegerRing) -> None:
    def program(party: Party) -> tuple[Array, FixedPoint, int]:
        numbers = party.to_arithmetic(bits(party, 0, P), ring)
        return party.open(numbers, reason="test"), numbers.format, limit(numbers)

    for got, format, bound in run(program, scheme).results.values():
        assert got.shape == P.shape
        assert (got == P).all()
        assert format == FixedPoint(0, ring)
        assert bound == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_there_and_back(scheme: str) -> None:
    """The weighted bits of a number are the number."""
    values = np.array([0, 1, -1, 2**40, -(2**40) + 17])

    def program(party: Party) -> Array:
        x = party.share("party-a", values if party.rank == 0 else None, (5,), WHOLE, 2**41)
        digits = party.to_arithmetic(x.bits())
        low = (digits[:60] * (1 << np.arange(60))[:, np.newaxis]).with_bound(2**55)
        sign: SecretArray = digits[63] * (1 << 60)
        return party.open(low.sum(axis=0) - sign, reason="test")

    for got in run(program, scheme).results.values():
        assert got.tolist() == values.tolist()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_random_bits(scheme: str) -> None:
    """Both kinds: everybody sees the same, all are 0 or 1, and 4000 fair coins stay within 8 standard deviations."""

    def program(party: Party) -> tuple[Array, Array, int]:
        numbers = party.random_bits((50, 20, 4))
        secret = party.random_secret_bits((50, 20), width=4)
        assert (secret.width, secret.shape) == (4, (50, 20))
        return party.open(numbers, reason="test"), party.open(secret, reason="test"), limit(numbers)

    results = run(program, scheme).results
    numbers, secret, bound = results["party-a"]
    assert bound == 1
    assert numbers.shape == (50, 20, 4)
    assert secret.shape == (4, 50, 20)
    for coins in (numbers, secret):
        assert set(np.unique(coins).tolist()) == {0, 1}
        assert abs(int(coins.sum()) - 2000) < 8 * np.sqrt(1000)
    for other in results.values():
        assert (other[0] == numbers).all()
        assert (other[1] == secret).all()


def test_random_bits_differ_between_draws_and_runs() -> None:
    def program(party: Party) -> list[bytes]:
        draws = [party.random_secret_bits((128,)) for _ in range(2)]
        return [party.open(draw, reason="test").tobytes() for draw in draws]

    seen = {draw for _ in range(2) for draw in run(program).results["party-a"]}
    assert len(seen) == 4


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 9, 17])
def test_the_adder(scheme: str, width: int) -> None:
    """All pairs of small numbers; random and extreme ones of larger widths."""
    top = (1 << width) - 1
    if width <= 4:
        pairs = [(u, v) for u in range(1 << width) for v in range(1 << width)]
    else:
        rng = np.random.default_rng(width)
        pairs = [(int(u), int(v)) for u, v in rng.integers(0, top + 1, size=(60, 2))]
        pairs += [(top, 1), (1, top), (top, top), (0, top), (top >> 1, 1), (0, 0)]
    u, v = (np.array([[(pair[i] >> b) & 1 for pair in pairs] for b in range(width)], dtype=np.uint8) for i in (0, 1))

    def program(party: Party) -> Array:
        left, right = bits(party, 0, u), bits(party, 1, v)
        total = add_from_signals(party._scheme.boolean, (left & right)._share, (left ^ right)._share)
        return party.open(SecretBits(party._scheme, total, (len(pairs),)), reason="test")

    for got in run(program, scheme).results.values():
        sums = [sum(int(bit) << b for b, bit in enumerate(column)) for column in got.T]
        assert sums == [(a + b) & top for a, b in pairs]
