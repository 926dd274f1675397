"""The command line: help, exit codes, and output for people and machines."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import cofit
from cofit.arithmetic.narrow import narrow_bytes
from cofit.benchmarks.epoch import _FRACTION_BITS
from cofit.cli import demo as demo_module
from cofit.cli.main import _complain, cli, main
from cofit.errors import InvalidInputError, PartyFailedError, ProtocolError, VerificationError
from cofit.learn.comparison import compare_schemes
from cofit.learn.facts import training_facts
from cofit.sharing import SCHEMES
from cofit.units import duration, size

ENTRY = "from cofit.cli.main import main; main()"


def run_cofit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the console entry in a process of its own."""
    command = [sys.executable, "-c", ENTRY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    for name, child in children(command).items():
        yield from commands(child, (*path, name))


def children(command: click.Command) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    assert all(found.values())
    return {name: child for name, child in found.items() if child is not None}


ALL = list(commands(cli))
BY_PATH = dict(ALL)


def test_the_commands_there_are() -> None:
    assert {" ".join(path) for path in BY_PATH} == {
        "", "align", "budget", "check", "contribute", "dealer", "demo", "evaluate", "experiment", "forget", "keygen",
        "model", "party", "plan", "predict", "predict-private", "program-hash", "reference", "report", "result", "run",
        "run-program", "schemes", "status", "verify", "bench",
        "bench epoch", "bench exchange", "bench share", "bench kernels", "bench functions", "bench sampling",
        "bench lines", "bench predict", "bench rlwe", "bench schemes", "bench scale", "bench train",
    }  # fmt: skip


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("path", BY_PATH, ids=" ".join)
def test_help_teaches(path: tuple[str, ...], flag: str) -> None:
    command = BY_PATH[path]
    result = CliRunner().invoke(cli, [*path, flag])
    assert result.exit_code == 0
    assert command.help
    assert len(command.help.split()) >= 6
    assert command.help.split(".")[0].split("\n")[0][:40] in result.output
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            assert (parameter.name or "").upper() in result.output
            continue
        assert isinstance(parameter, click.Option)
        assert parameter.help or parameter.name == "version", parameter.name
        assert parameter.opts[0] in result.output
    for name, child in children(command).items():
        assert name in result.output
        assert child.name == name


def test_all_benchmarks_are_run_by_make_bench_and_named_on_their_pages() -> None:
    root = Path(__file__).parents[3]
    names = {path[1] for path in BY_PATH if len(path) == 2 and path[0] == "bench"}
    listed = re.search(r"for name in ([a-z ]+);", (root / "Makefile").read_text())
    assert listed is not None and set(listed[1].split()) == names
    page = (root / "docs" / "how-to" / "benchmark.md").read_text()
    assert set(re.findall(r"^    cofit bench ([a-z]+)$", page, re.MULTILINE)) == names
    measured = (root / "benchmarks" / "README.md").read_text().partition("## Targets")[0]
    assert set(re.findall(r"^\*\*`cofit bench ([a-z]+)`", measured, re.MULTILINE)) == names


@pytest.mark.parametrize("name", [path[0] for path in BY_PATH if len(path) == 1 and path != ("bench",)])
def test_help_has_an_example_and_the_exit_codes(name: str) -> None:
    told = CliRunner().invoke(cli, [name, "-h"]).output
    assert re.search(rf"^ +cofit {name} \S", told, re.MULTILINE)
    assert "Exit codes: 0 " in told


def test_help_shows_the_way_of_a_study_and_examples_are_options_that_exist() -> None:
    told = CliRunner().invoke(cli, ["-h"]).output
    assert re.findall(r"^ +(everybody|parties|owners|analysts) +cofit (\w+) ", told, re.MULTILINE) == [
        ("everybody", "keygen"), ("parties", "party"), ("owners", "contribute"), ("analysts", "model"),
    ]  # fmt: skip
    for name, command in children(cli).items():
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for example in re.findall(rf"cofit {name} .*", f"{command.help}\n{told}"):
            assert set(re.findall(r"--[a-z0-9-]+", example)) <= options | {"--help"}, example


def examples() -> list[str]:
    """Every command line that some help shows in a line of its own."""
    texts = [inspect.cleandoc(command.help or "") for _, command in ALL]
    lines = [re.findall(r"^ {4}(?:[a-z]+ +)?(cofit .*)$", text, re.MULTILINE) for text in texts]
    return [example for found in lines for line in found for example in line.split(", then ")]


def test_the_examples_that_are_looked_at() -> None:
    """Those of all commands, of commands of commands, and of the way of a study, with two in a line."""
    assert {words.split()[1] for words in examples()} == set(children(cli))
    for beginning in ("cofit bench train ", "cofit keygen NAME", "cofit check study.toml"):
        assert any(words.startswith(beginning) for words in examples()), beginning


@pytest.mark.parametrize("example", examples())
def test_examples_have_all_that_is_required_and_nothing_that_is_refused(
    example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read as if somebody had typed them, and not carried out; their files need not be there."""
    monkeypatch.setattr(click.Path, "convert", lambda _type, value, *_: Path(value))
    command: click.Command | None = cli
    name, words = None, shlex.split(example)[1:]
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(click.Context(command), words)
    assert command is not None
    command.make_context(name, words, help_option_names=["-h", "--help"])  # a command keeps its first help option


def test_help_shows_defaults_and_exit_codes() -> None:
    told = " ".join(CliRunner().invoke(cli, ["-h"]).output.split())
    assert "2 wrong usage or input, 3 (verify) nobody vouches for the model, 130 interrupted." in told
    epoch = CliRunner().invoke(cli, ["bench", "epoch", "-h"]).output
    for default in ("1713", "1874", "rep3"):
        assert f"default: {default}" in epoch


def test_a_process_that_imports_the_command_does_not_import_all_commands() -> None:
    code = "import sys, cofit.cli.main; print([m for m in sys.modules if m in ('sklearn', 'pyarrow', 'cofit.models')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_version() -> None:
    result = CliRunner().invoke(cli, ["--version"])
    assert (result.exit_code, result.output) == (0, f"cofit, version {cofit.__version__}\n")


def test_schemes_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "600")
    result = CliRunner().invoke(cli, ["schemes"])
    assert result.exit_code == 0
    for name, scheme in SCHEMES.items():
        spec = scheme.info.spec()
        for fact in (name, spec.adversary, spec.corrupted, spec.assumptions):
            assert fact in result.output


@pytest.mark.parametrize("columns", [80, 600])
def test_schemes_are_compared_in_any_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", f"{columns}")
    result = CliRunner().invoke(cli, ["schemes"])
    assert "…" not in result.output, "cut off"
    whole = set(re.findall(r"[\w-]+", result.output))
    for spec in (scheme.info.spec() for scheme in SCHEMES.values()):  # words are whole
        assert set(re.findall(r"[\w-]+", f"{spec.adversary} {spec.assumptions}")) <= whole
    assert re.search(r"all but one.*\n?.*dealer", result.output), "who is not among the corrupted"
    costs = {one.scheme: one for one in compare_schemes(training_facts(1713, 1874))}
    assert set(costs) == {name for name, scheme in SCHEMES.items() if scheme.info.secret}
    for one in costs.values():
        sent, run = size(one.bytes_per_epoch), duration(one.seconds)
        assert re.search(rf"{one.scheme} .* {one.rounds_per_epoch:,} .* {sent} .* {run} ", result.output)
    assert "a latency of 0.1 ms" in " ".join(result.output.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["demo", "--scheme", "rep5"],
        ["demo", "--seed", "x"],
        ["bench", "epoch", "--rows", "0"],
        ["bench", "epoch", "--cols", "-3"],
        ["bench", "epoch", "--epochs", "0"],
        ["bench", "epoch", "--ring", "65"],
        ["bench", "epoch", "--threads", "0"],
        ["bench", "exchange", "--bytes", "-1"],
        ["bench", "share", "--repetitions", "0"],
        ["bench", "kernels", "--scheme", "rep3"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.output


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["contribut"], "contribute"),
        (["evalute"], "evaluate"),
        (["partys"], "party"),
        (["bench", "epochs"], "epoch"),
        (["demo", "--recipies", "paper"], "--recipe"),
        (["status", "study.toml", "--ky", "x"], "--key"),
    ],
    ids=" ".join,
)
def test_what_was_probably_meant_is_suggested(arguments: list[str], meant: str) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert re.search(rf"Did you mean (one of: .*)?'{meant}'", result.output), result.output


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    result = CliRunner().invoke(cli, ["zzz"])
    assert (result.exit_code, "Did you mean" in result.output) == (2, False)
    assert "No such command 'zzz'." in result.output


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInputError("the input is wrong"), 2),
        (PartyFailedError("party-b", "'party-b' failed"), 1),
        (ProtocolError("a check failed"), 1),
    ],
    ids=["input", "party", "protocol"],
)
def test_errors_of_ours_are_one_line_and_an_exit_code(
    error: Exception, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise error

    monkeypatch.setattr(demo_module, "run_training", fail)
    monkeypatch.setattr(sys, "argv", ["cofit", "demo", "--out", str(tmp_path / "demo")])
    with pytest.raises(SystemExit) as info:
        main()
    assert info.value.code == code
    assert capsys.readouterr().err == f"cofit: {error}\n"


def test_errors_of_others_are_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(demo_module, "run_training", fail)
    monkeypatch.setattr(sys, "argv", ["cofit", "demo", "--out", str(tmp_path / "demo")])
    with pytest.raises(ZeroDivisionError):
        main()


def test_an_interrupt_has_its_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_module, "run_training", interrupted)
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 130
    assert "cofit: Interrupted." in result.output
    assert "Aborted" not in result.output


def test_the_console_entry() -> None:
    version = run_cofit("--version")
    assert (version.returncode, version.stdout, version.stderr) == (0, f"cofit, version {cofit.__version__}\n", "")
    wrong = run_cofit("bench", "nonsense")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "nonsense" in wrong.stderr


@pytest.mark.parametrize(("ring", "size"), [("64", 8), pytest.param("128", 16, marks=pytest.mark.slow)])
def test_bench_epoch_as_json(ring: str, size: int) -> None:
    """Rounds and bytes are exact: two products with truncation an epoch, each 2 rounds and 6 elements an output."""
    rows, cols, epochs = 7, 5, 2
    shape = ["--rows", str(rows), "--cols", str(cols), "--epochs", str(epochs)]
    result = run_cofit("bench", "epoch", *shape, "--repetitions", "2", "--threads", "1", "--ring", ring, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    report = json.loads(result.stdout)
    assert isinstance(report, dict)
    assert {"scheme", "rows", "cols", "epochs", "seconds", "seconds_per_epoch", "kernel_seconds_per_epoch", "ratio",
            "rounds_per_epoch", "bytes_per_epoch"} <= set(report)  # fmt: skip
    assert (report["scheme"], report["ring"]) == ("rep3", f"Z_2^{ring}")
    assert (report["rows"], report["cols"], report["epochs"]) == (rows, cols, epochs)
    assert report["rounds_per_epoch"] == 4
    narrow = sum(narrow_bytes(count, _FRACTION_BITS[int(ring)]) for count in (rows, cols))
    assert report["bytes_per_epoch"] == 3 * (size * (rows + cols) + narrow)
    for name in ("seconds", "seconds_per_epoch", "kernel_seconds_per_epoch", "ratio"):
        assert report[name] > 0
    assert report["seconds_per_epoch"] == pytest.approx(report["seconds"] / epochs)


def test_bench_kernels_for_people_and_as_json() -> None:
    arguments = ["bench", "kernels", "--rows", "8", "--cols", "9", "--repetitions", "1"]
    people = CliRunner().invoke(cli, arguments)
    assert people.exit_code == 0
    machines = CliRunner().invoke(cli, [*arguments, "--json"])
    rows = json.loads(machines.output)
    assert len(rows) >= 2
    assert all(isinstance(row, dict) for row in rows)


def test_an_error_does_not_write_to_the_terminal_as_a_file_likes(capsys: pytest.CaptureFixture[str]) -> None:
    assert _complain(VerificationError("study '\x1b[1K\rEverything holds:\x1b[8m'\nis another"), 1) == 1
    assert capsys.readouterr().err == "cofit: study '?[1K?Everything holds:?[8m'\nis another\n"
