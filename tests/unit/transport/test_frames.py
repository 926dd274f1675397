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
    MAX_NAME_BYTES,
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


@given(st.text(max_size=400), st.text(max_size=2000))
def test_any_text_can_be_packed_and_its_name_is_cut_to_whole_characters(culprit: str, reason: str) -> None:
    payload = pack_blame(culprit, reason)
    assert len(payload) <= MAX_CONTROL_BYTES
    name = payload[1 : 1 + payload[0]]
    assert len(name) <= MAX_NAME_BYTES
    assert culprit.startswith(name.decode())


def test_a_lone_surrogate_is_no_obstacle() -> None:
    assert unpack_blame(pack_blame("P\ud800", "why \udfff")) == ("P?", "why ?")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00",
        b"\x00why",
        b"\xff",
        b"\x05ab",
        b"\x02\xff\xfe",
        b"\x01\x1b[2J",
        b"\xff" * 256,
        b"\x41" + b"A" * 65,
        b"\x03\xe2\x80\xae",
    ],
)
def test_a_blame_without_a_proper_name_is_malformed(payload: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_blame(payload)


@given(st.binary(max_size=MAX_CONTROL_BYTES))
def test_a_payload_is_either_malformed_or_gives_printable_text_that_can_be_packed_again(payload: bytes) -> None:
    try:
        culprit, reason = unpack_blame(payload)
    except ValueError:
        return
    assert culprit.isprintable() and reason.isprintable()
    assert unpack_blame(pack_blame(culprit, reason))[0] == culprit
