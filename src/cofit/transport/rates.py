"""Limits on how often something may happen, for each of many keys: one token bucket a key."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

_MAX_KEYS = 4096
_PREFIX_OF_A_NETWORK = 64


class TokenBuckets:
    """Every key may do ``burst`` things at once, and ``rate`` a second in the long run.

    It remembers at most 4096 keys and forgets the one that was longest unused, so that inventing keys costs no
    memory.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: str, now: float) -> bool:
        """Take one token of ``key`` at the time ``now`` (of a monotonic clock); False if there is none left."""
        tokens = self._tokens(key, now)
        granted = tokens >= 1
        self._buckets.pop(key, None)
        self._buckets[key] = (tokens - 1 if granted else tokens, now)
        if len(self._buckets) > _MAX_KEYS:
            self._buckets.popitem(last=False)
        return granted

    def give_back(self, key: str) -> None:
        """Undo a ``take`` that was granted."""
        if key in self._buckets:
            tokens, since = self._buckets[key]
            self._buckets[key] = (min(float(self._burst), tokens + 1), since)

    def wait(self, key: str, now: float) -> float:
        """Return in how many seconds ``key`` has a token again; 0 if it has one."""
        return max(0.0, 1 - self._tokens(key, now)) / self._rate

    def _tokens(self, key: str, now: float) -> float:
        tokens, since = self._buckets.get(key, (float(self._burst), now))
        return min(float(self._burst), tokens + max(0.0, now - since) * self._rate)


def network_of(address: str) -> str:
    """Return what counts as one sender: an IPv4 address, or the 64-bit prefix of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or ipaddress.ip_network((parsed, _PREFIX_OF_A_NETWORK), strict=False))
