"""Who takes part in a run, and how a run is started on one machine."""

from cofit.roles.files.release_store import FileStore, MemoryStore
from cofit.roles.local.member import Contribution
from cofit.roles.local.progress import Progress
from cofit.roles.local.run import LocalRun, run_local

__all__ = ["Contribution", "FileStore", "LocalRun", "MemoryStore", "Progress", "run_local"]
