"""What an owner deals to parties of ``shamir``: the same to all members of a group, or it is found; and only words of
the base ring, whatever bytes it sends.

Why no other element of the Galois ring can be dealt: parties take components as elements u of the base ring, one for
every group A, and each makes its share sum of u g_A(a_i) of those of its groups. g_A(0) = 1. So if the members of every
group have the same u, the shares are those of one polynomial, and its value at 0 is the sum of all u.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import SEED_BYTES, fresh_seed
from cofit.errors import DisputeError, ProtocolError
from cofit.sharing import Scheme, Share, Spec
from cofit.sharing import inputs as inputs_module
from cofit.sharing import scheme as scheme_module
from cofit.sharing.shamir.galois import Element, GaloisRing
from cofit.sharing.shamir.geometry import Geometry, geometry_of, modulus_of, tables_of
from cofit.sharing.shamir.inputs import GroupInputs
from cofit.sharing.shamir.party import Shamir
from support.runs import run_scheme
from support.schemes import also_slow, form

SHAPE = (3, 5)


def inputs_of(spec: Spec) -> GroupInputs:
    return Shamir.inputs(spec)


# --- different summands ----------------------------------------------------------------------------------


@contextmanager
def dealt_another(component: str, rank: int, byte: int = 0) -> Iterator[None]:
    """An owner deals one party another component than the others: a bit of it differs."""
    receive = inputs_module.receive_components

    def received(mesh: Any, label: str, owner: str, layout: Any, own: int, *where: Any) -> Mapping[str, memoryview]:
        found = receive(mesh, label, owner, layout, own, *where)
        if own != rank:
            return found
        changed = bytearray(found[component])
        changed[byte] ^= 1
        return {**found, component: memoryview(changed)}

    with mock.patch.object(scheme_module, "receive_components", received):
        yield


def disputes(name: str) -> dict[int, DisputeError]:
    """Who finds that an owner has dealt different shares."""

    def program(s: Scheme) -> DisputeError | None:
        try:
            s.receive_input("owner", Z64, SHAPE)
        except DisputeError as error:
            return error
        return None

    results = run_scheme(name, program, deal={"x": (Z64, Z64.zeros(SHAPE))}).results
    return {rank: error for rank, error in enumerate(results) if error is not None}


def summands(spec: Spec) -> list[tuple[str, tuple[int, ...]]]:
    return [(facts.name, tuple(facts.ranks)) for facts in inputs_of(spec).layout(Z64, SHAPE)]


@pytest.mark.parametrize("name", also_slow(["shamir", "shamir/4", "shamir/5"], "shamir/5/1", "shamir/6", "shamir/7"))
def test_another_summand_for_any_member_of_any_group_is_found_by_all_members(name: str) -> None:
    spec = form(name).spec
    components = summands(spec)
    assert [ranks for _, ranks in components] == list(geometry_of(spec.parties, spec.threshold).groups)
    for component, members in components:
        for odd in members:
            with dealt_another(component, odd):
                found = disputes(name)
            assert set(found) == set(members), "those who were dealt it, and nobody else"
            for rank, error in found.items():
                assert error.parties[0] == "owner"
                assert (error.parties[1] == f"party-{odd}") == (rank != odd)


def test_the_last_bit_counts_and_owners_that_deal_alike_are_not_suspected() -> None:
    component, members = summands(form("shamir/5").spec)[-1]
    with dealt_another(component, members[1], byte=8 * 15 - 1):
        assert set(disputes("shamir/5")) == set(members)
    assert disputes("shamir/5") == {}


def test_without_a_look_at_digests_nobody_would_find_it() -> None:
    """The instrument: a version that does not compare lets it pass, and parties compute with no sharing at all."""
    component, members = summands(form("shamir/5").spec)[0]
    with mock.patch.object(Shamir, "_compare_dealt", lambda *_: None), dealt_another(component, members[0]):
        assert disputes("shamir/5") == {}


# --- words of the base ring ------------------------------------------------------------------------------


def dealt(spec: Spec, ring: Ring, contents: Mapping[str, bytes]) -> list[Share]:
    """The shares of all parties, of components as they are."""
    inputs = inputs_of(spec)
    layout = inputs.layout(ring, SHAPE)
    made = []
    for rank in range(spec.parties):
        mine = {facts.name: memoryview(contents[facts.name]) for facts in layout if rank in facts.ranks}
        made.append(inputs.assemble(ring, SHAPE, rank, mine).expand())
    return made


def at_zero(geometry: Geometry, shares: list[Share], among: tuple[int, ...]) -> list[RingArray]:
    """All coefficients of the value at 0 of the polynomial through these shares."""
    ring = shares[0].ring
    galois = GaloisRing(modulus_of(ring), geometry.degree)
    points = tuple(galois.point(rank + 1) for rank in among)
    weights = [galois.lagrange(points, i, galois.whole(0)) for i in range(len(among))]
    columns: list[Element] = [galois.mul(w, galois.power(c)) for w in weights for c in range(galois.degree)]
    rows = tables_of(geometry, ring)._elements([list(row) for row in zip(*columns, strict=True)])
    return list(ring.combined([part for rank in among for part in shares[rank].parts], rows))


@pytest.mark.parametrize("name", ["shamir", "shamir/4", "shamir/5", "shamir/5/1", "shamir/7"])
@pytest.mark.parametrize("ring", [Z64, Z128, F61, BITS], ids=str)
def test_whatever_bytes_an_owner_sends_it_has_dealt_one_element_of_the_base_ring(name: str, ring: Ring) -> None:
    spec = form(name).spec
    geometry = geometry_of(spec.parties, spec.threshold)
    contents = {facts.name: secrets.token_bytes(facts.size) for facts in inputs_of(spec).layout(ring, SHAPE)}
    if ring is F61:  # others are refused: see the next test
        contents |= {name: F61.from_int(np.arange(15) * 10**16).tobytes() for name in contents if name.startswith("x_")}
    shares = dealt(spec, ring, contents)
    value, *others = at_zero(geometry, shares, geometry.openers)
    assert all(not np.any(other != ring.zeros(SHAPE)) for other in others), "another element of the Galois ring"
    for among in combinations(range(spec.parties), spec.threshold + 1):
        np.testing.assert_array_equal(np.stack(at_zero(geometry, shares, among)), np.stack([value, *others]))


def test_a_share_outside_of_the_base_ring_would_be_seen() -> None:
    """The instrument: one coefficient of one share changed, and the value at 0 is another for other parties."""
    spec = form("shamir/5").spec
    geometry = geometry_of(5, 2)
    contents = {facts.name: secrets.token_bytes(facts.size) for facts in inputs_of(spec).layout(Z64, SHAPE)}
    shares = dealt(spec, Z64, contents)
    first, *rest = shares[0].parts
    shares[0] = Share(Z64, (first, *rest[:-1], Z64.add(rest[-1], Z64.from_int(np.ones(SHAPE, int)))))
    assert np.any(np.stack(at_zero(geometry, shares, (0, 1, 2))[1:]) != Z64.zeros((2, *SHAPE)))


@pytest.mark.parametrize("name", ["shamir", "shamir/5"])
def test_what_is_no_element_is_refused_and_so_are_short_components(name: str) -> None:
    spec = form(name).spec
    layout = inputs_of(spec).layout(F61, SHAPE)
    contents = {facts.name: bytes(facts.size) for facts in layout}
    (explicit,) = (facts for facts in layout if facts.size != SEED_BYTES)
    dealt(spec, F61, contents)
    with pytest.raises(ProtocolError, match="no element"):
        dealt(spec, F61, {**contents, explicit.name: b"\xff" * explicit.size})


@pytest.mark.parametrize("name", ["shamir", "shamir/5", "shamir/7"])
@pytest.mark.parametrize("ring", [Z64, F61], ids=str)
def test_long_values_are_put_together_from_pieces(name: str, ring: Any) -> None:
    """Parties draw summands some rows at a time, owners in chunks of another size: both draw the same."""
    spec = form(name).spec
    geometry, inputs = geometry_of(spec.parties, spec.threshold), inputs_of(spec)
    values = np.arange(-5000, 13000 - 5000).reshape(13, 1000) * 10**13
    components = inputs.components(ring, ring.from_int(values), fresh_seed())
    contents = {c.facts.name: b"".join(map(bytes, c.content())) for c in components}
    shares = [
        inputs.assemble(
            ring,
            values.shape,
            rank,
            {c.facts.name: memoryview(contents[c.facts.name]) for c in components if rank in c.facts.ranks},
        ).expand()
        for rank in range(spec.parties)
    ]
    value, *others = at_zero(geometry, shares, geometry.openers)
    np.testing.assert_array_equal(ring.to_int(value), values)
    assert all(not np.any(other != ring.zeros(values.shape)) for other in others)
