"""What a single party sees is uniform, whatever the secret is; and the tests notice when a mask is missing.

What several parties of ``shamir`` see together is looked at in
``tests/unit/sharing/shamir``.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, RingArray
from cofit.sharing import SCHEMES, Scheme, Share
from cofit.sharing.bit_forms import Outer
from cofit.sharing.packed_bits import words_of
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.semi2k.party import Semi2k
from cofit.sharing.shares import PlacedBits
from support.chance import ALPHA, accept
from support.runs import DEALER, OWNER, run_scheme
from support.schemes import SECRET, also_slow, with_rings
from support.views import Views, p_uniform_bytes, watched

N = 4096
MOST_WORDS = 1 << 16  # of two runs that are compared, each with each


@pytest.fixture(params=also_slow([name for name in SECRET if name in SCHEMES], "shamir/5"))
def secret_scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def values(ring: PowerOfTwoRing, constant: int) -> RingArray:
    return ring.from_int(np.full(N, constant))


def work(s: Scheme, ring: PowerOfTwoRing, constant: int) -> dict[str, Share]:
    """Every operation that sends messages, on a constant secret, whose structure would shine through."""
    x, y = s.receive_input("owner", ring, (N,)).expand(), s.receive_input("owner", ring, (N,)).expand()
    for rank in range(len(s.names)):
        s.input(rank, values(ring, constant) if s.rank == rank else None, ring, (N,))
    bits = s.to_bits(x)
    held = s.hold(s.refresh(x).map(lambda p: p.reshape(64, 64)))
    return {
        "input": x,
        "product": s.mul(x, y),
        "product and truncation": s.mul(x, y, shift=9),
        "truncation": s.truncate(x, 9),
        "matrix product": s.matmul(x.map(lambda p: p.reshape(64, 64)), y.map(lambda p: p.reshape(64, 64))),
        "product with a held matrix": s.matmul(held, y.map(lambda p: p.reshape(64, 64))),
        "product with its transpose": s.matmul(held.map(np.transpose), y.map(lambda p: p.reshape(64, 64)), 9),
        "fresh sharing": s.refresh(x),
        "bits": words_of(s.boolean.select_rows(bits, slice(0, 32))),
        "bits as elements": s.from_bits(s.boolean.select_rows(bits, slice(0, 1)), ring),
        "form of bits": words_of(
            s.boolean.bilinear(
                s.boolean.select_rows(bits, slice(0, 8)), s.boolean.select_rows(bits, slice(8, 12)), Outer()
            )
        ),
        "digits as elements": s.from_numbers([PlacedBits(2, s.boolean.select_rows(bits, slice(0, 9)))], ring),
    }


def observe(
    scheme: str | type[Scheme], ring: PowerOfTwoRing, constant: int, parties: int | None = None
) -> tuple[list[dict[str, Share]], Views]:
    with watched() as views:
        dealt = {name: (ring, values(ring, constant)) for name in ("x", "y")}
        run = run_scheme(scheme, lambda s: work(s, ring, constant), deal=dealt, parties=parties)
    views.received.pop(OWNER)
    assert not views.received.pop(DEALER, []), "the dealer is told something"
    return run.results, views


def without_setup(view: list[tuple[str, str, bytes]]) -> bytes:
    return b"".join(data for _, label, data in view if label != "setup")


Observed = tuple[list[dict[str, Share]], Views]
QUICK = [*((name, Z64) for name in SECRET if name in SCHEMES), ("rep3", Z128)]
FORMS = [
    pytest.param(one, marks=[] if one in QUICK else [pytest.mark.slow], id=f"{one[0]}-{one[1]}")
    for one in with_rings(SECRET, [Z64, Z128])
]
OF_SEVERAL_PARTS = [one for one in FORMS if one.values[0][0] not in ("pair", "semi2k")]  # type: ignore[index]


@pytest.fixture(scope="module")
def observed(request: pytest.FixtureRequest) -> tuple[Observed, Observed]:
    """Two runs: of zeros, and of a large number."""
    scheme, ring = request.param
    return observe(scheme, ring, 0), observe(scheme, ring, 1 << 40)


@pytest.mark.parametrize("observed", FORMS, indirect=True)
def test_what_a_party_receives_and_holds_is_uniform(observed: tuple[Observed, Observed]) -> None:
    for shares, views in observed:
        accept_as_uniform(shares, views)


@pytest.mark.slow
@pytest.mark.parametrize("constant", [1, -1])
def test_so_it_is_for_other_secrets(secret_scheme: str, ring: PowerOfTwoRing, constant: int) -> None:
    accept_as_uniform(*observe(secret_scheme, ring, constant))


def accept_as_uniform(shares: list[dict[str, Share]], views: Views) -> None:
    found = {f"messages to {name}": p_uniform_bytes(without_setup(view)) for name, view in views.received.items()}
    for rank, held in enumerate(shares):
        for what, share in held.items():
            for i, part in enumerate(share.parts):
                found[f"part {i} of '{what}', rank {rank}"] = p_uniform_bytes(np.ascontiguousarray(part).view(np.uint8))
    accept(found)


@pytest.mark.parametrize("observed", OF_SEVERAL_PARTS, indirect=True)
def test_the_two_parts_a_party_holds_are_independent(observed: tuple[Observed, Observed]) -> None:
    shares, _ = observed[1]
    found: dict[str, float] = {}
    for rank, held in enumerate(shares):
        for what, share in held.items():
            first, second = (np.ascontiguousarray(p).reshape(-1).view(np.uint8) for p in share.parts[:2])
            table = np.histogram2d(first >> 4, second >> 4, bins=16)[0]
            found[f"parts of '{what}', rank {rank}"] = float(stats.chi2_contingency(table).pvalue)
    accept(found)


@pytest.mark.parametrize("observed", FORMS, indirect=True)
def test_two_runs_share_nothing(observed: tuple[Observed, Observed]) -> None:
    (_, first), (_, second) = observed
    for name in first.received:
        a = np.frombuffer(without_setup(first.received[name]), np.uint64)
        b = np.frombuffer(without_setup(second.received[name]), np.uint64)
        assert len(a) == len(b)
        assert not (a == b).any()
        assert not np.intersect1d(a[:MOST_WORDS], b[:MOST_WORDS]).size, "a restart must not repeat randomness"


class Stuck(Generator):
    """A generator that gives nothing but zeros."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(bytes(32))

    def draw(self, nbytes: int) -> npt.NDArray[np.uint8]:
        return np.zeros(nbytes, np.uint8)


class WithStuckGenerators(Rep3):
    def setup(self) -> None:
        super().setup()
        self._own = self._next = Stuck()


def test_stuck_generators_fail_the_uniformity_test(ring: PowerOfTwoRing) -> None:
    _, views = observe(WithStuckGenerators, ring, 1)
    assert any(p_uniform_bytes(without_setup(view)) < ALPHA for view in views.received.values())


class Semi2kWithStuckCorrelations(Semi2k):
    def setup(self) -> None:
        super().setup()
        self._source._stream = Stuck()  # type: ignore[attr-defined]


class DealerWithStuckGenerators(Semi2kDealer):
    def setup(self) -> None:
        super().setup()
        self._source._streams = [Stuck() for _ in self.names]  # type: ignore[attr-defined]


class Semi2kWithStuckPairs(Semi2k):
    def setup(self) -> None:
        super().setup()
        self._pairs = {rank: Stuck() for rank in self._others}


def repeated_words(views: Views) -> int:
    """How many words of 64 bits a party gets more than once: with uniform ones, none."""
    found = 0
    for view in views.received.values():
        words = np.frombuffer(without_setup(view), np.uint64)
        found += len(words) - len(np.unique(words))
    return found


@pytest.mark.parametrize("ring", also_slow([Z64], Z128), ids=str)
@pytest.mark.parametrize("parties", [2, 3])
def test_semi2k_sends_no_word_twice(parties: int, ring: PowerOfTwoRing) -> None:
    _, views = observe("semi2k", ring, 1, parties)
    assert repeated_words(views) == 0


@pytest.mark.parametrize("parties", [2, 3])
def test_stuck_correlations_of_semi2k_fail_both_tests(parties: int, ring: PowerOfTwoRing) -> None:
    with mock.patch("support.runs.dealer_of", return_value=DealerWithStuckGenerators):
        _, views = observe(Semi2kWithStuckCorrelations, ring, 1, parties)
    assert all(p_uniform_bytes(without_setup(view)) < ALPHA for view in views.received.values())
    assert repeated_words(views) > 0


@pytest.mark.parametrize("parties", [2, 3])
def test_stuck_pairs_of_semi2k_show_in_an_input(parties: int, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> Share:
        return s.refresh(s.input(0, values(ring, 7) if s.rank == 0 else None, ring, (N,)))

    right, stuck = (
        {str(rank): p_uniform_bytes(share.parts[0].tobytes()) for rank, share in enumerate(found)}
        for found in (run_scheme(kind, program, parties=parties).results for kind in (Semi2k, Semi2kWithStuckPairs))
    )
    accept(right)
    assert max(stuck.values()) < ALPHA


@pytest.mark.parametrize("constant", [0, 7])
def test_an_owners_messages_are_uniform_at_every_party(secret_scheme: str, ring: PowerOfTwoRing, constant: int) -> None:
    def program(s: Scheme) -> Share:
        return s.receive_input("owner", ring, (N,)).expand()

    with watched() as views:
        shares = run_scheme(secret_scheme, program, deal={"x": (ring, values(ring, constant))}).results
    found: dict[str, float] = {}
    for rank, share in enumerate(shares):
        found |= {f"part {i}, rank {rank}": p_uniform_bytes(part.tobytes()) for i, part in enumerate(share.parts)}
        received = views.of(f"party-{rank}", "input")
        if len(received) > 64:  # more than seeds
            found[f"messages to {rank}"] = p_uniform_bytes(received)
    accept(found)
