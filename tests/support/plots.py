"""Plots of reports that are drawn once: hardly anything that tests say of a page depends on the curves in it."""

from __future__ import annotations

import pytest
from markupsafe import Markup
from matplotlib.figure import Figure

from cofit.report import plots
from cofit.report.svg import to_svg

REAL = {
    "test_the_same_bytes_every_time",
    "test_names_of_other_people_are_text",
    "test_characters_that_cannot_be_written",
    "test_nothing_is_loaded_and_nothing_runs",
    "test_structure_for_those_who_do_not_see_it",
}
"""Tests of what is in a drawing."""
_drawn: dict[str, str] = {}


@pytest.fixture(autouse=True)
def plots_are_drawn_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plot of each name is drawn by the first test that shows one; later ones have their own description alone."""

    def once(figure: Figure, name: str, description: str) -> Markup:
        if name not in _drawn:
            _drawn[name] = str(to_svg(figure, name, "as it was described"))
        return Markup(_drawn[name]).replace("as it was described", Markup.escape(description))

    if request.node.originalname not in REAL:
        monkeypatch.setattr(plots, "to_svg", once)
