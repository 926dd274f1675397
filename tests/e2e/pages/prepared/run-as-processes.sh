cat > program.py <<'END'
import numpy as np

import cofit

owners = {"clinic": {"age": cofit.Contribution(np.array([34.0, 51.0, 29.0]), bound=120.0)}}


def program(party):
    return float(party.open(party.input("clinic", "age").sum(), reason="sum of ages"))
END
cat > without_guard.py <<'END'
import cofit
from program import owners, program

cofit.run_local(program, owners=owners, processes=True)
END
run_without_guard() { ! python without_guard.py; }
