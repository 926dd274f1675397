"""``cofit align``: secrets, row files, and how many rows are missing where."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from unit.cli.contributing import ROWS, Site, write_site, write_table


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    write_site(tmp_path, vertical=True)
    made = Site(tmp_path, capsys)
    assert made.run("align", "--new-secret", "secret")[0] == 0
    return made


def align(site: Site, owner: str, *options: str, keys: Sequence[int] = range(ROWS)) -> tuple[int, str, str]:
    write_table(site.folder / "table.csv", owner, vertical=True, keys=keys)
    common = ("--owner", owner, "--data", "table.csv", "--secret", "secret")
    return site.run("align", "study.toml", *common, *options)


def test_a_secret_is_private_and_not_shown(site: Site) -> None:
    assert stat.S_IMODE((site.folder / "secret").stat().st_mode) == 0o600
    code, out, err = site.run("align", "--new-secret", "second")
    assert (code, err) == (0, "")
    assert (site.folder / "second").read_text().strip() not in out
    assert "no computing party" in out
    code, _, err = site.run("align", "--new-secret", "second")
    assert code == 2
    assert "never overwritten" in err


def test_equal_rows(site: Site) -> None:
    code, out, _ = align(site, "owner-b", "--out", "b.rows")
    assert code == 0
    assert f"{ROWS} rows of 'owner-b'" in out
    assert stat.S_IMODE((site.folder / "b.rows").stat().st_mode) == 0o600
    assert len(json.loads((site.folder / "b.rows").read_text())["rows"]) == ROWS
    code, out, _ = align(site, "owner-a", "--compare", "b.rows")
    assert (code, out) == (0, f"'owner-b': {ROWS} rows in common; the rows are the same.\n")


def test_different_rows_are_counted_and_keys_shown_only_if_asked(site: Site) -> None:
    """Also where the number of rows is not the study's: that is when one wants to compare."""
    align(site, "owner-b", "--out", "b.rows", keys=range(2, ROWS + 7))
    code, out, _ = align(site, "owner-a", "--compare", "b.rows")
    assert code == 1
    assert out == f"'owner-b': {ROWS - 2} rows in common; it lacks 2 of ours, we lack 7 of its.\n"
    code, out, _ = align(site, "owner-a", "--compare", "b.rows", "--show-mine")
    assert code == 1
    assert out.splitlines()[1:] == ["  it lacks our 'p0'", "  it lacks our 'p1'"]


def test_different_secrets_are_told_as_such(site: Site) -> None:
    align(site, "owner-b", "--out", "b.rows")
    (site.folder / "secret").unlink()
    site.run("align", "--new-secret", "secret")
    code, _, err = align(site, "owner-a", "--compare", "b.rows")
    assert code == 2
    assert "made with another secret" in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("p3,", "p4,", "rows 4 and 5: another row has the same key"),
        ("p3,", ",", "row 4: the row key is missing"),
        ("id,", "key,", "one column 'id'"),
    ],
)
def test_wrong_keys(site: Site, old: str, new: str, message: str) -> None:
    path = site.folder / "owner-a.csv"
    path.write_text(path.read_text().replace(old, new))
    code, out, err = site.run(
        *("align", "study.toml", "--owner", "owner-a", "--data", "owner-a.csv", "--secret", "secret", "--out", "a.rows")
    )
    assert (code, out) == (2, "")
    assert message in err
    assert not (site.folder / "a.rows").exists()


def test_wrong_usage(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    for arguments in (
        ("align",),
        ("align", "study.toml", "--owner", "owner-a", "--data", "owner-a.csv", "--secret", "secret"),
        ("align", "study.toml", "--owner", "owner-a", "--secret", "secret", "--out", "x"),
        ("align", "study.toml", "--new-secret", "third"),
    ):
        assert site.run(*arguments)[0] == 2
    assert align(site, "owner-a", "--out", "a.rows", "--show-mine")[0] == 2
    assert not (site.folder / "third").exists()
    horizontal = Site(tmp_path_factory.mktemp("horizontal"), site.capsys)
    write_site(horizontal.folder)
    horizontal.run("align", "--new-secret", "secret")
    code, _, err = horizontal.run(
        *("align", "study.toml", "--owner", "owner-a", "--data", "owner-a.csv", "--secret", "secret", "--out", "a.rows")
    )
    assert code == 2
    assert "horizontal" in err


def test_tables_with_semicolons_and_in_another_encoding(site: Site) -> None:
    write_table(site.folder / "table.csv", "owner-b", vertical=True)
    text = (site.folder / "table.csv").read_text().replace(",", ";").replace("p3;", "ä;")
    (site.folder / "table.csv").write_bytes(text.encode("latin-1"))
    command = (
        "align",
        "study.toml",
        "--owner",
        "owner-b",
        "--data",
        "table.csv",
        "--secret",
        "secret",
        "--out",
        "b.rows",
    )
    code, _, err = site.run(*command)
    assert code == 2
    assert "is not UTF-8" in err
    code, out, _ = site.run(*command, "--encoding", "latin-1")
    assert code == 0
    assert f"{ROWS} rows of 'owner-b'" in out


@pytest.mark.parametrize(("what", "option"), [("rows", "--out"), ("secret", "--new-secret")])
def test_a_folder_that_is_not_there_is_named_with_the_remedy(site: Site, what: str, option: str) -> None:
    file = "absent/b.file"
    code, out, err = align(site, "owner-b", option, file) if what == "rows" else site.run("align", option, file)
    assert (code, out) == (2, "")
    assert (
        f"The {what} cannot be written to '{file}': there is no folder 'absent'. Make it, or choose another name."
        in err
    )
