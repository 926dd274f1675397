"""Tables ask for what they show, mark what has no guarantee, and show the paper beside data of its kind alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.baselines.as_published import AsPublished
from cofit.experiments import paper
from cofit.experiments.ask import Answering, Collecting, rounded_up
from cofit.experiments.cells import AccuracyCell, Cell, Cofit, TimingCell
from cofit.experiments.datasets import DataSet
from cofit.experiments.result import TableResult
from cofit.experiments.run import ACROSS, EACH
from cofit.experiments.settings import QUICK, Settings

SMALL = DataSet("small", "small", "a small set", np.linspace(0, 1, 60).reshape(20, 3), np.arange(20) % 2)
BOOLEAN = DataSet("claims", "claims", "claims", np.eye(20, 600), np.arange(20) % 2)
GROUPED = DataSet("grouped", "grouped", "a set", SMALL.features, SMALL.labels, np.arange(20) // 2)


def _made_up(cell: Cell) -> dict[str, Any]:
    if isinstance(cell, TimingCell):
        return {"seconds": 1.5, "rounds": 100, "bytes": 5_000_000, "epochs": 7}
    true = getattr(cell.contender, "epsilon", None)
    if isinstance(cell.contender, AsPublished):
        true = 16 * cell.contender.epsilon
    return {"accuracies": [0.5, 0.7], "seconds": 1.0, "seconds_training": 0.25, "epsilon": true, "delta": 0.0}


def _table(name: str, data: DataSet, settings: Settings = QUICK) -> tuple[TableResult, list[Cell]]:
    collecting = Collecting(data, settings)
    answering = Answering(data, settings, _made_up)
    if name in EACH:
        EACH[name](collecting)
        return EACH[name](answering), collecting.cells
    ACROSS[name]([collecting])
    return ACROSS[name]([answering]), collecting.cells


@pytest.mark.parametrize("name", [*EACH, *ACROSS])
@pytest.mark.parametrize("data", [SMALL, BOOLEAN, GROUPED], ids=lambda d: d.name)
def test_tables_ask_and_answer(name: str, data: DataSet) -> None:
    table, cells = _table(name, data)
    assert cells
    assert table.rows
    assert not any("not measured" in str(figure) for row in table.rows for figure in row.figures)
    assert TableResult.from_json(table.to_json()) == table
    printed = any("paper: " in column for column in table.columns)
    assert printed == (data is BOOLEAN and name not in {"table7", "table9"})


def test_nothing_is_made_up_while_cells_are_missing() -> None:
    table = EACH["table4"](Answering(SMALL, QUICK, lambda _: None))
    assert all(figure.value is None for row in table.rows for figure in row.figures)
    assert not table.curves


def test_a_refusal_is_shown_with_its_reason() -> None:
    table = EACH["table4"](Answering(SMALL, QUICK, lambda _: {"refused": "too many columns"}))
    assert "too many columns" in str(table.rows[0].figures[0])


def test_what_has_no_such_guarantee_is_marked() -> None:
    table, _ = _table("table1", BOOLEAN)
    marks = {row.label: row.guaranteed for row in table.rows}
    assert not any(guaranteed for label, guaranteed in marks.items() if label.startswith("as published"))
    assert not any(guaranteed for label, guaranteed in marks.items() if label.startswith("no privacy"))
    assert marks["cofit, the paper's K-norm noise"]
    true = {row.label: str(row.figures[1]) for row in table.rows}
    assert true["as published: cofit's method"] == "48"
    assert true["no privacy, C = 1"] == "infinite"


def test_the_papers_figures_are_those_that_it_printed() -> None:
    table, _ = _table("table2", BOOLEAN)
    alone = table.columns.index("paper: alone")
    assert [str(row.figures[alone]) for row in table.rows] == ["85.8 %", "83.4 %", "76.9 %"]
    table, _ = _table("table4", BOOLEAN)
    shown = {row.label: str(row.figures[-1]) for row in table.rows}
    assert shown["epsilon = 0.1"] == f"{paper.BY_EPSILON[0.1]:.1f} %" == "62.6 %"
    assert shown["epsilon = 3"] == "-"


def test_owners_epsilons_and_schemes_are_those_of_the_paper() -> None:
    cells = _table("table2", BOOLEAN)[1]
    assert {cell.owners for cell in cells if isinstance(cell, AccuracyCell)} == {2, 4, 8}
    partitions = {
        c.contender.partition for c in cells if isinstance(c, AccuracyCell) and isinstance(c.contender, Cofit)
    }
    assert partitions == {"horizontal", "vertical"}
    timed = _table("table3", BOOLEAN, Settings())[1]
    asked = {(c.scheme, c.partition, c.epochs) for c in timed if isinstance(c, TimingCell)}
    assert len(asked) == 16
    assert ("repn", "horizontal", None) in asked
    assert ("rep4", "vertical", 1000) in asked
    by_parties = {(c.scheme, c.parties, c.epochs) for c in _table("table8", BOOLEAN)[1] if isinstance(c, TimingCell)}
    shamir, dealt = {("shamir", r, None) for r in (3, 4, 5, 7)}, {("semi2k", r, None) for r in (2, 3, 4, 5, 7)}
    active = {("repn", 3, None), ("rep4", 4, None), ("repn", 5, None), ("repn", 7, None)}
    assert by_parties == shamir | dealt | active
    longer = {(c.scheme, c.parties, c.epochs) for c in _table("table8", BOOLEAN, Settings())[1]}  # type: ignore[union-attr]
    long = {(scheme, r, 1000) for scheme, r, _ in shamir | active}
    assert longer == by_parties | long


def test_the_halves_of_table_8_stand_beside_what_the_paper_printed() -> None:
    rows = {row.label: row for row in _table("table8", BOOLEAN)[0].rows}
    passive = next(row for label, row in rows.items() if label.startswith("5 parties, passive (shamir)"))
    assert [str(figure) for figure in passive.figures[-2:]] == ["2,726 s", "366.7 GB"]
    for count, scheme, printed in ((7, "repn", ["131,391 s", "70.08 TB"]), (4, "rep4", ["23,244 s", "7.249 TB"])):
        active = next(row for label, row in rows.items() if label.startswith(f"{count} parties, active ({scheme})"))
        assert [str(figure) for figure in active.figures[-2:]] == printed


def test_mean_and_spread_are_over_folds_and_draws() -> None:
    figure = EACH["table4"](Answering(SMALL, QUICK, _made_up)).rows[0].figures[0]
    assert figure.value == pytest.approx(0.6)
    assert figure.spread == pytest.approx(np.std([0.5, 0.7] * 5, ddof=1))


def test_contenders_without_noise_are_measured_once_a_fold() -> None:
    cells = [c for c in _table("table4", SMALL)[1] if isinstance(c, AccuracyCell)]
    assert {c.draws for c in cells if not hasattr(c.contender, "epsilon")} == {1}
    assert {c.draws for c in cells if hasattr(c.contender, "epsilon")} == {QUICK.draws}


def test_rows_of_one_person_are_mentioned() -> None:
    assert any("one person" in note for note in _table("table4", GROUPED)[0].notes)
    assert not any("one person" in note for note in _table("table4", SMALL)[0].notes)


@pytest.mark.parametrize("name", ["table1", "table2", "table4", "table5", "table6", "table7"])
def test_the_accuracy_without_a_model_is_stated(name: str) -> None:
    uneven = DataSet("uneven", "uneven", "a set", SMALL.features, np.array([0] * 13 + [1] * 7))
    assert any("65.0 % of uneven" in note for note in _table(name, uneven)[0].notes)


def test_notes_claim_nothing_that_depends_on_what_was_measured() -> None:
    """The same notes go with any data, so none may state an outcome."""
    notes = " ".join(note for name in EACH for note in _table(name, SMALL)[0].notes)
    for outcome in ("5-fold", "no such effect", "are not reached", "correct numbers"):
        assert outcome not in notes


def test_the_published_code_for_averages_gets_its_better_guarantee_too() -> None:
    (note,) = [note for note in _table("table6", BOOLEAN)[0].notes if "independent Laplace" in note]
    assert "With delta 1e-05, as the Gaussian rows have, 3.0 is enough" in note


@pytest.mark.parametrize("name", ["table1", "table2", "table4", "table5", "table6", "table7"])
def test_the_delta_of_the_sampler_is_shown(name: str) -> None:
    """K-norm noise that is sampled with finitely many bits is not pure, and no entry may say so."""

    def measured(cell: Cell) -> dict[str, Any]:
        pure = isinstance(cell, AccuracyCell) and isinstance(cell.contender, Cofit) and not cell.contender.delta
        return {**_made_up(cell), **({"delta": 2.31e-8} if pure else {})}

    ask = Answering(SMALL, QUICK, measured)
    table = EACH[name](ask) if name in EACH else ACROSS[name]([ask])
    assert any(
        "a delta of 2.4e-08 at most" in note and "it is larger by 0.0059 % at epsilon = 1" in note
        for note in table.notes
    )
    shown = [str(row.figures[1]) for row in table.rows if row.label.endswith("K-norm noise")]
    assert all(entry.endswith("(delta 2.4e-08)") for entry in shown)
    assert bool(shown) == (name in {"table1", "table5", "table6"})
    assert "delta 0" not in table.to_json()


def test_a_delta_is_rounded_up_and_not_beyond_itself() -> None:
    assert [rounded_up(delta) for delta in (1e-5, 2.301e-8, 0.0)] == ["1e-05", "2.4e-08", "0"]


def test_rows_that_point_the_same_way_are_warned_of() -> None:
    same = DataSet("same", "same", "a set", 50 + SMALL.features, SMALL.labels)
    assert any("Centre and scale" in note for note in _table("table4", same)[0].notes)
    centred = DataSet("centred", "centred", "a set", SMALL.features - 0.5, SMALL.labels)
    assert not any("Centre and scale" in note for note in _table("table4", centred)[0].notes)


def test_curves_are_drawn_at_the_epsilon_that_holds() -> None:
    table, _ = _table("table4", SMALL)
    by_label = {curve.label: curve.x for curve in table.curves}
    assert by_label["as published, at its true epsilon"] == tuple(
        16 * e for e in (0.001, 0.01, 0.1, 0.5, 1.0, 3.0, 8.0)
    )


def test_what_was_not_run_is_not_marked() -> None:
    table = EACH["table1"](Answering(SMALL, QUICK, lambda _: {"refused": "no"}))
    assert all(row.guaranteed for row in table.rows)
