"""What came over Dask: shares and sums as the kernels want them, whatever memory they arrived in."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64, FixedPoint, RingArray
from cofit.roles.shards.arrived import arrived
from cofit.secret.shards import Shared
from cofit.sharing import Share

VALUES = np.arange(6, dtype=np.uint64).reshape(2, 3)


def awkward(kind: str) -> RingArray:
    """The same values in memory as messages bring it."""
    if kind == "read-only":
        return np.frombuffer(VALUES.tobytes(), np.uint64).reshape(2, 3)
    if kind == "not aligned":
        return np.frombuffer(bytearray(b"x" + VALUES.tobytes()), np.uint64, offset=1).reshape(2, 3)
    return np.asfortranarray(VALUES)


@pytest.mark.parametrize("kind", ["read-only", "not aligned", "by columns"])
def test_shares_come_as_the_kernels_want_them(kind: str) -> None:
    value = Shared(Share(Z64, (awkward(kind), VALUES.copy())), FixedPoint(4, Z64), 100)
    found = arrived(value)
    assert (found.format, found.limit, found.share.ring) == (value.format, 100, Z64)
    for part in found.share.parts:
        assert part.flags.c_contiguous and part.flags.aligned and part.flags.writeable
        np.testing.assert_array_equal(part, VALUES)


def test_what_needs_no_copy_is_not_copied() -> None:
    value = Shared(Share(Z64, (VALUES.copy(),)), FixedPoint(4, Z64), 100)
    assert arrived(value).share.parts[0] is value.share.parts[0]


def test_public_facts_come_as_they_are() -> None:
    assert arrived([3, "x"]) == [3, "x"]
    assert arrived(None) is None
