"""A model of an estimator, one of the tutorial's study, and tables of experiments."""

from pathlib import Path

import numpy as np

from cofit.models.study_model import StudyModel
from cofit.roles.study_files import load_study
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from unit.report.models import descended
from unit.report.test_page import TABLE

descended().save("model.json")
study = load_study("study.toml")
plan = study_plan(study)
weights = tuple(np.linspace(-0.5, 0.5, plan.released).tolist())
model = StudyModel.from_release(study, weights, expected_certificate(study, plan))
Path("study-model.json").write_text(model.to_json())
Path("results").mkdir()
Path("results/table1-claims.json").write_text(TABLE.to_json())
