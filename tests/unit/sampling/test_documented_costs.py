"""The costs and distances of discrete Gaussian noise that the reference states."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from cofit.sampling.discrete_gaussian import discrete_gaussian, tv_distance
from unit.sampling.draws import cost

PAGE = (Path(__file__).parents[3] / "docs/reference/sampling.md").read_text()
ROWS = re.findall(
    r"\| `discrete_gaussian`, sigma = ([0-9^]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| 2\^-([\d.]+) \|", PAGE
)


def test_the_page_has_them() -> None:
    assert len(ROWS) == 4


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
@pytest.mark.parametrize(("count", "at"), [(1000, 1), (20_000, 3)])
def test_the_stated_costs_are_those_of_a_run(row: tuple[str, ...], count: int, at: int) -> None:
    base, _, exponent = row[0].partition("^")
    sigma = int(base) ** int(exponent or 1)
    rounds, sent = cost(lambda party: discrete_gaussian(party, (count,), sigma))
    assert (rounds, math.ceil(sent / count)) == (int(row[at]), int(row[at + 1]))
    assert 0 <= -math.log2(tv_distance(sigma)) - float(row[5]) < 0.1
