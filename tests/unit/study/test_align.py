"""The common order of rows in a vertical study."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.study import TableError
from cofit.study.align import Comparison, aligned_rows, compare, key_hashes, row_order, set_digest

SECRET = bytes(range(32))
STUDY = "ab" * 32
KEYS = [f"P{i}" for i in range(50)]


def hashes(keys: list[str]) -> list[bytes]:
    return key_hashes(SECRET, STUDY, keys)


def test_the_hash_by_hand() -> None:
    message = b"cofit row key 1\0" + STUDY.encode() + b"\0" + "Zoë".encode()
    assert hashes(["Zoë"]) == [hmac.new(SECRET, message, hashlib.sha256).digest()]


def test_hashes_depend_on_secret_study_and_key() -> None:
    one = key_hashes(SECRET, STUDY, ["a"])
    others = [key_hashes(b"x" * 32, STUDY, ["a"]), key_hashes(SECRET, "cd" * 32, ["a"]), hashes(["b"])]
    assert all(one != other for other in others)


@settings(deadline=None)
@given(st.lists(st.text(max_size=8), unique=True), st.randoms(use_true_random=False))
def test_equal_sets_get_equal_orders(keys: list[str], random: object) -> None:
    other = list(keys)
    random.shuffle(other)  # type: ignore[attr-defined]
    ordered = [[own[i] for i in row_order(hashes(own)).tolist()] for own in (keys, other)]
    assert ordered[0] == ordered[1]
    assert set_digest(hashes(keys)) == set_digest(hashes(other))
    rows = aligned_rows(keys, hashes(keys), {"b": hashes(other)}, unmatched="refuse", rows=len(keys))
    assert [keys[i] for i in rows.tolist()] == ordered[0]


def test_the_order_follows_neither_table_nor_key() -> None:
    order = row_order(hashes(KEYS))
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() != list(range(50))


def test_comparison() -> None:
    first, second = hashes(["a", "b", "c"]), hashes(["c", "d"])
    assert compare(first, second) == Comparison(common=1, only_first=2, only_second=1)
    assert set_digest(first) != set_digest(second)
    assert set_digest(first) != set_digest(first[:2])


def test_unmatched_rows_are_refused_and_our_own_keys_named() -> None:
    with pytest.raises(TableError) as info:
        aligned_rows(
            KEYS, hashes(KEYS), {"b": hashes(KEYS), "c": hashes([*KEYS[2:], "hidden"])}, unmatched="refuse", rows=50
        )
    told = str(info.value)
    assert "'c': 48 rows in common; it lacks 2 of our rows ('P0', 'P1'); we lack 1 of its rows" in told
    assert "'b'" not in told
    assert "hidden" not in told


def test_rows_that_only_others_have_are_refused_too() -> None:
    with pytest.raises(TableError, match="it lacks 0 of our rows; we lack 1"):
        aligned_rows(KEYS, hashes(KEYS), {"b": hashes([*KEYS, "more"])}, unmatched="refuse", rows=50)


def test_unmatched_rows_are_dropped_alike_at_all_owners() -> None:
    tables = {"a": KEYS[:40], "b": KEYS[:4:-1], "c": [*KEYS[::-1], "more"]}
    kept = []
    for name, own in tables.items():
        others = {other: hashes(keys) for other, keys in tables.items() if other != name}
        rows = aligned_rows(own, hashes(own), others, unmatched="drop", rows=35)
        kept.append([own[i] for i in rows.tolist()])
    assert kept[0] == kept[1] == kept[2]
    assert set(kept[0]) == set(KEYS[5:40])


def test_the_number_of_common_rows_must_be_the_agreed_one() -> None:
    with pytest.raises(TableError, match=r"30 rows in common, and the study says 31. Agree on rows = 30"):
        aligned_rows(KEYS, hashes(KEYS), {"b": hashes(KEYS[:30])}, unmatched="drop", rows=31)
    with pytest.raises(TableError, match="50 rows in common, and the study says 49"):
        aligned_rows(KEYS, hashes(KEYS), {}, unmatched="refuse", rows=49)


def test_many_unmatched_keys_are_not_all_listed() -> None:
    with pytest.raises(TableError) as info:
        aligned_rows(KEYS, hashes(KEYS), {"b": hashes(["q"])}, unmatched="refuse", rows=50)
    assert "it lacks 50 of our rows" in str(info.value)
    assert str(info.value).count("'P") == 20


@pytest.mark.parametrize("secret", [b"", b"x" * 31, "x" * 32])
def test_weak_secrets_are_refused(secret: bytes) -> None:
    with pytest.raises(InvalidInputError, match="at least 32 random bytes"):
        key_hashes(secret, STUDY, KEYS)


def test_misuse() -> None:
    with pytest.raises(InvalidInputError, match="distinct"):
        hashes(["a", "a"])
    with pytest.raises(InvalidInputError, match="'unmatched'"):
        aligned_rows(KEYS, hashes(KEYS), {}, unmatched="keep", rows=50)
