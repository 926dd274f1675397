"""The proof that a new connection is between the two processes of an old line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cofit.transport.frames import LINE_VERSION
from cofit.transport.resume import NotResumedError, Request, Ticket, read_request, session_key
from unit.transport.cluster import TERMS

TERMS_OF_LINES = replace(TERMS, version=LINE_VERSION)
KEY = session_key(TERMS_OF_LINES, "P1", "P0", b"d" * 32, b"a" * 32)


def ticket(key: bytes = KEY, dialler: str = "P1", session: bytes = TERMS.session) -> Ticket:
    return Ticket(key, replace(TERMS_OF_LINES, session=session), dialler, "P0")


def test_three_messages_convince_both_ends() -> None:
    request, frame = ticket().request(4, 1000)
    heard = read_request(frame, LINE_VERSION)
    assert heard == request and (heard.generation, heard.position) == (4, 1000)
    ticket().check_request(heard)
    answer, due = ticket().answer(heard, 77)
    position, proof = ticket().read_answer(request, answer)
    assert position == 77 and proof == due


@pytest.mark.parametrize(
    "stranger",
    [ticket(b"k" * 32), ticket(dialler="P2"), ticket(session=b"t" * 16)],
    ids=["another key", "another name", "another session"],
)
def test_whoever_lacks_the_key_convinces_nobody(stranger: Ticket) -> None:
    with pytest.raises(NotResumedError):
        ticket().check_request(read_request(stranger.request(1, 0)[1], LINE_VERSION))
    request, _ = ticket().request(1, 0)
    with pytest.raises(NotResumedError):
        ticket().read_answer(request, stranger.answer(request, 0)[0])
    assert stranger.answer(request, 0)[1][-32:] != ticket().answer(request, 0)[1][-32:]


def test_every_field_of_every_message_counts() -> None:
    request, frame = ticket().request(1, 5)
    for at in range(len(frame)):
        changed = bytearray(frame)
        changed[at] ^= 1
        with pytest.raises(NotResumedError):
            ticket().check_request(read_request(bytes(changed), LINE_VERSION))
    answer, _ = ticket().answer(request, 9)
    for at in range(len(answer)):
        changed = bytearray(answer)
        changed[at] ^= 1
        with pytest.raises(NotResumedError):
            ticket().read_answer(request, bytes(changed))


def test_recorded_messages_answer_no_other_request() -> None:
    first, second = ticket().request(1, 0)[0], ticket().request(1, 0)[0]
    answer, due = ticket().answer(first, 0)
    with pytest.raises(NotResumedError):
        ticket().read_answer(second, answer)
    assert ticket().answer(first, 0)[1] != due  # a nonce of each end


def test_a_question_is_no_resumption() -> None:
    question, _ = ticket().request(0, 0)
    ticket().check_request(question)
    with pytest.raises(NotResumedError):
        ticket().check_request(Request(question.session, 1, question.nonce, 0, question.mac))


def test_the_key_depends_on_both_halves_and_on_who_and_where() -> None:
    keys = {
        KEY,
        session_key(TERMS_OF_LINES, "P1", "P0", b"a" * 32, b"d" * 32),
        session_key(TERMS_OF_LINES, "P0", "P1", b"d" * 32, b"a" * 32),
        session_key(TERMS_OF_LINES, "P1", "P0", b"d" * 32, b"b" * 32),
        session_key(replace(TERMS_OF_LINES, session=b"t" * 16), "P1", "P0", b"d" * 32, b"a" * 32),
        session_key(replace(TERMS_OF_LINES, study=b"i" * 32), "P1", "P0", b"d" * 32, b"a" * 32),
    }
    assert len(keys) == 6
