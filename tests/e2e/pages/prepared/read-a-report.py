"""A model of an estimator, one of a study with a public sample, and tables of experiments."""

from pathlib import Path

from unit.cli.study_models import model_of
from unit.report.models import descended
from unit.report.test_page import TABLE
from unit.study.studies import study_of

descended().save("model.json")
study = study_of()
Path("study-model.json").write_text(model_of(study, {"age": 0.4, "smoker": 0.9}).to_json())
Path("public-sample.csv").write_text(
    "age,dose,smoker,treated,group,w0,w1,w2,ill\n"
    + "".join(f"{20 + i},0.5,{i % 2},1,x,0.1,0.2,{i / 100},{'yes' if i % 3 else 'no'}\n" for i in range(80))
)
Path("results").mkdir()
Path("results/table1-claims.json").write_text(TABLE.to_json())
