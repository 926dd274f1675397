"""The bare kernel work of training epochs: what a secure epoch is compared with."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from cofit.secret import Party, SecretArray
from cofit.sharing.held import HeldShare
from cofit.transport import LabelCounts

_BLOCKS = 5
_READ_FOR_TWO = 3
_TERMS = 8  # products that a kernel adds at once


def kernel_calls(x: SecretArray, epochs: int) -> None:
    """Make the calls of ``epochs`` epochs into the matrix kernels, on the shares of X, without any message.

    One product with X and one with its transpose for each epoch, on all parts of the share at once: each part with one
    vector, or with two where parties hold three parts. A scheme may need less (with ``rep3`` party 0 reads one part of
    two, ``sharing/rep3/summed.py``); what it is compared with stays the same. The vectors hold elements of the shares
    themselves: a kernel's time depends on shapes alone.
    """
    share = x._share
    if isinstance(share, HeldShare):
        back = share.map(np.transpose)
        assert isinstance(back, HeldShare)  # noqa: S101 - for the type checker
        row, column = (share.public.fetch()[0].reshape(-1)[:length] for length in (share.shape[1], len(x)))
        for _ in range(epochs):
            share.matmul(row, row)
            back.matmul(column, column)
        return
    placed = share.placed
    transposed = placed.transposed()
    first = share.block((slice(0, 1), slice(None)))
    wide = tuple(np.ascontiguousarray(part[0]) for part in first.parts)
    tall = tuple(np.ascontiguousarray(np.resize(part, len(x))) for part in wide)
    if placed.count == _READ_FOR_TWO:
        for _ in range(epochs):
            placed.matvec_pairs(wide * 2)
            transposed.matvec_pairs(tall * 2)
        return
    pieces = [range(start, min(start + _TERMS, placed.count)) for start in range(0, placed.count, _TERMS)]
    parts = [(placed.only(*p), [wide[i] for i in p], transposed.only(*p), [tall[i] for i in p]) for p in pieces]
    for _ in range(epochs):
        for some, rows, turned, columns in parts:
            some.matmul_sum(rows)
            turned.matmul_sum(columns)


def time_kernel_calls(party: Party, x: SecretArray, epochs: int) -> float:
    """Return the seconds of ``kernel_calls`` at this party, while all parties make theirs: a barrier starts them.

    A dealer makes none.
    """
    party.barrier("barrier")
    if party.deals:
        return 0.0
    start = time.perf_counter()
    kernel_calls(x, epochs)
    return time.perf_counter() - start


class InterleavedKernels:
    """The kernel calls of all epochs of a training run, in blocks: one now, the others between epochs of the run.

    So a machine that is slow for a while slows both. The calls are made on a clock of their own, ``clock``, and
    ``seconds`` is what they took at this party; ``step``: as which training reports how many epochs are done. x is let
    go after the last block, which comes before the last epochs.
    """

    def __init__(self, party: Party, x: SecretArray, epochs: int, step: str, clock: str) -> None:
        self.seconds = 0.0
        blocks = min(_BLOCKS, epochs)
        bounds = [epochs * i // blocks for i in range(blocks + 1)]
        self._due = {start: end - start for start, end in pairwise(bounds)}
        self._party, self._tell, self._x = party, party.progress, x
        self._step, self._clock = step, clock
        self._barriers: list[LabelCounts] = []
        party.progress = self._progress  # type: ignore[method-assign]
        self._progress(step, 0, epochs)

    def without_barriers(self, traffic: LabelCounts) -> LabelCounts:
        """Return the traffic of a run without what these calls took to begin together."""
        for one in self._barriers:
            traffic = traffic - one
        return traffic

    def _progress(self, step: str, done: int, total: int) -> None:
        if step == self._step and done in self._due:
            self._tell(self._clock, 0, 1)
            mesh = self._party._scheme.mesh
            before = mesh.counts
            self.seconds += time_kernel_calls(self._party, self._x, self._due.pop(done))
            self._barriers.append((mesh.counts - before).total)
            if not self._due:
                del self._x
        self._tell(step, done, total)
