"""How long a party prepares, or makes checks that its scheme has put off: steps of their own in the times of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cofit.secret import Party
from cofit.transport import Counts

VERIFY = "verify"
"""The label of late checks, wherever they are made, and the step that they are timed as."""
PREPARE = "prepare"
"""The label of what a scheme makes before it is used, such as transfers and masks, and the step of it."""
_APART = (VERIFY, PREPARE)


def time_apart(party: Party) -> None:
    """From now on, report preparation and late checks as steps; what was under way when one began goes on after it.

    So the times of all other steps are without these, whenever they are due.
    """
    scheme, tell = party._scheme, party.progress
    label, under_way = scheme.label, [(VERIFY, 0, 1)]

    def progress(step: str, done: int, total: int) -> None:
        under_way[0] = (step, done, total)
        tell(step, done, total)

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        with label(name):
            if name not in _APART:
                yield
                return
            tell(name, 0, 1)
            try:
                yield
            finally:
                tell(*under_way[0])

    party.progress = progress  # type: ignore[method-assign]
    scheme.label = timed  # type: ignore[method-assign]


def bytes_apart(counts: Counts, step: str) -> int:
    """Return what a member sent for preparation, or for late checks, in whatever other step."""
    return sum(count.bytes_sent for label, count in counts.items() if step in label.split("/"))
