"""All-but-one transfers of 32 seeds: 26 trees of depth 5, each from 5 base transfers.

One party holds, for every tree b, 32 seeds (leaves) r_(b,x); the other holds all of them but the one at x = Delta_b,
a number of 5 bits that is its secret. A tree grows from its root by G(s) = (AES_s(0), AES_s(1)); level i decides bit
i of a leaf's number x, so that the node n of level i has the children n and n + 2^i. The root is never there: the two
seeds of base transfer 5 b are its children. For each later level i the growing party sends the XOR of all children
with bit i clear, and of all with bit i set, each under one of the two seeds of base transfer 5 b + i.

Base transfers 5 b to 5 b + 4 belong to the bits of Delta_b, low bit first, and the choice is the *complement* of that
bit (``base_choices``): who must not know the leaf at Delta_b learns, at each level, the XOR of the siblings off its
path, and from it the one sibling that it lacks.

Delta has 128 bits, and the trees have 130 levels: bits 3 and 4 of the last tree's number are 0, a constant that
everybody knows. The last two base transfers hide nothing by their choice, and give nothing away: of each the other
seed is as unknown as ever, so that the last tree too lacks one leaf, at one of the numbers 0 to 7.

Who learns what: the growing party nothing; the other one 31 of 32 leaves, and the last is pseudorandom to it
(Goldreich, Goldwasser, Micali). Passive security; an error in the sums is not noticed. 1 message of ``SUMS_BYTES``
bytes.

Sources: Roy, "SoftSpokenOT: quieter OT extension from small-field silent VOLE in the Minicrypt model", CRYPTO 2022,
section 6 (all-but-one transfers from trees) and section 3 (what they are good for); Goldreich, Goldwasser and Micali,
"How to construct random functions", Journal of the ACM 1986, section 3 (the tree).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit.errors import ProtocolError, parameter_error
from cofit.sharing.pair.base_ot import COUNT, SEED_BYTES

Bytes = npt.NDArray[np.uint8]

TREES = 26
DEPTH = 5
LEAVES = 1 << DEPTH
DELTA_BITS = 128
"""Of the trees' numbers together: all bits but the last two, which are 0 always."""
SUMS_BYTES = TREES * (DEPTH - 1) * 2 * SEED_BYTES
_TWO_BLOCKS = bytes(16) + bytes([1]) + bytes(15)


def base_choices(delta_bits: Bytes) -> Bytes:
    """Return the choice bits, (130,), of the base transfers for the party that must not know the leaves at Delta."""
    return by_tree(delta_bits, "base_choices").reshape(-1) ^ np.uint8(1)


def by_tree(delta_bits: Bytes, owner: str) -> Bytes:
    """Return the bits of the numbers Delta_b, (26, 5), from those of Delta, (128,); ``owner`` is whose parameter."""
    if delta_bits.shape != (DELTA_BITS,) or delta_bits.dtype != np.uint8 or (delta_bits > 1).any():
        raise parameter_error("delta_bits", owner, f"{DELTA_BITS} bytes of 0 or 1", f"shape {delta_bits.shape}")
    return np.pad(delta_bits, (0, COUNT - DELTA_BITS)).reshape(TREES, DEPTH)


def grown(pairs: Bytes) -> tuple[Bytes, Bytes]:
    """Return all leaves, (26, 32, 16), and the message for the other party, from the pairs of seeds (130, 2, 16)."""
    if pairs.shape != (COUNT, 2, SEED_BYTES):
        raise parameter_error("pairs", "grown", f"of shape {(COUNT, 2, SEED_BYTES)}", pairs.shape)
    seeds = pairs.reshape(TREES, DEPTH, 2, SEED_BYTES)
    nodes = seeds[:, 0]
    sums = np.empty((TREES, DEPTH - 1, 2, SEED_BYTES), np.uint8)
    for level in range(1, DEPTH):
        children = _children(nodes)
        sums[:, level - 1] = np.bitwise_xor.reduce(children, axis=2) ^ seeds[:, level]
        nodes = children.reshape(TREES, -1, SEED_BYTES)
    return nodes, sums.reshape(-1)


def punctured(delta_bits: Bytes, keys: Bytes, sums: Bytes) -> Bytes:
    """Return the leaves, (26, 32, 16), with zeros at those of Delta.

    ``keys`` are the seeds, (130, 16), that the base transfers gave for ``base_choices(delta_bits)``.
    """
    bits = by_tree(delta_bits, "punctured")
    if keys.shape != (COUNT, SEED_BYTES):
        raise parameter_error("keys", "punctured", f"of shape {(COUNT, SEED_BYTES)}", keys.shape)
    if sums.dtype != np.uint8 or sums.shape != (SUMS_BYTES,):
        raise ProtocolError(
            f"The sums of {TREES} trees have {SUMS_BYTES} bytes. Got {sums.dtype} of shape {sums.shape} instead: the"
            " other party's program differs."
        )
    told = sums.reshape(TREES, DEPTH - 1, 2, SEED_BYTES)
    seeds = keys.reshape(TREES, DEPTH, 1, SEED_BYTES)
    off_path = np.uint8(0) - (bits ^ np.uint8(1))  # all bits of a byte: the sibling's side is the one with bit i set
    nodes = np.stack([~off_path[:, :1] & seeds[:, 0, 0], off_path[:, :1] & seeds[:, 0, 0]], axis=1)
    path = bits[:, 0].copy()  # the number of the node that is missing
    for level in range(1, DEPTH):
        missing = _equal(np.arange(1 << level, dtype=np.uint8), path[:, None])
        children = _children(nodes) & ~missing[:, None, :, None]
        known = np.bitwise_xor.reduce(children, axis=2) ^ told[:, level - 1] ^ seeds[:, level]
        side = np.stack([~off_path[:, level], off_path[:, level]], axis=1)
        children |= missing[:, None, :, None] & side[:, :, None, None] & known[:, :, None, :]
        nodes = children.reshape(TREES, -1, SEED_BYTES)
        path |= bits[:, level] << np.uint8(level)
    return nodes


def _children(nodes: Bytes) -> Bytes:
    """Return the children of nodes (trees, n, 16) as (trees, 2, n, 16): those with the next bit clear, and set."""
    blocks = [
        Cipher(algorithms.AES128(node.tobytes()), modes.ECB()).encryptor().update(_TWO_BLOCKS)  # noqa: S305 two blocks
        for node in nodes.reshape(-1, SEED_BYTES)
    ]
    children = np.frombuffer(b"".join(blocks), np.uint8)
    return children.reshape(*nodes.shape[:2], 2, SEED_BYTES).transpose(0, 2, 1, 3)


def _equal(a: Bytes, b: Bytes) -> Bytes:
    """Return bytes of ones where two small numbers are equal, and of zeros elsewhere; in constant time."""
    differ = (a ^ b).astype(np.int8)
    return ((differ | -differ) >> 7).astype(np.uint8) ^ np.uint8(0xFF)
