"""``pair``: additive sharing between two parties alone, passive security: no dealer, no third party.

x = x_0 + x_1 over Z_2^64, Z_2^128 or bits; party i holds x_i. What semi2k has from a dealer the two make between them:
products of bits and of numbers from oblivious transfer (``crossing.py``, ``transfers.py``), products with a matrix that
takes part in many by homomorphic encryption (``held.py``, ``rlwe``). Sources, argument and what each sees:
``proof.md``.

Every product takes one round; a truncation takes one product of two bits, since each party knows its own summand. What
travels, and how many transfers an operation takes, is in ``meter.py``, which counts a program exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.costs import Costs
from cofit.sharing.held import squares as squares_of
from cofit.sharing.pair.allowance import STATISTICAL_BITS
from cofit.sharing.pair.boolean import PairBoolean
from cofit.sharing.pair.costs import pair_costs
from cofit.sharing.pair.held import PairHeld, operand
from cofit.sharing.pair.matrices import PairMatrices
from cofit.sharing.pair.rules import by_encryption, inner_by_encryption, matrix_by_encryption
from cofit.sharing.shares import Share
from cofit.sharing.spec import FROM_EACH_OTHER, SchemeInfo, Spec
from cofit.transport import Mesh


class Pair(PairMatrices):
    """One of the two parties."""

    in_memory = "rows are packed for encryption from there"
    info = SchemeInfo(
        name="pair",
        parties=(2, 2),
        default_parties=2,
        adversary="passive: a corrupted party follows the protocol but looks at all it sees",
        most_corrupted=lambda _: 1,
        corrupted="1 of 2 (dishonest majority)",
        assumptions=(
            "128 bits of computational security: Module-LWE (ML-KEM-768), Ring-LWE (N = 8192, q < 2^200; N = 16384, "
            "q < 2^350; ternary secrets), AES-256 and HKDF-SHA-256 pseudorandom functions; 118 bits: AES-128 an ideal "
            "cipher"
        ),
        correlations=FROM_EACH_OTHER,
        knows_inputs=True,
        statistical_bits=STATISTICAL_BITS,
        limit="with more, every two of them would have to prepare with each other: take 'semi2k' with a dealer",
    )

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean = PairBoolean(self, self._random_words, self._bilinear_words)

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """What does not depend on stocks; ``meter.py`` counts the rest."""
        return pair_costs()

    # --- products ----------------------------------------------------------------------------------------

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        left, right = (np.broadcast_to(x.parts[0], shape) for x in (a, b))
        if ring is BITS:
            crossed = self._crossed_words("mul", _flat(left), _flat(right))
            return self._finished("mul", ring, ring.mul(left, right), crossed, shape, 0, plus)
        crossed = self._products("mul", ring, left, right, square=a is b)
        return self._finished("mul", ring, ring.mul(left, right), crossed, shape, shift, plus)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        if a is b and by_encryption(a.shape):
            return self._finished("inner", ring, self._squares(a), ring.zeros(shape), shape, shift, None)
        if a is not b and inner_by_encryption(a.shape):
            row = self.hold(Share(ring, (a.parts[0][None],)))
            return self._matmul(ring, row, b, (1,), shift, None).linear(lambda part: part.reshape(shape))
        left, right = np.broadcast_arrays(a.parts[0], b.parts[0])
        products = self._products("inner", ring, left, right, square=a is b).reshape(left.shape)
        crossed = ring.sum(products, products.ndim - 1)
        alone = squares_of(a.placed) if a is b and isinstance(a, PairHeld) else ring.inner_sum([left], [right])
        return self._finished("inner", ring, alone, crossed, shape, shift, None)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        if len(a.shape) == 1 and len(b.shape) == 2:  # x B = B^T x
            return self._matmul(ring, b.map(np.transpose), a, shape, shift, plus)
        if isinstance(a, PairHeld) or matrix_by_encryption(a.shape, b.shape):
            matrix = a if isinstance(a, PairHeld) else self.hold(a, math.prod(b.shape[1:]))
            assert isinstance(matrix, PairHeld)  # noqa: S101 - for the type checker: it has two axes
            product = self._held_product("matmul", ring, matrix, b.parts[0], shape)
            return self._finished("matmul", ring, product, ring.zeros(shape), shape, shift, plus)
        left, right = np.atleast_2d(a.parts[0])[:, :, None], operand(b.parts[0])[None]
        left, right = np.broadcast_arrays(left, right)
        products = self._products("matmul", ring, left, right, square=False).reshape(left.shape)
        own = ring.matmul(a.parts[0], b.parts[0])
        return self._finished("matmul", ring, own, ring.sum(products, 1).reshape(shape), shape, shift, plus)

    def _products(self, operation: str, ring: Ring, left: RingArray, right: RingArray, *, square: bool) -> RingArray:
        """Return our share of the cross terms, flat; of a square there is one, twice."""
        numbers = power_of_two(ring, "A product between two parties alone")
        if square:
            once = self._own_numbers(operation, numbers, _flat(left))
            return ring.add(once, once)
        return self._crossed_numbers(operation, numbers, _flat(left), _flat(right))

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        left, right = a.parts[0], b.parts[0]
        crossed = self._crossed_form("forms", form, left, right)
        return self._finished("forms", BITS, form.apply(left, right), crossed, shape, 0, None)

    def _finished(
        self,
        operation: str,
        ring: Ring,
        own: RingArray,
        crossed: RingArray,
        shape: Shape,
        shift: int,
        plus: Share | None,
    ) -> Share:
        """Add what we have alone, the cross terms, and ``plus``; truncate."""
        terms = [own.reshape(shape), crossed.reshape(shape)]
        summand = ring.signed_sum(terms if plus is None else [*terms, plus.parts[0]])
        return self._shifted(operation, ring, summand, shift) if shift else Share(ring, (summand,))

    # --- bits --------------------------------------------------------------------------------------------

    def _random_words(self, shape: Shape) -> Share:
        """Words of our own, which the other party does not know."""
        return Share(BITS, (self._coins.ring(BITS, shape),))


def _flat(array: RingArray) -> RingArray:
    return np.ascontiguousarray(array).reshape(-1)
