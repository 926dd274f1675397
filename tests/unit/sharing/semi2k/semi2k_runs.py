"""Programs of ``semi2k`` beside their cleartext twins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import PowerOfTwoRing, RingArray
from cofit.sharing import Scheme, Share
from support.runs import run_scheme

RNG = np.random.default_rng(2024)
Named = dict[str, RingArray]


def elements(ring: PowerOfTwoRing, *shape: int, magnitude_bits: int | None = None) -> RingArray:
    bits = ring.bits - 1 if magnitude_bits is None else magnitude_bits
    drawn = [
        int.from_bytes(RNG.bytes(ring.element_bytes), "little") % (2 << bits) - (1 << bits)
        for _ in range(int(np.prod(shape)))
    ]
    return ring.from_int(np.array(drawn, dtype=object).reshape(shape))


def put_in(s: Scheme, ring: PowerOfTwoRing, values: RingArray, source: int = 0) -> Share:
    return s.input(source, values if s.rank == source else None, ring, values.shape)


def opened(s: Scheme, shares: Mapping[str, Share]) -> Named:
    results = {name: s.open(share) for name, share in shares.items()}
    return {name: values for name, values in results.items() if values is not None}


def against_clear(
    program: Callable[[Scheme], Named], ring: PowerOfTwoRing, parties: int
) -> list[tuple[str, npt.NDArray[np.object_], npt.NDArray[np.object_]]]:
    """Every named result of all parties, and the cleartext twin's."""
    golden = run_scheme("clear", program, parties=parties).results[0]
    results = run_scheme("semi2k", program, parties=parties).results
    for result in results:
        assert list(result) == list(golden)
    return [
        (f"{name} at {rank}", ring.to_int(values).astype(object), ring.to_int(golden[name]).astype(object))
        for rank, result in enumerate(results)
        for name, values in result.items()
    ]


def assert_equal(program: Callable[[Scheme], Named], ring: PowerOfTwoRing, parties: int) -> None:
    for name, got, want in against_clear(program, ring, parties):
        np.testing.assert_array_equal(got, want, name)


def some(values: RingArray | None, share: Share) -> RingArray:
    return share.ring.zeros(share.shape) if values is None else values
