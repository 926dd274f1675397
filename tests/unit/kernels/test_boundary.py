"""Arguments that do not fit are refused by name, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import kernels

U64 = np.uint64


def z(*shape: int) -> Any:
    return np.zeros(shape, dtype=U64)


def read_only(*shape: int) -> Any:
    array = z(*shape)
    array.flags.writeable = False
    return array


def misaligned(n: int) -> Any:
    return np.frombuffer(bytearray(8 * n + 1), dtype=np.uint8)[1:].view(U64)


def overlapping() -> tuple[Any, Any]:
    base = z(12)
    return base[:8], base[4:]


Call = Callable[[], None]
TYPE_ERRORS: list[tuple[str, Call]] = [
    ("'mats[0]' parameter of matvec", lambda: kernels.matvec([np.zeros((2, 2))], [z(2)], z(2), 1)),  # type: ignore[list-item]
    ("'mats[0]' parameter of matvec", lambda: kernels.matvec([[[1]]], [z(1)], z(1), 1)),  # type: ignore[list-item]
    ("'mats' parameter of matvec", lambda: kernels.matvec(z(2, 2), [z(2)], z(2), 1)),
    ("'vecs[0]' parameter of matvec_t", lambda: kernels.matvec_t([z(2, 2)], [z(2).astype(int)], z(2), 1)),
    ("'out' parameter of matmul", lambda: kernels.matmul([z(2, 2)], [z(2, 2)], np.zeros((2, 2), int), 1)),
    ("'a' parameter of add", lambda: kernels.add(np.zeros(3, np.uint32), z(3), z(3), 1)),
    ("'a' parameter of add", lambda: kernels.add(z(3).astype(">u8"), z(3), z(3), 1)),
    ("'b' parameter of mul", lambda: kernels.mul(z(3), 5, z(3), 1)),  # type: ignore[arg-type]
    ("'out' parameter of neg", lambda: kernels.neg(z(3), None, 1)),  # type: ignore[arg-type]
    ("'bits' parameter of pack_bits", lambda: kernels.pack_bits(np.zeros((1, 3), bool), z(1, 1))),
    ("'out' parameter of unpack_bits", lambda: kernels.unpack_bits(z(1, 1), z(1, 3))),
    ("'values' parameter of to_planes", lambda: kernels.to_planes(np.zeros(3, "M8[s]"), z(64, 1), 1)),
    ("'matrix' parameter of bit_forms", lambda: kernels.bit_forms(np.zeros((2, 3)), z(3, 4), z(5, 4), z(2, 4), 0, 4)),  # type: ignore[arg-type]
    ("'out' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), None, 0, 4)),  # type: ignore[arg-type]
    ("incompatible function arguments", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), z(2, 4), 0.0, 4)),  # type: ignore[arg-type]
]

VALUE_ERRORS: list[tuple[str, Call]] = [
    ("'words' parameter of matvec must be 1", lambda: kernels.matvec([z(2, 2)], [z(2)], z(2), 3)),
    ("'words' parameter of add must be 1", lambda: kernels.add(z(2), z(2), z(2), 0)),
    ("'threads' parameter of matvec", lambda: kernels.matvec([z(2, 2)], [z(2)], z(2), 1, -1)),
    ("'threads' parameter of matmul", lambda: kernels.matmul([z(2, 2)], [z(2, 2)], z(2, 2), 1, 5000)),
    ("'mats' parameter of matvec", lambda: kernels.matvec([], [], z(2), 1)),
    ("'mats' parameter of matvec", lambda: kernels.matvec([z(2, 2)] * 9, [z(2)] * 9, z(2), 1)),
    ("'vecs' parameter of matvec", lambda: kernels.matvec([z(2, 2)] * 2, [z(2)], z(2), 1)),
    ("'mats[0]' parameter of matvec", lambda: kernels.matvec([z(4)], [z(2)], z(2), 1)),
    ("'mats[0]' parameter of matvec", lambda: kernels.matvec([z(2, 3)], [z(2)], z(4), 2)),
    ("'mats[0]' parameter of matvec", lambda: kernels.matvec([z(2, 4)[:, ::2]], [z(2)], z(2), 1)),
    ("'mats[0]' parameter of matvec", lambda: kernels.matvec([z(2, 3).T], [z(2)], z(3), 1)),
    ("'mats[1]' parameter of matvec", lambda: kernels.matvec([z(2, 2), z(2, 3)], [z(2)] * 2, z(2), 1)),
    ("'vecs[1]' parameter of matvec", lambda: kernels.matvec([z(2, 2)] * 2, [z(2), z(3)], z(2), 1)),
    ("'out' parameter of matvec", lambda: kernels.matvec([z(2, 2)], [z(2)], z(3), 1)),
    ("'out' parameter of matvec", lambda: kernels.matvec([z(2, 2)], [z(2)], read_only(2), 1)),
    ("'out' parameter of matvec_t", lambda: kernels.matvec_t([z(2, 3)], [z(2)], z(2), 1)),
    ("'vecs[0]' parameter of matvec_t", lambda: kernels.matvec_t([z(2, 3)], [z(3)], z(3), 1)),
    ("'vecs' parameter of matvec_pairs", lambda: kernels.matvec_pairs([z(2, 3)], z(1, 3), z(2, 2), 1)),
    ("'vecs' parameter of matvec_t_pairs", lambda: kernels.matvec_t_pairs([z(2, 3)], z(2, 3), z(2, 3), 1)),
    ("'out' parameter of matvec_pairs", lambda: kernels.matvec_pairs([z(2, 3)], z(2, 3), z(2, 3), 1)),
    ("'out' parameter of matvec_t_pairs", lambda: kernels.matvec_t_pairs([z(2, 3)], z(2, 2), read_only(2, 3), 1)),
    ("'mats[1]' parameter of matvec_pairs", lambda: kernels.matvec_pairs([z(2, 3), z(3, 3)], z(4, 3), z(4, 2), 1)),
    ("'rhs[0]' parameter of matmul", lambda: kernels.matmul([z(2, 3)], [z(2, 2)], z(2, 2), 1)),
    ("'out' parameter of matmul", lambda: kernels.matmul([z(2, 3)], [z(3, 2)], z(3, 2), 1)),
    ("'a' parameter of add", lambda: kernels.add(z(3), z(4), z(4), 2)),
    ("'a' parameter of add", lambda: kernels.add(z(2, 2), z(4), z(4), 1)),
    ("'a' parameter of add", lambda: kernels.add(z(8)[::2], z(4), z(4), 1)),
    ("'a' parameter of add", lambda: kernels.add(misaligned(4), z(4), z(4), 1)),
    ("'b' parameter of sub", lambda: kernels.sub(z(4), z(3), z(4), 1)),
    ("'b' parameter of sub", lambda: kernels.sub(z(4), z(1), z(4), 2)),
    ("'out' parameter of mul", lambda: kernels.mul(z(4), z(4), z(5), 1)),
    ("'out' parameter of mul", lambda: kernels.mul(z(4), z(4), read_only(4), 1)),
    ("'lhs[1]' parameter of mul_sum", lambda: kernels.mul_sum([z(4), z(5)], [z(4), z(4)], z(4), 1)),
    ("'rhs[0]' parameter of mul_sum", lambda: kernels.mul_sum([z(4)], [z(5)], z(4), 1)),
    ("'rhs' parameter of mul_sum", lambda: kernels.mul_sum([z(4)], [z(4)] * 2, z(4), 1)),
    ("'out' parameter of neg", lambda: kernels.neg(z(4), z(5), 1)),
    ("'bits' parameter of shl must be a number from 0 to 63", lambda: kernels.shl(z(2), 64, z(2), 1)),
    ("'bits' parameter of shr must be a number from 0 to 127", lambda: kernels.shr(z(2), 128, z(2), 2)),
    ("'bits' parameter of sar", lambda: kernels.sar(z(2), -1, z(2), 1)),
    ("'out' parameter of pack_bits", lambda: kernels.pack_bits(np.zeros((2, 65), np.uint8), z(2, 1))),
    ("'words' parameter of unpack_bits", lambda: kernels.unpack_bits(z(2, 1), np.zeros((2, 65), np.uint8))),
    ("'out' parameter of to_planes", lambda: kernels.to_planes(z(65), z(64, 1), 1)),
    ("'planes' parameter of from_planes", lambda: kernels.from_planes(z(64, 1), z(65), 1)),
    ("'left' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(2, 4), z(5, 4), z(2, 4), 0, 4)),
    ("'left' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(3, 5), z(5, 4), z(2, 4), 0, 4)),
    ("'left' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(3, 8)[:, ::2], z(5, 4), z(2, 4), 0, 4)),
    ("'right' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 3), z(2, 4), 0, 4)),
    ("at most 64 rows. Got 65 rows", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(65, 4), z(2, 4), 0, 4)),
    ("'out' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), z(3, 4), 0, 4)),
    ("'out' parameter of bit_forms", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), read_only(2, 4), 0, 4)),
    ("places of words from 0 to 4. Got -1, 4", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), z(2, 4), -1, 4)),
    ("places of words from 0 to 4. Got 0, 5", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), z(2, 4), 0, 5)),
    ("places of words from 0 to 4. Got 3, 2", lambda: kernels.bit_forms(z(2, 3), z(3, 4), z(5, 4), z(2, 4), 3, 2)),
    ("'n' parameter of set_threads", lambda: kernels.set_threads(0)),
    ("Got 'sse9' instead", lambda: kernels.set_isa("sse9")),
]


@pytest.mark.parametrize(("message", "call"), TYPE_ERRORS)
def test_wrong_types(message: str, call: Call) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(("message", "call"), VALUE_ERRORS)
def test_wrong_values(message: str, call: Call) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_matrix_products_refuse_any_overlap() -> None:
    square = z(3, 3)
    with pytest.raises(ValueError, match=r"overlaps 'vecs\[0\]'"):
        kernels.matvec([z(3, 3)], [square[0]], square[0], 1)
    with pytest.raises(ValueError, match=r"overlaps 'mats\[0\]'"):
        kernels.matvec_t([square], [z(3)], square[1], 1)
    with pytest.raises(ValueError, match=r"overlaps 'rhs\[0\]'"):
        kernels.matmul([z(3, 3)], [square], square, 1)
    with pytest.raises(ValueError, match="overlaps 'right'"):
        kernels.bit_forms(z(3, 3), z(3, 3), square, square, 0, 3)
    with pytest.raises(ValueError, match="overlaps 'left'"):
        kernels.bit_forms(z(2, 3), square, z(3, 3), square[1:], 0, 3)
    with pytest.raises(ValueError, match="overlaps 'values'"):
        base = z(66)
        kernels.to_planes(base[:3], base[2:].reshape(64, 1), 1)


def test_maps_refuse_partial_overlap() -> None:
    first, second = overlapping()
    calls: list[Call] = [
        lambda: kernels.add(first, z(8), second, 1),
        lambda: kernels.sub(z(8), first, second, 1),
        lambda: kernels.mul_sum([first], [z(8)], second, 1),
        lambda: kernels.neg(first, second, 2),
        lambda: kernels.shl(first, 1, second, 1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="partly overlaps"):
            call()


def test_refused_calls_write_nothing_and_hold_no_buffer() -> None:
    out = np.full(2, 9, dtype=U64)
    with pytest.raises(ValueError, match="'vecs"):
        kernels.matvec([z(2, 2)], [z(3)], out, 1)
    np.testing.assert_array_equal(out, [9, 9])
    out.resize(5)  # fails while a view is held


def test_read_only_inputs_are_accepted() -> None:
    out = z(2)
    kernels.matvec([read_only(2, 2)], [read_only(2)], out, 1)
    kernels.add(read_only(2), read_only(2), out, 1)


def test_what_was_got_is_named() -> None:
    with pytest.raises(TypeError, match=re.escape("Got an array of float64 with shape (2, 3) instead.")):
        kernels.matvec([np.zeros((2, 3))], [z(3)], z(2), 1)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=re.escape("Got an object of type str instead.")):
        kernels.neg("abc", z(2), 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=re.escape("an array of shape (2,). Got shape (3,) instead.")):
        kernels.matvec([z(2, 2)], [z(2)], z(3), 1)
