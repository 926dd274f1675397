"""Addresses that mean whoever uses them: who tells us one of these sends us to ourselves, or to what is next to us."""

from __future__ import annotations

import ipaddress


def is_near(host: str) -> bool:
    """Whether a host is this machine itself, its link (where clouds have their services for machines), or no single
    machine. Of a name, only ``localhost`` is known to be: what a name leads to is judged when it was looked up.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    address = address if mapped is None else mapped
    return address.is_loopback or address.is_unspecified or address.is_link_local or address.is_multicast
