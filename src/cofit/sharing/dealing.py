"""How an owner deals values among parties that hold summands: all summands but one are drawn from seeds.

The last one, x - x_0 - x_1 - ..., is computed and sent in chunks, so that nobody holds the data twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cofit.arithmetic import Generator, Ring, RingArray
from cofit.errors import DisputeError
from cofit.sharing.scheme import Bytes, as_bytes

CHUNK_BYTES = 1 << 20  # an owner's message: large enough to fill a TLS socket, small enough to stay in the cache


def last_summand(ring: Ring, values: RingArray, seeds: Sequence[bytes]) -> Iterator[Bytes]:
    """Yield what is left of the values when the draws from all seeds are taken off, in chunks in the same buffer."""
    streams = [Generator(seed) for seed in seeds]
    flat = ring.check(values).reshape(-1)
    last, mask = (ring.empty((min(flat.size, CHUNK_BYTES // ring.element_bytes),)) for _ in range(2))
    for chunk in chunks(ring, flat.size):
        rest, size = flat[chunk], flat[chunk].size
        for stream in streams:
            stream.fill(as_bytes(mask[:size]))
            rest = ring.sub(rest, mask[:size], out=last[:size])
        yield as_bytes(rest)


def chunks(ring: Ring, count: int) -> Iterator[slice]:
    """Yield the places of ``count`` elements that go into one message each."""
    step = CHUNK_BYTES // ring.element_bytes
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def dealt_differently(owner: str, party: str, other: str) -> DisputeError:
    """Return what ``party`` raises where ``other`` says that it was dealt something else by an owner."""
    return DisputeError(
        f"Owner '{owner}' has dealt '{party}' and '{other}' shares that do not fit together, or '{other}' says so "
        f"falsely. Nothing is computed with them. '{owner}' must share its data again, with the software as it is.",
        (owner, other),
    )
