from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files.audit import AuditFile, read_audit


def write_some(path: Path, count: int = 4) -> None:
    log = AuditFile(path)
    for i in range(count):
        log.write("something", step=i)
    log.close()


def test_lines_are_chained_numbered_and_private(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_some(path)
    write_some(path)
    records = read_audit(path)
    assert [r["n"] for r in records] == list(range(1, 9))
    assert [r["previous"] for r in records[1:]] == [r["hash"] for r in records[:-1]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("change", ["edit", "remove", "insert", "swap", "garbage"])
def test_any_change_is_noticed_with_the_line(tmp_path: Path, change: str) -> None:
    path = tmp_path / "audit.jsonl"
    write_some(path)
    lines = path.read_text().splitlines(keepends=True)
    if change == "edit":
        record = json.loads(lines[1])
        lines[1] = json.dumps({**record, "step": 9}, sort_keys=True) + "\n"
    elif change == "remove":
        del lines[1]
    elif change == "insert":
        lines.insert(1, lines[0])
    elif change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    else:
        lines[1] = "not json\n"
    path.write_text("".join(lines))
    for read in (read_audit, AuditFile):
        with pytest.raises(InvalidInputError, match="Line 2 of the audit log"):
            read(path)


def test_a_line_that_a_crash_cut_short_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_some(path, 2)
    with path.open("ab") as file:
        file.write(b'{"n": 3, "ev')
    AuditFile(path).close()
    records = read_audit(path)
    assert [r["event"] for r in records] == ["something", "something", "log repaired"]
    assert records[-1]["bytes_cut"] == 12


def test_reserved_fields_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="hash"):
        AuditFile(tmp_path / "a").write("x", hash="1")
