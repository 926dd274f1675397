"""``cofit demo`` as a user runs it: owners and parties are real processes, connected by real TLS."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from cofit.cli.demo_data import demo_data
from cofit.cli.demo_report import accuracies
from cofit.cli.main import main
from cofit.experiments.breast_cancer import CLASSES, RANGES, scaled
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.models.linear_model import LinearModel
from cofit.privacy.certificate import Certificate
from cofit.report.cost import Cost
from cofit.units import duration, size

ENTRY = "from cofit.cli.main import main; main()"
MOST_LINES = 40
FILES = {"model.json", "certificate.json", "certificate.txt", "cost.json", "report.txt", "report.html"}


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ENTRY, "demo", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=100, check=False, env=environment, cwd=folder
    )


def refused_demo(folder: Path, *arguments: str) -> tuple[object, str, str]:
    """The same in this process, for what ends before anything starts: the exit code, and what is printed where."""
    printed, told = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(told),
        mock.patch.object(sys, "argv", ["cofit", "demo", *arguments]),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return end.value.code, printed.getvalue(), told.getvalue()


@pytest.mark.parametrize(
    ("partition", "scheme"),
    [
        ("horizontal", "rep3"),
        pytest.param("vertical", "rep3", marks=pytest.mark.slow),
        pytest.param("vertical", "semi2k", marks=pytest.mark.slow),
        pytest.param("horizontal", "rep4", marks=pytest.mark.slow),
        pytest.param("horizontal", "shamir", marks=pytest.mark.slow),
        pytest.param("vertical", "repn", marks=pytest.mark.slow),
        pytest.param("horizontal", "pair", marks=pytest.mark.slow),
    ],
)
def test_demo(partition: str, scheme: str, tmp_path: Path) -> None:
    result = demo(tmp_path, "--partition", partition, "--seed", "7", "--epsilon", "2", "--scheme", scheme)
    assert (result.returncode, result.stderr) == (0, "")
    folder = tmp_path / "cofit-demo"
    assert {path.name for path in folder.iterdir()} == FILES
    check_summary(result.stdout, folder)
    output = (folder / "report.txt").read_text()

    certificate = Certificate.from_json((folder / "certificate.json").read_text())
    assert (folder / "certificate.txt").read_text() == certificate.to_text()
    assert certificate.to_text() in output
    assert certificate.proven
    assert (certificate.partition, certificate.epsilon, certificate.n) == (partition, Fraction(2), 426)
    assert set(certificate.owners) == {"hospital-a", "hospital-b"}

    model = LinearModel.from_json((folder / "model.json").read_text())
    assert (model.classes, model.feature_names) == (CLASSES, tuple(RANGES))
    plan = plan_training(training_facts(426, 30, partition=partition, epsilon=2, scheme=scheme, feature_bound=1.0))
    assert (certificate.scheme, len(certificate.dealers)) == (scheme, int(scheme == "semi2k"))
    assert certificate.plan_hash == plan.hash
    check_raw_rows(model)
    figures = accuracies(plan, replace(model, bounds=None), demo_data(7))
    assert f"the released model            {figures.private:.1%}\n" in output
    assert f"scikit-learn without privacy  {figures.without_privacy:.1%}\n" in output
    assert f"always the more common class  {figures.majority:.1%}\n" in output
    assert figures.private > figures.majority + 0.1
    for figure in (figures.private, figures.without_privacy, figures.majority):
        assert f"  {figure:.1%}\n" in result.stdout
    assert "The guarantee does not cover these figures" in output

    counted = {phase.name: (phase.rounds, phase.bytes) for phase in Cost.load(folder / "cost.json").phases}
    for phase, cost in forecast(plan).phases.items():
        rounds, sent = counted[phase]
        assert sent == cost.bytes, phase
        if scheme == "repn":  # nobody waits for all messages that follow from one another
            assert 0.9 * cost.rounds < rounds <= cost.rounds, phase
        else:
            assert rounds == cost.rounds, phase
        assert re.search(rf"│ {phase} +│ {rounds:,} +│ {size(cost.bytes)} +│ [0-9.]+ m?s +│", output), phase
    assert output.count("the noisy weights: the one release of this study") == 2  # certificate and audit log


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "corrupted", "reads"),
    [
        (("--parties", "5"), "2 of 5", "Any 3 of the 5"),
        (("--parties", "5", "--threshold", "1"), "1 of 5", "Any 2 of the 5"),
        (("--parties", "7"), "3 of 7", "Any 4 of the 7"),
    ],
)
def test_more_parties(options: tuple[str, ...], corrupted: str, reads: str, tmp_path: Path) -> None:
    result = demo(tmp_path, "--scheme", "shamir", *options)
    assert (result.returncode, result.stderr) == (0, "")
    folder = tmp_path / "cofit-demo"
    check_summary(result.stdout, folder)
    assert f"{options[1]} computing parties, scheme shamir" in " ".join(result.stdout.split())
    certificate = " ".join((folder / "certificate.txt").read_text().split())
    assert f"corrupted at most: {corrupted} (honest majority); passive" in certificate
    assert f"no more than {corrupted.replace('of', 'of the')} parties collude" in certificate
    assert reads in " ".join((folder / "report.html").read_text().split())
    spec = Certificate.from_json((folder / "certificate.json").read_text()).spec
    plan = plan_training(
        training_facts(426, 30, scheme="shamir", feature_bound=1.0, threshold=spec.threshold).among(spec.parties)
    )
    counted = {phase.name: phase.bytes for phase in Cost.load(folder / "cost.json").phases}
    assert counted == {name: cost.bytes for name, cost in forecast(plan, parties=spec.parties).phases.items()}


def check_raw_rows(model: LinearModel) -> None:
    """Patients as scikit-learn has them, in their own units, also a few: the scores of rows scaled by hand."""
    patients = load_breast_cancer().data[:7]
    by_hand = replace(model, bounds=None).decision_function(scaled(patients))
    np.testing.assert_array_equal(model.decision_function(patients), by_hand)
    assert len(set(model.decision_function(patients))) == 7


def check_summary(printed: str, folder: Path) -> None:
    """At most 40 lines of 80 columns: what happened, accuracies, the certificate's first line, who learned what."""
    lines = printed.splitlines()
    assert len(lines) <= MOST_LINES
    assert all(len(line) <= 80 for line in lines)
    words = " ".join(printed.split())
    certificate = Certificate.from_json((folder / "certificate.json").read_text())
    assert words.startswith("Two hospitals have trained one private model")
    assert " ".join(certificate.headline.split()) in words
    for who, facts in certificate.learned.items():
        assert who == "public" or f"{who}: {'; '.join(facts)}" in words
    assert f"{folder.name}/report.html" in words and f"{folder.name}/report.txt" in words
    total, openings = Cost.load(folder / "cost.json").total, len(certificate.openings)
    assert f"All sent {size(total.bytes)} in {total.rounds:,} rounds and {duration(total.seconds)}." in words
    assert f"Nothing else was opened: {openings} opening{'' if openings == 1 else 's'} in all." in words


@pytest.mark.slow
def test_warnings_of_the_plan_are_printed_and_the_summary_is_still_short(tmp_path: Path) -> None:
    result = demo(tmp_path, "--epsilon", "0.05", "--partition", "vertical", "--scheme", "semi2k")
    assert (result.returncode, result.stderr) == (0, "")
    assert "Warning: 426 rows with 30 columns are few for this epsilon" in " ".join(result.stdout.split())
    check_summary(result.stdout, tmp_path / "cofit-demo")


@pytest.mark.slow
def test_make_demo_prints_as_little(tmp_path: Path) -> None:
    """The recipe of `make demo` without its set-up, which has been made, or no test would run."""
    root = Path(__file__).parents[2]
    out = tmp_path / "out"
    stamp = root / "Makefile"  # any file that is there; however old it is, it is not made again
    given = [f"BIN={Path(sys.executable).parent}", f"RUNTIME={stamp}"]
    command = ["make", "--no-print-directory", f"--old-file={stamp}", "demo", *given]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.run(
        [*command, f"DEMO={out}"], cwd=root, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) <= MOST_LINES
    assert {path.name for path in out.iterdir()} == FILES


@pytest.mark.slow
def test_without_secrecy_the_first_line_says_so(tmp_path: Path) -> None:
    result = demo(tmp_path, "--scheme", "clear", "--out", "a/b")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "a/b/certificate.txt").read_text().startswith("NO SECRECY: ")
    check_summary(result.stdout, tmp_path / "a/b")


def test_a_release_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.json").write_text("an earlier release")
    code, printed, told = refused_demo(tmp_path, "--out", "out")
    assert (code, printed) == (2, "")
    assert told.startswith("cofit: The folder 'out' is not empty.")
    assert "costs privacy again" in told
    assert (out / "model.json").read_text() == "an earlier release"


@pytest.mark.slow
def test_a_release_is_overwritten_if_forced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.json").write_text("an earlier release")
    forced = demo(tmp_path, "--out", "out", "--force")
    assert (forced.returncode, forced.stderr) == (0, "")
    LinearModel.from_json((out / "model.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "The 'epsilon' parameter of a plan must be"),
        (["--out", "file/below"], "cannot be used"),
        (["--dealer", "none"], "goes with --scheme semi2k only: scheme 'rep3' has no dealer"),
        (["--scheme", "pair", "--parties", "3"], "must be exactly 2 computing parties"),
    ],
)
def test_wrong_input_exits_with_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, printed, told = refused_demo(tmp_path, *arguments)
    assert (code, printed) == (2, "")
    assert message in told


def test_the_data() -> None:
    data = demo_data(3)
    assert data.features.shape == (426, 30)
    assert data.held_out.shape == (143, 30)
    assert np.abs(data.features).max() <= 1
    again, other = demo_data(3), demo_data(4)
    assert (data.features == again.features).all()
    assert (data.features != other.features).any()
    low, high = np.array(list(RANGES.values())).T
    assert scaled(np.array([low, high, low - 5, high + 5, (low + high) / 2])) == pytest.approx(
        np.outer([-1, 1, -1, 1, 0], np.ones(30)), abs=1e-12
    )


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_the_hospitals_hold_all_of_it_once(partition: str) -> None:
    data = demo_data(3)
    a, b = data.owners(partition).values()
    assert a.features is not None
    assert b.features is not None
    joined = np.concatenate([a.features, b.features], axis=int(partition == "vertical"))
    assert (joined == data.features).all()
    labels = [table.labels for table in (a, b) if table.labels is not None]
    assert (np.concatenate(labels) == data.labels).all()
