"""Rows that ``cofit bench scale`` makes up: a table that nobody has, the same however it is asked for."""

from __future__ import annotations

import numpy as np
from click.testing import CliRunner

from cofit.benchmarks.made_up_study import MadeUpRows
from cofit.cli.main import cli
from cofit.errors import InvalidInputError


def test_rows_are_the_same_in_whatever_blocks_and_from_whichever_place() -> None:
    table = MadeUpRows(0, 1000, 7)
    whole = table[0:1000]
    assert whole.shape == table.shape == (1000, 7)
    assert set(whole.ravel()) == {0.0, 1.0}
    assert 0.03 < whole.mean() < 0.07
    np.testing.assert_array_equal(np.concatenate([table[i : i + 33] for i in range(0, 1000, 33)]), whole)
    np.testing.assert_array_equal(MadeUpRows(300, 500, 7)[10:500], whole[310:800])
    assert table[5:5].shape == (0, 7)
    assert (MadeUpRows(0, 1000, 7, seed=2)[0:1000] != whole).any()


def test_too_little_memory_is_exit_code_2() -> None:
    done = CliRunner().invoke(cli, ["bench", "scale", "--rows", "1000", "--cols", "5", "--memory", "1MB"])
    assert isinstance(done.exception, InvalidInputError), "which the command turns into exit code 2"
    assert "The 'memory' parameter of a plan must be at least" in str(done.exception)
    wrong = CliRunner().invoke(cli, ["bench", "scale", "--memory", "much"])
    assert wrong.exit_code == 2
    assert "'much' is no size" in wrong.output
