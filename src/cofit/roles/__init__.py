"""Who takes part in a run, and how a run is started on one machine."""

from cofit.roles.local import LocalRun, run_local
from cofit.roles.member import Contribution
from cofit.roles.progress import Progress
from cofit.roles.release_store import FileStore, MemoryStore

__all__ = ["Contribution", "FileStore", "LocalRun", "MemoryStore", "Progress", "run_local"]
