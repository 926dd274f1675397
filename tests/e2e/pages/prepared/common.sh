# What several pages take for granted. $CLONE is the repository; pages are walked in a folder of their own.

# The study and the patients of the tutorial, with keys of everybody, and ports that are free.
tutorial_study() {
  PYTHONPATH="$CLONE/tests" python - <<'END'
import re
from pathlib import Path

from cofit.roles.files.keys import write_identity
from cofit.transport import generate_identity
from support.pages import ROOT, blocks_of
from support.services import free_ports

for name in ("party-a", "party-b", "party-c", "hospital-a", "hospital-b", "office"):
    write_identity(generate_identity(name), Path.cwd())

for block in blocks_of((ROOT / "docs/tutorial/consortium.md").read_text()):
    if block.saved_as is not None:
        ports = iter(free_ports(3))
        code = re.sub(r"127\.0\.0\.1:\d+", lambda _: f"127.0.0.1:{next(ports)}", block.code)
        Path(block.saved_as).write_text(code)
END
  python patients.py
}

start_parties() {
  for party in "$@"; do
    cofit party study.toml --name "$party" --key "$party.key" --state "$party.party" 2> "$party.log" &
  done
  parties_answer "$@"
}

# Wait until they listen, and show the log of the first.
parties_answer() {
  for party in "$@"; do
    for _ in $(seq 200); do grep -q "answers at" "$party.log" 2> /dev/null && break; sleep 0.1; done
    grep -q "answers at" "$party.log"
  done
  cat "$1.log"
}
