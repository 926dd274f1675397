"""Train one differentially private model on the joint data of several owners, with no trusted curator."""

from importlib.metadata import version

from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.errors import CofitError, PartyFailedError
from cofit.roles import Contribution, LocalRun, run_local
from cofit.secret import Opening, Party, SecretArray, SecretBits, concatenate

__version__ = version("cofit")

__all__ = [
    "Z64",
    "Z128",
    "CofitError",
    "Contribution",
    "FixedPoint",
    "LocalRun",
    "Opening",
    "Party",
    "PartyFailedError",
    "SecretArray",
    "SecretBits",
    "__version__",
    "concatenate",
    "run_local",
]
