"""Settings: one place for names, defaults and meanings; estimators, options and studies have them from there."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from cofit import LinearSVC, LogisticRegression
from cofit.cli.plan import plan as command
from cofit.learn.asked import PAPER_DEFAULTS, SETTINGS, TrainingSettings
from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.settings import DescentSettings
from cofit.learn.recipes.minimiser.settings import MinimiserSettings
from cofit.learn.settings import CommonSettings, choices_of, help_of
from cofit.study.document import Compute, Data, Model, Privacy

KINDS: tuple[Any, ...] = (CommonSettings, DescentSettings, MinimiserSettings)


def test_the_settings_are_those_of_all_recipes_each_once() -> None:
    names = [one.name for kind in KINDS for one in fields(kind)]
    assert sorted(names) == sorted(SETTINGS)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("estimator", [LogisticRegression, LinearSVC])
def test_estimators_and_options_have_every_setting_with_its_default(estimator: type) -> None:
    given, options = estimator().get_params(), {option.name: option for option in command.params}
    for one in fields(TrainingSettings):
        assert given[one.name] == one.default
        assert options[one.name].help == help_of(one)


def test_a_study_has_a_place_for_every_setting() -> None:
    named = {one.name for kind in (Model, Privacy, Data, Compute) for one in fields(kind)}
    elsewhere = {"fit_intercept", "feature_bound", "feature_lower"}  # model.intercept, and what the columns' ranges say
    assert set(SETTINGS) - named == elsewhere


def test_none_stands_for_the_stated_default() -> None:
    stated = {name: value for name, value in PAPER_DEFAULTS.items() if value is not None}
    assert training_facts(50, 3, recipe="paper", **stated) == training_facts(50, 3, recipe="paper")
    assert training_facts(50, 3, **vars(TrainingSettings())) == training_facts(50, 3)


def test_choices_are_those_of_the_registries() -> None:
    choices = {one.name: choices_of(one) for one in fields(TrainingSettings)}
    assert choices["mechanism"] == ["knorm", "laplace", "gaussian"]
    assert choices["l2"] is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'penalty'"):
        training_facts(50, 3, penalty=1.0)
