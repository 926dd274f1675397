"""Values dealt in components: what uploads that may break and resume rely on, for every scheme and ring."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.arithmetic.prg import fresh_seed
from cofit.sharing import SCHEMES, Scheme, Share, scheme_named
from support.runs import run_scheme

VALUES = np.arange(-3, 300_000).reshape(1, -1)


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_components_assemble_to_the_value_and_refresh_keeps_it(scheme: str, ring: PowerOfTwoRing) -> None:
    kind = scheme_named(scheme)
    parties = kind.info.default_parties
    values = ring.from_int(VALUES)
    components = kind.inputs(parties).components(ring, values, fresh_seed())
    assert tuple(c.facts for c in components) == kind.inputs(parties).layout(ring, values.shape)
    contents = {c.facts.name: b"".join(bytes(piece) for piece in c.content()) for c in components}
    again = {c.facts.name: b"".join(bytes(piece) for piece in c.content()) for c in components}
    assert contents == again
    assert all(len(contents[c.facts.name]) == c.facts.size for c in components)

    def program(s: Scheme) -> tuple[RingArray, RingArray, Share, Share]:
        mine = {c.facts.name: memoryview(contents[c.facts.name]) for c in components if s.rank in c.facts.ranks}
        share = s.inputs(parties).assemble(ring, values.shape, s.rank, mine).expand()
        fresh = s.refresh(share)
        opened, reopened = s.open(share), s.open(fresh)
        assert opened is not None
        assert reopened is not None
        return opened, reopened, share, fresh

    for opened, reopened, share, fresh in run_scheme(scheme, program).results:
        assert np.array_equal(ring.to_int(opened), VALUES)
        assert np.array_equal(ring.to_int(reopened), VALUES)
        if kind.info.secret:
            assert not any(np.array_equal(a, b) for a, b in zip(share.parts, fresh.parts, strict=True))


@pytest.mark.parametrize("scheme", sorted(name for name in SCHEMES if scheme_named(name).info.secret))
def test_other_seeds_give_other_components(scheme: str) -> None:
    kind = scheme_named(scheme)
    parties = kind.info.default_parties
    values = Z64.from_int(VALUES)
    first, second = (kind.inputs(parties).components(Z64, values, fresh_seed()) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert b"".join(map(bytes, a.content())) != b"".join(map(bytes, b.content()))
