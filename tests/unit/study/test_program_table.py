"""An owner's file as the arrays of a program: what fits, and problems without values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files.program_tables import read_inputs
from unit.study.test_parse_program import DOCUMENT, parsed

OWNER = parsed(DOCUMENT).owners[0]
CSV = "id,age,x,y\nk,34.5,1,0\nl,51,0,1\nm,29,1,1\n"


def test_columns_and_arrays(tmp_path: Path) -> None:
    age, cube = np.array([34.5, 51, 29]), np.arange(8).reshape(2, 2, 2) / 8
    np.savez(tmp_path / "data.npz", age=age, x=np.array([1, 0, 1]), y=np.array([0, 1, 1]), cube=cube)
    found = read_inputs(OWNER, tmp_path / "data.npz")
    facts = {one.name: one.facts for one in OWNER.inputs}
    np.testing.assert_array_equal(facts["age"].format.decode(found["age"]), age)
    assert facts["both"].format.ring.to_int(found["both"]).tolist() == [[1, 0], [0, 1], [1, 1]]
    np.testing.assert_array_equal(facts["cube"].format.decode(found["cube"]), cube)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("34.5", "121.75"), "column 'age', row 1: it is beyond the agreed bound 120"),
        (("34.5", ""), "column 'age', row 1: the value is missing"),
        (("34.5", "x17"), "column 'age', row 1: it is not a number"),
        (("34.5,1,0", "34.5,0.25,0"), "column 'x', row 1: the study takes whole numbers here"),
        (("m,29,1,1\n", ""), "there are 2 rows, and the study says 3"),
        (("id,age,x,y", "id,age,x,z"), "column 'y' is missing"),
        (("", ""), "input 'cube' .* comes from an .npz file"),
    ],
)
def test_all_problems_are_told_without_values(tmp_path: Path, changed: tuple[str, str], said: str) -> None:
    (tmp_path / "data.csv").write_text(CSV.replace(*changed, 1) if changed[0] else CSV)
    with pytest.raises(InvalidInputError, match=said) as caught:
        read_inputs(OWNER, tmp_path / "data.csv")
    assert not any(value in str(caught.value) for value in ("121.75", "x17", "0.25", "51"))
