"""The schemes there are. A new one is one new file and one new line here."""

from __future__ import annotations

from cofit.errors import parameter_error
from cofit.sharing.clear import Clear
from cofit.sharing.rep3 import Rep3
from cofit.sharing.scheme import Scheme

SCHEMES: dict[str, type[Scheme]] = {scheme.info.name: scheme for scheme in (Clear, Rep3)}


def scheme_named(name: str) -> type[Scheme]:
    """Return the scheme of that name."""
    if name not in SCHEMES:
        raise parameter_error("scheme", "cofit", f"one of {', '.join(sorted(SCHEMES))}", name)
    return SCHEMES[name]
