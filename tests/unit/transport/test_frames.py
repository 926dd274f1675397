from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.transport.frames import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MAX_CONTROL_BYTES,
    Kind,
    channel_tag,
    control_frame,
    label_tag,
    pack_blame,
    unpack_blame,
)


def test_the_header_has_its_documented_layout() -> None:
    frame = control_frame(Kind.ABORT, 1, b"TTTTTTTT", 5, b"why")
    assert HEADER_BYTES == 36
    assert frame == (
        b"cfit" + b"\x00\x01" + b"\x04" + b"\x00" + bytes(4) + b"TTTTTTTT" + (5).to_bytes(8) + (3).to_bytes(8) + b"why"
    )
    assert HEADER.unpack(frame[:HEADER_BYTES]) == (MAGIC, 1, Kind.ABORT, 0, 0, b"TTTTTTTT", 5, 3)


def test_the_label_tag_is_the_crc_of_the_label() -> None:
    assert label_tag("open") == zlib.crc32(b"open")


def test_channel_tags_differ_by_direction_session_study_and_names() -> None:
    base = (b"s" * 16, b"h" * 32, "P0", "P1")
    others = [
        (b"t" * 16, b"h" * 32, "P0", "P1"),
        (b"s" * 16, b"g" * 32, "P0", "P1"),
        (b"s" * 16, b"h" * 32, "P1", "P0"),
        (b"s" * 16, b"h" * 32, "P0P", "1"),
    ]
    assert len({channel_tag(*args) for args in [base, *others]}) == 5


@given(st.text(min_size=1, max_size=20).filter(str.isprintable), st.text(max_size=2000))
def test_blame_survives_the_wire_and_stays_within_the_limit(culprit: str, reason: str) -> None:
    payload = pack_blame(culprit, reason)
    assert len(payload) <= MAX_CONTROL_BYTES
    name, text = unpack_blame(payload)
    assert name == culprit
    assert text.isprintable()


@pytest.mark.parametrize("payload", [b"", b"\xff", b"\x05ab", b"\x02\xff\xfe\x00\x1b[2J"])
def test_a_malformed_blame_is_read_as_printable_text(payload: bytes) -> None:
    assert all(text.isprintable() for text in unpack_blame(payload))
