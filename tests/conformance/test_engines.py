"""Every scheme multiplies a held matrix where an engine has put it, and brings nothing of it back for a product."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Contribution, FixedPoint, Party, SecretArray, run_local
from cofit.arithmetic import IntegerRing, mapped
from cofit.errors import InvalidInputError
from cofit.roles import LocalRun
from cofit.roles.files import share_files
from cofit.sharing import Scheme, scheme_of
from support.engines import RowsEngine
from support.schemes import form, local

ROWS, COLS = 11, 5
Results = dict[str, list[int]]
PRODUCTS: dict[str, Callable[[SecretArray, SecretArray, SecretArray], SecretArray]] = {
    "X w": lambda x, w, r: x @ w,
    "X^T r": lambda x, w, r: x.T @ r,
    "a block, both ways": lambda x, w, r: (b := x.block(slice(2, 9), slice(1, 4))).T @ (b @ w[1:4]),
    "X W": lambda x, w, r: x @ w.reshape(COLS, 1),
    "squared lengths": lambda x, w, r: x.inner(x),
    "public factor": lambda x, w, r: x @ np.arange(COLS),
}
OTHERS: dict[str, Callable[[SecretArray, SecretArray, SecretArray], SecretArray]] = {
    "sums of rows": lambda x, w, r: x.sum(axis=1),
    "sums of columns": lambda x, w, r: x.sum(axis=0),
    "squared distances of some rows": lambda x, w, r: x[3:8].squared_distances(w, 200),
}


def products(scheme: str, ring: IntegerRing) -> Results:
    """What the first party opens."""
    return run_of(scheme, ring).results["party-a"]


def run_of(scheme: str, ring: IntegerRing, disk: Path | None = None, more: bool = False) -> LocalRun[Results]:
    computed = PRODUCTS | OTHERS if more else PRODUCTS
    rng = np.random.default_rng(5)
    values, weights, residuals = (rng.integers(-99, 100, shape) for shape in ((ROWS, COLS), COLS, ROWS))
    whole = FixedPoint(0, ring)

    def program(party: Party) -> Results:
        x = party.joined([("owner", "x"), ("other", "x")], 0, held=2)
        w, r = party.constant(weights, whole), party.constant(residuals, whole)
        found = {name: product(x, w, r) for name, product in computed.items()}
        return {name: _integers(party.open(value, reason="test")) for name, value in found.items()}

    upper, lower = values[:6], values[6:]
    contributions = {name: {"x": Contribution(part, 100, whole)} for name, part in (("owner", upper), ("other", lower))}
    return run_local(program, owners=contributions, disk=disk, **local(scheme))


def _integers(values: npt.NDArray[np.int64]) -> list[int]:
    return [int(v) for v in values.flat]


def test_products_of_a_matrix_in_a_file(
    scheme: str, ring: IntegerRing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := scheme_of(form(scheme).spec).in_memory:
        with pytest.raises(InvalidInputError, match=f"None with scheme '{scheme}': {why}"):
            run_of(scheme, ring, tmp_path)
        return
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 4 * COLS * ring.element_bytes)  # two rows or so at a time
    files = mock.Mock(side_effect=share_files.allot)
    monkeypatch.setattr(share_files, "allot", files)
    found, wanted = run_of(scheme, ring, tmp_path, True), run_of(scheme, ring, None, True)
    assert files.call_count >= len(found.results)
    assert found.results == wanted.results
    assert found.traffic == wanted.traffic, "the same rounds and bytes"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [4, ROWS])
def test_products_where_the_matrix_is(
    scheme: str, ring: IntegerRing, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = products(scheme, ring)
    engine = RowsEngine(rows)
    monkeypatch.setattr(Scheme, "engine", engine)
    assert products(scheme, ring) == wanted
    assert engine.counts["place"] > 0
    assert engine.counts["matmul"] + engine.counts["matvec pairs"] > 0
    assert engine.counts["inner"] > 0
    if scheme not in (
        "repn",
        "pair",
    ):  # which bring rows here: to check inner products, or to multiply what is encrypted
        assert not engine.counts["fetch"]


def test_what_is_held_leaves_all_else_as_it_was(scheme: str, ring: IntegerRing) -> None:
    """Tables, parts of them and inputs that are held share memory with others; those go on to be used."""
    rng = np.random.default_rng(6)
    values, weights = rng.integers(-99, 100, (ROWS, COLS)), rng.integers(-99, 100, COLS)
    whole = FixedPoint(0, ring)

    def program(party: Party) -> dict[str, list[int]]:
        w = party.constant(weights, whole)
        joined = party.joined([("owner", "x"), ("other", "x")], 0)
        table = joined * 2
        found = {
            "held": party.hold(table, 5) @ w,
            "held again": party.hold(table, 5) @ w,
            "some rows": party.hold(table[:4], 5) @ w,
            "transposed": party.hold(table.T, 5).T @ w,
            "with itself": party.hold(table, 5) @ table[0],
            "an input": party.hold(joined, 5) @ w,
            "table": table.reshape(-1),
            "joined": party.joined([("owner", "x"), ("other", "x")], 0).reshape(-1),
            "of one owner": party.input("owner", "x").reshape(-1),
            "taken, then held": party.joined([("owner", "x")], 0, held=5) @ w,
            "of one owner, again": party.input("owner", "x").reshape(-1),
        }
        return {name: _integers(party.open(value, reason="test")) for name, value in found.items()}

    parts = {"owner": values[:6], "other": values[6:]}
    contributions = {name: {"x": Contribution(part, 100, whole)} for name, part in parts.items()}
    results = run_local(program, owners=contributions, **local(scheme)).results.values()
    table = 2 * values
    wanted = {
        "held": table @ weights,
        "held again": table @ weights,
        "some rows": table[:4] @ weights,
        "transposed": table @ weights,
        "with itself": table @ table[0],
        "an input": values @ weights,
        "table": table,
        "joined": values,
        "of one owner": values[:6],
        "taken, then held": values[:6] @ weights,
        "of one owner, again": values[:6],
    }
    for result in results:
        assert result == {name: _integers(one) for name, one in wanted.items()}
