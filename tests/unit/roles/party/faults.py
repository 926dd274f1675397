"""What goes wrong at one party of several, and what is left of it, for the tests of services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cofit.roles.files.audit import read_audit
from cofit.roles.files.keys import load_key
from unit.roles.loopback import Loopback


def events(site: Loopback, name: str) -> list[str]:
    return [record["event"] for record in read_audit(site.state(name) / "audit.jsonl")]


def once(name: str, original: Callable[..., Any], error: Exception, when: Callable[..., bool] = lambda *_: True) -> Any:
    """The original, but the first call of the thread of party ``name`` (as its state tells) raises."""
    left = [error]

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if left and name in str(getattr(self, "directory", getattr(self, "path", ""))) and when(*args):
            raise left.pop()
        return original(self, *args, **kwargs)

    return wrapped


def analyst(site: Loopback) -> Any:
    return load_key(site.study, site.folder / "analyst.key")
