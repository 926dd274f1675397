"""Whether a check of a run has failed: then the run has ended, whatever is asked of it afterwards.

Some schemes check a message in the exchange that brings it (``rep4``). Others put checks off and make many of them at
once (``repn``): where every honest message carries a fresh mask, so that a deviation is an error which its author knows
and which reveals nothing. All that was put off is checked before anything is opened, stored or exported:
``Scheme.verify``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cofit.errors import ProtocolError


class Verification:
    """The state of one party's run."""

    def __init__(self) -> None:
        self._failure: str | None = None
        self._under_way = False

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Make checks inside, one at a time. A check that does not come to its end, for whatever reason, has failed."""
        self.refuse_after_failure()
        if self._under_way:
            raise ProtocolError("A check cannot begin while another is under way.")
        self._under_way = True
        try:
            yield
        except BaseException as error:
            self.fail(str(error) if isinstance(error, ProtocolError) else "A check did not come to its end.")
            raise
        finally:
            self._under_way = False

    def fail(self, reason: str) -> None:
        """Note that a check has failed."""
        self._failure = self._failure or reason

    def refuse_after_failure(self) -> None:
        """Raise ProtocolError if a check has failed before."""
        if self._failure is not None:
            raise ProtocolError(f"This run has ended. {self._failure}")
