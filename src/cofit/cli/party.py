"""``cofit party``: one computing party of a study, until it is stopped."""

from __future__ import annotations

import logging
import signal
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from types import FrameType

import click

from cofit.errors import StateError, parameter_error
from cofit.roles.party_service import PartyService
from cofit.roles.study_files import load_identity_for, load_study

_POLL_SECONDS = 0.1


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="This party, as the study calls it.")
@click.option("--key", required=True, type=click.Path(path_type=Path), help="Its private key, from `cofit keygen`.")
@click.option(
    "--state",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Its private directory; made if it does not exist, and used for this study and party only.",
)
@click.option(
    "--until-released",
    is_flag=True,
    help="Stop when every party has the model; by default it goes on answering, so that analysts can fetch it.",
)
@click.option(
    "--listen",
    callback=lambda _context, _option, text: None if text is None else _address(text),
    metavar="HOST:PORT",
    help="Where to listen on this machine, if not at the study's address (behind a router, in a container).",
)
def party(study: Path, name: str, key: Path, state: Path, until_released: bool, listen: tuple[str, int] | None) -> None:
    """Run one computing party of STUDY: wait for contributions and for the other parties, train, release, answer.

    Parties may start in any order and stop at any time; what they have acknowledged is on disk in the state directory,
    and a party that starts again goes on where it was. Events go to the standard error, one line each, and to the
    audit log in the state directory. SIGTERM and SIGINT stop it.

    Exit codes: 0 stopped, or released with --until-released; 1 it failed, or, with --until-released, another party
    says that no release can come any more; 2 wrong usage or input.
    """
    loaded = load_study(study)
    identity = load_identity_for(loaded, name, key)
    log_to_stderr(identity.name)
    service = PartyService(loaded, identity, state, listen)
    if _run(service, until_released) == "failed":
        raise StateError("A check failed in this study: nothing is resumed here. The log above says which one.")


def _run(service: PartyService, until_released: bool) -> str:
    """Run the service in a thread, so that a signal need only set a flag; return the phase at the end."""
    asked = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    result: Future[str] = Future()

    def run() -> None:
        try:
            result.set_result(service.run(until_released=until_released))
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=run, name="party", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL_SECONDS)
        if asked:
            service.stop()
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


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise parameter_error("listen", "cofit party", "HOST:PORT, as in 0.0.0.0:7100 or [::]:7100", text)
    return host, int(port)
