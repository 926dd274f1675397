"""Values dealt in components: what uploads that may break and resume rely on, for every scheme and ring."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, PowerOfTwoRing, RingArray
from cofit.arithmetic.prg import fresh_seed
from cofit.errors import ProtocolError
from cofit.sharing import Scheme, Share
from support.runs import reconstruct, run_scheme
from support.schemes import EVERY, SECRET, form

VALUES = np.arange(-3, 140_000).reshape(1, -1)


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("scheme", EVERY)
def test_components_assemble_to_the_value_and_refresh_keeps_it(scheme: str, ring: PowerOfTwoRing) -> None:
    kind, spec = form(scheme)
    values = ring.from_int(VALUES)
    components = kind.inputs(spec).components(ring, values, fresh_seed())
    assert tuple(c.facts for c in components) == kind.inputs(spec).layout(ring, values.shape)
    contents = {c.facts.name: b"".join(bytes(piece) for piece in c.content()) for c in components}
    again = {c.facts.name: b"".join(bytes(piece) for piece in c.content()) for c in components}
    assert contents == again
    assert all(len(contents[c.facts.name]) == c.facts.size for c in components)

    def program(s: Scheme) -> tuple[RingArray, RingArray, Share, Share]:
        mine = {c.facts.name: memoryview(contents[c.facts.name]) for c in components if s.rank in c.facts.ranks}
        share = s.inputs(s.spec).assemble(ring, values.shape, s.rank, mine).expand()
        fresh = s.refresh(share)
        opened, reopened = s.open(share), s.open(fresh)
        assert opened is not None
        assert reopened is not None
        return opened, reopened, share, fresh

    results = run_scheme(scheme, program).results
    for place in (2, 3):
        assert np.array_equal(ring.to_int(reconstruct([result[place] for result in results], scheme)), VALUES)  # type: ignore[misc]
    for opened, reopened, share, fresh in results:
        assert np.array_equal(ring.to_int(opened), VALUES)
        assert np.array_equal(ring.to_int(reopened), VALUES)
        if kind.info.secret:
            assert not any(np.array_equal(a, b) for a, b in zip(share.parts, fresh.parts, strict=True))


@pytest.mark.parametrize("scheme", ["rep3", "rep4", "shamir", "shamir/5", "repn", "repn/5"])
def test_what_is_no_element_of_a_field_is_refused(scheme: str) -> None:
    inputs = form(scheme).kind.inputs(form(scheme).spec)
    values = F61.from_int(np.arange(3))
    contents = {c.facts.name: b"".join(map(bytes, c.content())) for c in inputs.components(F61, values, fresh_seed())}
    (explicit,) = (name for name in contents if name.startswith("x_"))
    rank = next(f.ranks[0] for f in inputs.layout(F61, values.shape) if f.name == explicit)
    mine = {f.name: memoryview(contents[f.name]) for f in inputs.layout(F61, values.shape) if rank in f.ranks}
    inputs.assemble(F61, values.shape, rank, mine)
    mine[explicit] = memoryview(np.array([0, F61.modulus, 1], np.uint64).tobytes())
    with pytest.raises(ProtocolError, match=re.escape("no element of " + F61.name)):
        inputs.assemble(F61, values.shape, rank, mine)


@pytest.mark.parametrize("scheme", SECRET)
def test_other_seeds_give_other_components(scheme: str) -> None:
    kind, spec = form(scheme)
    values = Z64.from_int(VALUES)
    first, second = (kind.inputs(spec).components(Z64, values, fresh_seed()) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert b"".join(map(bytes, a.content())) != b"".join(map(bytes, b.content()))
