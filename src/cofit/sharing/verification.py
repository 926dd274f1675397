"""What a party has yet to check, and whether a check has failed.

Some schemes check a message in the exchange that brings it (``rep4``), and have nothing to put off. Others may put
checks off and make many of them at once: where every honest message carries a fresh mask, so that a deviation is an
error which its author knows and which reveals nothing. All that was put off is checked before anything is opened,
stored or exported: ``Scheme.verify``.

A failed check is terminal: whatever is asked of the scheme afterwards raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cofit.errors import ProtocolError

T = TypeVar("T")


class Verification:
    """The queue of one party's run. All parties put off the same checks in the same order."""

    def __init__(self) -> None:
        self._deferred: dict[Callable[[list[Any]], None], list[Any]] = {}
        self._failure: str | None = None

    def defer(self, check: Callable[[list[T]], None], item: T) -> None:
        """Put off the check of ``item``: ``check`` gets all of its items at once, and raises ProtocolError."""
        self.refuse_after_failure()
        self._deferred.setdefault(check, []).append(item)

    def run(self) -> None:
        """Check everything that was put off, or raise ProtocolError. Nothing is left afterwards.

        A check that did not come to its end, for whatever reason, has failed.
        """
        self.refuse_after_failure()
        while self._deferred:
            deferred, self._deferred = self._deferred, {}
            for check, items in deferred.items():
                try:
                    check(items)
                except BaseException as error:
                    self.fail(str(error) if isinstance(error, ProtocolError) else "A check did not come to its end.")
                    raise

    def fail(self, reason: str) -> None:
        """Note that a check has failed."""
        self._failure = self._failure or reason
        self._deferred = {}

    def refuse_after_failure(self) -> None:
        """Raise ProtocolError if a check has failed before."""
        if self._failure is not None:
            raise ProtocolError(f"This run has ended. {self._failure}")
