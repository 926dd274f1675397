from __future__ import annotations

import json
import math
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.privacy.certificate import (
    Certificate,
    CertifiedDescent,
    CertifiedMinimiser,
    CertifiedOpening,
    CertifiedRelease,
)
from cofit.privacy.certificate_text import text_of
from cofit.privacy.strict_fields import stated_parts
from cofit.sharing import scheme_named
from unit.privacy.arbitrary_certificates import certificates
from unit.privacy.certificates import DESCENT, EXAMPLE, UNPROVEN, changed, encoded, planned, restated

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "certificate.md"


def shown(leaf: Any) -> str:
    """A number or a text as people are to read it: six digits, and whole numbers whole."""
    if isinstance(leaf, str) and re.fullmatch(r"-?\d+/0*[1-9]\d*", leaf):
        leaf = Fraction(leaf)
    if isinstance(leaf, Fraction):
        return str(leaf) if leaf.denominator == 1 else f"{float(leaf):.6g}"
    return f"{leaf:.6g}" if isinstance(leaf, float) else str(leaf)


def leaves(value: Any) -> list[Any]:
    """All numbers and texts inside a JSON value; of a fraction, the exact one."""
    if isinstance(value, dict) and set(value) == {"exact", "float"}:
        return [value["exact"]]
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [value]


@settings(deadline=None, max_examples=30)
@given(certificates)
def test_json_comes_back_as_it_was(certificate: Certificate) -> None:
    text = certificate.to_json()
    again = Certificate.from_json(text)
    assert again == certificate
    assert again.to_json() == text
    assert again.to_text() == certificate.to_text()
    assert text.endswith("}\n")


@settings(deadline=None, max_examples=30)
@given(certificates)
def test_text_has_every_fact_in_lines_of_100_columns(certificate: Certificate) -> None:
    text = certificate.to_text()
    assert max(map(len, text.splitlines())) <= 100
    packed = "".join(text.split())
    assert packed.startswith("".join(certificate.headline.split()))
    facts = encoded(certificate)
    names = [release.pop("name") for release in facts["releases"]]
    for leaf in [*leaves(facts), names[0], names[-1]]:
        as_it_is = "".join(str(leaf).split())  # a text may look like a fraction
        assert "".join(shown(leaf).split()) in packed or as_it_is in packed
    assert {line.strip() for line in text.splitlines()} >= {"The noise", "Origin", "The model"}


@pytest.mark.parametrize("certificate", [EXAMPLE, DESCENT, planned(rows=1000, cols=12)], ids=["hand", "hand 2", "plan"])
def test_text_has_no_number_that_nobody_can_read(certificate: Certificate) -> None:
    text = certificate.to_text()
    assert re.findall(r"(?<![0-9a-f])[1-9]\d{9,}(?![0-9a-f])|\d{4,}/\d|\d\.\d{15,}", text) == []
    assert "JSON, which the file of the model contains, has them exactly" in " ".join(text.split())


def test_text_of_numbers_of_any_size() -> None:
    facts = {"a": "1/" + "9" * 900, "b": "7" * 900 + "/1", "c": "1/0", "d": "-3/1", "e": "1/3"}
    text = text_of(replace(EXAMPLE, facts=facts))
    for line in ("a: 1.00000e-900", "b: 7.77778e+899", "c: 1/0", "d: -3", "e: 0.333333"):
        assert f"    - {line}\n" in text


def test_releases_that_differ_in_name_alone_are_shown_together() -> None:
    def shown(certificate: Certificate) -> list[str]:
        return re.findall(r"^    - (.*): noise ", certificate.to_text(), flags=re.MULTILINE)

    assert shown(DESCENT) == ["level", "centre", "step 1 to step 4, each"]
    assert shown(EXAMPLE) == ["weights"]
    more = replace(DESCENT.releases[3], sensitivity=DESCENT.releases[3].sensitivity + 1)
    apart = replace(DESCENT, releases=(*DESCENT.releases[:3], more, *DESCENT.releases[4:]), delta_total=Fraction(1, 10))
    assert shown(apart) == ["level", "centre", "step 1", "step 2", "step 3 to step 4, each"]
    assert shown(planned(rows=1000, cols=12))[:2] == ["centre", "step 1 to step 15, each"]


def test_text_leaves_out_what_belongs_to_the_other_method() -> None:
    of_descent = ("How far one record can move a step", "Numbers of a step")
    of_minimiser = ("How far one record can move the model", "(tau)", "L2 penalty", "Solver", "in units of the weights")
    for mine, others, certificate in ((of_minimiser, of_descent, EXAMPLE), (of_descent, of_minimiser, DESCENT)):
        text = certificate.to_text()
        assert all(words in text for words in mine)
        assert not any(words in text for words in others)


# --- the first line --------------------------------------------------------------------------------------


def test_headline_of_a_proven_run() -> None:
    assert EXAMPLE.headline == (
        "The published model limits what can be learned about any single record: replacing your record by any other "
        "record changes the probability of any outcome by a factor of at most 1.65, plus at most 9.31e-17, "
        "if the assumptions in its certificate hold (differential privacy with epsilon = 0.5, delta = 9.31e-17; one "
        "record replaced)."
    )


def test_an_unproven_run_says_so_first_with_the_reason() -> None:
    certificate = changed(EXAMPLE, **UNPROVEN)
    assert certificate.headline == (
        "NOT A PROVEN GUARANTEE: Momentum was used, for which no bound of the solver's error is known. Noise was added "
        "with a protection in mind (epsilon = 0.5, delta = 9.31e-17), but it is not proven that the published model "
        "gives it."
    )
    assert certificate.to_text().startswith("NOT A PROVEN GUARANTEE: Momentum was used")
    assert "limits what can be learned" not in certificate.to_text()
    assert "(tau): NOT BOUNDED" in certificate.to_text()


def test_a_run_without_secrecy_says_so_first() -> None:
    info = scheme_named("clear").info
    clear = replace(EXAMPLE, scheme="clear", secret=False, adversary=info.adversary, threshold=info.spec().corrupted)
    assert clear.headline == (
        "NO SECRECY: with 'clear' every computing party could read all of the data; for testing only."
    )
    both = changed(clear, **UNPROVEN)
    assert both.headline.startswith(clear.headline + " NOT A PROVEN GUARANTEE: Momentum")


@settings(deadline=None)
@given(st.fractions(Fraction(1, 1000), 20))
def test_numbers_of_the_headline_are_rounded_up(epsilon: Fraction) -> None:
    certificate = changed(EXAMPLE, **UNPROVEN, epsilon=epsilon, delta_total=Fraction(1, 3))
    stated = re.search(r"epsilon = (\S+), delta = (\S+)\)", certificate.headline)
    assert stated is not None
    assert epsilon <= Fraction(stated[1]) <= epsilon * Fraction(101, 100)
    assert stated[2] == "0.334"
    assert EXAMPLE.minimiser is not None
    scale = EXAMPLE.minimiser.noise_scale * max(Fraction(1), 1 / (2 * epsilon))
    proven = restated(EXAMPLE, epsilon=epsilon, noise_scale=scale, delta_total=Fraction(1, 1000))
    factor = re.search(r"factor of at most (\S+), plus at most 0.001,", proven.headline)
    assert factor is not None
    assert float(epsilon) * (1 - 1e-12) <= float(Decimal(factor[1]).ln()) <= float(epsilon) + 0.01


@pytest.mark.parametrize("change", [{"epsilon": Fraction(21)}, {"delta_total": Fraction(1, 100)}])
def test_a_guarantee_that_protects_nobody_says_so_first(change: dict[str, Fraction]) -> None:
    weak = replace(EXAMPLE, **{"delta_total": Fraction(1), **change})  # type: ignore[arg-type]
    assert weak.headline.startswith("HARDLY ANY PROTECTION: with epsilon")


# --- strict reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("certificate", [EXAMPLE, DESCENT], ids=["minimiser", "descent"])
def test_a_missing_field_is_named(certificate: Certificate) -> None:
    for field in fields(Certificate):
        damaged = encoded(certificate)
        if field.name in ("soundness_bits", "statistical_bits"):  # which other schemes do not have
            assert field.name not in damaged
            continue
        del damaged[field.name]
        with pytest.raises(InvalidInputError, match=f"The '{field.name}' parameter of a certificate must be"):
            Certificate.from_json(json.dumps(damaged))


@pytest.mark.parametrize("wrong", [[[]], {"": 1}, math.nan, math.inf, None, "", 10**400, {"exact": 1}], ids=str)
def test_a_value_of_another_type_is_named(wrong: object) -> None:
    instead = {("study", "None"): False, ("facts", "{'exact': 1}"): {"exact": 1.5}}  # these would be right
    for field in fields(Certificate):
        value = instead.get((field.name, str(wrong)[:20]), wrong)
        with pytest.raises(InvalidInputError, match=f"The '{field.name}.*' parameter of a certificate must be"):
            Certificate.from_json(json.dumps(encoded() | {field.name: value}))


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        *((DESCENT, field.name) for field in stated_parts(DESCENT.statement)),
        *((EXAMPLE, field.name) for field in fields(CertifiedMinimiser)),
    ],
    ids=lambda value: value if isinstance(value, str) else value.method,
)
def test_statements_are_read_strictly(certificate: Certificate, name: str) -> None:
    whole = encoded(certificate)["statement"]
    for damaged in ({key: value for key, value in whole.items() if key != name}, whole | {name: [1]}):
        with pytest.raises(InvalidInputError, match=f"The 'statement.{name}' parameter of a certificate must be"):
            Certificate.from_json(json.dumps(encoded(certificate) | {"statement": damaged}))


def test_a_statement_has_the_fields_of_its_method_alone() -> None:
    for mine, other in ((EXAMPLE, DESCENT), (DESCENT, EXAMPLE)):
        document = encoded(mine)
        document["statement"]["method"] = other.method
        with pytest.raises(InvalidInputError, match=r"The 'statement\.\w+' parameter of a certificate must be stated"):
            Certificate.from_json(json.dumps(document))
        assert None not in [value for name, value in document["statement"].items() if name != "tau"]


def test_the_soundness_of_checks_is_stated_where_there_is_one() -> None:
    spec = scheme_named("repn").info.spec()
    change = {"scheme": "repn", "adversary": spec.adversary, "soundness_bits": 40}
    sound = replace(EXAMPLE, **change)  # type: ignore[arg-type]
    assert encoded(sound)["soundness_bits"] == 40
    assert Certificate.from_json(sound.to_json()) == sound
    assert "comes on top of delta: probability at most 2^-40 in a study" in " ".join(sound.to_text().split())
    assert "on top of delta" not in EXAMPLE.to_text()
    for wrong in ({"soundness_bits": None}, {"soundness_bits": 41}, {"scheme": "rep3", "adversary": EXAMPLE.adversary}):
        with pytest.raises(InvalidInputError, match="The 'soundness_bits' parameter of a certificate must be"):
            replace(sound, **wrong)
    with pytest.raises(InvalidInputError, match="'parties' parameter of a certificate must be 3, 5 or 7 with 'repn'"):
        replace(sound, parties=("a", "b", "c", "d"), openings=())


def test_what_two_parties_alone_leave_to_chance_is_stated() -> None:
    spec = scheme_named("pair").info.spec()
    facts = {"scheme": "pair", "adversary": spec.adversary, "threshold": spec.corrupted, "statistical_bits": 40}
    alone = replace(EXAMPLE, **facts, parties=("a", "b"), openings=())  # type: ignore[arg-type]
    assert encoded(alone)["statistical_bits"] == 40
    assert Certificate.from_json(alone.to_json()) == alone
    assert "probability at most 2^-40" in " ".join(alone.to_text().split())
    document = encoded(alone)
    for wrong in (None, 39, 41, 128, "40"):
        with pytest.raises(InvalidInputError, match="The 'statistical_bits' parameter of a certificate must be"):
            Certificate.from_json(json.dumps(document | {"statistical_bits": wrong}))
    del document["statistical_bits"]
    with pytest.raises(InvalidInputError, match="The 'statistical_bits' parameter of a certificate must be"):
        Certificate.from_json(json.dumps(document))
    with pytest.raises(InvalidInputError, match="The 'statistical_bits' parameter of a certificate must be"):
        Certificate.from_json(json.dumps(encoded() | {"statistical_bits": 40}))


@pytest.mark.parametrize("name", [field.name for field in fields(CertifiedRelease)])
def test_releases_are_read_strictly(name: str) -> None:
    first, *others = encoded(DESCENT)["releases"]
    for damaged in ({key: value for key, value in first.items() if key != name}, first | {name: [1]}):
        refusal = rf"The 'releases\[0\].{name}' parameter of a certificate must be"
        with pytest.raises(InvalidInputError, match=refusal):
            Certificate.from_json(json.dumps(encoded(DESCENT) | {"releases": [damaged, *others]}))


@pytest.mark.parametrize(
    "epsilon",
    [
        {"exact": "2/4", "float": 0.5},
        {"exact": "1/2", "float": 0.25},
        {"exact": "1/2", "float": 0.5, "about": 1},
        {"exact": "1/0", "float": 0.5},
        {"exact": " 1/2", "float": 0.5},
        {"exact": "0.5", "float": 0.5},
        {"exact": "1/1", "float": 1},
        {"exact": f"{10**2000}/1", "float": 1.0},
        "1/2",
        0.5,
    ],
    ids=str,
)
def test_fractions_have_one_spelling(epsilon: object) -> None:
    with pytest.raises(InvalidInputError, match="The 'epsilon' parameter of a certificate must be a Fraction"):
        Certificate.from_json(json.dumps(encoded() | {"epsilon": epsilon}))


def test_unknown_and_repeated_fields_and_other_versions_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="The 'more' parameter of a certificate must be left out"):
        Certificate.from_json(json.dumps(encoded() | {"more": 1}))
    opening = encoded()["openings"][0]
    with pytest.raises(InvalidInputError, match=r"The 'openings\[0\].value' parameter of a certificate must be left"):
        Certificate.from_json(json.dumps(encoded() | {"openings": [opening | {"value": 1}]}))
    with pytest.raises(InvalidInputError, match="The 'n' parameter of a certificate must be stated once"):
        Certificate.from_json(EXAMPLE.to_json().replace('"n": 1713,', '"n": 1713, "n": 1713,'))
    for version in (1, 2, 4, 0, "3", None, True, 3.0):
        with pytest.raises(InvalidInputError, match="The 'version' parameter of a certificate must be"):
            Certificate.from_json(json.dumps(encoded() | {"version": version}))


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_certificate_is_refused_for_its_version_alone(version: int) -> None:
    since = ("statement", "facts", "study", "check_delta")
    old = {name: value for name, value in encoded().items() if name not in since} | {"version": version}
    refusal = (
        r"^The 'version' parameter of a certificate must be 3, the version that this release can read; read it with "
        rf"the release of cofit that wrote it \(0\.1\.0\)\. Got {version} instead"
    )
    with pytest.raises(InvalidInputError, match=refusal):
        Certificate.from_json(json.dumps(old))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", "[" * 100_000, "1" * 5000, '{"n": NaN', None])
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'text' parameter of Certificate.from_json must be"):
        Certificate.from_json(text)


# --- a certificate does not change -----------------------------------------------------------------------


def test_it_is_frozen_and_holds_copies_of_its_own() -> None:
    software = {"python": "3.11"}
    parties = ["a", "b", "c"]
    certificate = replace(EXAMPLE, software=software, parties=parties, openings=())  # type: ignore[arg-type]
    software["python"] = "2.7"
    parties.clear()
    assert certificate.software == {"python": "3.11"}
    assert certificate.parties == ("a", "b", "c")
    with pytest.raises(FrozenInstanceError):
        certificate.epsilon = Fraction(1)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(certificate)) == certificate


def explained(section: str) -> list[str]:
    """The fields that a section of the page has in its table, in order."""
    part = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", part, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ("Fields", Certificate),
        ("A release", CertifiedRelease),
        ("The statement of the minimiser", CertifiedMinimiser),
        ("The statement of descent", CertifiedDescent),
        ("An opening", CertifiedOpening),
    ],
)
def test_the_page_explains_every_field(section: str, kind: Any) -> None:
    assert sorted(explained(section)) == sorted(field.name for field in fields(kind))


def test_printing_a_certificate_shows_its_text() -> None:
    assert str(EXAMPLE) == EXAMPLE.to_text()
