"""Secret sharing: one small interface, one file a scheme."""

from cofit.sharing.registry import SCHEMES, scheme_named
from cofit.sharing.scheme import Scheme, SchemeInfo
from cofit.sharing.shares import BitShare, Share

__all__ = ["SCHEMES", "BitShare", "Scheme", "SchemeInfo", "Share", "scheme_named"]
