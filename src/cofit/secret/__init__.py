"""Secret values as a party program sees them."""

from cofit.secret.array import SecretArray
from cofit.secret.audit import AuditLog, Opening
from cofit.secret.bits import SecretBits
from cofit.secret.conversions import bits_to_array, concatenate
from cofit.secret.joining import InputFacts
from cofit.secret.party import Party
from cofit.secret.release import release_once
from cofit.secret.stored import ReleaseStore

__all__ = [
    "AuditLog",
    "InputFacts",
    "Opening",
    "Party",
    "ReleaseStore",
    "SecretArray",
    "SecretBits",
    "bits_to_array",
    "concatenate",
    "release_once",
]
