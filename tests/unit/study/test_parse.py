"""Reading a study: what it fills in, and every way in which it refuses, with the field's path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.study import parse_study
from cofit.study.document import Feature
from unit.study.studies import CERTIFICATES, HORIZONTAL, LEFT_OUT, VERTICAL, changed, study_of


def refusal(document: dict[str, Any], changes: dict[str, Any]) -> str:
    with pytest.raises(InvalidInputError) as info:
        parse_study(changed(document, changes), CERTIFICATES)
    return str(info.value)


def test_defaults_are_filled_in() -> None:
    study = study_of()
    assert (study.model.epochs, study.model.intercept, study.model.solver) == ("auto", True, "auto")
    assert (study.privacy.mechanism, study.privacy.sensitivity) == ("gaussian", "tight")
    assert study_of(privacy={"epsilon": 1}).privacy.mechanism == "knorm"
    assert (study.data.rows, study.data.normalised_by, study.data.unmatched) == (1000, "owners", None)
    assert (study.compute.timeout, study.compute.connect_timeout, study.compute.checkpoint_epochs) == (60, 60, None)
    assert study_of(VERTICAL).data.normalised_by == "parties"
    assert study_of(VERTICAL).data.unmatched == "refuse"


def test_families_are_expanded_in_order() -> None:
    features = study_of().data.features
    assert [f.name for f in features] == ["age", "dose", "smoker", "treated", "group", "w0", "w1", "w2"]
    assert features[1] == Feature("dose", "number", -1.5, 2.5, True, (), 0.5)
    assert features[4].encoded_names == ("group=x", "group=y", "group=z")
    assert features[6] == Feature("w1", "number", -1.0, 1.0)


def test_addresses() -> None:
    study = study_of(parties__0__address="[2001:db8::1]:1", parties__1__address="192.0.2.1:65535")
    assert [(p.host, p.port) for p in study.parties[:2]] == [("2001:db8::1", 1), ("192.0.2.1", 65535)]


def test_owners_of_a_vertical_study() -> None:
    study = study_of(VERTICAL)
    assert study.owners[0].columns == ("group", "w0", "w1", "w2")
    assert study.owners[1].columns == ("age", "dose", "smoker", "treated")
    assert [owner.holds_label for owner in study.owners] == [False, True]
    assert [owner.rows for owner in study.owners] == [1000, 1000]
    assert study.weight_names == (
        "group=x", "group=y", "group=z", "w0", "w1", "w2", "age", "dose", "smoker", "treated",
    )  # fmt: skip
    assert study_of().weight_names[:2] == ("age", "dose")


def test_an_owner_of_the_label_alone() -> None:
    every = ["w*", "group", "age", "dose", "smoker", "treated"]
    study = study_of(VERTICAL, owners__0__columns=every, owners__1__columns=[])
    assert study.owners[1].columns == ()


def test_one_name_in_two_roles() -> None:
    study = study_of(owners__0__name="party-a", owners__0__certificate="party-a.pem")
    assert study.owners[0].fingerprint == study.parties[0].fingerprint


FEATURE = "data.features.0"
BAD_VALUES: list[tuple[str, Any, str]] = [
    ("format", 2, "'format'.*must be 1"),
    ("format", True, "'format'"),
    ("format", LEFT_OUT, "'format'.*add it"),
    ("name", "", "'name'"),
    ("name", "a/b", "'name'.*free of"),
    ("name", "x" * 65, "'name'.*64 bytes"),
    ("modle", {}, "'modle'.*format 1"),
    ("model", LEFT_OUT, r"'model'.*a table \[model\]; add it"),
    ("model", 3, "'model'.*table"),
    ("model.kind", "logistic", "'model.kind'.*'logistic'"),
    ("model.kind", "logistic_regresion", "did you mean 'logistic_regression'"),
    ("model.l2", LEFT_OUT, "'model.l2'.*add it"),
    ("model.l2", "1", "'model.l2'.*without quotation marks. Got '1'"),
    ("model.l2", True, "'model.l2'"),
    ("model.l2", 0, "'model.l2'.*above 0"),
    ("model.l2", float("nan"), "'model.l2'"),
    ("model.l2", 10**400, "'model.l2'.*finite"),
    ("model.epochs", "5", "'model.epochs'.*without quotation marks"),
    ("model.epochs", 0, "'model.epochs'"),
    ("model.epochs", 10**7, "'model.epochs'"),
    ("model.intercept", "yes", "'model.intercept'.*true or false"),
    ("model.intercept_scaling", -1, "'model.intercept_scaling'"),
    ("model.solver", "newton", "'model.solver'"),
    ("model.learning_rate", 0, "'model.learning_rate'"),
    ("model.momentum", 0.5, "learning_rate"),
    ("model.momentum", 1, "'model.momentum'"),
    ("model.initial", "ones", "'model.initial'"),
    ("model.tolerance", 0.5, "'model.tolerance'.*at most 0.1"),
    ("model.allow_unproven", 1, "'model.allow_unproven'"),
    ("model.intercpt", True, "'model.intercpt'.*did you mean 'intercept'"),
    ("privacy.epsilon", LEFT_OUT, "'privacy.epsilon' parameter of the study is missing: .*; add it\\.$"),
    ("privacy.epsilon", 0, "'privacy.epsilon'"),
    ("privacy.delta", 1, "'privacy.delta'"),
    ("privacy.delta", -1, "'privacy.delta'"),
    ("privacy.mechanism", "gauss", "did you mean 'gaussian'"),
    ("privacy.sensitivity", "loose", "'privacy.sensitivity'"),
    ("privacy", {"epsilon": 1, "mechanism": "gaussian"}, "'privacy.delta'.*gaussian"),
    ("data.partition", "diagonal", "'data.partition'"),
    ("data.partition", LEFT_OUT, "'data.partition'"),
    ("data.label", "age", "'data.label'.*another column"),
    ("data.label", LEFT_OUT, "'data.label'.*add it"),
    ("data.label", " ill", "'data.label'.*spaces"),
    ("data.row_key", "ill", "'data.row_key'.*another column"),
    ("data.label_values", ["no"], "'data.label_values'.*2 to 256 different values"),
    ("data.label_values", ["no", "no"], r"'data.label_values\[1\]'.*another value"),
    ("data.label_values", list(range(257)), "'data.label_values'.*2 to 256 different values"),
    ("data.label_values", ["no", 1], "'data.label_values'"),
    ("data.label_values", [0.0, 1.0], "'data.label_values'"),
    ("data.label_values", [0, 2**60], r"'data.label_values\[1\]'"),
    ("data.normalised_by", "nobody", "'data.normalised_by'"),
    ("data.norm_floor", 0, "'data.norm_floor'"),
    ("data.unmatched", "drop", "'data.unmatched'.*left out:.*vertical"),
    ("data.rows", 999, "'data.rows'.*the sum of the owners' rows, 1000"),
    ("data.schema", "schema.toml", "'data.schema'"),
    ("data.ignore_extra", "no", "'data.ignore_extra'"),
    ("data.features", [], "'data.features'.*at least one"),
    ("data.features", LEFT_OUT, "'data.features'"),
    ("data.features.3", "age", r"'data.features\[3\]'.*table"),
    (f"{FEATURE}.upper", "high", r"'data.features\[0\].upper'.*'high'"),
    (f"{FEATURE}.upper", LEFT_OUT, r"'data.features\[0\].upper'"),
    (f"{FEATURE}.upper", 0, r"'data.features\[0\].upper'.*above lower"),
    (f"{FEATURE}.lower", float("-inf"), r"'data.features\[0\].lower'.*finite"),
    (f"{FEATURE}.type", "integer", r"'data.features\[0\].type'"),
    (f"{FEATURE}.values", ["a", "b"], r"'data.features\[0\].values'.*left out"),
    (f"{FEATURE}.missing", 101, r"'data.features\[0\].missing'.*0 to 100"),
    (f"{FEATURE}.missing", "0", r"'data.features\[0\].missing'"),
    (f"{FEATURE}.names", ["b"], r"'data.features\[0\]'.*named in one way"),
    (f"{FEATURE}.count", 2, r"'data.features\[0\]'.*named in one way"),
    (f"{FEATURE}.name", LEFT_OUT, r"'data.features\[0\]'.*named in one way"),
    (f"{FEATURE}.name", "", r"'data.features\[0\].name'"),
    (f"{FEATURE}.name", "dose", r"'data.features\[1\].name'.*another name"),
    (f"{FEATURE}.name", "group=x", r"'data.features\[3\].name'.*encoded column"),
    (f"{FEATURE}.lowr", 3, r"'data.features\[0\].lowr' "),
    ("data.features.2.names", [], r"'data.features\[2\].names'"),
    ("data.features.2.names.1", 7, r"'data.features\[2\].names\[1\]'"),
    ("data.features.2.missing", 1, r"'data.features\[2\].missing'.*true or false"),
    ("data.features.2.lower", 1, r"'data.features\[2\].lower'.*left out"),
    ("data.features.3.values", ["x"], r"'data.features\[3\].values'.*at least two"),
    ("data.features.3.values", ["x", 1], r"'data.features\[3\].values'"),
    ("data.features.3.values", ["x", "z", " y"], r"'data.features\[3\].values\[2\]'.*spaces"),
    ("data.features.3.values", [True, False], r"'data.features\[3\].values'"),
    ("data.features.3.missing", "q", r"'data.features\[3\].missing'.*one of the values"),
    ("data.features.4.count", 0, r"'data.features\[4\].count'"),
    ("data.features.4.count", 10**12, r"'data.features\[4\].count'.*1048576"),
    ("data.features.4.count", 1 << 20, r"'data.features\[4\]'.*1048576 encoded columns"),
    ("compute", {}, "'compute.scheme'.*add it"),
    ("compute.scheme", "rep33", "'compute.scheme'.*did you mean 'rep3'"),
    ("compute.timeout", 0, "'compute.timeout'.*from 1 to 604800"),
    ("compute.connect_timeout", "60", "'compute.connect_timeout'"),
    ("compute.checkpoint_epochs", 0, "'compute.checkpoint_epochs'"),
    ("parties", [], "'parties'"),
    ("parties", LEFT_OUT, r"'parties'.*\[\[parties\]\]"),
    ("parties.0.rank", 1, r"'parties\[0\].rank'"),
    ("parties.1.name", "party-a", r"'parties\[1\].name'.*parties\[0\].name"),
    ("parties.1.name", 5, r"'parties\[1\].name'"),
    ("parties.1.name", "a\nb", r"'parties\[1\].name'"),
    ("parties.1.name", "..", r"'parties\[1\].name'"),
    ("parties.1.address", "party-a.example:7100", r"'parties\[1\].address'.*another address"),
    ("parties.1.address", "PARTY-A.example:7100", r"'parties\[1\].address'.*another address"),
    ("parties.1.address", LEFT_OUT, r"'parties\[1\].address'.*host:port"),
    *[
        ("parties.1.address", bad, r"'parties\[1\].address'.*host:port")
        for bad in ("", "host", "host:", ":7100", "host:0", "host:65536", "host:x", "ho st:1", "::1:80", "[::g]:80",
                    "[]:1", "256.0.0.1:80", "-host:80", "a_b:80", "host:7100\n", 7100)
    ],
    ("parties.1.certificate", "unread.pem", r"'parties\[1\].certificate'"),
    ("parties.1.certificate", "party-a.pem", r"'parties\[1\].certificate'.*'party-a': everybody has their own key"),
    ("parties.2", LEFT_OUT, r"\[\[parties\]\] and compute.scheme.*exactly 3 computing parties"),
    ("owners", [], "'owners'"),
    ("owners.0.rows", 0, r"'owners\[0\].rows'"),
    ("owners.0.rows", LEFT_OUT, r"'owners\[0\].rows'.*add it"),
    ("owners.0.rows", 600.0, r"'owners\[0\].rows'.*whole number"),
    ("owners.0.columns", ["age"], r"'owners\[0\].columns'.*left out: in a horizontal study"),
    ("owners.0.holds_label", True, r"'owners\[0\].holds_label'.*left out"),
    ("owners.0.name", "party-a", r"'owners\[0\].certificate'.*the same as parties\[0\].certificate"),
    ("owners.0.certificate", "analyst.pem", r"'analysts\[0\].certificate'.*'owner-a'"),
    ("analysts", [], "'analysts'.*at least one"),
    ("analysts", LEFT_OUT, "'analysts'.*add it"),
    ("dealer", {"name": "dealer"}, r"'dealer.address'.*add it"),
    ("dealer", {"name": "analyst", "certificate": "analyst.pem", "address": "d.example:7100"},
     "'dealer'.*left out: scheme 'rep3' has no dealer.*'analyst'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "message"), BAD_VALUES, ids=[f"{p}-{i}" for i, (p, _, _) in enumerate(BAD_VALUES)]
)
def test_bad_values_are_refused_by_path(path: str, value: Any, message: str) -> None:
    told = refusal(HORIZONTAL, {path: value})
    assert re.search(message, told), told
    assert len(told) < 600


@pytest.mark.parametrize(
    ("path", "value", "whose"),
    [
        ("data.features.1.upper", -2, "'dose'"),
        ("data.features.1.uper", 3, "'dose'"),
        ("data.features.2.values", [1, 2], "'smoker' and 1 more"),
        ("data.features.4.lower", "0", "'w0' and so on"),
        ("data.features.1.name", " x", "' x'"),
        ("data.features.1.name", "x" * 300, f"'{'x' * 60}...'"),
        ("owners.1.row", 400, "'owner-b'"),
    ],
)
def test_an_entry_is_named_and_not_only_counted(path: str, value: Any, whose: str) -> None:
    assert refusal(HORIZONTAL, {path: value}).endswith(f"instead. That is the entry of {whose}.")


@pytest.mark.parametrize("value", [LEFT_OUT, 3, "a\nb"])
def test_an_entry_without_a_usable_name_is_only_counted(value: Any) -> None:
    told = refusal(HORIZONTAL, {"data.features.1.name": value})
    assert "data.features[1]" in told and "That is the entry" not in told


BAD_VERTICAL: list[tuple[dict[str, Any], str]] = [
    ({"data.row_key": LEFT_OUT}, "'data.row_key'.*vertical"),
    ({"data.rows": LEFT_OUT}, "'data.rows'.*add it"),
    ({"data.unmatched": "keep"}, "'data.unmatched'"),
    ({"data.normalised_by": "owners"}, "'data.normalised_by'.*no owner sees a whole row"),
    ({"model.intercept_scaling": 2}, r"'model.intercept_scaling'.*at most feature_bound"),
    ({"owners.0.rows": 1000}, r"'owners\[0\].rows'.*data.rows"),
    ({"owners.0.columns": LEFT_OUT}, r"'owners\[0\].columns'.*add it"),
    ({"owners.0.columns": "w*"}, r"'owners\[0\].columns'.*a list"),
    ({"owners.0.columns": [1]}, r"'owners\[0\].columns\[0\]'"),
    ({"owners.0.columns": ["grup", "w*"]}, r"'owners\[0\].columns\[0\]'.*did you mean 'group'"),
    ({"owners.0.columns": ["q*", "group"]}, r"'owners\[0\].columns\[0\]'"),
    ({"owners.0.columns": ["w*", "w1", "group"]}, r"'owners\[0\].columns'.*another feature"),
    ({"owners.0.columns": ["w*", "group", "age"]}, r"'owners\[1\].columns'.*'owner-a' already holds"),
    ({"owners.0.columns": ["w*"]}, "Nobody holds: group"),
    ({"owners.0.columns": ["ill", "w*", "group"]}, r"'owners\[0\].columns\[0\]'"),
    ({"owners.1.holds_label": False}, r"'owners\[\].holds_label'.*exactly one owner"),
    ({"owners.0.holds_label": True}, r"'owners\[\].holds_label'.*exactly one owner"),
    (
        {"owners.2": {"name": "x", "certificate": "stranger.pem", "columns": []}},
        r"'owners\[2\].columns'.*at least one",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD_VERTICAL, ids=[str(list(c)) for c, _ in BAD_VERTICAL])
def test_bad_vertical_studies_are_refused(changes: dict[str, Any], message: str) -> None:
    told = refusal(VERTICAL, changes)
    assert re.search(message, told), told


def test_a_certificate_that_is_none() -> None:
    with pytest.raises(InvalidInputError, match=r"'owners\[1\].certificate'.*cofit keygen"):
        parse_study(HORIZONTAL, CERTIFICATES | {"owner-b.pem": "-----BEGIN NOTHING-----"})


def test_what_is_no_table() -> None:
    with pytest.raises(InvalidInputError, match="'document'"):
        parse_study([], CERTIFICATES)  # type: ignore[arg-type]


def test_every_field_is_in_the_reference() -> None:
    from cofit.study import features, parse, participants

    text = (Path(__file__).parents[3] / "docs" / "reference" / "study.md").read_text()
    lists = (
        parse._DOCUMENT, parse._MODEL, parse._PRIVACY, parse._DATA, parse._COMPUTE, features.FEATURE_FIELDS,
        *participants.ROLE_FIELDS.values(),
    )  # fmt: skip
    for field in {field for fields in lists for field in fields}:
        assert f"`{field}`" in text or f"[{field}]" in text, field


TWO = {**HORIZONTAL, "parties": HORIZONTAL["parties"][:2], "compute": {"scheme": "semi2k"}}
DEALER = HORIZONTAL["parties"][2]


def test_two_parties_alone_have_no_dealer() -> None:
    alone = {**TWO, "compute": {"scheme": "pair"}}
    assert parse_study(alone, CERTIFICATES).dealer is None
    with pytest.raises(InvalidInputError, match="'dealer'"):
        parse_study({**alone, "dealer": DEALER}, CERTIFICATES)


def test_a_dealer_is_read() -> None:
    study = parse_study({**TWO, "dealer": DEALER}, CERTIFICATES)
    assert study.dealer is not None
    assert (study.dealer.name, study.dealer.host, study.dealer.port) == ("party-c", "party-c.example", 7100)


@pytest.mark.parametrize(
    ("dealer", "message"),
    [
        (None, "'dealer'.*scheme 'semi2k' needs a dealer"),
        ({**DEALER, "address": "nowhere"}, r"'dealer.address'.*host:port"),
        (HORIZONTAL["parties"][0], r"'dealer.name'.*somebody else than parties\[0\].*'party-a'"),
        ({**DEALER, "address": HORIZONTAL["parties"][1]["address"]}, r"'dealer.address'.*another address than parties"),
        ({**DEALER, "certificate": "owner-a.pem"}, r"'dealer.certificate'.*another certificate than owners\[0\]"),
        ({**DEALER, "rank": 3}, r"'dealer.rank'.*Remove it"),
    ],
)
def test_a_dealer_that_does_not_fit_is_refused(dealer: Any, message: str) -> None:
    document = TWO if dealer is None else {**TWO, "dealer": dealer}
    with pytest.raises(InvalidInputError) as refused:
        parse_study(document, CERTIFICATES)
    assert re.search(message, str(refused.value)), str(refused.value)
