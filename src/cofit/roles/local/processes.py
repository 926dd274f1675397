"""Start every member of a run as a process of its own and connect them over TLS on loopback.

Each process makes its own key, which never leaves it, and tells the launcher its certificate and port; the launcher
hands everybody the pinned list. Pipes between the launcher and its own children carry Python objects; nothing that
comes from a peer is ever unpickled.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from pickle import PicklingError

from cofit import kernels
from cofit.errors import CofitError, InvalidInputError, StoppedError
from cofit.roles.local.forked import forked_context
from cofit.roles.local.member import Agenda, Job, Outcomes, ReportingParty
from cofit.roles.local.progress import Listener, Progress, silent
from cofit.transport import Mesh, Peer, connect_mesh, generate_identity, listen

_LOOPBACK = "127.0.0.1"
_GRACE = 2.0


def run_processes(
    agenda: Agenda, jobs: Mapping[str, Job], threads: int | None = None, listener: Listener = silent
) -> Outcomes:
    """Run every member's job in a process of its own; return what each brought back, or its error.

    ``threads``: kernel threads of each process; None leaves the kernels' default. ``listener`` is called here, in the
    launcher, with what the reporting party tells; an error of its own kills everybody and is raised.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InvalidInputError(
            "run_local(processes=True) was reached while a party's process was importing your script. Put the call "
            "under 'if __name__ == \"__main__\":' so that importing the script does not start another run."
        )
    context = forked_context()
    children: dict[str, tuple[BaseProcess, Connection]] = {}
    try:
        for name in agenda.members:
            ours, theirs = context.Pipe()
            arguments = (theirs, name, agenda, jobs[name], threads)
            process: BaseProcess = context.Process(target=_member, args=arguments, name=name, daemon=True)
            _start(process)
            theirs.close()
            children[name] = (process, ours)
        return _supervise(children, agenda.timeout, listener)
    except BaseException:
        for process, _ in children.values():
            process.kill()
        raise
    finally:
        for process, connection in children.values():
            connection.close()
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let a child start with Ctrl-C ignored, which it inherits: the launcher alone handles it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may change signal handlers; _member ignores Ctrl-C a little later
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _hint(connected: bool) -> str:
    if connected:
        return ""
    return (
        " before it could connect. If the message above speaks of importing your script, put the call of run_local "
        "under 'if __name__ == \"__main__\":'"
    )


def _start(process: BaseProcess) -> None:
    try:
        with _interrupts_ignored():
            process.start()
    except (PicklingError, AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"The program cannot be started in another process ({error}). "
            f"Define it at the top level of a module, or use processes=False."
        ) from error


def _supervise(children: Mapping[str, tuple[BaseProcess, Connection]], timeout: float, listener: Listener) -> Outcomes:
    """Relay the addresses and the progress, and wait for everybody's outcome.

    After the first failure the others have ``timeout`` (and a little more) to notice; who has not ended by then is
    killed.
    """
    patience: float | None = None
    outcomes: Outcomes = {}
    peers: dict[str, Peer] = {}
    waiting = {connection: name for name, (_, connection) in children.items()}
    while waiting:
        started = time.monotonic()
        news = wait(list(waiting), patience)
        if patience is not None:
            patience -= time.monotonic() - started
            if not news:
                for late in waiting.values():
                    children[late][0].kill()
                    outcomes[late] = StoppedError(f"'{late}' did not end and was killed.")
                return outcomes
        for ready in news:
            assert isinstance(ready, Connection)  # noqa: S101 - for the type checker: we wait for nothing else
            name = waiting[ready]
            try:
                message = ready.recv()
            except (EOFError, OSError):  # the pipe ended
                process = children[name][0]
                process.join(timeout=5)
                message = CofitError(
                    f"The process of '{name}' died (exit code {process.exitcode}){_hint(name in peers)}."
                )
            except Exception as error:  # what it sent cannot be read back
                message = CofitError(f"The result of '{name}' cannot travel between processes: {error}")
            if isinstance(message, Peer):
                peers[name] = message
                if len(peers) == len(children):
                    for _, connection in children.values():
                        connection.send(peers)
            elif isinstance(message, Progress):
                listener(message)
            else:
                outcomes[name] = message
                del waiting[ready]
                if isinstance(message, BaseException) and patience is None:
                    patience = timeout + _GRACE
                if len(peers) < len(children):  # it failed before the others could be told of it: let them go
                    return outcomes | {n: StoppedError("Stopped: another member failed.") for n in waiting.values()}
    return outcomes


def _member(launcher: Connection, name: str, agenda: Agenda, job: Job, threads: int | None) -> None:
    """The main function of a member's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the launcher's to handle
    try:
        kernels.keep_freed_memory(True)
        if threads is not None:
            kernels.set_threads(threads)
        with _connect(launcher, name, agenda) as mesh:
            outcome = job.run(mesh, launcher.send) if isinstance(job, ReportingParty) else job(mesh)
        launcher.send(replace(outcome, peak_memory=peak_memory(), processor_seconds=time.process_time()))
    except BaseException as error:  # carried to the launcher
        error.add_note(f"In the process of '{name}':\n{traceback.format_exc()}")
        _send_error(launcher, error)


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes.

    Linux keeps ``ru_maxrss`` when a process becomes another program: a child of a large launcher would report the
    launcher's size. VmHWM in /proc is that of the program itself.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Let the peak begin anew, at what is resident now; where the system cannot do that, it stays."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _connect(launcher: Connection, name: str, agenda: Agenda) -> Mesh:
    identity = generate_identity(name)
    links = agenda.links()
    with listen(_LOOPBACK) as listener:
        launcher.send(Peer(name, _LOOPBACK, listener.port, identity.certificate_pem))
        peers: dict[str, Peer] = launcher.recv()
        return connect_mesh(
            identity,
            listener,
            dial=[peers[a] for a, b in links if b == name],
            accept=[peers[b] for a, b in links if a == name],
            terms=agenda.terms,
            timeout=agenda.timeout,
            members=agenda.members,
        )


def _send_error(launcher: Connection, error: BaseException) -> None:
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:  # an error that cannot travel is told in words
        error = CofitError(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
    launcher.send(error)
