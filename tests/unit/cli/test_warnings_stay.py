"""What an owner is warned of follows from its data: it stays on its terminal. Nothing that others see depends on it.

One study is run twice, from the same files but for the owners' tables: in one the ages use their range, in the other
they lie close together. Everything that leaves an owner, or is kept by a party, is compared.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cofit import LogisticRegression
from cofit.cli.main import cli
from cofit.cli.model import model_of_release, write_model
from cofit.roles.analyst.fetch import fetch_release
from cofit.roles.files.keys import load_key
from unit.cli.contributing import Site
from unit.roles.loopback import PARTIES, ROWS, loopback, until

WARNING = "Warning: In your table the values of 'age' (0 to 100) lie close together"
WORDS = ("lie close together", "narrower bounds", "unlike scales")


@dataclass
class Seen:
    """What a run left: what owners were told, and all that others may see."""

    warned: list[bool]
    codes: list[int]
    printed: list[str]
    certificate: str
    audits: list[list[str]]
    report: str


def timeless(text: str) -> str:
    """A text without what is another in every run: times and random names."""
    return re.sub(r"[0-9a-f]{16,}|\d{4}-\d\d-\d\dT[\d:.]+", "RANDOM", text)


def events(path: Path) -> list[str]:
    """The lines of an audit log, which come in no certain order where parties talk at once."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(timeless(json.dumps(line | {"n": 0}, sort_keys=True)) for line in lines)


def run(folder: Path, capsys: pytest.CaptureFixture[str], *, narrow: bool) -> Seen:
    with loopback(folder) as parties:
        rng = np.random.default_rng(7)
        warned, codes, printed = [], [], []
        parties.start()
        for owner, rows in ROWS.items():
            ages = 50 + (0.5 if narrow else 50.0) * rng.uniform(-1, 1, rows)
            lines = [
                f"p{owner}{i},{'xy'[i % 2]},{age!r},{'yes' if age > 50 else 'no'}"
                for i, age in enumerate(ages.tolist())
            ]
            (folder / f"{owner}.csv").write_text("id,group,age,ill\n" + "\n".join(lines) + "\n")
            code, out, err = Site(folder, capsys).contribute(owner)
            warned.append(WARNING in err)
            codes.append(code)
            printed.append(re.sub(r"[0-9a-f]{16,}|127\.0\.0\.1:\d+", "RANDOM", out.replace(str(folder), "")))
        until(parties.released)
        signed = fetch_release(parties.study, load_key(parties.study, folder / "analyst.key"))
        audits = [events(parties.state(name) / "audit.jsonl") for name in PARTIES]
    model, page = folder / "model.json", folder / "report.html"
    write_model(model_of_release(parties.study, signed), model)
    assert CliRunner().invoke(cli, ["report", str(model), "--out", str(page)]).exit_code == 0
    return Seen(warned, codes, printed, timeless(signed.release.certificate.to_json()), audits, page.read_text())


@pytest.mark.timeout(200)
def test_nothing_that_others_see_depends_on_the_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    for narrow in (False, True):
        folder = tmp_path / "study"
        folder.mkdir()
        seen.append(run(folder, capsys, narrow=narrow))
        shutil.rmtree(folder)
    plain, warned = seen
    assert (plain.warned, warned.warned) == ([False, False], [True, True])
    assert plain.codes == warned.codes == [0, 0]
    assert plain.printed == warned.printed
    assert plain.certificate == warned.certificate
    assert plain.audits == warned.audits
    assert len(plain.audits[0]) > 5
    assert not [word for word in WORDS if word in "".join((*warned.printed, warned.certificate, warned.report))]


def test_nothing_in_a_fitted_model_depends_on_the_warning() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.uniform(-1, 1, (60, 2)), np.arange(60) % 2
    plain = LogisticRegression(scheme="clear", classes=(0, 1)).fit(x, y)
    with pytest.warns(UserWarning, match="unlike scales"):
        warned = LogisticRegression(scheme="clear", classes=(0, 1)).fit(x * [1.0, 100.0], y)
    assert timeless(warned.certificate_.to_json()) == timeless(plain.certificate_.to_json())
    assert warned.openings_ == plain.openings_
