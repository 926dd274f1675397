"""Figures in the documents are those that the commands and the forecast give."""

from __future__ import annotations

import re

import pytest

from cofit import Z128, FixedPoint
from support.figures import FUNCTIONS, SPOT, function_cost, refreshed, told
from support.pages import PAGES, ROOT

WITH_FIGURES = [page for page in PAGES if SPOT.search((ROOT / page).read_text())]
COSTS = (ROOT / "docs/reference/functions.md").read_text().partition("\n## Costs\n")[2]


@pytest.mark.parametrize("page", WITH_FIGURES)
def test_figures_are_up_to_date(page: str) -> None:
    text = (ROOT / page).read_text()
    assert refreshed(text) == text, f"{page} has stale figures: run `make figures`."


@pytest.mark.parametrize("page", PAGES)
def test_every_comment_of_a_figure_is_whole(page: str) -> None:
    text = (ROOT / page).read_text()
    assert text.count("<!-- = ") == text.count("<!-- / -->") == len(SPOT.findall(text))


def test_a_stale_figure_is_noticed() -> None:
    text = "<!-- = 2 * 600 -->1,100<!-- / --> bytes, <!-- = 'a\\nb' --><!-- / -->"
    assert refreshed(text) == "<!-- = 2 * 600 -->1,200<!-- / --> bytes, <!-- = 'a\\nb' -->\n\na\nb\n\n<!-- / -->"


def test_what_a_command_does_not_print_is_an_error() -> None:
    with pytest.raises(ValueError, match="prints no 'nonsense'"):
        told("plan --rows 300 --cols 50", "nonsense")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_costs_of_functions_in_the_reference(name: str) -> None:
    first, comma, more = name.partition(",") if "(" not in name else (name, "", "")
    line = re.search(rf"^\| `{re.escape(first)}`{comma}{re.escape(more)}[^|]*\|(.*)\|$", COSTS, re.MULTILINE)
    assert line is not None
    stated = tuple(int(cell.replace(",", "")) for cell in line[1].split("|"))
    assert stated == (*function_cost(name), *function_cost(name, FixedPoint(52, Z128)))
