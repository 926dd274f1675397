"""Kernels for oblivious transfer: what they need, what they refuse, and that threads change nothing.

That their results are right is tested with the package that uses them, ``cofit.sharing.pair``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cofit import kernels as k

Call = Callable[[], object]


def with_aes() -> list[str]:
    before, found = k.isa(), []
    for isa in k.available_isas():
        k.set_isa(isa)
        found += [isa] if k.aes_available() else []
    k.set_isa(before)
    return found


def z(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.uint64)


def b(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.uint8)


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def schedules(**changes: Any) -> Call:
    return lambda: k.aes_schedules(**{"keys": b(3, 16), "out": b(3, 176), **changes})


def chooser(**changes: Any) -> Call:
    arguments = {"schedules": b(832, 176), "position": 0, "rows": z(2048, 2), "choices": z(32)}
    return lambda: k.ot_chooser(**{**arguments, "corrections": b(25 * 256), **changes})


def sender(**changes: Any) -> Call:
    arguments = {"schedules": b(832, 176), "delta": z(2), "position": 0, "corrections": b(25 * 256)}
    return lambda: k.ot_sender(**{**arguments, "rows": z(2048, 2), **changes})


def hashed(form: str, **changes: Any) -> Call:
    out = {"wide": z(128, 2), "words": z(128), "bits": z(2), "planes": z(5, 2)}[form]
    arguments = {"schedules": b(1, 176), "rows": z(128, 2), "delta": z(2), "first": z(2), "out": out}
    return lambda: getattr(k, f"ot_hash_{form}")(**{**arguments, **changes})


def rows_and_words() -> tuple[Any, Any]:
    memory = z(128 * 2)
    return memory.reshape(128, 2), memory[:128]


CALLS = [schedules(), chooser(), sender(), *(hashed(form) for form in ("wide", "words", "bits", "planes"))]
SHARED = rows_and_words()

TYPE_ERRORS: list[tuple[str, Call]] = [
    ("'keys' parameter of aes_schedules", schedules(keys=z(3, 16))),
    ("'schedules' parameter of ot_chooser", chooser(schedules=z(832, 22))),
    ("'rows' parameter of ot_chooser", chooser(rows=np.zeros((2048, 2)))),
    ("'position' parameter of ot_chooser must be an integer", chooser(position=None)),
    ("'corrections' parameter of ot_sender", sender(corrections=z(25 * 32))),
    ("'delta' parameter of ot_sender", sender(delta=None)),
    ("'first' parameter of ot_hash_bits", hashed("bits", first=7)),
    ("'schedules' parameter of ot_hash_wide", hashed("wide", schedules=z(1, 22))),
]

VALUE_ERRORS: list[tuple[str, Call]] = [
    ("'keys' parameter of aes_schedules", schedules(keys=b(3, 32))),
    ("'out' parameter of aes_schedules", schedules(out=b(2, 176))),
    ("'out' parameter of aes_schedules must be a writable array", schedules(out=read_only(b(3, 176)))),
    ("'schedules' parameter of ot_chooser", chooser(schedules=b(800, 176))),
    ("'rows' parameter of ot_chooser must be an array of a multiple of 1024 rows", chooser(rows=z(2047, 2))),
    ("'rows' parameter of ot_chooser", chooser(rows=z(2048, 3))),
    ("'rows' parameter of ot_chooser must be a C-contiguous array", chooser(rows=z(2, 2048).T)),
    ("'choices' parameter of ot_chooser", chooser(choices=z(31))),
    ("'corrections' parameter of ot_chooser", chooser(corrections=b(26 * 256))),
    ("'position' parameter of ot_chooser", chooser(position=2**60 + 1)),
    ("'position' parameter of ot_sender", sender(position=-1)),
    ("'threads' parameter of ot_sender", sender(threads=-1)),
    ("'rows' parameter of ot_sender", sender(rows=z(1024, 4))),
    ("'rows' parameter of ot_sender must be a writable array", sender(rows=read_only(z(2048, 2)))),
    ("'delta' parameter of ot_sender", sender(delta=z(3))),
    ("'corrections' parameter of ot_sender", sender(corrections=b(25 * 256 - 1))),
    ("'rows' parameter of ot_hash_words must be an array of a multiple of 64 rows", hashed("words", rows=z(127, 2))),
    ("'schedules' parameter of ot_hash_words", hashed("words", schedules=b(1, 160))),
    ("'schedules' parameter of ot_hash_words", hashed("words", schedules=b(2, 176))),
    ("'schedules' parameter of ot_hash_bits", hashed("bits", first=np.array([1023, 0], np.uint64))),
    ("'delta' parameter of ot_hash_planes", hashed("planes", delta=z(1))),
    ("'first' parameter of ot_hash_planes", hashed("planes", first=z(1))),
    ("'out' parameter of ot_hash_wide", hashed("wide", out=z(64, 2))),
    ("'out' parameter of ot_hash_words", hashed("words", out=z(64))),
    ("'out' parameter of ot_hash_bits", hashed("bits", out=z(1))),
    ("'out' parameter of ot_hash_planes", hashed("planes", out=z(5, 3))),
    ("'out' parameter of ot_hash_planes must be an array of at most 128 planes", hashed("planes", out=z(129, 2))),
    ("'out' parameter of ot_hash_words must be memory of its own", hashed("words", rows=SHARED[0], out=SHARED[1])),
]


@pytest.fixture(params=with_aes())
def fast(request: pytest.FixtureRequest) -> Iterator[str]:
    before = k.isa()
    k.set_isa(request.param)
    yield request.param
    k.set_isa(before)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(("message", "call"), TYPE_ERRORS)
def test_another_type_is_refused(message: str, call: Call) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(("message", "call"), VALUE_ERRORS)
def test_another_value_is_refused(message: str, call: Call) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("call", CALLS)
def test_what_fits_is_taken(call: Call) -> None:
    assert k.aes_available()
    assert call() is None


@pytest.mark.parametrize("call", CALLS)
def test_the_baseline_has_no_aes_and_says_so(call: Call) -> None:
    before = k.isa()
    k.set_isa("baseline")
    try:
        assert not k.aes_available()
        with pytest.raises(RuntimeError, match="needs instructions for AES"):
            call()
    finally:
        k.set_isa(before)


@pytest.mark.usefixtures("fast")
def test_round_keys_are_those_of_the_standard() -> None:
    """FIPS 197, appendix A.1."""
    key = np.frombuffer(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"), np.uint8).reshape(1, 16)
    out = b(1, 176)
    k.aes_schedules(key, out)
    assert out[0, :16].tobytes() == key.tobytes()
    assert out[0, 16:32].tobytes().hex() == "a0fafe1788542cb123a339392a6c7605"
    assert out[0, 160:].tobytes().hex() == "d014f9a8c9ee2589e13f0cc8b6630ca6"


@pytest.mark.usefixtures("fast")
def test_threads_change_nothing(rng: np.random.Generator) -> None:
    keys, delta = rng.integers(0, 256, (832, 16), dtype=np.uint8), rng.integers(0, 2**64, 2, dtype=np.uint64)
    scheduled, count = b(832, 176), 35 * 1024
    k.aes_schedules(keys, scheduled)
    found = []
    for threads in (1, 3):
        outs = [z(count, 2), z(count // 64), b(25 * count // 8), z(count, 2), z(9, count // 64), z(count // 64)]
        k.ot_chooser(scheduled, 5, outs[0], outs[1], outs[2], threads)
        k.ot_sender(scheduled, delta, 5, outs[2], outs[3], threads)
        k.ot_hash_planes(scheduled[:35], outs[0], delta, z(2), outs[4], threads)
        k.ot_hash_bits(scheduled[:35], outs[0], delta, z(2), outs[5], threads)
        found.append(outs)
    assert all((one == other).all() for one, other in zip(*found, strict=True))
    assert all(array.any() for array in found[0])
