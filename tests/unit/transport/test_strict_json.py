from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.transport.strict_json import MAX_DEPTH, MAX_HEADER_BYTES, decode_header, encode_header

scalars = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_headers_survive_the_wire(header: dict[str, object]) -> None:
    try:
        raw = encode_header(header)
    except InvalidInputError:
        return  # deeper than allowed
    assert decode_header(raw) == header


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def test_the_depth_limit_is_exact_and_brackets_in_strings_do_not_count() -> None:
    decode_header(nested(MAX_DEPTH))
    with pytest.raises(ValueError, match="levels"):
        decode_header(nested(MAX_DEPTH + 1))
    text = "[{" * 1000 + '\\"[['
    assert decode_header(json.dumps({"a": text}).encode()) == {"a": text}


REFUSED = {
    "empty": b"",
    "array": b"[1]",
    "text": b'"a"',
    "number": b"1",
    "two objects": b"{}{}",
    "trailing": b"{} x",
    "duplicate": b'{"a":1,"a":1}',
    "duplicate below": b'{"x":[{"a":1,"\\u0061":2}]}',
    "nan": b'{"a":NaN}',
    "infinity": b'{"a":-Infinity}',
    "overflow": b'{"a":1e999}',
    "long integer": b'{"a":' + b"9" * 5000 + b"}",
    "not UTF-8": b'{"a":"\xff"}',
    "surrogate bytes": b'{"a":"\xed\xa0\x80"}',
    "lone surrogate": b'{"a":"\\ud800"}',
    "surrogate key": b'{"\\udfff":1}',
    "mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "control character": b'{"a":"\x00"}',
    "single quotes": b"{'a':1}",
    "comment": b"{}//",
    "deep": b'{"a":' + b"[" * 60_000,
    "deep objects": b'{"a":' * 12_000,
    "unbalanced": b"]" * 50 + b"[" * 60_000,
}


@pytest.mark.parametrize("what", REFUSED)
def test_everything_else_is_refused(what: str) -> None:
    with pytest.raises(ValueError):
        decode_header(REFUSED[what])


@pytest.mark.parametrize("pattern", [b'"\\"', b'"', b"\\", b"{[", b'{"a":[', b"[],", b'"a":1,', b"1"])
def test_no_header_takes_long(pattern: bytes) -> None:
    raw = (b'{"x":' + pattern * MAX_HEADER_BYTES)[:MAX_HEADER_BYTES]
    start = time.monotonic()
    with pytest.raises(ValueError):
        decode_header(raw)
    assert time.monotonic() - start < 1.0


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        header = decode_header(raw)
    except ValueError:
        return
    assert isinstance(header, dict)


@pytest.mark.parametrize(
    "header",
    [
        {"a": float("nan")},
        {"a": object()},
        {"a": "x" * MAX_HEADER_BYTES},
        {"a": 10**30},
        {"a": "\ud800"},
        {"a": b"bytes"},
        {1: 2, "1": 2},
        json.loads(nested(MAX_DEPTH + 1)),
    ],
)
def test_what_a_peer_would_refuse_is_not_sent(header: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="'header' parameter"):
        encode_header(header)
