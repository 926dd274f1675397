"""Where ring elements stand in polynomials: functions of public shapes alone.

A product of polynomials holds many sums of products of coefficients (Huang, Lu, Hong and Ding, "Cheetah", USENIX
Security 2022, section 3, for products with one vector; here for many at once). In both packings below the server's row
i has its element j at exponent i * step + width - 1 - j, and the client's element j is at something + j: j and j' meet
at an exponent that is width - 1 modulo width only if j = j'.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES
from cofit.errors import RangeError, parameter_error
from cofit.sharing.pair.rlwe.parameters import Parameters, distance, packed_bytes

LEAST_DISTANCE_BITS = 40
"""A mask of a result is nearer to uniform than 2^-40, or the product is refused: cut it into smaller ones."""


@dataclass(frozen=True)
class Reply:
    """One ciphertext that the server returns: rows of its matrix, results in a view of all, and where they stand.

    ``places`` are exponents, as many as the results have elements, in their order.
    """

    rows: slice
    results: tuple[slice, ...]
    places: npt.NDArray[np.intp]


class Packing(ABC):
    """How one product is cut into polynomials. A piece has requests of its own, and one reply or more."""

    parameters: Parameters

    @property
    @abstractmethod
    def operand_shape(self) -> Shape:
        """Of what the client encrypts."""

    @property
    @abstractmethod
    def matrix_shape(self) -> Shape:
        """Of what the server has."""

    @property
    @abstractmethod
    def result_shape(self) -> Shape:
        """Of the shares of the product."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """Rows of the server's matrix in a polynomial."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns of the server's matrix in a polynomial."""

    @property
    @abstractmethod
    def step(self) -> int:
        """From one row to the next one, in a polynomial of the server."""

    @property
    @abstractmethod
    def pieces(self) -> int:
        """Parts of the product that have requests of their own."""

    @abstractmethod
    def polynomials(self, piece: int, operand: RingArray) -> RingArray:
        """Return what the client encrypts for a piece: a row for each block of columns of the server's matrix."""

    @abstractmethod
    def replies(self, piece: int) -> Iterator[Reply]:
        """What the server returns for a piece."""

    @property
    def blocks(self) -> int:
        """Requests of a piece."""
        return -(-self.matrix_shape[1] // self.width)

    @property
    def terms(self) -> int:
        """Coefficients of the server that meet the noise of a result."""
        return self.block_rows * self.matrix_shape[1]

    @property
    def requests(self) -> int:
        """Ciphertexts that the client sends."""
        return self.pieces * self.blocks

    @property
    @abstractmethod
    def answers(self) -> int:
        """Ciphertexts that the server returns."""

    @property
    def transforms(self) -> int:
        """About how many transforms of 8192 coefficients both parties compute, or work that takes as long."""
        polynomials = self.answers * self.blocks + 2 * self.requests + 4 * self.answers
        return polynomials * self.parameters.limbs * self.parameters.degree // 8192

    @property
    def request_bytes(self) -> int:
        """Bytes that the client sends: a seed, and one half of every ciphertext."""
        return SEED_BYTES + self.requests * request_polynomial_bytes(self.parameters)

    @cached_property
    def reply_bytes(self) -> int:
        """Bytes that the server returns: of every ciphertext one half, and of the other half the results."""
        return sum(self.reply_size(reply) for piece in range(self.pieces) for reply in self.replies(piece))

    def reply_size(self, reply: Reply) -> int:
        """Bytes of one ciphertext of a reply."""
        return reply_bytes(self.parameters, len(reply.places))

    def _require_exact(self) -> None:
        if distance(self.parameters, self.terms) * (1 << LEAST_DISTANCE_BITS) > 1:
            raise RangeError(
                f"A product with {self.matrix_shape[1]} terms is too long for masks that are uniform within "
                f"2^-{LEAST_DISTANCE_BITS}: add up several shorter products."
            )


def request_polynomial_bytes(parameters: Parameters) -> int:
    """Bytes of one half of a ciphertext with all primes."""
    return parameters.limbs * packed_bytes(parameters.degree)


def reply_bytes(parameters: Parameters, results: int) -> int:
    """Bytes of one ciphertext of a reply that has so many results."""
    return parameters.reply_limbs * (packed_bytes(parameters.degree) + packed_bytes(results))


@dataclass(frozen=True)
class MatrixPacking(Packing):
    """The server's matrix X (rows x inner) times the client's masks B (inner x columns).

    A piece has T columns of B, a polynomial of X has n rows and d columns, n d T <= N: X[i, j] at i d + d - 1 - j and
    B[j, c] at c n d + j. Result (i, c) is at c n d + i d + d - 1. Nothing else gets there: X[i, j] B[j', c] is at
    (c n + i) d + d - 1 + j' - j, where the last part is from 0 to 2 d - 2, so that it is d - 1 modulo d only for
    j = j'; and what wraps around, beyond N, comes to d - 2 at most, before the first result.
    """

    rows: int
    inner: int
    columns: int
    parameters: Parameters

    def __post_init__(self) -> None:
        for name in ("rows", "inner", "columns"):
            _require_positive("MatrixPacking", name, getattr(self, name))
        self._require_exact()

    @property
    def operand_shape(self) -> Shape:
        return (self.inner, self.columns)

    @property
    def matrix_shape(self) -> Shape:
        return (self.rows, self.inner)

    @property
    def result_shape(self) -> Shape:
        return (self.rows, self.columns)

    @property
    def _shape(self) -> tuple[int, int, int]:
        return _matrix_blocks(self.rows, self.inner, self.columns, self.parameters)

    @property
    def block_rows(self) -> int:
        return self._shape[0]

    @property
    def width(self) -> int:
        return self._shape[1]

    @property
    def step(self) -> int:
        return self.width

    @property
    def block_columns(self) -> int:
        """Columns of B in a piece."""
        return self._shape[2]

    @property
    def pieces(self) -> int:
        return -(-self.columns // self.block_columns)

    @property
    def answers(self) -> int:
        return self.pieces * -(-self.rows // self.block_rows)

    def _columns(self, piece: int) -> slice:
        return slice(piece * self.block_columns, min(self.columns, (piece + 1) * self.block_columns))

    def polynomials(self, piece: int, operand: RingArray) -> RingArray:
        masks = operand[:, self._columns(piece)].T
        out = self.parameters.ring.zeros((self.blocks, self.parameters.degree))
        apart = self.block_rows * self.width
        for k in range(self.blocks):
            part = masks[:, k * self.width : (k + 1) * self.width]
            out[k, : len(masks) * apart].reshape(len(masks), apart)[:, : part.shape[1]] = part
        return out

    def replies(self, piece: int) -> Iterator[Reply]:
        columns = self._columns(piece)
        c = np.arange(columns.stop - columns.start)
        for start in range(0, self.rows, self.block_rows):
            rows = slice(start, min(self.rows, start + self.block_rows))
            i = np.arange(rows.stop - rows.start)[:, None]
            places = (c * self.block_rows + i) * self.width + self.width - 1
            yield Reply(rows, (rows, columns), places.reshape(-1))


@dataclass(frozen=True)
class RowsPacking(Packing):
    """Inner products <X[i], Y[i]> of all rows of the server's X and the client's Y, both rows x cols.

    A polynomial has R rows and w columns, R^2 w <= N: Y[i, j] at i w + j, X[i, j] at i R w + w - 1 - j. Result i is at
    i (R + 1) w + w - 1. Nothing else gets there: X[i', j'] Y[i, j] is at (i + R i') w + w - 1 + j - j', where the last
    part is from 0 to 2 w - 2, so that it is w - 1 modulo w only for j = j', and i + R i' = k (R + 1) only for
    i = i' = k, as i < R; what wraps around, beyond N, comes to w - 2 at most, before the first result.

    Requests and replies go row block by row block: a caller may as well take slices of rows, for less memory.
    """

    rows: int
    cols: int
    parameters: Parameters

    def __post_init__(self) -> None:
        for name in ("rows", "cols"):
            _require_positive("RowsPacking", name, getattr(self, name))
        self._require_exact()

    @property
    def operand_shape(self) -> Shape:
        return (self.rows, self.cols)

    @property
    def matrix_shape(self) -> Shape:
        return (self.rows, self.cols)

    @property
    def result_shape(self) -> Shape:
        return (self.rows,)

    @property
    def block_rows(self) -> int:
        return _rows_blocks(self.rows, self.cols, self.parameters)[0]

    @property
    def width(self) -> int:
        return _rows_blocks(self.rows, self.cols, self.parameters)[1]

    @property
    def step(self) -> int:
        return self.block_rows * self.width

    @property
    def pieces(self) -> int:
        return -(-self.rows // self.block_rows)

    @property
    def answers(self) -> int:
        return self.pieces

    def _rows(self, piece: int) -> slice:
        return slice(piece * self.block_rows, min(self.rows, (piece + 1) * self.block_rows))

    def polynomials(self, piece: int, operand: RingArray) -> RingArray:
        rows = operand[self._rows(piece)]
        out = self.parameters.ring.zeros((self.blocks, self.parameters.degree))
        for k in range(self.blocks):
            part = rows[:, k * self.width : (k + 1) * self.width]
            out[k, : len(rows) * self.width].reshape(len(rows), self.width)[:, : part.shape[1]] = part
        return out

    def replies(self, piece: int) -> Iterator[Reply]:
        rows = self._rows(piece)
        i = np.arange(rows.stop - rows.start)
        yield Reply(rows, (rows,), (i * (self.block_rows + 1) + 1) * self.width - 1)


@lru_cache
def _matrix_blocks(rows: int, inner: int, columns: int, parameters: Parameters) -> tuple[int, int, int]:
    """Return the n, d and T that take the fewest bytes; of those, the fewest products."""
    request, reply = request_polynomial_bytes(parameters), reply_bytes(parameters, 0)
    best: tuple[tuple[int, int], tuple[int, int, int]] | None = None
    for t in _parts(columns):
        for n in _parts(rows):
            if n * t > parameters.degree:
                continue
            blocks = -(-inner // min(inner, parameters.degree // (n * t)))
            pieces, replies = -(-columns // t), -(-rows // n)
            cost = (pieces * (blocks * request + replies * reply), pieces * blocks * replies)
            if best is None or cost < best[0]:
                best = cost, (n, -(-inner // blocks), t)
    assert best is not None  # noqa: S101 (one row and one column fit)
    return best[1]


@lru_cache
def _rows_blocks(rows: int, cols: int, parameters: Parameters) -> tuple[int, int]:
    """Return the R and w that take the fewest bytes."""
    request, reply = request_polynomial_bytes(parameters), reply_bytes(parameters, 0)

    def cost(r: int) -> int:
        return -(-rows // r) * (-(-cols // (parameters.degree // r**2)) * request + reply)

    best = min(range(1, min(rows, math.isqrt(parameters.degree)) + 1), key=cost)
    return best, -(-cols // -(-cols // (parameters.degree // best**2)))


def _parts(total: int) -> list[int]:
    """Return sizes of parts that ``total`` may be cut into: of those with equally many parts, the smallest."""
    sizes, count = [], 1
    while count <= total:
        size = -(-total // count)
        sizes.append(size)
        count = -(-total // (size - 1)) if size > 1 else total + 1
    return sizes


def _require_positive(owner: str, name: str, value: int) -> None:
    if value < 1:
        raise parameter_error(name, owner, "1 or more", value)
