from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from cofit.models.progress_display import progress_display
from cofit.roles.local.progress import Progress

STEPS = [
    Progress("start", 1, 1),
    Progress("share", 4, 4),
    Progress("train", 0, 6),
    Progress("train", 6, 6),
    Progress("noise", 0, 1),
    Progress("release", 1, 1),
    Progress("something else", 2, 2),
]


def test_the_display_shows_the_steps() -> None:
    stream = io.StringIO()
    with progress_display(True, Console(file=stream, width=100)) as listener:
        for step in STEPS:
            listener(step)
    lines = [line.split("━")[0].strip() for line in stream.getvalue().splitlines()]
    assert lines == [
        "Start the owners and parties",
        "Share the data",
        "Train, epoch 6 of 6",
        "Draw the noise",
        "Release the noisy weights",
        "something else",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("show", "stream", "shown"),
    [
        (None, io.StringIO, False),
        (None, Terminal, True),
        (True, io.StringIO, True),
        (False, Terminal, False),
    ],
)
def test_it_is_shown_on_a_terminal_unless_forced(
    monkeypatch: pytest.MonkeyPatch, show: bool | None, stream: type[io.StringIO], shown: bool
) -> None:
    errors = stream()
    monkeypatch.setattr(sys, "stderr", errors)
    with progress_display(show) as listener:
        for step in STEPS:
            listener(step)
    assert ("Share the data" in errors.getvalue()) == shown
