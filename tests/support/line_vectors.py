"""Test vectors of lines: records, the key, and the three messages of a resumption (``tests/vectors/README.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

from cofit.transport.frames import LINE_VERSION
from cofit.transport.records import ACK, BEAT, BYTES, END, KEY, RECORD
from cofit.transport.resume import Ticket, session_key
from cofit.transport.terms import Terms

Document = dict[str, Any]
DIALLER, ACCEPTOR = "party-b", "party-a"
HALVES = bytes(range(32)), bytes(range(50, 82))
NONCES = bytes(range(100, 132)), bytes(range(150, 182))
GENERATION, ASKED, ANSWERED = 3, 1000, 70_000


def lines(terms: Terms) -> Document:
    """Return records of all kinds, the key that follows from both halves, and a resumption and a question with it."""
    terms = replace(terms, version=LINE_VERSION)
    key = session_key(terms, DIALLER, ACCEPTOR, *HALVES)
    ticket = Ticket(key, terms, DIALLER, ACCEPTOR)
    records = {
        "KEY": RECORD.pack(KEY, 32, 0, 0) + HALVES[0],
        "BYTES": RECORD.pack(BYTES, 5, 70_000, 1000) + b"bytes",
        "ACK": RECORD.pack(ACK, 0, 0, 1_001_000),
        "BEAT": RECORD.pack(BEAT, 0, 2500, 1_001_000),
        "END": RECORD.pack(END, 0, 70_005, 1_001_000),
    }
    return {
        "session": terms.session.hex(),
        "study": terms.study.hex(),
        "dialler": DIALLER,
        "acceptor": ACCEPTOR,
        "halves": [half.hex() for half in HALVES],
        "key": key.hex(),
        "records": [{"kind": kind, "record": record.hex()} for kind, record in records.items()],
        "nonces": [nonce.hex() for nonce in NONCES],
        "resumption": _messages(ticket, GENERATION, ASKED, ANSWERED),
        "question": _messages(ticket, 0, 0, 0)[:2],
    }


def _messages(ticket: Ticket, generation: int, asked: int, answered: int) -> list[str]:
    drawn: Iterator[bytes] = iter(NONCES)
    with mock.patch("cofit.transport.resume.secrets.token_bytes", lambda _: next(drawn)):
        request, first = ticket.request(generation, asked)
        second, third = ticket.answer(request, answered)
    return [first.hex(), second.hex(), third.hex()]


def bad_lines() -> Document:
    """Return records that end a line at which 10 bytes have come in, and none was sent."""
    records = {
        "bytes that leave a gap": RECORD.pack(BYTES, 1, 11, 0) + b"x",
        "no bytes": RECORD.pack(BYTES, 0, 10, 0),
        "more than a record holds": RECORD.pack(BYTES, (1 << 20) + 1, 10, 0),
        "an acknowledgement of what was not sent": RECORD.pack(ACK, 0, 0, 1),
        "an acknowledgement with content": RECORD.pack(ACK, 3, 0, 0) + b"abc",
        "an end at another position": RECORD.pack(END, 0, 9, 0),
        "a second key": RECORD.pack(KEY, 32, 0, 0) + bytes(32),
        "a kind that there is not": RECORD.pack(77, 0, 0, 0),
    }
    return {"received": 10, "records": [{"why": why, "record": record.hex()} for why, record in records.items()]}
