"""Facts of the paper's method, which most tests of the machinery train with: it has an exact result to compare with."""

from __future__ import annotations

from typing import Any

from cofit.learn.facts import Facts, training_facts


def paper_facts(rows: int, cols: int, **given: Any) -> Facts:
    """Return the facts of a run by recipe 'paper'."""
    return training_facts(rows, cols, **{"recipe": "paper", **given})
