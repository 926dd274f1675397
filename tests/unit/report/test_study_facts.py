"""The page names everybody who took part, the columns with their ranges, and explains its words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cofit.errors import InvalidInputError
from cofit.report.page import MOST_SHOWN
from cofit.report.study_facts import columns_in_words, participants
from unit.cli.study_models import model_of
from unit.report.models import planned, released
from unit.report.test_page import Page, page_of
from unit.study.studies import study_of


def test_columns_and_ranges_of_a_study() -> None:
    study = study_of()
    text = Page(page_of(model_of(study, {"age": 1.0}))).text
    for row in (
        "age number 0 to 100; values beyond are refused refused",
        "dose number -1.5 to 2.5; values beyond are moved to the end counts as 0.5",
        "smoker yes or no no, yes refused",
        "group category x, y, z counts as z",
        "ill label no, yes refused",
    ):
        assert row in text
    assert "Columns that the owners agreed on Column" in text


def test_a_model_without_a_study_has_no_columns_to_tell() -> None:
    text = Page(page_of(released(planned()))).text
    assert "Columns that the owners agreed on" not in text
    assert "--study" not in text


def test_many_columns_are_counted() -> None:
    families = [{"prefix": "gene", "count": MOST_SHOWN + 5, "type": "number", "lower": -1, "upper": 1}]
    text = Page(page_of(model_of(study_of(data__features=families), {}))).text
    assert f"the first {MOST_SHOWN} of {MOST_SHOWN + 5}; the model file has all" in text
    assert f" gene{MOST_SHOWN - 1} number -1 to 1" in text
    assert f" gene{MOST_SHOWN} number -1 to 1" not in text


def test_analysts_are_named_where_the_study_is_known() -> None:
    study = study_of()
    model = model_of(study, {"age": 1.0})
    without = Page(page_of(model)).text
    assert "does not say who may fetch it. The study does: cofit report --study" in without
    assert "analyst analyst may fetch" not in without
    text = Page(page_of(model, study=study)).text
    assert "analyst analyst may fetch the released model" in text
    assert "does not say who may fetch it" not in text


def test_two_roles_are_one_line() -> None:
    certificate = released(planned(), parties=("clinic-a", "party-b", "party-c")).certificate
    people = participants(certificate, ["clinic-b"])
    assert [name for name, _, _ in people] == ["clinic-a", "clinic-b", "party-b", "party-c"]
    assert people[0][1:] == ("data owner and computing party", "features: 200 x 6; labels: 200; holds random shares")
    assert people[1][1] == "data owner and analyst"


def test_another_study_is_refused() -> None:
    study = study_of()
    model = model_of(study, {"age": 1.0})
    with pytest.raises(InvalidInputError, match="must be the study of the model, 'trial' with the hash"):
        page_of(model, study=study_of(name="another"))
    with pytest.raises(InvalidInputError, match="must be left out for a model that has no study"):
        page_of(model.model, study=study)


def test_the_words_of_the_page_are_explained() -> None:
    plain = Page(page_of(released(planned()))).text
    for word in ("Epsilon How much a release may reveal", "Share A piece of a value", "Computing party A machine"):
        assert word in plain
    assert "Dealer A machine" not in plain
    assert "Dealer A machine" in Page(page_of(released(planned(scheme="semi2k")))).text


def test_names_of_others_are_only_text() -> None:
    model = model_of(study_of(), {"age": 1.0})
    attack = "<script>alert(1)</script>"
    feature = replace(model.features[-1], name=attack)
    assert columns_in_words([feature])[0].name == attack
    named = replace(model, label=attack)
    source = page_of(named)
    assert attack not in source
    assert "&lt;script&gt;alert(1)" in source
