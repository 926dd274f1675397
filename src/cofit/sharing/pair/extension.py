"""Correlated oblivious transfers without end, from 26 trees: SoftSpoken, passive security.

After one message from the chooser, transfer i is: the chooser has a random bit c_i and a row v_i of 128 bits, the
sender has the row w_i = v_i XOR c_i Delta. Delta, 128 bits, is the sender's secret, the same for all transfers; the
chooser does not choose its bits.

Every leaf x of tree b is the key of a stream of bits r_(b,x): AES-128 in counter mode. For every transfer the chooser
takes

    u_b = XOR_x r_(b,x),    v_b = XOR_x x r_(b,x)    (5 bits: bit j is the XOR over the x that have bit j)

and the sender, who lacks the leaf x = Delta_b, w_b = XOR_x (x XOR Delta_b) r_(b,x) = v_b XOR Delta_b u_b, for which
it does not need it. All trees must have the same bit, c = u_0; so the chooser sends u_b XOR c for the other 25 trees,
and the sender adds Delta_b times that. Bits 5 b to 5 b + 4 of a row are those of tree b, low first; the last tree has
three, as Delta_25 has (its other two bits are 0, so that both parties' would be alike: nobody makes them).

Who learns what: what the chooser sends is masked by u_b, of which the sender lacks one summand; nothing goes to the
chooser, so Delta is hidden as well as the trees hide it. The rows of one party are pseudorandom given the other's,
but for the relation above: before use they are hashed (``hashing``). Passive security: nobody checks that the chooser
took the same c in all trees.

Costs: 25/8 bytes a transfer, from chooser to sender; 6.5 blocks of AES a transfer on either side.

Source: Roy, "SoftSpokenOT: quieter OT extension from small-field silent VOLE in the Minicrypt model", CRYPTO 2022,
section 3 (products over small fields, here k = 5, and over subspaces, here the repetition code) and section 5
(transfers from them); without the consistency check of section 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.integers import Words
from cofit.errors import ProtocolError, parameter_error
from cofit.sharing.pair.base_ot import SEED_BYTES
from cofit.sharing.pair.streams import QUANTUM, QUANTUM_BYTES, streams_of
from cofit.sharing.pair.trees import DEPTH, LEAVES, TREES, by_tree

__all__ = ["QUANTUM", "Chooser", "Sender", "corrections_bytes"]

Bytes = npt.NDArray[np.uint8]


def corrections_bytes(count: int) -> int:
    """Return the bytes of the message for ``count`` transfers."""
    return _checked(count, "corrections_bytes") // QUANTUM * (TREES - 1) * QUANTUM_BYTES


class Chooser:
    """The party that gets random choice bits; it has all leaves, (26, 32, 16)."""

    def __init__(self, leaves: Bytes) -> None:
        self._streams = streams_of(_leaves_of(leaves, "Chooser"))

    def extend(self, count: int) -> tuple[Words, Words, Bytes]:
        """Return the rows (count, 2), the choices (64 in a word) and the message for the sender."""
        return self._streams.chosen(_checked(count, "Chooser.extend"))


class Sender:
    """The party that has Delta; it has all leaves, (26, 32, 16), but those at Delta."""

    def __init__(self, leaves: Bytes, delta_bits: Bytes) -> None:
        bits = by_tree(delta_bits, "Sender")
        self._delta: Words = np.packbits(delta_bits, bitorder="little").view(np.uint64)
        self._streams = streams_of(_from_delta(_leaves_of(leaves, "Sender"), bits))

    @property
    def delta(self) -> Words:
        """The 128 bits by which the two rows of a transfer differ where the choice is 1."""
        return self._delta.copy()

    def extend(self, count: int, corrections: Bytes) -> Words:
        """Return the rows (count, 2), from the chooser's message."""
        size = corrections_bytes(_checked(count, "Sender.extend"))
        if corrections.dtype != np.uint8 or corrections.shape != (size,):
            raise ProtocolError(
                f"The corrections of {count} transfers have {size} bytes. Got {corrections.dtype} of shape"
                f" {corrections.shape} instead: the other party's program differs."
            )
        return self._streams.corrected(count, corrections, self._delta)


def _from_delta(leaves: Bytes, bits: Bytes) -> Bytes:
    """Return the leaves with number x XOR Delta_b at place x: the missing one is first, where no plane counts it."""
    places = np.arange(LEAVES)
    for bit in range(DEPTH):
        mask = np.uint8(0) - bits[:, bit, None, None]
        leaves = leaves ^ (mask & (leaves ^ leaves[:, places ^ (1 << bit)]))
    return leaves


def _leaves_of(leaves: Bytes, owner: str) -> Bytes:
    if leaves.shape != (TREES, LEAVES, SEED_BYTES) or leaves.dtype != np.uint8:
        raise parameter_error("leaves", owner, f"bytes of shape {(TREES, LEAVES, SEED_BYTES)}", leaves.shape)
    return leaves


def _checked(count: int, owner: str) -> int:
    if count < 0 or count % QUANTUM != 0:
        raise parameter_error("count", owner, f"a multiple of {QUANTUM}", count)
    return count
