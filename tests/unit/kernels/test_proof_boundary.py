"""Arguments of the kernels for proofs that do not fit are refused by name, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import kernels as k

U64 = np.uint64
P = 2**61 - 1
Call = Callable[[], object]


def z(*shape: int) -> Any:
    return np.zeros(shape, dtype=U64)


def c(n: int, size: int = 7) -> Any:
    return np.zeros((n, size), dtype=np.uint8)


def read_only(*shape: int) -> Any:
    array = z(*shape)
    array.flags.writeable = False
    return array


def claims(**changes: Any) -> Call:
    arguments = {"xs": [z(6)] * 2, "ys": [z(6)] * 2, "masks": [3, 1], "coefficients": c(3), "terms": 2, "words": 1}
    return lambda: k.claimed_sums(**{**arguments, "out": z(56, 3), **changes})


def grid(**changes: Any) -> Call:
    arguments = {"xs": [z(16, 3)] * 2, "ys": [z(16, 3)] * 2, "masks": [3, 1], "beta": z(64), "omega": z(3)}
    return lambda: k.bit_grid(**{**arguments, "out": z(81), **changes})


TYPE_ERRORS: list[tuple[str, Call]] = [
    ("'values' parameter of subset_sums", lambda: k.subset_sums(np.zeros(2), c(2), z(56), 1)),  # type: ignore[arg-type]
    ("'coefficients' parameter of subset_sums", lambda: k.subset_sums(z(2), z(2, 7), z(56), 1)),
    ("'xs' parameter of claimed_sums", claims(xs=z(2, 6))),
    ("'ys[1]' parameter of claimed_sums", claims(ys=[z(6), None])),
    ("'masks' parameter of claimed_sums", claims(masks=z(2))),
    ("'masks[1]' parameter of claimed_sums", claims(masks=[1, 1.0])),
    ("incompatible function arguments", claims(terms=2.0)),
    ("'mask' parameter of project", lambda: k.project(c(2), z(2, 2), z(56, 2), 1)),
    ("'prime' parameter of field_fold", lambda: k.field_fold(z(4), 1, None, z(2))),  # type: ignore[arg-type]
    ("'r' parameter of field_fold", lambda: k.field_fold(z(4), z(1), P, z(2))),
    ("'weights' parameter of field_scale", lambda: k.field_scale(z(4), 1, 1, P, z(4), 1)),  # type: ignore[arg-type]
    ("'r' parameter of gf_fold", lambda: k.gf_fold(z(4), 1.5, z(2))),  # type: ignore[arg-type]
    ("'b' parameter of gf_mul", lambda: k.gf_mul(1, "1")),  # type: ignore[arg-type]
    ("'omega' parameter of bit_grid", grid(omega=None)),
    ("'rows' parameter of bit_gather", lambda: k.bit_gather([z(2)], z(1), z(128))),  # type: ignore[arg-type]
]

VALUE_ERRORS: list[tuple[str, Call]] = [
    ("'words' parameter of subset_sums", lambda: k.subset_sums(z(2), c(2), z(56), 3)),
    ("'values' parameter of subset_sums", lambda: k.subset_sums(z(3), c(2), z(56), 1)),
    ("'coefficients' parameter of subset_sums", lambda: k.subset_sums(z(2), c(2, 8), z(56), 1)),
    ("'out' parameter of subset_sums", lambda: k.subset_sums(z(2), c(2), z(57), 1)),
    ("'out' parameter of subset_sums", lambda: k.subset_sums(z(2), c(2), read_only(56), 1)),
    ("'xs' parameter of claimed_sums", claims(xs=[z(6)] * 21, ys=[z(6)] * 21, masks=[1] * 21)),
    ("'ys' parameter of claimed_sums", claims(ys=[z(6)])),
    ("'ys[1]' parameter of claimed_sums", claims(ys=[z(6), z(5)])),
    ("'masks' parameter of claimed_sums", claims(masks=[1])),
    ("'masks[0]' parameter of claimed_sums must be a number from 0 to 3. Got 4", claims(masks=[4, 1])),
    ("'masks[1]' parameter of claimed_sums must be a number from 0 to 3. Got -1", claims(masks=[3, -1])),
    ("'terms' parameter of claimed_sums", claims(terms=0)),
    ("'terms' parameter of claimed_sums", claims(terms=2**60)),
    ("'xs[0]' parameter of claimed_sums", claims(terms=3)),
    ("fewer than 2^60 products", claims(terms=2**57, coefficients=c(4))),
    ("'out' parameter of claimed_sums", claims(out=z(56, 2))),
    ("'ys[0]' parameter of claimed_matrix", lambda: k.claimed_matrix([z(55, 2)], [z(55, 2)], [1], z(56, 56, 3), 1)),
    ("'ys[0]' parameter of claimed_matrix", lambda: k.claimed_matrix([z(56, 3)], [z(56, 3)], [1], z(56, 56, 5), 2)),
    ("'vs[0]' parameter of claimed_matrix", lambda: k.claimed_matrix([z(56, 2)], [z(56, 3)], [1], z(56, 56, 3), 1)),
    ("'out' parameter of claimed_matrix", lambda: k.claimed_matrix([z(56, 2)], [z(56, 2)], [1], z(56, 56, 2), 1)),
    ("'mask' parameter of project", lambda: k.project(z(3), z(2, 3), z(56, 3), 1)),
    ("'mask' parameter of project_t", lambda: k.project_t(z(2), z(2, 3), z(56, 2), 1)),
    ("'matrix' parameter of project", lambda: k.project(z(2), z(2, 3), z(56, 3), 2)),
    ("'out' parameter of project", lambda: k.project(z(2), z(2, 3), z(55, 3), 1)),
    ("'out' parameter of project_t", lambda: k.project_t(z(3), z(2, 3), z(56, 3), 1)),
    ("'threads' parameter of project", lambda: k.project(z(2), z(2, 3), z(56, 3), 1, -1)),
    ("'sigma' parameter of field_weights", lambda: k.field_weights(c(2), z(55), P, z(2))),
    ("'out' parameter of field_weights", lambda: k.field_weights(c(2), z(56), P, z(3))),
    ("'prime' parameter of field_weights", lambda: k.field_weights(c(2), z(56), 2**61 + 1, z(2))),
    ("'prime' parameter of field_fold", lambda: k.field_fold(z(4), 0, 2**60 - 1, z(2))),
    ("'prime' parameter of field_fold", lambda: k.field_fold(z(4), 0, 2**61 - 2, z(2))),
    ("'prime' parameter of field_fold", lambda: k.field_fold(z(4), 0, 2**64 + 2**61 - 1, z(2))),
    ("'r' parameter of field_fold", lambda: k.field_fold(z(4), P, P, z(2))),
    ("'x' parameter of field_fold", lambda: k.field_fold(z(5), 0, P, z(2))),
    ("'out' parameter of field_fold", lambda: k.field_fold(z(4), 0, P, z(4))),
    ("'weights' parameter of field_scale", lambda: k.field_scale(z(4), z(4), 2, P, z(4), 1)),
    ("'terms' parameter of field_scale", lambda: k.field_scale(z(4), None, 3, P, z(4), 1)),
    ("'terms' parameter of field_scale", lambda: k.field_scale(z(4), None, 0, P, z(4), 1)),
    ("'out' parameter of field_scale", lambda: k.field_scale(z(4), None, 1, P, z(4), 2)),
    ("'sigma' parameter of field_combine", lambda: k.field_combine(z(3, 2), z(1, 2), P, z(1, 2), 1)),
    ("'out' parameter of field_combine", lambda: k.field_combine(z(3, 2), z(1, 3), P, z(2, 2), 1)),
    ("'xs' parameter of field_halves must be an array of two halves", lambda: k.field_halves([z(3)], [z(3)], [1], P)),
    ("'ys[0]' parameter of field_form", lambda: k.field_form([z(3)], [z(4)], [1], P)),
    ("'prime' parameter of field_form", lambda: k.field_form([z(3)], [z(3)], [1], 3)),
    ("'a' parameter of gf_mul must be a number from 0 to 18446744073709551615", lambda: k.gf_mul(2**64, 1)),
    ("'b' parameter of gf_mul", lambda: k.gf_mul(1, -1)),
    ("'weights' parameter of gf_scale", lambda: k.gf_scale(z(4), z(3), z(4))),
    ("'out' parameter of gf_scale", lambda: k.gf_scale(z(4), z(4), z(3))),
    ("'x' parameter of gf_fold", lambda: k.gf_fold(z(3), 1, z(1))),
    ("'out' parameter of gf_fold", lambda: k.gf_fold(z(4), 1, z(3))),
    ("'r' parameter of gf_fold", lambda: k.gf_fold(z(4), 2**64, z(2))),
    ("'xs' parameter of gf_halves", lambda: k.gf_halves([z(3)], [z(3)], [1])),
    ("'masks[0]' parameter of gf_form", lambda: k.gf_form([z(3)], [z(3)], [2])),
    ("'beta' parameter of gf_outer", lambda: k.gf_outer(z(1), z(63), z(64), z(64))),
    ("'x' parameter of gf_outer", lambda: k.gf_outer(z(2), z(64), z(64), z(64))),
    ("'xs[0]' parameter of bit_grid", grid(xs=[z(15, 3)] * 2, ys=[z(15, 3)] * 2)),
    ("'xs[0]' parameter of bit_grid", grid(omega=z(4))),
    ("'ys[1]' parameter of bit_grid", grid(ys=[z(16, 3), z(16, 4)])),
    ("'xs[0]' parameter of bit_grid", grid(xs=[z(48)] * 2)),
    ("'beta' parameter of bit_grid", grid(beta=z(65))),
    ("'out' parameter of bit_grid", grid(out=z(80))),
    ("'rows' parameter of bit_gather", lambda: k.bit_gather(z(257, 1), z(257), z(64))),
    ("'rows' parameter of bit_gather", lambda: k.bit_gather(z(0, 1), z(0), z(64))),
    ("'coefs' parameter of bit_gather", lambda: k.bit_gather(z(3, 1), z(4), z(64))),
    ("'out' parameter of bit_gather", lambda: k.bit_gather(z(3, 1), z(3), z(63))),
    ("'omega' parameter of bit_weighted", lambda: k.bit_weighted(z(3, 2), z(3), z(64), z(3))),
    ("'beta' parameter of bit_weighted", lambda: k.bit_weighted(z(3, 2), z(3), z(2), z(2))),
]


@pytest.mark.parametrize(("message", "call"), TYPE_ERRORS)
def test_wrong_types(message: str, call: Call) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(("message", "call"), VALUE_ERRORS)
def test_wrong_values(message: str, call: Call) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_overlap_is_refused() -> None:
    base = z(200)
    square = z(56, 56)
    calls: list[tuple[str, Call]] = [
        ("overlaps 'values'", lambda: k.subset_sums(base[:2], c(2), base[1:57], 1)),
        ("overlaps 'xs[0]'", claims(xs=[base[:6], z(6)], out=base[:168].reshape(56, 3))),
        ("overlaps 'matrix'", lambda: k.project(z(56), square, square, 1)),
        ("partly overlaps 'x'", lambda: k.field_fold(base[:8], 1, P, base[4:8])),
        ("partly overlaps 'x'", lambda: k.gf_fold(base[:8], 1, base[1:5])),
        ("overlaps 'values'", lambda: k.field_scale(base[:8], None, 1, P, base[:4], 2)),
        ("overlaps 'weights'", lambda: k.field_scale(base[:8], base[8:12], 2, P, base[8:16], 1)),
        ("overlaps 'weights'", lambda: k.gf_scale(base[:8], base[9:10], base[8:16])),
        ("overlaps 'rows'", lambda: k.bit_gather(base[:2].reshape(1, 2), z(1), base[:128])),
        ("overlaps 'omega'", grid(omega=base[:3], out=base[:81])),
    ]
    for message, call in calls:
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


def test_numpy_integers_are_integers() -> None:
    assert k.gf_mul(U64(2), np.int32(3)) == 6  # type: ignore[arg-type]
    assert k.gf_form([z(3)], [z(3)], (U64(1),)) == 0  # type: ignore[arg-type]


def test_a_form_of_nothing_but_zero_masks_is_zero() -> None:
    ones = np.ones(4, dtype=U64)
    assert k.gf_form([ones], [ones], [0]) == 0
    assert k.field_halves([ones], [ones], [0], P) == (0, 0)
