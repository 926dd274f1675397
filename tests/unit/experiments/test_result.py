"""Tables are written and read back as they were, and garbage is refused."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError
from cofit.experiments.render import to_csv, to_markdown
from cofit.experiments.result import Curve, Figure, Row, TableResult, load_tables

TABLE = TableResult(
    "table4",
    "Accuracy | epsilon",
    "set: some data, 10 x 3",
    ("ours", "time"),
    (
        Row("epsilon = 1", (Figure(0.875, "accuracy", 0.011), Figure(1234.5, "seconds"))),
        Row("no | noise", (Figure(None, "text", text="none"), Figure(0.5, "seconds")), guaranteed=False, note="why"),
    ),
    ("A note.",),
    (Curve("ours", (1.0, 2.0), (0.5, 0.75), (0.1, 0.0)), Curve("bare", (1.0,), (0.5,))),
    ("epsilon", "accuracy"),
    {"seed": 1, "software": {"numpy": "2"}},
)


def test_there_and_back() -> None:
    assert TableResult.from_json(TABLE.to_json()) == TABLE


def test_load_tables_takes_tables_only(tmp_path: Path) -> None:
    (tmp_path / "table4-set.json").write_text(TABLE.to_json())
    (tmp_path / "notes.json").write_text("{}")
    assert load_tables(tmp_path) == (TABLE,)
    (tmp_path / "table5-set.json").write_text("{}")
    with pytest.raises(InvalidInputError, match=r"table5-set\.json"):
        load_tables(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"kind": "cofit experiment table", "version": 2}', TABLE.to_json()[:-40]]
)
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        TableResult.from_json(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"value": 0.875', '"value": "much"'),
        ('"value": 0.875', f'"value": 1{"0" * 400}'),
        ('"value": 0.875', '"value": NaN'),
        ('"spread": 0.011', '"spread": [1]'),
        ('"guaranteed": false', '"guaranteed": "no"'),
        ('"label": "ours"', '"label": 3'),
        ('"axes": [\n  "epsilon",', '"axes": ['),
        ('"title": "Accuracy | epsilon"', '"title": null'),
        ('"facts": {', '"facts": 3, "x": {'),
    ],
)
def test_a_field_of_another_type_is_refused(old: str, new: str) -> None:
    changed = TABLE.to_json().replace(old, new)
    assert changed != TABLE.to_json()
    with pytest.raises(InvalidInputError):
        TableResult.from_json(changed)


@pytest.mark.parametrize("old, new", [('"rows": [', '"rows": 3, "x": ['), ('"unit": "seconds"', '"unit": "hours"')])
def test_a_table_of_another_form_is_refused(old: str, new: str) -> None:
    changed = TABLE.to_json().replace(old, new)
    assert changed != TABLE.to_json()
    with pytest.raises(InvalidInputError):
        TableResult.from_json(changed)


def test_every_row_has_a_figure_for_each_column() -> None:
    with pytest.raises(InvalidInputError, match="2 figures"):
        replace(TABLE, rows=(Row("short", (Figure(1.0, "count"),)),))


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure(0.5482, "accuracy", 0.055), "54.8 ± 5.5 %"),
        (Figure(0.5482, "accuracy"), "54.8 %"),
        (Figure(1.166, "seconds"), "1.17 s"),
        (Figure(35_687.0, "seconds"), "35,687 s"),
        (Figure(112_700_000, "bytes"), "112.7 MB"),
        (Figure(5_247_200_000_000, "bytes"), "5.247 TB"),
        (Figure(1713, "count"), "1,713"),
        (Figure(None, "text", text="-"), "-"),
    ],
)
def test_figures_as_people_read_them(figure: Figure, text: str) -> None:
    assert str(figure) == text


def test_a_figure_is_a_value_or_a_text() -> None:
    for value, unit in ((None, "count"), (1.0, "text"), (1.0, "hours")):
        with pytest.raises(InvalidInputError):
            Figure(value, unit)


def test_markdown_marks_what_has_no_guarantee_and_keeps_its_columns() -> None:
    text = to_markdown(TABLE)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "| no \\| noise (why) † | none | 0.50 s |" in lines
    assert "† without the guarantee" in text
    assert "A note." in text
    assert "seed 1" in text


@pytest.mark.parametrize(("y", "spread"), [((math.nan,), ()), ((0.5, 0.6), ()), ((0.5,), (0.1, 0.2)), (("a",), ())])
def test_a_curve_has_finite_points(y: tuple[float, ...], spread: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInputError, match="curve 'a'"):
        Curve("a", (1.0,), y, spread)


def test_csv_has_numbers_for_programs() -> None:
    head, first, second = csv.reader(io.StringIO(to_csv(TABLE)))
    assert head[:5] == ["row", "has the guarantee", "ours", "ours (spread)", "ours (as shown)"]
    assert first[:5] == ["epsilon = 1", "yes", "0.875", "0.011", "87.5 ± 1.1 %"]
    assert second[:5] == ["no | noise", "no", "", "", "none"]
