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
    """The messages that each party received, in order, as raw bytes; and whom it sent to in each of its steps."""

    def __init__(self) -> None:
        self.received: dict[str, list[tuple[str, str, bytes]]] = {}
        self.steps: dict[str, list[tuple[list[str], list[str]]]] = {}

    def of(self, party: str, label: str | None = None) -> bytes:
        """All that a party received under a label (or at all), joined."""
        return b"".join(data for _, at, data in self.received.get(party, []) if label in (None, at))

    def depth(self) -> int:
        """How many messages follow from one another: rounds, also where no party waits for all of them."""
        clocks, left = dict.fromkeys(self.steps, 0), {party: list(steps) for party, steps in self.steps.items()}
        on_the_way: dict[tuple[str, str], list[int]] = {}
        sent = dict.fromkeys(self.steps, False)
        while any(left.values()):
            for party, steps in left.items():
                if steps and not sent[party]:
                    for receiver in steps[0][0]:
                        on_the_way.setdefault((party, receiver), []).append(clocks[party] + 1)
                    sent[party] = True
                if steps and all(on_the_way.get((sender, party)) for sender in steps[0][1]):
                    arrived = [on_the_way[sender, party].pop(0) for sender in steps.pop(0)[1]]
                    clocks[party], sent[party] = max([clocks[party], *arrived]), False
        return max(clocks.values(), default=0)


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
        if label != "setup":
            views.steps.setdefault(self.name, []).append((list(send), list(receive)))

    with mock.patch.object(Mesh, "exchange", exchange):
        yield views


def p_uniform_bytes(data: bytes | npt.NDArray[np.uint8]) -> float:
    """The p-value of a chi-square test that bytes are uniform."""
    counts = np.bincount(np.frombuffer(bytes(data), np.uint8), minlength=256)
    return float(stats.chisquare(counts).pvalue)
