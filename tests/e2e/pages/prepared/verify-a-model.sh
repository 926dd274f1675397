. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study

# One weight of the fetched model is made larger, in the file.
change_a_digit() {
  python - <<'END'
import json
from pathlib import Path

model = json.loads(Path("model.json").read_text())
model["model"]["coef"][0] += 0.5
Path("changed.json").write_text(json.dumps(model))
END
}
