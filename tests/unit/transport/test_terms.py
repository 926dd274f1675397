from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.errors import InvalidInputError, SchemeMismatchError, StudyMismatchError
from cofit.transport import Terms
from cofit.transport.terms import HELLO_BYTES, Refusal, encode_hello, judge_hello, refusal_error
from unit.transport.cluster import TERMS


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session", b"short"),
        ("session", "s" * 16),
        ("study", b"h" * 31),
        ("scheme", ""),
        ("scheme", "x" * 65),
        ("scheme", "a\nb"),
        ("version", -1),
        ("version", 1 << 16),
    ],
)
def test_terms_are_validated(field: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=field):
        replace(TERMS, **{field: value})  # type: ignore[arg-type]


def test_equal_terms_are_accepted() -> None:
    hello = encode_hello(TERMS, "P0", "P1")
    assert len(hello) == HELLO_BYTES
    assert judge_hello(hello, TERMS, "P1", "P0") is None


@pytest.mark.parametrize(
    ("theirs", "sender", "addressee", "refusal"),
    [
        (replace(TERMS, study=b"g" * 32), "P0", "P1", Refusal.STUDY),
        (replace(TERMS, scheme="rep4/z64"), "P0", "P1", Refusal.SCHEME),
        (replace(TERMS, session=b"t" * 16), "P0", "P1", Refusal.SESSION),
        (TERMS, "P2", "P1", Refusal.NAME),
        (TERMS, "P0", "P2", Refusal.NAME),
    ],
)
def test_each_difference_has_its_refusal(theirs: Terms, sender: str, addressee: str, refusal: Refusal) -> None:
    assert judge_hello(encode_hello(theirs, sender, addressee), TERMS, "P1", "P0") is refusal


@given(st.binary(min_size=HELLO_BYTES, max_size=HELLO_BYTES))
def test_random_bytes_are_refused_without_an_exception(payload: bytes) -> None:
    assert judge_hello(payload, TERMS, "P1", "P0") is not None


def test_refusals_have_typed_errors_at_both_ends() -> None:
    assert isinstance(refusal_error("P1", Refusal.STUDY, by_peer=True), StudyMismatchError)
    assert isinstance(refusal_error("P1", Refusal.SCHEME, by_peer=False), SchemeMismatchError)
    assert "P1" in str(refusal_error("P1", Refusal.NAME, by_peer=True))
