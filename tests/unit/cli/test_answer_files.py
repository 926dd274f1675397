"""What ``cofit predict-private`` writes: answers for the user alone, and a statement that everybody may read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cofit.cli.predict_private import _certificate, _check_out, _statement, _write
from cofit.errors import InvalidInputError
from cofit.models.private_predictions import PrivatePredictions
from support.certified import certified
from unit.study.studies import CLIENTS, study_of


@pytest.mark.parametrize("name", ["answers.csv", "answers.parquet"])
def test_answers_are_for_the_user_alone(tmp_path: Path, name: str) -> None:
    """No party has seen them: neither shall others on the client's machine, whatever the file was before."""
    out, statement = tmp_path / name, SimpleNamespace(answers="scores", to_json=lambda: "{}\n")
    out.touch(mode=0o644)
    with pytest.raises(InvalidInputError, match="holds no answers"):
        _check_out(out)
    found: Any = PrivatePredictions(np.array([0.5, -0.25]), statement, certified("clipped"))  # type: ignore[arg-type]
    _write(study_of(CLIENTS), pa.table({"id": ["p", "q"]}), found, out)
    _check_out(out)
    assert out.stat().st_mode & 0o777 == 0o600
    assert _statement(out).stat().st_mode & 0o777 == 0o644
    assert _certificate(out).stat().st_mode & 0o777 == 0o644
    assert _certificate(out).read_text() == certified("clipped").to_text()
    if out.suffix == ".csv":
        assert out.read_text() == "id,score\np,0.5\nq,-0.25\n"
