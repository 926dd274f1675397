"""Relations modulo 2^k as claims over a prime field: the first half of their check.

A relation says that z = sum of x y modulo 2^k, and all summands of x, y and z are integers that their groups know. A
coin draws D = 56 bits for every relation i: b_i1, ..., b_iD. If a relation is wrong, the sum over i of b_il (x_i y_i
- z_i) is not 0 modulo 2^k with probability 1/2 at least, for each l; so that some l shows it but with probability
2^-D.

Party p knows P_pl, the integer sum over i of b_il times its products of summands of x_i and y_i. It deals P_pl modulo
2^k as s_pl, with summands s_plA, and tells everybody W_pl = (P_pl - sum_A s_plA) / 2^k + sum_A m_plA, an integer,
where every m_plA is drawn by the group A and so large that W_pl says nothing. Then

  (i)  modulo 2^k, sum_p s_pl - sum_i b_il z_i is 0: it is opened.
  (ii) sum_p P_pl = sum_i b_il X_i Y_i over the integers, X_i = sum_A x_iA: checked modulo a prime that is drawn only
       now, and in random combination of all l. Both sides are below 2^(2k + 125): few primes divide their difference.

For one matrix X and many vectors w_e with z_e = X w_e, rows and vectors are combined first: Y_l = sum of the rows r
of X with b_rl = 1, V_m = sum of the w_e with b'_em = 1. Then P_p are the D x D products of all Y_l and V_m, whatever
the number of vectors is. What was argued for (i) and (ii) holds for these. ``proof.md`` has the whole argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic import Generator, PowerOfTwoRing, RingArray
from cofit.arithmetic.integers import Words
from cofit.errors import ProtocolError
from cofit.sharing.repn.columns import column, entries
from cofit.sharing.repn.relations import CHECKS, Matrix, Products

HIDING_BITS = 112
"""How many bits m_plA has beyond k."""
MOST_PRODUCTS = 1 << 40
"""Of summands, at one party in one check: then P_pl / 2^k has at most 40 bits beyond k."""
_SPARE_BITS = 8
_MASK = np.uint64((1 << CHECKS) - 1)
Coefficients = npt.NDArray[np.uint8]


def claim_bytes(ring: PowerOfTwoRing) -> int:
    """Return the size of W_pl."""
    return (ring.bits + HIDING_BITS + _SPARE_BITS) // 8


@dataclass
class Batch:
    """Relations with so many terms each, flat; x and y are None where z alone is to be 0."""

    x: list[Words] | None
    y: list[Words] | None
    z: list[Words]
    terms: int
    coefficients: Coefficients


@dataclass
class Projected:
    """Y_l and V_m of a matrix, by part: words of (D, columns); and sum b_rl b'_em z_e[r], (D, D)."""

    ys: list[Words]
    vs: list[Words]
    z: list[Words]


def batches(ring: PowerOfTwoRing, noted: Sequence[Products], coin: Generator) -> list[Batch]:
    """Draw the bits of all relations."""
    bits = coin.draw(7 * sum(item.count for item in noted)).reshape(-1, 7)
    found, start = [], 0
    for item in noted:
        own = bits[start : start + item.count]
        start += item.count
        x, y, z = (
            None if side is None else [ring.to_words(part) for part in side] for side in (item.x, item.y, item.z)
        )
        found.append(Batch(x, y, z or [], item.terms, own))
    return found


def projected(ring: PowerOfTwoRing, matrix: Matrix, coin: Generator) -> Projected:
    """Combine rows and vectors."""
    of_rows, of_vectors = (coin.words((count,)) & _MASK for count in (matrix.placed.shape[0], len(matrix.vectors)))
    ys = [_words(ring, sums) for sums in matrix.placed.row_sums(of_rows)]
    vs, z = [], []
    for i in range(len(ys)):
        vs.append(_words(ring, ring.row_sums(of_vectors, np.stack([vector[i] for vector in matrix.vectors]))))
        sums = ring.row_sums(of_vectors, np.stack([result[i] for result in matrix.results]))
        z.append(_words(ring, ring.row_sums(of_rows, sums.T)))
    return Projected(ys, vs, z)


def _words(ring: PowerOfTwoRing, matrix: RingArray) -> Words:
    solid = np.ascontiguousarray(matrix)
    return solid.view(np.uint64).reshape(solid.shape[0], solid.shape[1] * ring.words)


# --- claims ----------------------------------------------------------------------------------------------


def own_sums(ring: PowerOfTwoRing, found: Sequence[Batch], masks: Sequence[int]) -> Words:
    """Return P_l of our pairs of parts, a row of words for each."""
    pairs = sum(mask.bit_count() for mask in masks)
    if pairs * sum(len(batch.coefficients) * batch.terms for batch in found) > MOST_PRODUCTS:
        raise ProtocolError("More products are to be checked at once than the claims about them can hide.")
    total = 0
    for batch in found:
        if batch.x is not None and batch.y is not None:
            out = np.empty((CHECKS, 2 * ring.words + 1), np.uint64)
            kernels.claimed_sums(batch.x, batch.y, list(masks), batch.coefficients, batch.terms, out, ring.words)
            total += column(out)
    return entries(total, CHECKS, 8 * (2 * ring.words + 1)).view(np.uint64)


def own_products(ring: PowerOfTwoRing, found: Projected, masks: Sequence[int]) -> Words:
    """Return all P_lm of our pairs of parts, likewise."""
    out = np.empty((CHECKS, CHECKS, 2 * ring.words + 1), np.uint64)
    kernels.claimed_matrix(found.ys, found.vs, list(masks), out, ring.words)
    return out.reshape(CHECKS * CHECKS, -1)


def linear_sums(ring: PowerOfTwoRing, found: Sequence[Batch], part: int) -> RingArray:
    """Return our part of sum_i b_il z_i, for every l."""
    total = ring.zeros((CHECKS,))
    for batch in found:
        out = np.empty(CHECKS * ring.words, np.uint64)
        kernels.subset_sums(batch.z[part], batch.coefficients, out, ring.words)
        total = ring.add(total, ring.from_words(out))
    return total
