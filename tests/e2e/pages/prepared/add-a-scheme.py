"""What a new scheme's file imports."""

from cofit.sharing import SchemeInfo  # noqa: F401 - the page's blocks use them
from cofit.sharing.scheme import Scheme  # noqa: F401
