"""One shard as an object on a Dask worker: what a head asks of it, one thing at a time.

All of it runs in a thread of the shard's own, so that a worker may have several shards, and the worker's event loop
answers while one computes. Two things go past that thread:

- ``watch``: the head asks again and again, so that each knows that the other lives. A shard that was not asked for
  ``LEASE_SECONDS`` has lost its head: it leaves the session and drops the rows.
- a failed check: the shard waits until the head has noted it durably (``noted``), and only then tells other parties. If
  no head notes it, they are told nothing, and see the connection end.

Dask brings a class and public facts by way of its scheduler; everything else comes from the head directly. An object
that Dask makes anew, because a worker was lost, is in no session and refuses to compute: what it had is never made up.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cofit import kernels
from cofit.errors import InvalidInputError, StateError, parameter_error
from cofit.roles.shards.session import Drop, Offer, Setting, ShardSession, Step
from cofit.roles.shards.stored_rows import StoredRows, Wanted

R = TypeVar("R")
LEASE_SECONDS = 30.0
_NOTED_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_NUMBER = re.compile(r"[0-9]{1,5}")
HOST, PORTS = "COFIT_SHARD_HOST", "COFIT_SHARD_PORTS"
OF_SESSION = frozenset({"join", "run", "leave", "counts"})
"""What is asked of a session, which a call names first."""
VERSION = importlib.metadata.version("cofit")


class ShardWorker:
    """Shard ``shard`` of a party in a study. A Dask actor: ``client.submit(ShardWorker, ..., actor=True)``."""

    def __init__(self, study: str, party: str, shard: int, version: str) -> None:
        """version: of the head's software, which must be this worker's."""
        if version != VERSION:
            raise InvalidInputError(f"The worker runs cofit {VERSION}, and the party {version}. Install one release.")
        worker = importlib.import_module("distributed").get_worker()
        self._directory = Path(worker.local_directory) / "cofit"
        self._address = str(worker.contact_address or worker.address)
        kernels.set_threads(max(1, worker.state.nthreads))
        self._name = f"shard {shard} of {party} in {study[:8]}"
        self._stored = StoredRows(self._directory)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        self._session: ShardSession | None = None
        self._failed, self._noted = threading.Event(), threading.Event()
        self._watching: set[Callable[[], object]] = set()
        self._asked_at, self._expired = time.monotonic(), False
        threading.Thread(target=self._lease, name=f"lease of {self._name}", daemon=True).start()

    # --- what a head asks ----------------------------------------------------------------------------------

    async def missing(self, wanted: Mapping[str, Wanted]) -> list[str]:
        """Return which rows the head must send."""
        return await self._done(self._stored.missing, wanted)

    async def write(self, name: str, wanted: Wanted, offset: int, data: bytes) -> None:
        """Store a chunk of the shard's rows."""
        await self._done(self._stored.write, name, wanted, offset, data)

    async def offer(self, setting: Setting) -> Offer:
        """Begin a session; return where the shards of other parties find this one."""
        return await self._done(self._offer, setting)

    async def join(self, session: bytes, records: Sequence[bytes]) -> None:
        """Meet the same shard of all other parties."""
        await self._done(lambda: self._current(session).join(records))

    async def run(self, session: bytes, steps: Sequence[Step | Drop], wanted: int | None) -> Any:
        """Compute."""
        return await self._done(lambda: self._current(session).run(steps, wanted))

    async def watch(self, seconds: float) -> bool:
        """Return whether a check has failed, at once if so, else after so many seconds.

        StateError where this shard has taken its head for gone: another one must take its place.
        """
        self._check_lease()
        self._asked_at = time.monotonic()
        told = asyncio.Event()
        tell = partial(asyncio.get_running_loop().call_soon_threadsafe, told.set)
        self._watching.add(tell)  # a head asks twice at once where it also looks whether we are there
        try:
            if not self._failed.is_set():
                await asyncio.wait_for(told.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            self._watching.discard(tell)
        self._asked_at = time.monotonic()
        return self._failed.is_set()

    async def noted(self) -> None:
        """The head has noted that a check failed."""
        self._noted.set()
        self._failed.clear()

    async def leave(self, session: bytes, well: bool, forget: bool) -> None:
        """End the session, if it still is this one, and drop the rows if they are not needed any more."""
        current = self._session
        if current is None or current.session != session:
            self._check_lease()
            return
        if not well:
            current.interrupt()
        await self._done(self._leave, well, forget)

    async def counts(self, session: bytes) -> Any:
        """Return the traffic of the session, per label, and the processor seconds of this process."""
        return await self._done(lambda: self._current(session).counts()), time.process_time()

    # --- in the shard's own thread ---------------------------------------------------------------------------

    async def _done(self, do: Callable[..., R], *arguments: Any) -> R:
        self._check_lease()
        return await asyncio.get_running_loop().run_in_executor(self._thread, do, *arguments)

    def _check_lease(self) -> None:
        if self._expired:
            raise StateError("This shard was not asked for long: it has left the session, and dropped its rows.")

    def _current(self, session: bytes) -> ShardSession:
        """Return the session; StateError where it is another: a call may come late, or to a worker that is new."""
        if self._session is None or self._session.session != session:
            raise StateError("This worker is not in this session: it is a new one. The session is repeated.")
        return self._session

    def _offer(self, setting: Setting) -> Offer:
        self._leave(False, False)
        self._failed.clear()
        self._noted.clear()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._session = ShardSession(setting, self._stored, self._directory, self._fail)
        own = host_of(self._address)
        host = os.environ.get(HOST, own)
        bind = own if host == own else ""
        for port in ports(os.environ.get(PORTS, "0")):
            with contextlib.suppress(StateError):
                return self._session.offer(bind, host, port)
        raise StateError(
            f"A worker finds no free port at {bind or host} among those in {PORTS}: "
            f"{os.environ.get(PORTS, 'any')}. Allow more ports."
        )

    def _leave(self, well: bool, forget: bool) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close(well=well)
        if forget:
            self._stored.forget()

    def _fail(self) -> None:
        """Wait until the head has noted a failed check; it is watching."""
        self._failed.set()
        for tell in tuple(self._watching):
            with contextlib.suppress(RuntimeError):  # who has asked is gone
                tell()
        self._noted.wait(_NOTED_SECONDS)
        if not self._noted.is_set() and self._session is not None:
            self._session.interrupt()  # so that nobody is told what our own party does not know

    def _lease(self) -> None:
        """End everything when no head has asked for long; a thread that holds this object lives no longer than that."""
        while time.monotonic() - self._asked_at < LEASE_SECONDS:
            time.sleep(_LOOK_SECONDS)
        self._expired = True
        if self._session is not None:
            self._session.interrupt()
        self._thread.submit(self._leave, False, True)
        self._thread.shutdown(wait=False)


def host_of(address: str) -> str:
    """Return the host of an address such as tls://10.0.0.3:41001 or tls://[::1]:41001."""
    host, _, _ = address.rpartition("://")[2].rpartition(":")
    return host.strip("[]")


def ports(text: str) -> Sequence[int]:
    """Return the ports of a text such as 9100-9199, or one port; 0: any."""
    first, hyphen, last = text.partition("-")
    if not _NUMBER.fullmatch(first) or (hyphen and not _NUMBER.fullmatch(last)):
        raise parameter_error(PORTS, "a worker", "a port, or two with a hyphen between them", text)
    numbers = range(int(first), int(last or first) + 1)
    if not numbers or numbers[-1] >= 1 << 16 or (last and not numbers[0]):
        raise parameter_error(PORTS, "a worker", "ports from 1 to 65535, the first one first", text)
    return numbers
