"""From tables to what is shared: shapes, rows in the common order, secrets and row files."""

from __future__ import annotations

import json
import logging
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.errors import BudgetExceededError, InvalidInputError, TransportError
from cofit.learn.releases import accounted_releases
from cofit.roles.files.ledger import Ledger, PrivacyCost
from cofit.roles.jobs.training import Training
from cofit.roles.owner import contribute as contributing
from cofit.roles.owner.contribute import (
    LEDGER,
    align_table,
    contribute_table,
    new_secret,
    open_ledger,
    prepare,
    read_rows,
    read_secret,
    send,
    write_rows,
)
from cofit.study import Study, TableError
from cofit.study.align import key_hashes
from cofit.study.encode import EncodedTable
from cofit.study.plan import study_plan
from cofit.transport import Identity
from support.ledgers import best_releases
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

SECRET = bytes(range(32))
ROWS = "ab" * 32
WIDTH = {"owner-a": 6, "owner-b": 4}
NOBODY = Identity("owner-a", "", "")


def vertical(rows: int = 50, **changes: Any) -> Study:
    return study_of(VERTICAL, data__rows=rows, **changes)


def table(keys: list[str], owner: str = "owner-a") -> EncodedTable:
    """Features that tell the number in the key."""
    values = np.array([[int(key[1:]) / 1000.0] * WIDTH[owner] for key in keys])
    return EncodedTable(values, np.zeros(len(keys), np.int64) if owner == "owner-b" else None, tuple(keys))


def some_keys(count: int, start: int = 0) -> list[str]:
    return [f"k{i}" for i in range(start, start + count)]


# --- what is shared ----------------------------------------------------------------------------------------


def test_a_horizontal_table_is_normalised_and_encoded() -> None:
    study = study_of(HORIZONTAL)
    rng = np.random.default_rng(1)
    contribution = prepare(
        Training(study), "owner-a", EncodedTable(rng.uniform(-1, 1, (600, 10)), rng.integers(0, 2, 600), None)
    )
    facts, encoded = contribution.inputs["features"]
    assert isinstance(encoded, np.ndarray)
    values = facts.format.decode(encoded)
    assert facts.shape == (600, 11)
    np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-5)
    assert contribution.inputs["labels"][0].shape == (600,)
    assert [contribution.bytes_for(rank) for rank in range(3)] == [128 + 4 * 32, *[64 + 600 * 12 * 8 + 4 * 32] * 2]
    policy = Training(study).policy
    assert policy.epsilon == 1
    assert float(policy.delta) == 1e-6
    assert "0." not in repr(contribution)


@pytest.mark.parametrize(
    ("features", "labels"),
    [((599, 10), 600), ((600, 9), 600), ((600, 10), 599), ((600, 10), None), (None, 600)],
)
def test_shapes_are_those_of_the_study(features: tuple[int, int] | None, labels: int | None) -> None:
    encoded = EncodedTable(
        None if features is None else np.zeros(features), None if labels is None else np.zeros(labels, np.int64), None
    )
    with pytest.raises(InvalidInputError, match="must have shape"):
        prepare(Training(study_of(HORIZONTAL)), "owner-a", encoded)


def test_who_is_no_owner_has_nothing_to_contribute() -> None:
    with pytest.raises(InvalidInputError, match="owner"):
        prepare(Training(study_of(HORIZONTAL)), "party-a", EncodedTable(None, None, None))


def test_the_digest_of_rows_belongs_to_vertical_studies() -> None:
    with pytest.raises(InvalidInputError, match="null in a horizontal study"):
        prepare(Training(study_of(HORIZONTAL)), "owner-a", EncodedTable(None, None, None), ROWS)
    with pytest.raises(InvalidInputError, match="in a vertical study"):
        prepare(Training(vertical()), "owner-a", table(some_keys(50)))
    assert prepare(Training(vertical()), "owner-a", table(some_keys(50)), ROWS).rows == ROWS


# --- the ledger ---------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The incarnations that the parties tell."""
    told = {"party-a": "aa", "party-b": "bb", "party-c": "cc"}
    monkeypatch.setattr(contributing, "incarnations", lambda names, _: {name: told[name] for name in names})
    return told


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []

    def record(*args: Any) -> str:
        calls.append(args)
        return "upload"

    monkeypatch.setattr(contributing, "contribute", record)
    return calls


def test_the_ledger_is_charged_once_and_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "deep" / "state"
    study = vertical()
    spent = []

    def fails(*_: Any) -> str:
        spent.append(Ledger(state / LEDGER).spent("data").epsilon)
        raise InvalidInputError("broken")

    monkeypatch.setattr(contributing, "contribute", fails)
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="broken"):
            contribute_table(Training(study), NOBODY, table(some_keys(50)), state, "data", rows=ROWS)
    assert spent == [1, 1]
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    (charge,) = Ledger(state / LEDGER).charges()
    assert (charge.study, charge.releases) == (study.hash, accounted_releases(study_plan(study)))


def test_above_the_cap_nothing_is_sent(tmp_path: Path, sent: list[tuple[Any, ...]]) -> None:
    open_ledger(tmp_path).set_cap("data", Fraction(1, 2), Fraction(1, 100))
    contribution = prepare(Training(vertical()), "owner-a", table(some_keys(50)), ROWS)
    with pytest.raises(BudgetExceededError, match="cofit budget --set-cap"):
        send(contribution, NOBODY, tmp_path, "data")
    assert sent == []
    assert open_ledger(tmp_path).charges() == []
    assert send(contribution, NOBODY, tmp_path, "other data") == "upload"
    assert sent[0][-2:] == (ROWS, None)


def test_parties_without_memory_of_the_earlier_run_are_charged_again(
    tmp_path: Path, known: dict[str, str], sent: list[tuple[Any, ...]], caplog: pytest.LogCaptureFixture
) -> None:
    contribution = prepare(Training(vertical()), "owner-a", table(some_keys(50)), ROWS)
    for _ in range(2):
        send(contribution, NOBODY, tmp_path, "data")
    assert open_ledger(tmp_path).spent("data").epsilon == 1
    assert caplog.text == ""
    known["party-b"] = "dd"
    for _ in range(2):
        send(contribution, NOBODY, tmp_path, "data")
    assert open_ledger(tmp_path).spent("data").epsilon == 2
    assert caplog.text.count("no memory of the earlier run of this study: a release would be a second one") == 1
    assert sent[-1][0] == known
    open_ledger(tmp_path).set_cap("data", Fraction(5, 2), Fraction(1, 100))
    known["party-c"] = "ee"
    with pytest.raises(BudgetExceededError, match=r"no memory of the earlier run.*above its cap"):
        send(contribution, NOBODY, tmp_path, "data")
    assert len(sent) == 4


def test_nothing_is_charged_where_a_party_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> dict[str, str]:
        raise TransportError("party-b", "away")

    monkeypatch.setattr(contributing, "incarnations", away)
    with pytest.raises(TransportError):
        send(prepare(Training(vertical()), "owner-a", table(some_keys(50)), ROWS), NOBODY, tmp_path, "data")
    assert open_ledger(tmp_path).charges() == []


def test_check_answers_like_charge_and_charges_nothing(tmp_path: Path) -> None:
    ledger, releases = open_ledger(tmp_path), best_releases()
    assert ledger.datasets() == []
    assert ledger.check(PrivacyCost("d", "s", "n", Fraction(1), Fraction(0), releases))
    assert ledger.charges() == []
    ledger.charge(PrivacyCost("d", "s", "n", Fraction(1), Fraction(0), releases))
    assert not ledger.check(PrivacyCost("d", "s", "n", Fraction(1), Fraction(0), releases))
    with pytest.raises(InvalidInputError, match="another epsilon"):
        ledger.check(PrivacyCost("d", "s", "n", Fraction(2), Fraction(0), releases))
    ledger.set_cap("d", Fraction(1), Fraction(0))
    ledger.set_cap("capped", Fraction(1), Fraction(0))
    with pytest.raises(BudgetExceededError):
        ledger.check(PrivacyCost("d", "s2", "n", Fraction(1), Fraction(0), releases))
    assert ledger.datasets() == ["capped", "d"]


def test_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot be used"):
        open_ledger(tmp_path / "file" / "state")


# --- rows ---------------------------------------------------------------------------------------------------


def test_owners_with_equal_rows_in_any_order_get_one_order_and_digest() -> None:
    study = vertical()
    keys = some_keys(50)
    shuffled = [keys[i] for i in np.random.default_rng(2).permutation(50)]
    one, digest = align_table(study, table(keys), SECRET, {})
    other, same = align_table(study, table(shuffled, "owner-b"), SECRET, {})
    assert one.keys == other.keys
    assert one.keys != tuple(keys)
    assert digest == same
    assert isinstance(one.features, np.ndarray) and isinstance(other.features, np.ndarray)
    np.testing.assert_array_equal(one.features[:, 0], other.features[:, 0])


def test_the_digest_changes_with_rows_secret_and_study() -> None:
    study, keys = vertical(), some_keys(50)
    digests = {
        align_table(study, table(keys), SECRET, {})[1],
        align_table(study, table(some_keys(50, 1)), SECRET, {})[1],
        align_table(study, table(keys), bytes(32), {})[1],
        align_table(vertical(name="other"), table(keys), SECRET, {})[1],
    }
    assert len(digests) == 4


def test_rows_that_all_have_are_kept_where_the_study_drops_the_others() -> None:
    study = vertical(30, data__unmatched="drop")
    ours, theirs = some_keys(40), some_keys(40, 10)
    hashes = {"owner-a": key_hashes(SECRET, study.hash, ours), "owner-b": key_hashes(SECRET, study.hash, theirs)}
    one, digest = align_table(study, table(ours), SECRET, {"owner-b": hashes["owner-b"]})
    other, same = align_table(study, table(theirs, "owner-b"), SECRET, {"owner-a": hashes["owner-a"]})
    assert one.keys == other.keys
    assert digest == same
    with pytest.raises(TableError, match="40 rows in common, and the study says 30"):
        align_table(study, table(ours), SECRET, {})


def test_other_rows_are_refused_with_our_own_keys() -> None:
    study = vertical()
    theirs = {"owner-b": key_hashes(SECRET, study.hash, some_keys(50, 1))}
    with pytest.raises(TableError, match=r"it lacks 1 of our rows \('k0'\); we lack 1 of its rows"):
        align_table(study, table(some_keys(50)), SECRET, theirs)


def test_secrets_are_random_private_and_never_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    new_secret(one)
    new_secret(two)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert len(read_secret(one)) == 32
    assert read_secret(one) != read_secret(two)
    with pytest.raises(InvalidInputError, match="never overwritten"):
        new_secret(one)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        new_secret(tmp_path / "none" / "x")
    assert caplog.text == ""
    one.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        read_secret(one)
    assert "chmod 600" in caplog.text
    assert one.read_text().strip() not in caplog.text


@pytest.mark.parametrize("content", [b"", b"ab" * 31, b"xy" * 32, bytes(range(128, 192)), b"\xff" * 64])
def test_files_that_are_no_secret(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InvalidInputError, match="is not a secret"):
        read_secret(path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_secret(tmp_path / "absent")


def test_row_files_from_owner_to_owner(tmp_path: Path) -> None:
    study, path = vertical(), tmp_path / "b.rows"
    hashes = key_hashes(SECRET, study.hash, some_keys(20))
    write_rows(path, study, "owner-b", SECRET, hashes)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = read_rows([path], study, "owner-a", SECRET)
    assert found == {"owner-b": sorted(hashes)}
    assert found["owner-b"] != hashes  # the order of the table is not told
    text = path.read_text()
    assert SECRET.hex() not in text and "k1" not in text
    with pytest.raises(InvalidInputError, match="another secret"):
        read_rows([path], study, "owner-a", bytes(32))
    with pytest.raises(InvalidInputError, match="another study"):
        read_rows([path], vertical(name="other"), "owner-a", SECRET)
    with pytest.raises(InvalidInputError, match="itself"):
        read_rows([path], study, "owner-b", SECRET)
    with pytest.raises(InvalidInputError, match="once more"):
        read_rows([path, path], study, "owner-a", SECRET)
    write_rows(path, study, "party-a", SECRET, hashes)
    with pytest.raises(InvalidInputError, match="not an owner of this study"):
        read_rows([path], study, "owner-a", SECRET)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_rows([tmp_path / "absent"], study, "owner-a", SECRET)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": None},
        {"rows": ["ab"]},
        {"rows": ["zz" * 32]},
        {"rows": [7]},
        {"rows": ["ab" * 32, "AB" * 32]},
        {"format": 2},
        {"owner": ["owner-b"]},
    ],
)
def test_damaged_row_files(tmp_path: Path, change: dict[str, Any]) -> None:
    study, path = vertical(), tmp_path / "b.rows"
    write_rows(path, study, "owner-b", SECRET, [])
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InvalidInputError, match=r"b\.rows"):
        read_rows([path], study, "owner-a", SECRET)
    for text in ("", "{", "[]", "null", "{}"):
        path.write_text(text)
        with pytest.raises(InvalidInputError, match="is no row file"):
            read_rows([path], study, "owner-a", SECRET)
