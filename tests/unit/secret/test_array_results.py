"""SecretArray: results of the operators, with secret and with public operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit import Z128, FixedPoint, Party, SecretArray, run_local
from cofit.arithmetic.narrow import narrow_bytes
from unit.secret.runs import PARTIES, SCHEMES, F, run

UNIT = 2.0**-24
A = np.array([[0.5, -1.25, 3.0], [2.0, 0.0, -0.75]])
B = np.array([[1.5, 2.0, -0.5], [-4.0, 1.0, 0.25]])
Array = npt.NDArray[Any]
Program = Callable[[Any, Any], Any]

SAME_SHAPE: dict[str, Program] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a @ b.T": lambda a, b: a @ b.T,
    "a.T @ b": lambda a, b: a.T @ b,
    "a[0] @ b.T": lambda a, b: a[0] @ b.T,
    "a @ b[1]": lambda a, b: a @ b[1],
    "a[0] @ b[1]": lambda a, b: a[0] @ b[1],
    "a * b[0]": lambda a, b: a * b[0],
    "a[:, :1] - b[:1]": lambda a, b: a[:, :1] - b[:1],
    "a[0, 0] + b": lambda a, b: a[0, 0] + b,
    "a[0, 0] * b[1, 1]": lambda a, b: a[0, 0] * b[1, 1],
}
ONE_OPERAND: dict[str, Callable[[Any], Any]] = {
    "-a": lambda a: -a,
    "a[0, 1] five times": lambda a: a[0, 1].repeated(5) if isinstance(a, SecretArray) else np.repeat(a[0, 1], 5),
    "a[0, 1] five times, squared": lambda a: (
        a[0, 1].repeated(5) * a[0, 1].repeated(5) if isinstance(a, SecretArray) else np.repeat(a[0, 1] ** 2, 5)
    ),
    "a.sum()": lambda a: a.sum(),
    "a.sum(axis=0)": lambda a: a.sum(axis=0),
    "a.sum(axis=1)": lambda a: a.sum(axis=1),
    "a.sum(axis=-1)": lambda a: a.sum(axis=-1),
    "a[:0].sum()": lambda a: a[:0].sum(),
    "a + 1": lambda a: a + 1,
    "1 + a": lambda a: 1 + a,
    "a + 0.5": lambda a: a + 0.5,
    "2.5 - a": lambda a: 2.5 - a,
    "a - 3": lambda a: a - 3,
    "a * 3": lambda a: a * 3,
    "-2 * a": lambda a: -2 * a,
    "a * 0.25": lambda a: a * 0.25,
    "0.25 * a": lambda a: 0.25 * a,
    "a * True": lambda a: a * True,
    "a * np.float64": lambda a: a * np.float64(1.5),
    "np.float64 * a": lambda a: np.float64(1.5) * a,
    "np.int64 + a": lambda a: np.int64(7) + a,
    "a - list": lambda a: a - [1.0, 2.0, 3.0],
    "list + a": lambda a: [1.0, 2.0, 3.0] + a,  # noqa: RUF005 - no list: NumPy's rules
    "B + a": lambda a: B + a,
    "a + B": lambda a: a + B,
    "B - a": lambda a: B - a,
    "a - B": lambda a: a - B,
    "B * a": lambda a: B * a,
    "a * B": lambda a: a * B,
    "B.T @ a": lambda a: B.T @ a,
    "a @ B.T": lambda a: a @ B.T,
    "B[0] @ a.T": lambda a: B[0] @ a.T,
    "a @ B[0]": lambda a: a @ B[0],
    "B @ a[0]": lambda a: B @ a[0],
    "B[0] @ a[0]": lambda a: B[0] @ a[0],
    "integers @ a": lambda a: np.array([[1, -2], [3, 4]]) @ a,
    "a @ integers": lambda a: a @ np.array([1, -2, 3]),
    "B[:, :1] * a[:1]": lambda a: B[:, :1] * a[:1],
    "column + a": lambda a: np.array([[1.0], [2.0]]) + a,
    "0-d array - a": lambda a: np.array(1.0) - a,
}


@pytest.mark.parametrize("format", [F, FixedPoint(40, Z128)], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_secrets(scheme: str, format: FixedPoint) -> None:
    def program(party: Party) -> dict[str, tuple[Array, FixedPoint]]:
        a, b = party.share("party-b", A if party.rank == 1 else None, A.shape, format, 4), party.constant(B, format)
        secret = {name: function(a, b) for name, function in SAME_SHAPE.items()}
        return {name: (party.open(value, reason=name), value.format) for name, value in secret.items()}

    for results in run(program, scheme).results.values():
        for name, (got, kept) in results.items():
            want = SAME_SHAPE[name](A, B)
            assert got.shape == np.shape(want), name
            assert got.dtype == np.float64
            assert np.abs(got - want).max() <= 2.0**-format.fraction_bits, name
            assert kept == format, name
            if "*" not in name and "@" not in name:
                assert (got == want).all(), name


@pytest.mark.parametrize("format", [F, FixedPoint(40, Z128)], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_public_operands_on_either_side(scheme: str, format: FixedPoint) -> None:
    def program(party: Party) -> dict[str, tuple[Array, FixedPoint]]:
        a = party.share("party-c", A if party.rank == 2 else None, A.shape, format, 4)
        secret = {name: function(a) for name, function in ONE_OPERAND.items()}
        return {name: (party.open(value, reason=name), value.format) for name, value in secret.items()}

    for results in run(program, scheme).results.values():
        for name, (got, kept) in results.items():
            want = ONE_OPERAND[name](A)
            assert got.shape == np.shape(want), name
            assert np.abs(got - want).max() <= 2.0**-format.fraction_bits, name
            assert kept == format, name


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_numpy_side_does_not_take_the_secret_apart(scheme: str) -> None:
    """``array + secret`` must give one SecretArray, not an object array of them."""

    def program(party: Party) -> list[bool]:
        a = party.constant(A, F)
        return [isinstance(op(B, a), SecretArray) for op in (operator.add, operator.sub, operator.mul)] + [
            isinstance(B.T @ a, SecretArray)
        ]

    assert all(all(flags) for flags in run(program, scheme).results.values())


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-(2**28), 2**28), st.integers(-(2**28), 2**28)), min_size=1, max_size=20),
)
def test_products_are_within_one_unit_of_the_floor(pairs: list[tuple[int, int]]) -> None:
    """floor(x y / 2^f), or that plus one, and never anything else; the clear twin gives the floor."""
    a, b = (np.array([pair[i] for pair in pairs]) * UNIT for i in (0, 1))
    floors = np.array([(x * y) >> 24 for x, y in pairs])

    def program(party: Party) -> Array:
        x = party.share("party-a", a if party.rank == 0 else None, a.shape, F, 16)
        y = party.share("party-b", b if party.rank == 1 else None, b.shape, F, 16)
        return party.open(x * y, reason="test")

    errors = run(program).results["party-a"] * 2.0**24 - floors
    assert set(errors.tolist()) <= {0.0, 1.0}
    assert (run(program, "clear").results["party-c"] * 2.0**24 == floors).all()


def test_a_single_party_in_the_clear() -> None:
    def program(party: Party) -> Array:
        a = party.share("party-a", A, A.shape, F, 4)
        return party.open(a @ A.T + 1, reason="test")

    result = run_local(program, scheme="clear", parties=1)
    assert tuple(result.results) == ("party-a",)
    assert np.abs(result.results["party-a"] - (A @ A.T + 1)).max() <= UNIT


# --- integers and deferred truncation, by what goes over the wire -----------------------------------------


def test_secret_integers_multiply_without_truncation() -> None:
    values = np.array([3, -5, 10**8])

    def program(party: Party) -> Array:
        whole = party.share("party-a", values if party.rank == 0 else None, (3,), FixedPoint(0), 10**8)
        with party.label("product"):
            product = whole * whole
        assert product.format == FixedPoint(0)
        return party.open(product, reason="test")

    result = run(program)
    for got in result.results.values():
        assert got.dtype == np.int64
        assert got.tolist() == [9, 25, 10**16]
    for name in PARTIES:
        counts = {label: c for label, c in result.traffic[name].items() if label.startswith("product/")}
        assert list(counts) == ["product/mul"]
        assert (counts["product/mul"].rounds, counts["product/mul"].bytes_sent) == (1, 3 * 8)


def test_an_integer_times_a_fraction_is_exact_and_not_truncated() -> None:
    fractions = np.array([1.0 + UNIT, -3 * UNIT, 2.5])
    whole = np.array([3, 7, -4])

    def program(party: Party) -> tuple[Array, Array]:
        x = party.share("party-a", fractions if party.rank == 0 else None, (3,), F, 4)
        n = party.share("party-b", whole if party.rank == 1 else None, (3,), FixedPoint(0), 8)
        with party.label("elements"):
            products = [x * n, n * x]
        with party.label("matrices"):
            inner = [x @ n, n @ x]
        assert all(p.format == F for p in (*products, *inner))
        return (
            np.stack([party.open(p, reason="test") for p in products]),
            np.stack([party.open(p, reason="test") for p in inner]),
        )

    result = run(program)
    for products, inner in result.results.values():
        assert (products == fractions * whole).all()
        assert (inner == fractions @ whole).all()
    for name in PARTIES:
        traffic = result.traffic[name]
        assert (traffic["elements/mul"].rounds, traffic["elements/mul"].bytes_sent) == (2, 2 * 3 * 8)
        assert (traffic["matrices/matmul"].rounds, traffic["matrices/matmul"].bytes_sent) == (2, 2 * 8)
        assert not [label for label in traffic if "truncate" in label]


def test_a_public_integer_costs_no_message() -> None:
    def program(party: Party) -> Array:
        x = party.constant([1.0 + UNIT, -UNIT], F)
        with party.label("local"):
            y = 3 * x * np.array([5, 7]) + np.array([[1, 2], [3, 4]]) @ x - 2
        return party.open(y, reason="test")

    result = run(program)
    x = np.array([1.0 + UNIT, -UNIT])
    for got in result.results.values():
        assert (got == 3 * x * [5, 7] + np.array([[1, 2], [3, 4]]) @ x - 2).all()
    for counts in result.traffic.values():
        assert not [label for label in counts if label.startswith("local/")]


@pytest.mark.parametrize("count", [1, 5])
def test_costs_of_products_and_truncations(count: int) -> None:
    """The table in ``rep3``: what all parties together send, and rounds of the party that waits most."""

    def program(party: Party) -> None:
        x, y = party.constant(np.full(count, 1.5), F), party.constant(np.full(count, -0.5), F)
        with party.label("truncated"):
            x * y
        with party.label("deferred"):
            exact = x.multiply(y, fraction_bits=48)
        with party.label("later"):
            exact.truncate(24)
        with party.label("public"):
            x * 0.5
        with party.label("nothing"):
            x.truncate(24)

    traffic = run(program).traffic
    costs: dict[str, tuple[int, int]] = {}
    for label in ("truncated/mul", "deferred/mul", "later/truncate", "public/truncate", "nothing/truncate"):
        counts = [traffic[name].get_or_zero(label) for name in PARTIES]
        costs[label] = max(c.rounds for c in counts), sum(c.bytes_sent for c in counts)
    exact, truncated = 3 * 8 * count, 3 * (8 * count + narrow_bytes(count, 24))
    assert costs == {
        "truncated/mul": (2, truncated),
        "deferred/mul": (1, exact),
        "later/truncate": (2, truncated),
        "public/truncate": (2, truncated),
        "nothing/truncate": (0, 0),
    }


@pytest.mark.parametrize("scheme", SCHEMES)
def test_deferred_truncation_is_exact(scheme: str) -> None:
    x, y = np.array([1.0 + UNIT, -(2.0**-20)]), np.array([1.0 - UNIT, 2.0**-22])

    def program(party: Party) -> tuple[Array, Array, Array, Array]:
        a, b = party.constant(x, F), party.constant(y, F)
        exact = a.multiply(b, fraction_bits=48)
        assert exact.format == FixedPoint(48)
        partly = a.multiply(b, fraction_bits=30)
        assert partly.format == FixedPoint(30)
        inner = a.matmul(b, fraction_bits=48)
        later = (exact + exact).truncate(24)
        assert later.format == F
        public = a.multiply(y, fraction_bits=48)
        assert (party.open(public, reason="test") == party.open(exact, reason="test")).all()
        return (
            party.open(exact, reason="test"),
            party.open(partly, reason="test"),
            party.open(inner, reason="test"),
            party.open(later, reason="test"),
        )

    for exact, partly, inner, later in run(program, scheme).results.values():
        assert (exact == x * y).all()  # 48 fractional bits fit a float here
        assert (np.abs(partly - x * y) <= 2.0**-30).all()
        assert inner == (x * y).sum()
        assert (np.abs(later - 2 * x * y) <= UNIT).all()


def test_a_large_public_integer_is_exact() -> None:
    """x 2^104 fits Z_2^128 with 20 fractional bits, when the integer is not given fractional bits of its own."""

    def program(party: Party) -> Array:
        x = party.constant([1.5], FixedPoint(20, Z128))
        return party.open(x * 2**104, reason="test")

    assert run(program, "clear").results["party-a"].tolist() == [1.5 * 2**104]


@pytest.mark.parametrize("scheme", ["clear"])
def test_writing_into_an_opened_array_does_not_change_the_secret(scheme: str) -> None:
    def program(party: Party) -> Array:
        x = party.constant([1, 2, 3], FixedPoint(0))
        seen = party.open(x, reason="first")
        seen += 10
        return party.open(x, reason="second")

    assert run(program, scheme).results["party-a"].tolist() == [1, 2, 3]
