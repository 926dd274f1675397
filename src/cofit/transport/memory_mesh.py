"""A mesh between threads of one process, greeted like any other."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence

from cofit.errors import InvalidInputError, PeerSilentError
from cofit.transport.frames import MAX_FRAME_BYTES
from cofit.transport.greeting import Greeting
from cofit.transport.link import Link, Wrap
from cofit.transport.memory import Bell, memory_link_pair
from cofit.transport.mesh import Mesh
from cofit.transport.terms import Terms


def memory_meshes(
    names: Sequence[str],
    terms: Terms | Mapping[str, Terms],
    timeout: float = 60.0,
    links: Iterable[tuple[str, str]] | None = None,
    *,
    wrap: Mapping[str, Wrap] | None = None,
    max_frame_bytes: int = MAX_FRAME_BYTES,
) -> dict[str, Mesh]:
    """Connect the named parties, each with each or as the pairs in ``links`` say, and return a mesh for each.

    ``terms`` may differ by party, and ``wrap`` may replace a party's links (to inject faults).
    """
    if len(set(names)) != len(names):
        raise InvalidInputError(f"Party names must differ. Got {list(names)} instead.")
    bells = {name: Bell() for name in names}
    ends: dict[str, dict[str, Link]] = {name: {} for name in names}
    for first, second in itertools.combinations(names, 2) if links is None else links:
        if first not in bells or second not in bells or first == second:
            raise InvalidInputError(f"A link must join two of {list(names)}. Got {(first, second)} instead.")
        ends[first][second], ends[second][first] = memory_link_pair(bells[first], bells[second])
    for name, replace in (wrap or {}).items():
        ends[name] = {peer: replace(peer, link) for peer, link in ends[name].items()}
    agreed = terms if isinstance(terms, Mapping) else dict.fromkeys(names, terms)
    try:
        _greet(ends, agreed, timeout)
    except BaseException:
        for link in _all_links(ends):
            link.close()
        raise
    return {
        name: Mesh(
            name,
            ends[name],
            agreed[name],
            bells[name],
            timeout=timeout,
            max_frame_bytes=max_frame_bytes,
            members=names,
        )
        for name in names
    }


def _greet(ends: Mapping[str, Mapping[str, Link]], terms: Mapping[str, Terms], timeout: float) -> None:
    """Run all handshakes in turn: a HELLO fits into a pipe, so no step has to wait for another thread."""
    waiting = [(peer, Greeting(link, name, peer, terms[name])) for name in ends for peer, link in ends[name].items()]
    deadline = time.monotonic() + timeout
    while waiting := [(peer, greeting) for peer, greeting in waiting if not greeting.step()]:
        if time.monotonic() > deadline:
            silent = waiting[0][0]
            raise PeerSilentError(silent, f"{silent!r} did not greet within {timeout:g} s.")
        time.sleep(0.001)


def _all_links(ends: Mapping[str, Mapping[str, Link]]) -> list[Link]:
    return [link for own in ends.values() for link in own.values()]
