"""The set-up of ``pair`` as what it stands for: a dealer that hands out all leaves of trees, or all but those at Delta.

The real one takes 520 encapsulations and 3120 keys of AES, most of the time of a small test. That it gives exactly this
is what ``test_base_ot.py``, ``test_trees.py`` and ``test_ideal_transfers.py`` show. Messages have the sizes of the real
ones. What is said about messages and secrets is shown with the real set-up, and so is one run of everything.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Generator
from cofit.arithmetic.prg import derive_seed
from cofit.sharing.pair import base_ot, trees

Bytes = npt.NDArray[np.uint8]
REAL = {
    "test_base_ot.py",
    "test_extension.py",
    "test_ideal_transfers.py",
    "test_secrecy.py",
    "test_traffic.py",
    "test_training.py",
    "test_transfers.py",
    "test_trees.py",
}
"""Modules of tests that need the real one, or run everything with it once."""
_DEALERS_OWN = secrets.token_bytes(32)


def leaves_of(label: bytes) -> Bytes:
    """All leaves of one direction of a session, (26, 32, 16)."""
    stream = Generator(derive_seed(_DEALERS_OWN, label.hex()))
    count = trees.TREES * trees.LEAVES * base_ot.SEED_BYTES
    return stream.draw(count).copy().reshape(trees.TREES, trees.LEAVES, base_ot.SEED_BYTES)


def leaves_but_those_at(delta_bits: Bytes, label: bytes, sums: Bytes) -> Bytes:
    """The same, with zeros at the numbers Delta_b."""
    numbers = trees.by_tree(delta_bits, "leaves_but_those_at") @ (1 << np.arange(trees.DEPTH))
    leaves = leaves_of(label)
    leaves[np.arange(trees.TREES), numbers] = 0
    return leaves


@contextmanager
def ideal_transfers(module: str) -> Iterator[None]:
    """Inside, sessions of ``pair`` in this process start so, unless the module of tests is one of ``REAL``."""
    if Path(module).name in REAL:
        yield
        return
    with (
        mock.patch.object(base_ot, "offered", lambda choices: (None, np.zeros(base_ot.OFFER_BYTES, np.uint8))),
        mock.patch.object(base_ot, "replied", lambda keys, label: (label, np.zeros(base_ot.REPLY_BYTES, np.uint8))),
        mock.patch.object(base_ot, "received", lambda offer, reply, label: label),
        mock.patch.object(trees, "grown", lambda label: (leaves_of(label), np.zeros(trees.SUMS_BYTES, np.uint8))),
        mock.patch.object(trees, "punctured", leaves_but_those_at),
    ):
        yield
