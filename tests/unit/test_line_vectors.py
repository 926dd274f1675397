"""The test vectors of lines, computed once more by hand. Bad ones: ``unit/transport/test_line.py``."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from support import vectors


def given() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((vectors.FOLDER / "lines.json").read_text(encoding="utf-8"))
    return found


def number(value: int) -> bytes:
    return value.to_bytes(8)


def names(one: dict[str, Any]) -> bytes:
    return b"".join(bytes([len(one[who])]) + one[who].encode() for who in ("dialler", "acceptor"))


def mac(one: dict[str, Any], label: bytes, fields: bytes) -> bytes:
    content = bytes([len(label)]) + label + names(one) + bytes.fromhex(one["session"]) + fields
    return hmac.digest(bytes.fromhex(one["key"]), content, "sha256")


def frame(kind: int, turn: int, payload: bytes) -> str:
    return (b"cfit\0\2" + bytes([kind]) + bytes(13) + number(turn) + number(len(payload)) + payload).hex()


def test_the_key_by_hand() -> None:
    one = given()
    agreed = bytes.fromhex(one["session"]) + bytes.fromhex(one["study"])
    content = b"cofit line key 1" + agreed + names(one) + b"".join(map(bytes.fromhex, one["halves"]))
    assert hashlib.sha256(content).hexdigest() == one["key"]


def test_records_by_hand() -> None:
    one = given()
    first = bytes.fromhex(one["halves"][0])
    expected = {
        "KEY": (5, first, 0, 0),
        "BYTES": (1, b"bytes", 70_000, 1000),
        "ACK": (2, b"", 0, 1_001_000),
        "BEAT": (3, b"", 2500, 1_001_000),
        "END": (4, b"", 70_005, 1_001_000),
    }
    for stored in one["records"]:
        kind, content, value, acknowledged = expected[stored["kind"]]
        head = bytes([kind, 0, 0, 0]) + len(content).to_bytes(4) + number(value) + number(acknowledged)
        assert stored["record"] == (head + content).hex()


def test_messages_by_hand() -> None:
    one = given()
    asks, answers = map(bytes.fromhex, one["nonces"])
    session = bytes.fromhex(one["session"])
    for stored, generation, r, other in (
        (one["resumption"], 3, 1000, 70_000),
        (one["question"], 0, 0, 0),
    ):
        label = b"resume" if generation else b"known?"
        first = mac(one, label, number(generation) + number(r) + asks)
        both = number(generation) + number(r) + number(other) + asks + answers
        expected = [
            frame(7, 0, session + number(generation) + asks + number(r) + first),
            frame(8, 0, answers + number(other) + mac(one, b"resumed", both)),
            frame(8, 1, mac(one, b"confirmed", both)),
        ]
        assert stored == expected[: len(stored)]
