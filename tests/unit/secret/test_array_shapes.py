"""SecretArray: indexing, reshaping, joining, and what would need the value and is refused."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z128, FixedPoint, Party, SecretArray, concatenate
from cofit.errors import FormatMismatchError, InvalidInputError, RingMismatchError
from unit.secret.runs import SCHEMES, F, at_one, failure, opened, run

X = np.arange(24.0).reshape(2, 3, 4) / 8 - 1.5
MASK = np.array([[True, False, True], [False, False, True]])
Array = npt.NDArray[Any]

VIEWS: dict[str, Callable[[Any], Any]] = {
    "[0]": lambda x: x[0],
    "[-1]": lambda x: x[-1],
    "[1, 2, 3]": lambda x: x[1, 2, 3],
    "[:, 1]": lambda x: x[:, 1],
    "[..., 2]": lambda x: x[..., 2],
    "[...]": lambda x: x[...],
    "[0, ...]": lambda x: x[0, ...],
    "[::-1]": lambda x: x[::-1],
    "[:, ::-2, 3:0:-1]": lambda x: x[:, ::-2, 3:0:-1],
    "[1:1]": lambda x: x[1:1],
    "[None]": lambda x: x[None],
    "[:, np.newaxis, 0]": lambda x: x[:, np.newaxis, 0],
    "fancy": lambda x: x[[1, 0, 1]],
    "fancy pairs": lambda x: x[[0, 1], [2, 0]],
    "fancy array": lambda x: x[:, np.array([2, 0])],
    "empty fancy": lambda x: x[np.array([], dtype=int)],
    "mask": lambda x: x[MASK],
    "mask of rows": lambda x: x[np.array([False, True])],
    "nothing selected": lambda x: x[np.zeros((2, 3), dtype=bool)],
    "reshape": lambda x: x.reshape(4, 6),
    "reshape(-1)": lambda x: x.reshape(-1),
    "reshape(6, -1)": lambda x: x.reshape(6, -1),
    "T": lambda x: x.T,
    "T of a slice": lambda x: x[0, ::2].T,
    "T reshape": lambda x: x.T.reshape(-1),
    "chain": lambda x: x[:, ::-1].T[1:3].reshape(-1)[::3],
}


@pytest.mark.parametrize("format", [F, FixedPoint(50, Z128)], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_views_are_those_of_numpy(scheme: str, format: FixedPoint) -> None:
    def program(party: Party) -> dict[str, tuple[Array, tuple[int, ...], int, int]]:
        x = party.share("party-a", X if party.rank == 0 else None, X.shape, format, 2)
        views = {name: view(x) for name, view in VIEWS.items()}
        return {name: (party.open(v, reason=name), v.shape, v.ndim, v.size) for name, v in views.items()}

    for results in run(program, scheme).results.values():
        for name, (got, shape, ndim, size) in results.items():
            want = np.asarray(VIEWS[name](X))
            assert (got.shape, shape, ndim, size) == (want.shape, want.shape, want.ndim, want.size), name
            assert (got == want).all(), name


@pytest.mark.parametrize("scheme", SCHEMES)
def test_views_are_operands(scheme: str) -> None:
    got = opened(lambda party: party.constant(X, F)[0, ::-1].T @ party.constant(X, F)[1, :, ::2], scheme)
    assert np.abs(got - X[0, ::-1].T @ X[1, :, ::2]).max() <= 2.0**-24


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_concatenate(scheme: str, axis: int) -> None:
    def expression(party: Party) -> SecretArray:
        x = party.constant(X, F)
        return concatenate([x, -x, x + 1], axis=axis)

    assert (opened(expression, scheme) == np.concatenate([X, -X, X + 1], axis=axis)).all()


def test_concatenate_refuses() -> None:
    assert isinstance(failure(lambda party: concatenate([])), InvalidInputError)
    for other, kind in [
        (FixedPoint(20), FormatMismatchError),
        (FixedPoint(24, Z128), RingMismatchError),
    ]:
        pair = lambda party, other=other: concatenate([party.constant(X, F), party.constant(X, other)])  # noqa: E731
        assert type(failure(pair)) is kind
    error = failure(lambda party: concatenate([party.constant(X, F), party.constant(X[0], F)]))
    assert isinstance(error, InvalidInputError)
    assert "(3, 4)" in str(error)
    assert isinstance(failure(lambda party: concatenate([party.constant(X, F)], axis=3)), InvalidInputError)


def test_length_and_iteration() -> None:
    def program(party: Party) -> tuple[int, list[list[float]]]:
        x = party.constant(X[0], F)
        rows = []
        for row in x:
            rows.append(party.open(row, reason="row").tolist())
            assert len(rows) <= 3
        return len(x), rows

    assert at_one(program) == (3, X[0].tolist())
    assert isinstance(failure(lambda party: len(party.constant(1.0, F))), TypeError)
    assert at_one(lambda party: len(party.constant(np.zeros((0, 2)), F))) == 0


def test_no_iteration_without_dimensions() -> None:
    assert isinstance(failure(lambda party: list(party.constant(1.0, F))), TypeError)


def test_indices_that_do_not_fit() -> None:
    for index in (2, -3, (0, 3), (0, 0, 0, 0)):
        assert isinstance(failure(lambda party, index=index: party.constant(X, F)[index]), IndexError)  # type: ignore[misc]


def test_a_field_name_is_no_index() -> None:
    failure(lambda party: party.constant(X, FixedPoint(24, Z128))["lo"])


def test_impossible_shapes() -> None:
    error = failure(lambda party: party.constant(X, F).reshape(5, 5))
    assert isinstance(error, InvalidInputError)
    assert "24 elements" in str(error)
    assert "axis" in str(failure(lambda party: party.constant(X, F).sum(axis=3)))
    assert "axis" in str(failure(lambda party: party.constant(X, F).sum(axis=-4)))


def test_reshape_takes_a_tuple() -> None:
    assert at_one(lambda party: party.constant(X, F).reshape((4, 6)).shape) == (4, 6)


# --- refused: what would need the value --------------------------------------------------------------------

CONVERSIONS: dict[str, Callable[[Any], object]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "bool": bool,
    "index": operator.index,
    "np.asarray": np.asarray,
    "np.asarray float": lambda x: np.asarray(x, dtype=float),
    "np.array": np.array,
    "math.sqrt": math.sqrt,
    "if": lambda x: 1 if x else 2,
    "np.sum": np.add.reduce,
    "np.exp": np.exp,
}


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("shape", [(), (1,), (3,)], ids=str)
def test_conversions_are_refused(name: str, shape: tuple[int, ...]) -> None:
    error = failure(lambda party: CONVERSIONS[name](party.constant(np.full(shape, 1.25), F)))
    assert isinstance(error, TypeError)
    assert "1.25" not in str(error)


@pytest.mark.parametrize("name", ["float", "int", "bool", "np.asarray", "if"])
def test_the_refusal_names_the_remedy(name: str) -> None:
    assert "party.open" in str(failure(lambda party: CONVERSIONS[name](party.constant(1.25, F))))


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_are_refused(name: str) -> None:
    compare = getattr(operator, name)
    for other in (1.0, None, np.ones(3), "secret"):

        def program(party: Party, other: object = other) -> object:
            x = party.constant(np.ones(3), F)
            return compare(x, x if isinstance(other, str) else other)

        assert isinstance(failure(program), TypeError)
    assert isinstance(failure(lambda party: compare(np.ones(3), party.constant(np.ones(3), F))), TypeError)


def test_secrets_are_not_hashable() -> None:
    assert isinstance(failure(lambda party: hash(party.constant(1.0, F))), TypeError)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_repr_shows_no_value(scheme: str) -> None:
    def program(party: Party) -> list[str]:
        x = party.share("party-a", [77.25, -31.5] if party.rank == 0 else None, (2,), F, 100)
        assert not hasattr(x, "__dict__")
        return [repr(x), str(x), f"{x}", repr(x._share), repr([x]), repr(x.bits()), repr(x.bits()._share), repr(party)]

    for texts in run(program, scheme).results.values():
        for text in texts:
            assert "77" not in text
            assert "31" not in text
        assert texts[0] == "<SecretArray shape=(2,), Z_2^64 with 24 fractional bits, bound 100>"
