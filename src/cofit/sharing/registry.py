"""The schemes there are. A new one is one new package and one new line here."""

from __future__ import annotations

from cofit.errors import parameter_error
from cofit.sharing.clear.party import Clear
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.rep4.party import Rep4
from cofit.sharing.scheme import Scheme
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.semi2k.party import Semi2k

SCHEMES: dict[str, type[Scheme]] = {scheme.info.name: scheme for scheme in (Clear, Rep3, Rep4, Semi2k)}
_DEALERS: dict[str, type[Scheme]] = {Semi2k.info.name: Semi2kDealer}


def scheme_named(name: str) -> type[Scheme]:
    """Return the scheme of that name."""
    if name not in SCHEMES:
        raise parameter_error("scheme", "cofit", f"one of {', '.join(sorted(SCHEMES))}", name)
    return SCHEMES[name]


def dealer_of(name: str) -> type[Scheme]:
    """Return the dealer's side of the scheme of that name."""
    if name not in _DEALERS:
        raise parameter_error("scheme", "a dealer", f"one of {', '.join(sorted(_DEALERS))}", name)
    return _DEALERS[name]
