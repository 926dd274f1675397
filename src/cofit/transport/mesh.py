"""The mesh: one party's connections to all its peers, and the one operation on them, ``exchange``.

A mesh is used by one thread. There is no thread behind it either: one loop sends and receives on all links
without blocking, so any number of parties may send messages of any size to each other at once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Container, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, cast

from cofit.errors import (
    InvalidInputError,
    MeshClosedError,
    PeerAbortedError,
    PeerClosedError,
    PeerSilentError,
    TransportError,
    parameter_error,
)
from cofit.transport.buffers import byte_view
from cofit.transport.channel import Channel
from cofit.transport.counters import Counters, Counts
from cofit.transport.farewell import part
from cofit.transport.frames import MAX_FRAME_BYTES, label_tag
from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError, Waiter
from cofit.transport.terms import Terms, check_name

if TYPE_CHECKING:
    from cofit.transport.buffers import Bytes
    from cofit.transport.keeper import Keeper

_FAREWELL_SECONDS = 0.5
_NOTICE_AFTER = 0.25
"""After this part of the time-out a waiting party tells the others whom it waits for."""
_SHORT_WAITS = 4
"""So many times an exchange waits before it looks at who makes progress."""


def _no_state(peer: str, default: int) -> int:
    del peer
    return default


class Mesh:
    """The connections of party ``name``, all greeted, and what may be done with them.

    ``timeout`` is how long (seconds) an awaited peer may send nothing, or a peer accept nothing, before the
    run is given up. After an error the mesh is dead. ``members`` are the parties of the run that we have no link
    to: a peer may blame them as it may blame our peers and us. A name that is none of these is quoted, never
    blamed. ``keeper``: keeps the links alive, where they are lines; a peer that computes is then not silent.
    """

    def __init__(
        self,
        name: str,
        links: Mapping[str, Link],
        terms: Terms,
        waiter: Waiter,
        *,
        timeout: float = 60.0,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        members: Collection[str] = (),
        keeper: Keeper | None = None,
    ) -> None:
        for each in (name, *links, *members):
            check_name("name", "Mesh", each)
        if name in links:
            raise parameter_error("links", "Mesh", f"links to parties other than {name!r} itself", list(links))
        if not timeout > 0:
            raise parameter_error("timeout", "Mesh", "a positive number of seconds", timeout)
        self.name = name
        self.peers = tuple(links)
        self.terms = terms
        self.timeout = timeout
        self._patience = timeout * _NOTICE_AFTER
        self._max_frame_bytes = max_frame_bytes
        self._waiter = waiter
        self._keeper = keeper
        self._members = frozenset((name, *links, *members))
        self._channels = {peer: Channel(link, name, peer, terms, self._members) for peer, link in links.items()}
        self._counters = Counters()
        self._tags: dict[str, int] = {}
        self._closed: TransportError | None = None

    def __enter__(self) -> Mesh:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort(f"{self.name!r} failed with {type(error).__name__}.")

    def __repr__(self) -> str:
        state = "open" if self._closed is None else "closed"
        return f"Mesh({self.name!r}, peers={list(self.peers)!r}, {state})"

    @property
    def counts(self) -> Counts:
        """Rounds, messages and bytes of all completed exchanges so far, per label."""
        return self._counters.snapshot()

    def exchange(
        self,
        label: str,
        send: Mapping[str, Bytes | Sequence[Bytes]],
        receive: Mapping[str, Bytes],
        states: Mapping[str, int] | None = None,
    ) -> None:
        """Send one message to each peer in ``send``; fill each buffer in ``receive`` from that peer's next one.

        A message is one buffer or several, which are joined; the receiver must expect exactly its size, under
        the same ``label``. One round if anything is received, none otherwise. On return all sends are handed
        to the system and all receives are complete. On an error the mesh is dead and the buffers are to be
        discarded. A buffer that is being sent must not be among those received into.

        Mistakes in the call itself are InvalidInputErrors, found before anything is sent or any state advances:
        an unknown peer, a buffer of the wrong kind, a read-only one to receive into. They leave the mesh alive.
        A message beyond the limit does not, although nothing of it is sent: the peers may already wait for their
        part of this exchange, so all are told and the mesh dies.

        ``states``: for each peer a number that both ends must have in common at this point, such as how far a
        shared random stream was read; it goes into the tag of every message, so that parties whose programs have
        parted ways notice before they use one.
        """
        if self._closed is not None:
            raise self._closed_error()
        tag = self._tags.get(label)
        if tag is None:
            tag = self._tags[label] = label_tag(label)
        channels = self._channels
        state_of = _no_state if states is None else states.get
        outgoing: list[tuple[Channel, int, list[memoryview], int]] = []
        bytes_sent = bytes_received = largest = 0
        for peer, message in send.items():
            if isinstance(message, (list, tuple)):
                pieces = list(map(byte_view, message))
                size = sum(map(len, pieces))
            else:
                pieces = [byte_view(cast("Bytes", message))]
                size = len(pieces[0])
            if peer not in channels:
                raise self._unknown_peer(peer)
            largest = max(largest, size)
            outgoing.append((channels[peer], tag ^ state_of(peer, 0), pieces, size))
            bytes_sent += size
        incoming: list[tuple[Channel, int, memoryview]] = []
        for peer, buffer in receive.items():
            target = byte_view(buffer)
            if target.readonly:
                raise InvalidInputError(f"The buffer to receive into from {peer!r} must be writable.")
            if peer not in channels:
                raise self._unknown_peer(peer)
            size = len(target)
            largest = max(largest, size)
            incoming.append((channels[peer], tag ^ state_of(peer, 0), target))
            bytes_received += size
        if largest > self._max_frame_bytes:
            raise self._oversized(label, largest)
        try:
            sending: list[Channel] = []
            for channel, mark, pieces, size in outgoing:
                if not channel.send(mark, pieces, size):
                    sending.append(channel)
            receiving: list[Channel] = []
            for channel, mark, target in incoming:
                channel.expect(label, mark, target)
                receiving.append(channel)
            if sending or receiving:
                self._run(label, sending, receiving)
                if self._keeper is not None:
                    self._keeper.waits_since = None
        except TransportError as error:
            self._die(error)
            raise
        except BaseException:
            self.abort(f"{self.name!r} was interrupted in {label!r}.")
            raise
        self._counters.add(label, len(outgoing), bytes_sent, len(incoming), bytes_received)

    def abort(self, reason: str) -> None:
        """Give up: tell all peers why (the reason must hold no secret), and close. Does nothing when closed."""
        if self._closed is None:
            self._die(PeerAbortedError(self.name, reason))

    def close(self) -> None:
        """Close after a completed run: what was sent last still arrives. Closing twice is fine."""
        if self._closed is None:
            self._closed = MeshClosedError(self.name, "The mesh was closed.")
            if self._keeper is None:
                part([channel.link for channel in self._channels.values()], self._waiter, 0.0)
            else:
                self._keeper.leave()

    def check_peers(self) -> None:
        """Raise PeerClosedError if a peer has left meanwhile; for a program that works for long without an exchange.

        Only connections that are brought back (``lines``) tell. From any thread.
        """
        gone = None if self._keeper is None else self._keeper.gone()
        if gone is not None:
            raise PeerClosedError(gone, f"{gone!r} has left the session, or cannot be reached any more.")

    def interrupt(self) -> None:
        """Make an exchange that waits fail, and every later one. Only with ``lines``. From any thread."""
        if self._keeper is not None:
            self._keeper.interrupt()

    # --- the loop ------------------------------------------------------------------------------------------

    def _run(self, label: str, sending: list[Channel], receiving: list[Channel]) -> None:
        """Most exchanges end here, after as many waits as messages are awaited, or with none."""
        for channel in receiving:
            if channel.link.has_unread():
                receiving = [each for each in receiving if not each.pump_receive()]
                break
        start = now = time.monotonic()
        if self._keeper is not None:
            self._keeper.waits_since = start
        for _ in range(_SHORT_WAITS):
            if not sending and not receiving:
                return
            ready = self._wait(sending, receiving, start + self._patience - now)
            if sending:
                sending = [each for each in sending if not each.pump_send()]
            if ready is None:
                receiving = [each for each in receiving if not each.pump_receive()]
            else:
                receiving = [each for each in receiving if each.link.fileno() not in ready or not each.pump_receive()]
            now = time.monotonic()
            if now >= start + self._patience:
                break
        if sending or receiving:
            self._persist(label, sending, receiving, start)

    def _persist(self, label: str, sending: list[Channel], receiving: list[Channel], start: float) -> None:
        """Go on for as long as every peer makes some progress within the time-out."""
        for channel in (*sending, *receiving):
            channel.last = start
        notice_at = start + self._patience
        told: set[str] = set()
        while sending or receiving:
            waiting = [*sending, *receiving]
            now = time.monotonic()
            for channel in waiting:
                if channel.progress:
                    channel.progress = False
                    channel.last = now
                elif self._keeper is not None:
                    channel.last = max(channel.last, self._keeper.news(channel.peer))
            if self._keeper is not None:
                self._keeper.waits_since = min(channel.last for channel in waiting)
            wake_at = min(channel.last for channel in waiting) + self.timeout
            if now >= wake_at:
                raise self._silent(label, now, waiting)
            if now < notice_at:
                wake_at = min(wake_at, notice_at)
            else:
                self._notify(waiting, told)
            self._wait(sending, receiving, wake_at - now)
            sending = [each for each in sending if not each.pump_send()]
            receiving = [each for each in receiving if not each.pump_receive()]

    def _wait(self, sending: list[Channel], receiving: list[Channel], seconds: float) -> Container[int] | None:
        links = []
        for channel in receiving:
            if channel.interrupted:
                return None
            links.append(channel.link)
        return self._waiter.wait(links, [each.link for each in sending] if sending else (), seconds)

    def _notify(self, waiting: list[Channel], told: set[str]) -> None:
        """Tell all peers, once per culprit, that we live and whom we wait for, so that they blame the right one.

        Every culprit is a member, so that no peer can make ``told`` or the notices grow beyond their number.
        """
        culprit = self._root(min(waiting, key=lambda channel: channel.last))
        if culprit not in told:
            told.add(culprit)
            for channel in self._channels.values():
                with contextlib.suppress(LinkClosedError, LinkRefusedError, LinkTamperedError):
                    channel.queue_waiting(culprit)
                    channel.link.pump_send()

    def _root(self, channel: Channel) -> str:
        """Return who holds this channel up: the peer, or the party that the peer itself waits for."""
        waits_for = channel.waits_for
        return waits_for if waits_for in self._members and waits_for != self.name else channel.peer

    # --- the end -------------------------------------------------------------------------------------------

    def _silent(self, label: str, now: float, waiting: list[Channel]) -> PeerSilentError:
        """Name all that hold us up in the text, and the one that has been silent for longest as the peer."""
        stuck = sorted((c for c in waiting if now - c.last >= self.timeout), key=lambda c: (c.last, self._root(c)))
        roots = ", ".join(sorted({self._root(channel) for channel in stuck}))
        direct = ", ".join(sorted({channel.peer for channel in stuck}))
        through = "" if direct == roots else f" (found through {direct}, waiting for it)"
        unknown = sorted({c.waits_for for c in stuck if c.waits_for} - self._members)
        if self._keeper is not None and (away := {c.peer for c in stuck if self._keeper.away(c.peer)}):
            through += f" (the connection to {', '.join(sorted(away))} broke, and could not be brought back)"
        claimed = f" (it says that it waits for {', '.join(unknown)}, unknown to this party)" if unknown else ""
        return PeerSilentError(
            self._root(stuck[0]),
            f"{roots} sent or accepted nothing for {self.timeout:g} s in {label!r}{through}{claimed}. Check that it "
            "still runs and can be reached; if it only computes for long, raise the time-out.",
        )

    def _die(self, error: TransportError) -> None:
        """Tell all peers and close all links. What goes wrong with the telling must not hide ``error``."""
        self._closed = error
        culprit = error.culprit if isinstance(error, PeerAbortedError) else error.peer
        with contextlib.ExitStack() as closing:
            if self._keeper is not None:
                closing.callback(self._keeper.stop)
            for channel in self._channels.values():
                closing.callback(channel.link.close)
            with contextlib.suppress(Exception):
                for channel in self._channels.values():
                    with contextlib.suppress(LinkClosedError, LinkRefusedError, LinkTamperedError):
                        channel.queue_abort(culprit, str(error))
                links = [channel.link for channel in self._channels.values()]
                part(links, self._waiter, min(_FAREWELL_SECONDS, self.timeout))

    def _closed_error(self) -> MeshClosedError:
        peer = self.name if self._closed is None else self._closed.peer
        return MeshClosedError(peer, f"The mesh of {self.name!r} carries no more messages. {self._closed}")

    def _unknown_peer(self, peer: str) -> InvalidInputError:
        return parameter_error("peer", "Mesh.exchange", f"one of {list(self.peers)}", peer)

    def _oversized(self, label: str, size: int) -> InvalidInputError:
        """Give up: the program can go on at no party."""
        limit = self._max_frame_bytes
        self.abort(
            f"{self.name!r} was to send or receive {size} bytes in one message in {label!r}; at most {limit} are "
            "allowed. Use smaller inputs or batches."
        )
        return parameter_error("message", "Mesh.exchange", f"at most {limit} bytes long", f"{size} bytes")
