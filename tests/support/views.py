"""What one party sees: every byte it receives, besides its own shares and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest import mock

import numpy as np
import numpy.typing as npt
from scipy import stats

from cofit.transport import Mesh


class Views:
    """The messages that each party received, in order, as raw bytes."""

    def __init__(self) -> None:
        self.received: dict[str, list[tuple[str, str, bytes]]] = {}

    def of(self, party: str, label: str | None = None) -> bytes:
        """All that a party received under a label (or at all), joined."""
        return b"".join(data for _, at, data in self.received.get(party, []) if label in (None, at))


@contextmanager
def watched() -> Iterator[Views]:
    """Record what every mesh receives while the block runs."""
    views = Views()
    original = Mesh.exchange

    def exchange(
        self: Mesh,
        label: str,
        send: Mapping[str, memoryview | Sequence[memoryview]],
        receive: Mapping[str, memoryview],
        states: Mapping[str, int] | None = None,
    ) -> None:
        original(self, label, send, receive, states)
        log = views.received.setdefault(self.name, [])
        log.extend((sender, label, bytes(buffer)) for sender, buffer in receive.items())

    with mock.patch.object(Mesh, "exchange", exchange):
        yield views


def p_uniform_bytes(data: bytes | npt.NDArray[np.uint8]) -> float:
    """The p-value of a chi-square test that bytes are uniform."""
    counts = np.bincount(np.frombuffer(bytes(data), np.uint8), minlength=256)
    return float(stats.chisquare(counts).pvalue)
