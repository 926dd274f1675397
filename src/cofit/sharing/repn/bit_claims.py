"""Relations of bits as a claim over GF(2^64): the first half of their check.

Every relation gets a random weight, and the sum of all, weighted, must be right: sum of weights times a b = sum of
weights times z. ANDs of words, by far the most, lie in 16 rows of V words; the weight of bit j of word v in row k =
(k_0, ..., k_3) is beta_j omega_v rho_0^k_0 ... rho_3^k_3, with beta, omega and rho drawn.

**Four folds at once.** As a function of four variables, one for every digit of k, the rows are values of a polynomial
of degree 1 in each, and h(u) = sum of beta_j omega_v f(u) g(u) has degree 2 in each: it is given by its values (and
leading coefficients) at 3^4 points of {0, 1, infinity}^4, which are ANDs of XORs of rows: bits. The parties deal
their summands of these; that at (0, 0, 0, 0) follows from the claim. A coin says where to go on, with elements of the
field, one for 16 bits. That is four steps of ``folding.py``, and the same argument.

**Other forms**: rows of z get weights, and every row of a is multiplied with a sum of rows of b, so weighted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from cofit import kernels
from cofit.arithmetic import Generator, RingArray
from cofit.arithmetic.integers import Words
from cofit.sharing.repn.fields import BinaryField
from cofit.sharing.repn.relations import Bits, Parts
from cofit.sharing.repn.vectors import Vectors, Writing

DIGITS = 4
ROWS = 1 << DIGITS
POINTS = 3**DIGITS
_GATHERED = 256  # rows that a kernel takes at once
FIELD = BinaryField()


@dataclass
class _Form:
    """One noted form, with the weights of its rows of z and of its words."""

    noted: Bits
    rows: Words
    words: Words


class BitClaims:
    """All relations of bits of one check."""

    def __init__(self, noted: Sequence[Bits], zeros: Sequence[Parts], parts: int, coin: Generator) -> None:
        self._beta, self._rho = coin.words((64,)), [int(word) for word in coin.words((DIGITS,))]
        ands = [item for item in noted if item.form is None]
        self._a, self._b, self._z = (_in_rows([getattr(item, side) for item in ands], parts) for side in "abz")
        self._omega = coin.words((self._z[0].shape[1],))
        self._zeros = [np.concatenate(part)[None] for part in zip(*zeros, strict=True)] if zeros else []
        self._zero_words = coin.words((self._zeros[0].shape[1] if zeros else 0,))
        forms = [item for item in noted if item.form is not None]
        self._forms = [
            _Form(item, coin.words((item.z[0].shape[0],)), coin.words((item.z[0].shape[1],))) for item in forms
        ]
        self._row_weights = np.asarray([_product(self._rho, digits) for digits in _corners()], np.uint64)

    def own_points(self, masks: Sequence[int]) -> RingArray:
        """Return our summands at all points but the first."""
        out = np.empty(POINTS, np.uint64)
        kernels.bit_grid(self._a, self._b, list(masks), self._beta, self._omega, out)
        return out[1:]

    def _linear(self, part: int) -> int:
        """Return our part of what ANDs and zeros add up to."""
        total = _weighted(self._z[part], self._row_weights, self._beta, self._omega)
        if self._zeros:
            one = np.ones(1, np.uint64)
            total ^= _weighted(self._zeros[part], one, self._beta, self._zero_words)
        return total

    def claims(self, dealt: Sequence[RingArray], coin: Generator, vectors: Vectors) -> list[int]:
        """Return our parts of the claim that is left, and add the vectors that it is about.

        dealt: by part, what was dealt of the points.
        """
        where = [FIELD.draw(coin) for _ in range(DIGITS)]
        weights = _point_weights(where)
        claims = []
        for i, part in enumerate(dealt):
            points = [0, *map(int, part)]
            known = (FIELD.mul(int(w), points[_point(c)]) for w, c in zip(self._row_weights, _corners(), strict=True))
            points[0] = FIELD.add(self._linear(i), *known)
            claims.append(FIELD.add(*(FIELD.mul(w, p) for w, p in zip(weights, points, strict=True))))
        corner = [[FIELD.add(1, r), r] for r in where]
        coefficients = np.asarray([_chosen(corner, digits) for digits in _corners()], np.uint64)
        xs = [self._weighting(part, coefficients, self._omega) for part in self._a]
        vectors.add(64 * len(self._omega), xs, [_gathering(part, coefficients) for part in self._b])
        for form in self._forms:
            self._add_form(form, claims, vectors)
        return claims

    def _add_form(self, form: _Form, claims: list[int], vectors: Vectors) -> None:
        noted = form.noted
        if noted.form is None:
            return
        for i, z in enumerate(noted.z):
            claims[i] ^= _weighted(np.ascontiguousarray(z), form.rows, self._beta, form.words)
        one = np.ones(1, np.uint64)
        for words, left, rights, weights in noted.form.weighted(noted.a[0].shape[0], noted.b[0].shape[0], form.rows):
            own = np.ascontiguousarray(form.words[words])
            xs = [self._weighting(np.ascontiguousarray(a[left : left + 1, words]), one, own) for a in noted.a]
            ys = [_gathering(np.ascontiguousarray(b[rights, words]), weights) for b in noted.b]
            vectors.add(64 * len(own), xs, ys)

    def _weighting(self, rows: Words, coefficients: Words, omega: Words) -> Writing:
        """Elements of the field, one for every bit of a row of words, times the weight of that bit."""

        def write(out: Words) -> None:
            kernels.bit_gather(rows, coefficients, out)
            kernels.gf_outer(omega, self._beta, out, out)

        return write


def _weighted(rows: Words, coefficients: Words, beta: Words, omega: Words) -> int:
    """Return the sum of all bits of all rows, weighted."""
    total = 0
    for start in range(0, len(rows), _GATHERED):
        block = slice(start, start + _GATHERED)
        total ^= kernels.bit_weighted(rows[block], coefficients[block], beta, omega)
    return total


def _in_rows(pieces: Sequence[Parts], parts: int) -> list[Words]:
    """Return all words, by part, in 16 rows, with zeros at the end."""
    if not pieces:
        return [np.zeros((ROWS, 1), np.uint64) for _ in range(parts)]
    made = []
    for part in zip(*pieces, strict=True):
        words = np.concatenate(part)
        rows = np.zeros(ROWS * -(-len(words) // ROWS), np.uint64)
        rows[: len(words)] = words
        made.append(rows.reshape(ROWS, -1))
    return made


def _gathering(rows: Words, coefficients: Words) -> Writing:
    """Elements of the field, one for every place in a row: the coefficients of the rows that have a bit there."""

    def write(out: Words) -> None:
        kernels.bit_gather(rows[:_GATHERED], coefficients[:_GATHERED], out)
        for start in range(_GATHERED, len(rows), _GATHERED):
            more = np.empty_like(out)
            kernels.bit_gather(rows[start : start + _GATHERED], coefficients[start : start + _GATHERED], more)
            np.bitwise_xor(out, more, out=out)

    return write


def _corners() -> list[tuple[int, ...]]:
    """Return the digits of every row number, the lowest first."""
    return [tuple(k >> j & 1 for j in range(DIGITS)) for k in range(ROWS)]


def _point(digits: Sequence[int]) -> int:
    """Return the number of a point: 0, 1 and infinity are the digits 0, 1 and 2."""
    return sum(digit * 3**j for j, digit in enumerate(digits))


def _product(factors: Sequence[int], digits: Sequence[int]) -> int:
    total = 1
    for factor, digit in zip(factors, digits, strict=True):
        total = FIELD.mul(total, factor) if digit else total
    return total


def _chosen(choices: Sequence[Sequence[int]], digits: Sequence[int]) -> int:
    total = 1
    for choice, digit in zip(choices, digits, strict=True):
        total = FIELD.mul(total, choice[digit])
    return total


def _point_weights(where: Sequence[int]) -> list[int]:
    """Return with which weights the values at all points give that at ``where``.

    In one variable h(r) = h(0) (1 + r) + h(1) r + h(infinity) (r + r^2).
    """
    choices = [[FIELD.add(1, r), r, FIELD.add(r, FIELD.mul(r, r))] for r in where]
    points = sorted(product(range(3), repeat=DIGITS), key=_point)
    return [_chosen(choices, digits) for digits in points]
