"""The hash of a study: every field counts, and nothing else does."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterator
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.study import Study, parse_study
from cofit.transport import fingerprint
from unit.study.studies import CERTIFICATES, CLIENTS, HORIZONTAL, VERTICAL, changed, study_of

STUDIES = [study_of(), study_of(VERTICAL), study_of(CLIENTS)]
NOT_HASHED = {"certificate_pem"}  # the fingerprint stands for it
Steps = tuple[str | int, ...]


def leaves(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield every field of a study, down to single values; tuples also as a whole."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name not in NOT_HASHED:
                yield from leaves(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, tuple):
        yield path, value
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path, value


def replaced(value: Any, path: Steps, new: Any) -> Any:
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        return (*value[:step], replaced(value[step], tuple(rest), new), *value[step + 1 :])
    return dataclasses.replace(value, **{step: replaced(getattr(value, step), tuple(rest), new)})


def others(value: Any) -> st.SearchStrategy[Any]:
    if isinstance(value, bool):
        return st.just(not value)
    if isinstance(value, int):
        return st.integers(-(2**63), 2**63).filter(lambda v: v != value)
    if isinstance(value, float):
        return st.floats(allow_nan=False, allow_infinity=False).filter(lambda v: v != value)
    if isinstance(value, str):
        return st.text().filter(lambda v: v != value)
    if isinstance(value, tuple):
        shorter = st.integers(0, max(0, len(value) - 1)).map(lambda i: value[:i])
        return st.one_of(shorter, st.permutations(value).map(tuple)).filter(lambda v: v != value)
    return st.text()


CASES = [
    (study, path, value) for study in STUDIES for path, value in leaves(study) if value != () and path != ("dealer",)
]


def test_every_section_is_among_the_cases() -> None:
    assert {path[0] for _, path, _ in CASES} == {field.name for field in dataclasses.fields(Study)} - {"dealer"}
    assert len(CASES) > 150


@settings(deadline=None)
@given(st.data())
def test_any_change_of_any_field_changes_the_hash(data: st.DataObject) -> None:
    study, path, value = data.draw(st.sampled_from(CASES))
    other = replaced(study, path, data.draw(others(value)))
    assert other.hash != study.hash, path


def test_each_field_counts() -> None:
    """The same, exhaustively over the fields, with one other value each."""
    for study, path, value in CASES:
        new = another(value)
        assert replaced(study, path, new).hash != study.hash, path


def another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, tuple):
        return value[:-1]
    return "x" if value is None else value + type(value)(1)


def test_the_dealer_counts() -> None:
    two = {**HORIZONTAL, "parties": HORIZONTAL["parties"][:2], "compute": {"scheme": "semi2k"}}
    third = HORIZONTAL["parties"][2]
    study = parse_study({**two, "dealer": third}, CERTIFICATES)
    assert json.loads(study.canonical())["dealer"]["name"] == third["name"]
    moved = parse_study({**two, "dealer": {**third, "address": "elsewhere.example:7100"}}, CERTIFICATES)
    assert study.hash != moved.hash


def shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: shuffled(value[key], random) for key in keys}
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_count(random: Any) -> None:
    for document, study in zip((HORIZONTAL, VERTICAL, CLIENTS), STUDIES, strict=True):
        assert parse_study(shuffled(document, random), CERTIFICATES).hash == study.hash


def test_the_hash_is_known() -> None:
    """The canonical form by hand, so that no release changes it unnoticed."""
    study = study_of()
    canonical = json.loads(study.canonical())
    assert study.canonical() == json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    assert canonical["owners"][0]["certificate"] == fingerprint(CERTIFICATES["owner-a.pem"])
    assert canonical["data"]["features"][4] == {
        "name": "group", "type": "category", "values": ["x", "y", "z"], "missing": "z", "lower": 0.0, "upper": 0.0,
        "clip": False,
    }  # fmt: skip
    assert canonical["parties"][2] == {
        "name": "party-c",
        "host": "party-c.example",
        "port": 7100,
        "certificate": fingerprint(CERTIFICATES["party-c.pem"]),
    }
    assert "BEGIN" not in study.canonical()
    assert len(bytes.fromhex(study.hash)) == 32


def test_ways_to_say_the_same() -> None:
    explicit = {
        "model.epochs": "auto", "model.l2": 0.5, "privacy.mechanism": "gaussian", "data.rows": 1000,
        "data.features.0.lower": -0.0, "data.features.0.upper": 100.0, "data.features.0.clip": False,
        "compute.timeout": 60,
    }  # fmt: skip
    assert parse_study(changed(HORIZONTAL, explicit), CERTIFICATES).hash == STUDIES[0].hash
    singly = [{"name": f"w{i}", "type": "number", "lower": -1, "upper": 1} for i in range(3)]
    single = changed(HORIZONTAL, {"data.features": [*HORIZONTAL["data"]["features"][:4], *singly]})
    assert parse_study(single, CERTIFICATES).hash == STUDIES[0].hash


def test_only_the_certificate_counts_not_its_file() -> None:
    pem = CERTIFICATES["analyst.pem"]
    again = x509.load_pem_x509_certificate(pem.encode()).public_bytes(serialization.Encoding.PEM).decode()
    moved = changed(HORIZONTAL, {"analysts.0.certificate": "elsewhere/a.pem"})
    assert parse_study(moved, CERTIFICATES | {"elsewhere/a.pem": "A comment.\n" + again}).hash == STUDIES[0].hash
    other = CERTIFICATES | {"analyst.pem": CERTIFICATES["stranger.pem"]}
    assert parse_study(HORIZONTAL, other).hash != STUDIES[0].hash


def test_comments_do_not_count() -> None:
    text = "format = 1 # one\n# a comment\nname = 'x'\n"
    plain = "name = 'x'\nformat = 1\n"
    rest = {key: value for key, value in HORIZONTAL.items() if key not in ("format", "name")}
    first, second = (parse_study(rest | tomllib.loads(t), CERTIFICATES) for t in (text, plain))
    assert first.hash == second.hash != STUDIES[0].hash
