"""What ``cofit bench scale --workers`` concludes from its runs: ratios, constants, the estimate, the plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.benchmarks.made_up_study import MadeUpStudy, made_up_tables
from cofit.benchmarks.workers import Scaling, WorkersRun, _compared, check_workers, measure_workers
from cofit.benchmarks.workers_lines import findings
from cofit.benchmarks.workers_model import counted, estimate, fitted, session
from cofit.benchmarks.workers_plot import plot_workers
from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.roles.files.studies import load_study
from cofit.study.plan import study_facts

ADD, BYTE, ROUND = 3e-10, 2e-9, 1e-4
HEAD, EACH, COLUMN = 0.2, 0.01, 1e-5


def run(rows: int, cols: int, workers: int) -> WorkersRun:
    """A run that costs what the constants say, and whose step is a twentieth of it."""
    one = WorkersRun("rep3", 3, rows, cols, 1, workers, 19, 1.0, 15, 0, 0, 336, 0.01, 20.0, 0, 0, 6720, 0, 0, 0)
    done = session(counted(replace(one, workers=workers or 1)))
    processor = ADD * done.multiply_adds + BYTE * done.bytes / 3 + ROUND * done.rounds
    head = HEAD + EACH * workers + COLUMN * workers * cols
    return replace(
        one,
        mean_worker_processor=processor,
        worker_processor=processor,
        step_worker_processor=processor / 20,
        step_worker_bytes=done.bytes / 60,
        head_processor=head,
        session_bytes=done.bytes,
    )


@pytest.fixture(scope="module")
def scaling() -> Scaling:
    runs = tuple(run(8000, 5, workers) for workers in (0, 1, 2, 4))
    return _compared(runs, run(2000, 5, 2), run(2000, 20, 2))


def test_ratios(scaling: Scaling) -> None:
    _, one, two, four = scaling.runs
    off = [w * r.step_worker_bytes / one.step_worker_bytes - 1 for w, r in ((1, one), (2, two), (4, four))]
    assert scaling.bytes_off == max(map(abs, off)) > 0
    assert scaling.one_worker_processor == pytest.approx(1 + 0.01 / one.step_worker_processor)
    assert (scaling.head_bytes_ratio, scaling.rounds_added) == (1, 0)
    slower = replace(four, step_rounds=17, step_worker_processor=one.step_worker_processor / 2)
    worse = _compared((*scaling.runs[:3], slower), replace(scaling.fewer_rows, step_head_bytes=112), scaling.wider)
    assert (worse.rounds_added, worse.head_bytes_ratio) == (2, 3)
    assert worse.processor_off == pytest.approx(1)
    assert "shards add 2 rounds to a step" in findings(worse)


def test_constants_are_found_again(scaling: Scaling) -> None:
    found = fitted(scaling)
    assert found.multiply_add == pytest.approx(ADD, rel=1e-3)
    assert found.byte == pytest.approx(BYTE, rel=1e-3)
    assert found.round == pytest.approx(ROUND, rel=1e-3)
    assert found.head == pytest.approx(HEAD)
    assert found.head_worker == pytest.approx(EACH)
    assert found.head_worker_column == pytest.approx(COLUMN)
    assert max(found.worker_off, found.head_off) < 1e-6


def test_an_estimate_is_counts_times_constants(scaling: Scaling) -> None:
    found = estimate(fitted(scaling), "rep3", 100_000, 30, 10, 4, 1e8, 0.001)
    plan = plan_training(training_facts(100_000, 30, scheme="rep3", shards=10))
    cost = forecast(plan, workers=10, cores=4, line=1e8, latency=0.001)
    done, shared = session(cost), cost.share
    assert found.worker_bytes == pytest.approx(done.bytes / 3)
    assert found.rounds == cost.total.rounds - shared.rounds
    assert found.seconds_transfer == pytest.approx(done.bytes / 3 / 1e8)
    assert found.seconds_latency == pytest.approx(0.001 * found.rounds)
    assert found.seconds_workers == pytest.approx(
        ADD * done.multiply_adds / 4 + BYTE * done.bytes / 3 + ROUND * done.rounds, rel=1e-3
    )
    assert found.seconds_heads == pytest.approx(HEAD + 10 * EACH + 300 * COLUMN, rel=1e-3)
    parts = (found.seconds_workers, found.seconds_heads, found.seconds_transfer, found.seconds_latency)
    assert found.seconds == pytest.approx(sum(parts))
    assert found.forecast_seconds == pytest.approx(cost.total.seconds - shared.seconds)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_is_drawn(scaling: Scaling, tmp_path: Path, ending: str) -> None:
    plot_workers(scaling, tmp_path / f"workers.{ending}")
    assert (tmp_path / f"workers.{ending}").stat().st_size > 5000


@pytest.mark.parametrize("wrong", [(), (2, 4), (1, 4, 2), (1, 2, 2), (1, 65)])
def test_numbers_of_workers(wrong: tuple[int, ...]) -> None:
    assert check_workers([1, 2, 8]) == (1, 2, 8)
    with pytest.raises(InvalidInputError, match="The 'workers' parameter of bench scale must be 1, and more"):
        check_workers(wrong)


def test_every_worker_has_rows_of_every_owner() -> None:
    with pytest.raises(InvalidInputError, match="The 'rows' parameter of bench scale must be at least 32"):
        measure_workers(31, 2, (1, 4))


@pytest.mark.parametrize(
    "options",
    [("--plot", "x.pdf"), ("--workers", "1,2", "--memory", "1GB"), ("--workers", "1,2", "--plot", "x.pdf")],
)
def test_options_that_do_not_go_together(options: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, ["bench", "scale", "--rows", "100", "--cols", "2", *options])
    assert isinstance(done.exception, InvalidInputError), "which the command turns into exit code 2"
    assert "parameter of bench scale must be" in str(done.exception)


def test_a_list_that_is_none() -> None:
    done = CliRunner().invoke(cli, ["bench", "scale", "--workers", "some"])
    assert done.exit_code == 2
    assert "'some' is no list of numbers such as 1,2,4,8." in done.output


@pytest.mark.parametrize(("scheme", "shards"), [("rep3", None), ("semi2k", 3)])
def test_a_made_up_study_has_the_facts_that_are_counted(tmp_path: Path, scheme: str, shards: int | None) -> None:
    made_up = MadeUpStudy(tmp_path, 101, 4, scheme, shards)
    made_up.write()
    study = load_study(made_up.path)
    bounds = {"feature_bound": 1.0, "feature_lower": 0.0}
    facts = training_facts(101, 4, scheme=scheme, shards=shards, **bounds)  # type: ignore[arg-type]
    assert plan_training(study_facts(study)).formats == plan_training(facts).formats
    assert study.compute.shards == shards
    assert (study.dealer is not None) == (scheme == "semi2k")
    tables = list(made_up_tables(101, 4, 2))
    assert [len(labels) for _, labels in tables] == [owner.rows for owner in study.owners] == [50, 51]
