"""What a new scheme's file imports."""

from cofit.sharing.scheme import Scheme, SchemeInfo  # noqa: F401 - the page's blocks use them
