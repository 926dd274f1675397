"""The walk that the page of the architecture tells is the one a value takes; the picture of imports is up to date."""

from __future__ import annotations

import re
import sys
import threading
from itertools import groupby
from pathlib import Path
from types import FrameType

import pytest

from support.import_graph import PICTURE, imports, layers, needed, picture
from support.pages import ROOT
from unit.roles import loopback as site_module
from unit.roles.loopback import loopback, until

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
WALK = re.findall(r"^\| (\d+) \| `([\w/.]+)` \|", PAGE, re.MULTILINE)
FILES = [name for _, name in WALK]
SOURCE = ROOT / "src" / "cofit"


def test_the_walk_is_short_and_enters_no_package_often() -> None:
    assert [int(number) for number, _ in WALK] == list(range(1, len(WALK) + 1))
    assert 20 <= len(set(FILES)) == len(FILES) <= 30
    assert all((SOURCE / name).is_file() for name in FILES)
    folders = [folder for folder, _ in groupby(str(Path(name).parent) for name in FILES)]
    packages = [package for package, _ in groupby(name.partition("/")[0] for name in FILES)]
    often = {package: count for package in set(packages) if (count := packages.count(package)) > 1}
    assert often == {"roles": 5, "learn": 3, "secret": 3, "sharing": 2, "arithmetic": 2}, "as the page says"
    assert max(folders.count(folder) for folder in folders if folder.startswith("roles/")) <= 2


def test_every_file_of_the_walk_takes_part_in_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the command itself, whose place the test takes."""
    best = site_module._HEAD.replace('recipe = "paper"\nl2 = 1.0\nepochs = {epochs}\n', 'recipe = "best"\n')
    best = best.replace("checkpoint_epochs = 2\n", "").replace("epsilon = 100.0", "epsilon = 10.0")
    monkeypatch.setattr(site_module, "_HEAD", best)
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code.co_filename)

    with loopback(tmp_path) as site:
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            site.start()
            site.contribute()
            until(site.released)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    assert [name for name in FILES[1:] if str(SOURCE / name) not in called] == []
    assert str(SOURCE / FILES[0]) not in called


def test_the_picture_of_imports_is_up_to_date() -> None:
    assert PICTURE.read_text() == picture(), "run `make graph`"


def test_imports_point_downwards_and_the_needed_ones_give_all_others() -> None:
    order = layers()
    graph = imports(order)
    assert all(order.index(one) > order.index(name) for name, of in graph.items() for one in of)
    assert needed({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {("a", "b"), ("b", "c")}
