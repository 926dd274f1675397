"""Numbers on the command line: what people write instead of them, and how the refusal tells them to write it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--epsilon", "1,5", "'1,5' is not a number. Write it with a decimal point: 1.5"),
        ("--epsilon", "one", "'one' is not a number.\n"),
        ("--epsilon", "1.000,5", "'1.000,5' is not a number.\n"),
        ("--line", "20,5", "'20,5' is not a number. Write it with a decimal point: 20.5"),
        ("--rows", "2,000", "'2,000' is not a whole number. Write it in digits alone: 2000"),
        ("--rows", "2e3", "'2e3' is not a whole number. Write it in digits alone: 2000"),
        ("--rows", "2000.0", "'2000.0' is not a whole number. Write it in digits alone: 2000"),
        ("--rows", "2000.5", "'2000.5' is not a whole number.\n"),
        ("--rows", "inf", "'inf' is not a whole number.\n"),
        ("--classes", "two", "'two' is not a whole number.\n"),
    ],
)
def test_what_is_no_number_is_told_how_to_write_it(option: str, value: str, told: str) -> None:
    given = {"--rows": "2000", "--cols": "4", option: value}
    result = CliRunner().invoke(cli, ["plan", *(part for pair in given.items() for part in pair)])
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': {told}" in result.output


@pytest.mark.parametrize("value", ["0", "-3", "nan"])
def test_the_speed_of_a_line_is_refused_as_it_was_given(value: str) -> None:
    result = CliRunner().invoke(cli, ["plan", "--rows", "2000", "--cols", "4", "--line", value])
    assert str(result.exception) == (
        "The '--line' parameter of a forecast must be a number of megabits a second, above 0. "
        f"Got {float(value)!r} instead."
    )
