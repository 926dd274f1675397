"""Arguments of the RLWE kernels that do not fit are refused by name, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import kernels as k
from unit.kernels.rlwe_reference import PRIMES

U64 = np.uint64
P = np.array(PRIMES[64], dtype=U64)
COMPOSITE = np.array([2**50 - 127], dtype=U64)
RECORD = np.dtype([("lo", U64), ("hi", U64)])
Call = Callable[[], object]


def z(*shape: int) -> Any:
    return np.zeros(shape, dtype=U64)


def b(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.uint8)


def multiply(**changes: Any) -> Call:
    arguments = {"x": z(3, 5), "rows": 2, "width": 4, "step": 4, "requests": z(2, 2, 2, 64), "key": z(2, 2, 64),
                 "small": z(2, 3, 64), "primes": P, "degree": 64, "out": z(2, 2, 2, 64), "words": 1}  # fmt: skip
    return lambda: k.rlwe_multiply(**{**arguments, **changes})


def encrypt(**changes: Any) -> Call:
    arguments = {
        "elements": z(64),
        "small": z(64),
        "a": z(2, 64),
        "s": z(2, 64),
        "primes": P,
        "out": z(2, 64),
        "words": 1,
    }
    return lambda: k.rlwe_encrypt(**{**arguments, **changes})


def rounded(**changes: Any) -> Call:
    arguments = {"values": z(2, 5), "primes": P, "margin": 0, "out": z(5), "near": b(5), "words": 1}
    return lambda: k.rlwe_round(**{**arguments, **changes})


REFUSED: list[tuple[str, Call]] = [
    ("'degree' parameter of rlwe_forward", lambda: k.rlwe_forward(z(2, 96), P, 96)),
    ("'degree' parameter of rlwe_forward", lambda: k.rlwe_forward(z(2, 32), P, 32)),
    ("'degree' parameter of rlwe_forward", lambda: k.rlwe_forward(z(2, 64), P, -64)),
    ("'degree' parameter of rlwe_inverse", lambda: k.rlwe_inverse(z(2, 1 << 20), P, 1 << 20)),
    ("'values' parameter of rlwe_forward", lambda: k.rlwe_forward(z(3, 64), P, 64)),
    ("'primes' parameter of rlwe_forward", lambda: k.rlwe_forward(z(1, 64), P[:1] + U64(2), 64)),
    (
        "which is no prime",
        lambda: k.rlwe_forward(z(1, 64), np.array([3 * 13 * 28865500000257 // 128 * 128 + 1], U64), 64),
    ),
    ("'primes' parameter of rlwe_forward", lambda: k.rlwe_forward(z(0, 64), P[:0], 64)),
    ("'primes' parameter of rlwe_forward", lambda: k.rlwe_forward(z(9, 64), np.repeat(P, 5)[:9], 64)),
    ("'primes' parameter of rlwe_drop", lambda: k.rlwe_drop(z(1, 4), np.array([97], U64), z(0, 4))),
    ("'out' parameter of rlwe_ternary", lambda: k.rlwe_ternary(z(4), z(5))),
    ("'random' parameter of rlwe_binomial", lambda: k.rlwe_binomial(b(4), z(4))),
    ("'out' parameter of rlwe_pack", lambda: k.rlwe_pack(z(2, 4), b(49))),
    ("'packed' parameter of rlwe_unpack", lambda: k.rlwe_unpack(b(51), P, z(2, 4))),
    ("'out' parameter of rlwe_small", lambda: k.rlwe_small(z(64), P, z(1, 64))),
    ("'degree' parameter of rlwe_small", lambda: k.rlwe_small(z(63), P, z(2, 63))),
    ("'elements' parameter of rlwe_encrypt", encrypt(elements=z(63))),
    ("'elements' parameter of rlwe_encrypt", encrypt(words=2)),
    ("'a' parameter of rlwe_encrypt", encrypt(a=z(2, 63))),
    ("'words' parameter of rlwe_encrypt", encrypt(words=3)),
    ("'x' parameter of rlwe_multiply", multiply(x=z(15))),
    ("'x' parameter of rlwe_multiply", multiply(x=np.zeros((3, 5), dtype=np.uint32))),
    ("'x' parameter of rlwe_multiply", multiply(x=np.zeros((3, 5), dtype=np.int64))),
    ("'x' parameter of rlwe_multiply", multiply(x=np.zeros((3, 5), dtype=RECORD))),
    ("'x' parameter of rlwe_multiply", multiply(x=z(3, 5).view(np.uint8)[:, 4:-4].view(U64))),
    ("'x' parameter of rlwe_multiply", multiply(words=2)),
    ("'x' parameter of rlwe_multiply", multiply(x=None)),
    ("'rows, width, step' parameter of rlwe_multiply", multiply(rows=0)),
    ("'rows, width, step' parameter of rlwe_multiply", multiply(step=61)),
    ("'rows, width, step' parameter of rlwe_multiply", multiply(width=1 << 40)),
    ("'rows, width, step' parameter of rlwe_multiply", multiply(x=z(0, 5))),
    ("'requests' parameter of rlwe_multiply", multiply(requests=z(1, 2, 2, 64))),
    ("'key' parameter of rlwe_multiply", multiply(key=z(2, 64))),
    ("'small' parameter of rlwe_multiply", multiply(small=z(3, 64))),
    ("'out' parameter of rlwe_multiply", multiply(out=z(2, 2, 64))),
    ("'s' parameter of rlwe_phase", lambda: k.rlwe_phase(z(2, 64), z(2, 128), P, z(2, 64))),
    ("'margin' parameter of rlwe_round", rounded(margin=1 << 62)),
    ("'near' parameter of rlwe_round", rounded(near=b(4))),
    ("'out' parameter of rlwe_round", rounded(words=2)),
    ("'out' parameter of rlwe_drop", lambda: k.rlwe_drop(z(2, 5), P, z(2, 5))),
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(message: str, call: Call) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()


@pytest.mark.parametrize("call", [multiply(), encrypt(), rounded(), multiply(x=np.zeros((3, 5), RECORD), words=2)])
def test_what_fits_is_not(call: Call) -> None:
    call()


def test_overlapping_memory_is_refused() -> None:
    memory = z(4, 2, 2, 64)
    with pytest.raises(ValueError, match="overlaps 'requests'"):
        multiply(requests=memory[:2], out=memory[1:3])()
    with pytest.raises(ValueError, match="overlaps 'a'"):
        encrypt(a=memory[0, 0], out=memory[0, 0])()
