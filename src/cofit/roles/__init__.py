"""Who takes part in a run, and how a run is started on one machine."""

from cofit.roles.local import LocalRun, run_local
from cofit.roles.member import Contribution
from cofit.roles.progress import Progress

__all__ = ["Contribution", "LocalRun", "Progress", "run_local"]
