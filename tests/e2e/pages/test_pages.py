"""Every block of the README, the tutorials and the how-to pages is carried out, in order, for real."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.pages import ROOT, WALKED, blocks_of
from support.walk import Walk, rewritten

PREPARED = Path(__file__).parent / "prepared"
WRITE = os.environ.get("COFIT_FIGURES") == "write"
"""Set by `make figures`: numbers of the output that are no longer right are put into the pages."""
SLOW = [
    page for page in WALKED if any(block.mark == "slow from here" for block in blocks_of((ROOT / page).read_text()))
]


def carry_out(page: str, folder: Path, *, slow: bool) -> None:
    file = ROOT / page
    text = file.read_text()
    walk = Walk(text, folder, PREPARED / file.stem, slow=slow, timeout=500 if slow else 200)
    try:
        walk.walk(write=WRITE)
    except AssertionError as error:
        pytest.fail(f"{page}, {error}", pytrace=False)
    if walk.stale:
        file.write_text(rewritten(text, walk.stale))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", WALKED)
def test_the_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    carry_out(page, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", SLOW)
def test_the_page_does_what_it_says_with_its_slow_blocks(page: str, tmp_path: Path) -> None:
    carry_out(page, tmp_path, slow=True)
