"""A released model, and a table to put beside it."""

from pathlib import Path

from unit.report.models import descended
from unit.report.test_page import TABLE

descended().save("model.json")
Path("results").mkdir()
Path("results/table1-claims.json").write_text(TABLE.to_json())
