"""Every scheme multiplies a held matrix where an engine has put it, and brings nothing of it back for a product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Contribution, FixedPoint, Party, SecretArray, run_local
from cofit.arithmetic import IntegerRing
from cofit.sharing import Scheme
from support.engines import RowsEngine
from support.schemes import local

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


def products(scheme: str, ring: IntegerRing) -> Results:
    """What the first party opens."""
    rng = np.random.default_rng(5)
    values, weights, residuals = (rng.integers(-99, 100, shape) for shape in ((ROWS, COLS), COLS, ROWS))
    whole = FixedPoint(0, ring)

    def program(party: Party) -> Results:
        x = party.joined([("owner", "x")], 0, held=True)
        w, r = party.constant(weights, whole), party.constant(residuals, whole)
        found = {name: product(x, w, r) for name, product in PRODUCTS.items()}
        return {name: _integers(party.open(value, reason="test")) for name, value in found.items()}

    contributions = {"owner": {"x": Contribution(values, 100, whole)}}
    return run_local(program, owners=contributions, **local(scheme)).results["party-a"]


def _integers(values: npt.NDArray[np.int64]) -> list[int]:
    return [int(v) for v in values.flat]


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
