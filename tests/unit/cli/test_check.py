"""``cofit check``: everything a participant must know before agreeing, and exit codes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli, main
from cofit.errors import InvalidInputError
from cofit.experiments import utility
from cofit.learn.comparison import compare_schemes
from cofit.roles.files.studies import load_study
from cofit.study import study_plan
from unit.roles.files.test_studies import EXAMPLES, write_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path, EXAMPLES[0])


def shown(path: Path, *options: str, simulate: bool = False) -> str:
    quick = () if simulate else ("--no-forecast",)
    result = CliRunner().invoke(cli, ["check", str(path), *quick, *options], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_what_people_see(study: Path) -> None:
    text = shown(study)
    loaded = load_study(study)
    for entry in (*loaded.parties, *loaded.owners, *loaded.analysts):
        assert entry.name in text
        assert entry.fingerprint in text
    for part in (
        "listens at [2001:db8::5]:7100",
        "4,200 rows, 25 of 25 features, label 'disease'",
        "may fetch the model",
        "Cost forecast",
        "What everybody will learn",
        "factor of at most 2.72",
        "every person is in the data with at most one record",
        study_plan(loaded).hash,
    ):
        assert part in text
    assert text.rstrip().splitlines()[-1] == f"Study hash: {loaded.hash}"


def test_it_begins_with_the_hash_the_columns_and_the_budget(study: Path) -> None:
    lines = [line.rstrip() for line in shown(study).splitlines()]
    loaded = load_study(study)
    assert lines[:2] == [f"Study '{loaded.name}'", f"Study hash: {loaded.hash}"]
    head = lines[2 : next(i for i, line in enumerate(lines) if line.startswith("party"))]
    words = [" ".join(line.split()) for line in head]
    for expected in (
        "Columns: 25 features and the label",
        "age number from 18 to 110",
        "cholesterol number from 50 to 500, values beyond are clipped; a missing value counts as 200",
        "chest_pain one of typical, atypical, none, unknown; a missing value counts as unknown",
        "smoker, diabetic yes or no",
        "disease no or yes: the label",
        "Privacy budget",
        "epsilon 1, delta 1e-06: charged to every owner's ledger, once",
    ):
        assert expected in words, words


def test_the_rows_that_a_useful_model_needs(study: Path, tmp_path: Path) -> None:
    plan = study_plan(load_study(study))
    text = shown(study)
    assert re.search(rf"rows needed, about +{plan.rows_needed:,} ", text)
    assert "Warning" not in text
    tight = tmp_path / "tight"
    tight.mkdir()
    poor = write_study(tight, EXAMPLES[0])
    poor.write_text(re.sub(r"epsilon = [\d.]+", "epsilon = 0.001", poor.read_text(encoding="utf-8")), encoding="utf-8")
    text = " ".join(shown(poor).split())
    assert re.search(r"Warning: [\d,]+ rows with \d+ columns are few for this epsilon .* about [\d,]+ rows", text)


def test_the_latency_that_the_cost_assumes(study: Path) -> None:
    assert re.search(r"assumes +0.1 ms latency +1 GB a second, 2 cores", shown(study))


def test_the_checkpoints_that_are_kept(study: Path) -> None:
    assert "Checkpoints\n  -  none: a run takes less than a minute" in shown(study)
    assert json.loads(shown(study, "--json"))["checkpoints"] is None
    study.write_text(re.sub(r"\[compute\]\n", "[compute]\ncheckpoint_epochs = 8\n", study.read_text()))
    kept = study_plan(load_study(study)).state
    text, told = shown(study), json.loads(shown(study, "--json"))
    assert told["checkpoints"] == {"steps": [0, 8, 16], "numbers": kept.size(0)}
    assert told["forecast"]["checkpoints"]["rounds"] == 3, "one each, with rep3"
    assert (
        f"  -  3, from which a run goes on after an interruption; a party stores at most {kept.size(0):,} numbers"
        in text
    )
    assert re.search(r"- checkpoints +3 rounds", text)


def test_narrow_terminals_keep_the_hash_in_one_line(study: Path) -> None:
    result = CliRunner().invoke(cli, ["check", "--no-forecast", str(study)], env={"COLUMNS": "40"})
    assert result.output.rstrip().splitlines()[-1] == f"Study hash: {load_study(study).hash}"


def test_what_machines_see(study: Path) -> None:
    loaded = load_study(study)
    told = json.loads(shown(study, "--json"))
    assert told["hash"] == loaded.hash
    assert told["study"] == json.loads(loaded.canonical())
    assert told["plan"]["hash"] == study_plan(loaded).hash
    assert [(one["role"], one["name"]) for one in told["participants"]][3:5] == [
        ("owner", "hospital-a"),
        ("owner", "hospital-b"),
    ]
    assert told["forecast"]["total"]["rounds"] > 0
    assert told["schemes"] == [one.to_dict() for one in compare_schemes(study_plan(loaded).facts, len(loaded.owners))]
    assert set(told["learned"]) == {"owners", "parties", "analysts", "network"}
    assert told["privacy"].startswith("The published model limits")
    assert told["assumptions"]


# --- the accuracy ----------------------------------------------------------------------------------------

FEATURES = """[[data.features]]
name = "age"
type = "number"
lower = 0
upper = 100
"""


@pytest.fixture
def small(study: Path) -> Path:
    """One feature, few rows."""
    text = re.sub(
        r"\[\[data.features\]\].*?(?=\n\[compute\]|\n\[\[parties)",
        FEATURES,
        study.read_text(),
        count=1,
        flags=re.DOTALL,
    )
    study.write_text(re.sub(r"rows = \d+", "rows = 150", text))
    return study


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.csv"
    path.write_text("age,disease\n" + "\n".join(f"{age},{'yes' if age > 50 else 'no'}" for age in range(100)) + "\n")
    return path


@pytest.fixture
def few_epsilons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "EPSILONS", (0.5, 1.0))


@pytest.mark.usefixtures("few_epsilons")
def test_the_accuracy_to_expect(small: Path) -> None:
    text = shown(small, simulate=True)
    section = text[text.index("What accuracy to expect (simulated, no private data)") : text.index("What everybody")]
    for part in ("epsilon", "best", "paper, l2 = 0.1", "made-up 0/1 data", "costs no privacy", "must be charged"):
        assert part in " ".join(section.split())
    rows = re.findall(r"^ +([\d.]+) +([\d.]+%) +([\d.]+%)", section, re.MULTILINE)
    assert [row[0] for row in rows] == ["0.5", "1"]
    told = json.loads(shown(small, "--json", simulate=True))["accuracy"]
    assert [f"{100 * value:.1f}%" for value in told["curves"][0]["median"]] == [row[1] for row in rows]
    assert told["epsilon"] == 1.0
    assert told["suggestions"][-1].endswith("must be charged.")


@pytest.mark.usefixtures("few_epsilons")
def test_a_sample_is_the_only_data_that_is_read(small: Path, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the study stand tables of owners; every file that is opened is noted, and none of them is among those."""
    for name in ("hospital-a.csv", "hospital-b.npz", "data.csv"):
        (small.parent / name).write_text("age,disease\n1,no\n")
    opened: list[str] = []
    sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" and recording else None)
    recording = True
    text = shown(small, "--sample", str(sample), simulate=True)
    recording = False
    assert "the sample sample.csv, 100 rows" in text
    inside = {Path(name).name for name in opened if str(small.parent) in name}
    assert {"study.toml", "sample.csv"} <= inside
    assert not {name for name in inside if name.endswith((".csv", ".npz"))} - {"sample.csv"}


def test_bad_samples_are_refused_by_name(small: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    for content, why in (
        ("height,disease\n1,no\n", "column 'age' is missing"),
        ("age,disease\n1,maybe\n", "'no' or 'yes'"),
        ("age,disease\n" + "1,no\n" * 50, "both classes"),
        ("age,disease\n1,no\n2,yes\n", "at least 40 rows"),
    ):
        bad.write_text(content)
        with pytest.raises(InvalidInputError, match=why):
            shown(small, "--sample", str(bad), simulate=True)
    with pytest.raises(InvalidInputError, match="file that exists"):
        shown(small, "--sample", str(tmp_path / "none.csv"), simulate=True)
    with pytest.raises(InvalidInputError, match="--no-forecast"):
        shown(small, "--sample", str(bad))


def test_large_studies_are_simulated_if_asked(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "QUICK_SIZE", 1000)
    text = " ".join(shown(small, simulate=True).split())
    assert "(columns + 150) = 1,000 are simulated" in text
    assert "Ask for it with --forecast" in text
    assert "Ask for it" in json.loads(shown(small, "--json", simulate=True))["accuracy"]["reason"]
    monkeypatch.setattr(utility, "LARGEST_SIZE", 1000)
    assert "Give a public or made-up table with --sample" in shown(small, "--forecast", simulate=True)
    assert "as --no-forecast asks" in shown(small)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 1.0", "epsilon = 'x'", "'privacy.epsilon'"),
        ("format = 1", "format = ", "not valid TOML"),
        ('recipe = "best"', "recipe = 'paper'\nl2 = 0.1\nepochs = 1", "epochs"),
    ],
)
def test_what_is_wrong_exits_with_2(
    study: Path, old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(study.read_text().replace(old, new))
    monkeypatch.setattr(sys, "argv", ["cofit", "check", "--no-forecast", str(study)])
    with pytest.raises(SystemExit) as info:
        main()
    captured = capsys.readouterr()
    assert (info.value.code, captured.out) == (2, "")
    assert message in captured.err


def test_a_study_with_shards(study: Path) -> None:
    alone = load_study(study)
    study.write_text(study.read_text().replace("[compute]\n", "[compute]\nshards = 7\n"))
    divided = load_study(study)
    assert (divided.compute.shards, study_plan(divided).facts.shards) == (7, 7)
    assert divided.hash != alone.hash
    text = shown(study)
    for part in ("memory of a head", "session of the heads", "each with a session of its own", "the workers of a"):
        assert part in text, part
    found = json.loads(shown(study, "--json"))
    assert found["plan"]["shards"] == found["forecast"]["shards"]["count"] == found["study"]["compute"]["shards"] == 7
