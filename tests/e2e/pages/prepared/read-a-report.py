"""A model of an estimator, one of the tutorial's study, and tables of experiments."""

from pathlib import Path

from cofit.roles.files.studies import load_study
from unit.cli.study_models import model_of
from unit.report.models import descended
from unit.report.test_page import TABLE

descended().save("model.json")
Path("study-model.json").write_text(model_of(load_study("study.toml"), {"age": 0.4, "smoker": 0.9}).to_json())
Path("results").mkdir()
Path("results/table1-claims.json").write_text(TABLE.to_json())
