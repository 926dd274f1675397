"""What t parties of ``shamir`` receive and hold together is uniform, whatever the secret is.

The joint view of every coalition of t parties, among three and five. Streams are the same in every run, so that no test
fails by chance; ALPHA is for each p-value. That messages are hidden, exactly, is shown in ``test_masks.py``; here
statistics look at the same from outside, and at shares.

Shares of t parties are uniform exactly if they are independent of the value and of one another. What would show a
polynomial of a degree below t is what t parties find when they interpolate as if it had one: with degree t, uniform
elements of the Galois ring; with less, the secret. What a party puts in is shared with fewer terms than a share has
parts: shares of it are independent of the value (two values look the same), but not uniform.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from cofit.arithmetic import Z64, Generator, Ring, RingArray, Shape
from cofit.sharing import Scheme, Share
from cofit.sharing.group_streams import Group
from cofit.sharing.packed_bits import words_of
from cofit.sharing.shamir.galois import GaloisRing
from cofit.sharing.shamir.geometry import Geometry, geometry_of, modulus_of, tables_of
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.shares import PlacedBits
from support.chance import ALPHA
from support.coalitions import Log, run_scripted
from support.schemes import also_slow, form
from support.views import p_uniform_bytes

N = 2048
NAMES = also_slow(["shamir", "shamir/5", "shamir/5/king"], "shamir/4", "shamir/7")
INPUT = "input of party "
Bytes = npt.NDArray[np.uint8]


def work(s: Scheme, constant: int) -> dict[str, Share]:
    """Every operation that sends messages, on a constant secret, whose structure would shine through."""
    values = Z64.from_int(np.full(N, constant))
    components = s.inputs(s.spec).components(Z64, values, bytes([s.spec.parties] * 32))
    mine = {c.facts.name: memoryview(b"".join(map(bytes, c.content()))) for c in components if s.rank in c.facts.ranks}
    inputs = [s.input(r, values if s.rank == r else None, Z64, (N,)) for r in range(len(s.names))]
    x, y = inputs[0], inputs[-1]
    bits = s.to_bits(x, 12)
    return {
        **{INPUT + str(rank): share for rank, share in enumerate(inputs)},
        "input of an owner": s.inputs(s.spec).assemble(Z64, (N,), s.rank, mine).expand(),
        "product": s.mul(x, y),
        "product and truncation": s.mul(x, y, 9),
        "truncation": s.truncate(x, 9),
        "fresh sharing": s.refresh(x),
        "bits": words_of(bits),
        "bits as elements": s.from_bits(s.boolean.select_rows(bits, slice(0, 2)), Z64),
        "digits as elements": s.from_numbers([PlacedBits(2, s.boolean.select_rows(bits, slice(0, 9)))], Z64),
        "high part": s.high_part(x, 9),
    }


Held = dict[int, dict[str, Share]]


def observed(kind: type[Shamir], name: str, constant: int, salt: int = 0) -> tuple[Log, Held]:
    held: Held = {}

    def program(s: Scheme) -> None:
        held[s.rank] = work(s, constant)

    return run_scripted(kind, form(name).spec, program, salt=salt), held


@functools.cache
def honest(name: str, constant: int) -> tuple[Log, Held]:
    return observed(Shamir, name, constant)


def coalitions(name: str) -> Iterator[Group]:
    spec = form(name).spec
    yield from combinations(range(spec.parties), spec.threshold)


# --- messages --------------------------------------------------------------------------------------------


def received(log: Log, corrupted: Group) -> bytes:
    """All that a coalition gets from the others; two copies of a message count once."""
    told = {m.array.tobytes() for rank in corrupted for m in log.messages[rank] if m.sender not in corrupted}
    return b"".join(sorted(told))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("constant", also_slow([0], 1 << 40))
def test_what_a_coalition_receives_is_uniform(name: str, constant: int) -> None:
    log, _ = honest(name, constant)
    for corrupted in coalitions(name):
        data = received(log, corrupted)
        assert len(data) > 10 * N
        assert p_uniform_bytes(data) > ALPHA, f"{corrupted} see structure"
        words = np.frombuffer(data[: len(data) // 8 * 8], np.uint64)
        assert len(np.unique(words)) == len(words), "a word is sent twice"


# --- shares ----------------------------------------------------------------------------------------------


def as_bytes(array: RingArray) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def guessed(geometry: Geometry, shares: Mapping[int, Share], corrupted: Group) -> tuple[RingArray, ...]:
    """What t parties find at 0 if they take the degree to be below t: all coefficients."""
    ring = shares[corrupted[0]].ring
    galois = GaloisRing(modulus_of(ring), geometry.degree)
    points = tuple(galois.point(rank + 1) for rank in corrupted)
    weights = [galois.lagrange(points, i, galois.whole(0)) for i in range(len(points))]
    columns = [galois.mul(w, galois.power(c)) for w in weights for c in range(galois.degree)]
    rows = tables_of(geometry, ring)._elements([list(row) for row in zip(*columns, strict=True)])
    return ring.combined([part for rank in corrupted for part in shares[rank].parts], rows)


def p_uniform(data: Bytes) -> float:
    """As ``p_uniform_bytes``, for very many short arrays."""
    counts = np.bincount(data, minlength=256)
    return float(special.chdtrc(255, ((counts - len(data) / 256) ** 2).sum() * 256 / len(data)))


def p_values(geometry: Geometry, shares: Mapping[int, Share], corrupted: Group) -> dict[str, float]:
    """Tests that what a coalition holds is uniform: every part, every two parts together, and what they would guess."""
    parts = [as_bytes(part) for rank in corrupted for part in shares[rank].parts]
    found = {f"part {i}": p_uniform(part) for i, part in enumerate(parts)}
    four, high = np.uint8(4), np.uint8(0xF0)
    for (i, a), (j, b) in combinations(enumerate(parts), 2):
        found[f"parts {i} and {j}"] = p_uniform((a >> four) | (b & high))
        found[f"low bits of {i} and {j}"] = p_uniform((a & ~high) | (b << four))
    for i, guess in enumerate(guessed(geometry, shares, corrupted)):
        found[f"guess {i}"] = p_uniform(as_bytes(guess))
    return found


def least_p(name: str, held: Held, corrupted: Group) -> dict[str, float]:
    """By operation: the least of the p-values."""
    spec = form(name).spec
    geometry = geometry_of(spec.parties, spec.threshold)
    return {
        what: min(p_values(geometry, {rank: held[rank][what] for rank in corrupted}, corrupted).values())
        for what in held[0]
        if not what.startswith(INPUT)
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("constant", [0, 1 << 40])
def test_what_a_coalition_holds_is_uniform(name: str, constant: int) -> None:
    _, held = honest(name, constant)
    for corrupted in coalitions(name):
        least = least_p(name, held, corrupted)
        assert min(least.values()) > ALPHA, (corrupted, least)


def p_alike(a: Bytes, b: Bytes) -> float:
    """The p-value of a test that bytes are from one distribution."""
    table = np.array([np.bincount(some >> 2, minlength=64) for some in (a, b)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


@pytest.mark.parametrize("name", NAMES)
def test_two_secrets_look_the_same_to_a_coalition(name: str) -> None:
    """Under other masks: how often each byte occurs, in every part and in what they would guess."""
    spec = form(name).spec
    geometry = geometry_of(spec.parties, spec.threshold)
    _, other = observed(Shamir, name, 0, salt=1)
    _, held = honest(name, 1 << 40)
    for corrupted in coalitions(name):
        for what in set(held[0]) - {INPUT + str(rank) for rank in corrupted} - {"input of an owner"}:
            first, second = (
                [*(part for rank in corrupted for part in h[rank][what].parts),
                 *guessed(geometry, {rank: h[rank][what] for rank in corrupted}, corrupted)]
                for h in (held, other)
            )  # fmt: skip
            for a, b in zip(first, second, strict=True):
                assert p_alike(as_bytes(a), as_bytes(b)) > ALPHA, (corrupted, what)


# --- broken versions -------------------------------------------------------------------------------------


class Stuck(Generator):
    """A generator that gives nothing but zeros."""

    __slots__ = ()

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        return ring.zeros(shape)


class StuckGroups(Shamir):
    """The draws of groups are zeros."""

    def _drawn(self, groups: object, ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        return {group: ring.zeros(shape) for group in groups if self.rank in group}  # type: ignore[attr-defined]


class StuckPairs(Shamir):
    """The draws of pairs are zeros, wherever they are asked for."""

    def _masks(self, *arguments: object) -> object:  # type: ignore[override]
        pairs, self._pairs = self._pairs, dict.fromkeys(self._pairs, Stuck(bytes(32)))
        try:
            return super()._masks(*arguments)  # type: ignore[arg-type]
        finally:
            self._pairs = pairs

    def _opening_masks(self, ring: Ring, shape: Shape) -> list[RingArray]:
        return [ring.zeros(shape) for _ in super()._opening_masks(ring, shape)]


@pytest.mark.parametrize("name", ["shamir", "shamir/5"])
@pytest.mark.parametrize("kind", [StuckGroups, StuckPairs])
def test_stuck_generators_fail_the_tests(kind: type[Shamir], name: str) -> None:
    log, held = observed(kind, name, 1)
    assert any(p_uniform_bytes(received(log, corrupted)) < ALPHA for corrupted in coalitions(name))
    if kind is StuckGroups:  # draws of groups alone make shares uniform
        assert all(min(least_p(name, held, corrupted).values()) < ALPHA for corrupted in coalitions(name))


@pytest.mark.parametrize(("name", "lower"), [("shamir/5", "shamir/5/1"), ("shamir/7", "shamir/7/2")])
def test_a_polynomial_of_too_low_a_degree_fails_the_tests(name: str, lower: str) -> None:
    """Shares that would do for t - 1 parties: every single part is uniform, and t parties have the secret."""
    spec = form(name).spec
    geometry = geometry_of(spec.parties, spec.threshold)
    made: dict[int, Share] = {}

    def program(s: Scheme) -> None:
        made[s.rank] = s.input(0, Z64.from_int(np.full(N, 5)) if s.rank == 0 else None, Z64, (N,))

    run_scripted(Shamir, form(lower).spec, program)
    for corrupted in coalitions(name):
        found = p_values(geometry, {rank: made[rank] for rank in corrupted}, corrupted)
        assert all(p > ALPHA for what, p in found.items() if what.startswith("part "))
        assert found["guess 0"] < ALPHA
        np.testing.assert_array_equal(Z64.to_int(guessed(geometry, made, corrupted)[0]), np.full(N, 5))


class InTheClear(Shamir):
    """What a party puts in goes to its group as it is."""

    def _given(self, ring: Ring, *arguments: Any) -> Any:
        groups, self._groups = self._groups, dict.fromkeys(self._groups, Stuck(bytes(32)))
        protocol = super()._given(ring, *arguments)
        messages = next(protocol)
        self._groups = groups
        yield messages
        return (yield from protocol)


@pytest.mark.parametrize("name", ["shamir", "shamir/5"])
def test_two_inputs_that_are_not_hidden_look_different(name: str) -> None:
    """The instrument, for the one kind of share that need not be uniform."""
    (_, one), (_, other) = (observed(InTheClear, name, constant, salt) for constant, salt in ((0, 0), (1 << 40, 1)))
    for source, rank in ((0, 1), (1, 2)):
        parts = zip(one[rank][INPUT + str(source)].parts, other[rank][INPUT + str(source)].parts, strict=True)
        assert min(p_alike(as_bytes(a), as_bytes(b)) for a, b in parts) < ALPHA


def test_a_constant_polynomial_fails_the_tests() -> None:
    geometry = geometry_of(3, 1)
    share = Share(Z64, (Z64.from_int(np.full(N, 5)), Z64.zeros((N,))))
    for rank in range(3):
        assert min(p_values(geometry, {rank: share}, (rank,)).values()) < ALPHA
