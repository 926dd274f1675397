"""Answers as Python callers get them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from cofit.models import private_predictions
from unit.study.studies import CLIENTS, IDENTITIES, LEFT_OUT, changed, study_of

SEVERAL = {"model": {"kind": "logistic_regression"}, "data.label_values": ["a", "b", "c"], "release.answers": LEFT_OUT}
EACH = np.array([[0.5, 0.25, 0.25], [-1e-6, 0.0, 0.0], [1 + 1e-6, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("probabilities", [[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.0, 0.5]]),
        ("scores", EACH.tolist()),
    ],
)
def test_probabilities_of_several_classes_add_up_to_one(
    monkeypatch: pytest.MonkeyPatch, kind: str, expected: list[list[float]]
) -> None:
    answered = SimpleNamespace(values=EACH, statement=SimpleNamespace(answers=kind), certificate=None)
    monkeypatch.setattr(private_predictions, "ask_privately", lambda *_: answered)
    monkeypatch.setattr(private_predictions, "encoded_rows", lambda *_: np.zeros((3, 10)))
    study = study_of(changed(CLIENTS, SEVERAL))
    found = private_predictions.ask_about_table(study, IDENTITIES["stranger"], pa.table({}), kind)
    np.testing.assert_allclose(found.values, expected, atol=0)
