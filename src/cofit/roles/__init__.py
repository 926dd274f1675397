"""Who takes part in a run, and how a run is started on one machine."""

from cofit.roles.local import LocalRun, run_local
from cofit.roles.member import Contribution

__all__ = ["Contribution", "LocalRun", "run_local"]
