"""What the commands of long-running participants have in common: signals, the log, the address to listen at."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

from cofit.errors import parameter_error

R = TypeVar("R")
_POLL_SECONDS = 0.1


def run_until_signalled(run: Callable[[], R], stop: Callable[[], None]) -> R:
    """Run a service in a thread, so that SIGTERM and SIGINT need only set a flag; return what it returns."""
    asked = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    result: Future[R] = Future()

    def serve() -> None:
        try:
            result.set_result(run())
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=serve, name="service", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL_SECONDS)
        if asked:
            stop()
    return result.result()


class _OneLine(logging.Formatter):
    """One line for each event, with the time in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        return " | ".join(line.strip() for line in super().format(record).splitlines() if line.strip())


def log_to_stderr(name: str) -> None:
    """Write what happens to the standard error, one line for each event."""
    handler = logging.StreamHandler()
    safe = name.replace("%", "%%")
    formatter = _OneLine(f"%(asctime)sZ {safe} %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    log = logging.getLogger("cofit")
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False


def program_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --program."""
    return click.option(
        "--program",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Studies with a [job]: the folder with the source of the program.  [default: the study's folder, or else "
        "the installed module]",
    )(command)


def listen_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --listen."""
    return click.option(
        "--listen",
        callback=lambda _context, _option, text: None if text is None else _address(text),
        metavar="HOST:PORT",
        help="Where to listen on this machine, if not at the study's address (behind a router, in a container).",
    )(command)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise parameter_error("listen", "cofit", "HOST:PORT, as in 0.0.0.0:7100 or [::]:7100", text)
    return host, int(port)
