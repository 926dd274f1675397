"""The model of the tutorial's study, signed by its parties."""

from pathlib import Path

from cofit.roles.files.keys import load_key
from cofit.roles.files.studies import load_study
from unit.cli.study_models import model_of, signed

study = load_study("study.toml")
keys = {party.name: load_key(study, f"{party.name}.key") for party in study.parties}
Path("model.json").write_text(signed(model_of(study, {"age": 0.4, "smoker": 0.9}), keys).to_json())
