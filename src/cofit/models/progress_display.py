"""Show how far a run is, on standard error: its steps and counts, which are public, and nothing of the data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display

from cofit.errors import parameter_error
from cofit.roles.local.progress import Listener, Progress, silent

_TITLES = {
    "start": "Start the owners and parties",
    "share": "Share the data",
    "prepare": "Prepare what is multiplied",
    "check": "Check the rows, in secret",
    "train": "Train",
    "noise": "Draw the noise",
    "release": "Release the noisy weights",
}


def progress_context(progress: object, owner: str) -> AbstractContextManager[Listener]:
    """Return what gives a listener for the ``progress`` parameter of ``owner``: a function, True, False or None."""
    if callable(progress):
        return nullcontext(progress)
    if progress is not None and not isinstance(progress, bool):
        raise parameter_error("progress", owner, "True, False, None or a function of one Progress", progress)
    return progress_display(progress)


@contextmanager
def progress_display(show: bool | None = None, console: Console | None = None) -> Iterator[Listener]:
    """Give a function for the ``progress`` of ``run_local`` or ``run_training``, and clear up at the end.

    show: True and False force the display; None shows it only if standard error is an interactive terminal.
    """
    if show is None:
        show = sys.stderr is not None and sys.stderr.isatty()
    if not show:
        yield silent
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Display(*columns, console=console or Console(stderr=True)) as display:
        yield _listener(display)


def _listener(display: Display) -> Callable[[Progress], None]:
    tasks: dict[str, TaskID] = {}

    def listen(progress: Progress) -> None:
        if progress.step not in tasks:
            for task in display.tasks:  # a new step begins where the last one ended
                display.update(task.id, completed=task.total)
            tasks[progress.step] = display.add_task("", total=None)
        display.update(
            tasks[progress.step], description=_described(progress), completed=progress.done, total=progress.total
        )

    return listen


def _described(progress: Progress) -> str:
    title = _TITLES.get(progress.step, progress.step)
    return f"{title}, epoch {progress.done} of {progress.total}" if progress.step == "train" else title
