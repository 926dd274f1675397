"""Scaling by public bounds: nothing comes from the data, and an owner's pipeline of such steps works."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import cofit
from cofit.errors import InvalidInputError
from cofit.models import public_scaler
from cofit.models.public_scaler import PublicScaler

FRAME = pd.DataFrame({"age": [18.0, 59.0, 100.0, 140.0], "creatinine": [0.5, 7.6, 15.0, 0.1]})


@pytest.mark.parametrize(
    ("lower", "upper"),
    [([18, 0.25], [100, 15.05]), ({"creatinine": 0.25, "age": 18}, {"age": 100, "creatinine": 15.05})],
)
def test_values_go_from_their_bounds_to_one_and_are_clipped(lower: Any, upper: Any) -> None:
    got = PublicScaler(lower, upper).fit_transform(FRAME)
    by_hand = 2 * (np.clip(FRAME, [18, 0.25], [100, 15.05]) - [18, 0.25]) / [82, 14.8] - 1
    np.testing.assert_allclose(got, by_hand, rtol=0, atol=1e-15)
    assert np.abs(got).max() <= 1.0
    assert got[3].tolist() == [1.0, -1.0]


def test_nothing_is_learned_from_the_rows() -> None:
    scaler = PublicScaler(lower=0, upper=50).fit(FRAME)
    other = PublicScaler(lower=0, upper=50).fit(FRAME * 1000)
    np.testing.assert_array_equal(scaler.transform(FRAME), other.transform(FRAME))
    names = [name for name in vars(scaler) if name not in ("lower", "upper")]
    assert sorted(names) == ["feature_names_in_", "n_features_in_"]


def test_results_never_exceed_one_by_a_rounding() -> None:
    rng = np.random.default_rng(0)
    lower = rng.normal(size=500) * 10.0 ** rng.integers(-8, 8, 500)
    upper = lower + rng.uniform(1e-9, 1, 500) * 10.0 ** rng.integers(-6, 8, 500)
    edges = PublicScaler(lower, upper).fit_transform(np.vstack([lower, upper]))
    np.testing.assert_array_equal(edges, np.vstack([-np.ones(500), np.ones(500)]))
    assert PublicScaler(lower=-1e308, upper=0).fit_transform([[1.5e308]]).tolist() == [[1.0]]  # without an overflow


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (0, 0, "'upper' parameter of PublicScaler must be above lower, 0, in column 0"),
        ([0, 5], [1, 4], "must be above lower, 5, in column 1"),
        ([0], [1, 2], r"'lower' parameter of PublicScaler must be a finite number, 2 of them, or .*Got \[0\]"),
        (0, float("inf"), "'upper' parameter"),
        ("low", 1, "'lower' parameter"),
        (None, 1, "'lower' parameter"),
        ({"age": 0}, 1, r"a bound for each column of the table, \['age', 'creatinine'\]. Got \['age'\]"),
    ],
)
def test_bounds_that_are_none(lower: Any, upper: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PublicScaler(lower, upper).fit(FRAME)


def test_names_without_a_data_frame() -> None:
    with pytest.raises(InvalidInputError, match="'lower' parameter of PublicScaler must be a bound for each column"):
        PublicScaler({"age": 0}, {"age": 1}).fit([[1.0]])


def test_the_example() -> None:
    assert doctest.testmod(public_scaler).failed == 0


# --- a pipeline at every owner ---------------------------------------------------------------------------


def clinic(rows: int, seed: int, wards: list[str]) -> pd.DataFrame:
    """Records of a clinic; some wards occur at one clinic only."""
    rng = np.random.default_rng(seed)
    age, creatinine = rng.normal(62, 14, rows).clip(18, 100), rng.lognormal(0, 0.4, rows)
    ill = age / 14 + 2 * creatinine + rng.normal(size=rows) > 6.5
    ward = rng.choice(wards, rows)
    return pd.DataFrame({"age": age, "creatinine": creatinine, "ward": ward, "ill": np.where(ill, "yes", "no")})


def prepare() -> Pipeline:
    """The steps that everybody agreed on, with public parameters alone."""
    log = FunctionTransformer(np.log1p, feature_names_out="one-to-one")
    numbers = PublicScaler(lower={"age": 40, "creatinine": 0.4}, upper={"age": 90, "creatinine": 1.2})
    return make_pipeline(
        make_column_transformer(
            (log, ["creatinine"]), (OneHotEncoder(categories=[["A", "B", "C"]], sparse_output=False), ["ward"]),
            remainder="passthrough", verbose_feature_names_out=False,
        ).set_output(transform="pandas"),
        make_column_transformer((numbers, ["age", "creatinine"]), remainder="passthrough"),
    )  # fmt: skip


def test_owners_prepare_their_tables_apart_and_alike() -> None:
    tables = {"north": clinic(1500, 1, ["A", "B"]), "south": clinic(2500, 2, ["B", "C"])}
    features = ["age", "creatinine", "ward"]
    owners = {name: (prepare().fit_transform(table[features]), table["ill"]) for name, table in tables.items()}
    joint = prepare().fit_transform(pd.concat(tables.values())[features])
    np.testing.assert_array_equal(np.vstack([x for x, _ in owners.values()]), joint)  # nobody's rows matter to others
    model = cofit.LogisticRegression(epsilon=3.0, feature_bound=1.0, classes=("no", "yes"), scheme="clear").fit(owners)
    new = clinic(1000, 3, ["A", "C"])
    whole = Pipeline([("prepare", prepare().fit(new[features])), ("model", model)])
    np.testing.assert_array_equal(whole.predict(new[features]), model.predict(prepare().fit_transform(new[features])))
    assert whole.score(new[features], new["ill"]) > 0.75
