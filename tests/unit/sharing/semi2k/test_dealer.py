"""``semi2k``: what the dealer hears and hands out, and what the meter counts of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party
from cofit.arithmetic import Z64, Generator, PowerOfTwoRing, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sharing import Scheme, Share
from cofit.sharing.meter import Meter
from cofit.sharing.semi2k.party import Semi2k
from statistical.sampling.checks import count_of
from support.chance import accept, reject
from support.runs import DEALER, run_scheme
from support.views import watched
from unit.sharing.semi2k.semi2k_runs import elements, put_in

# --- the dealer -----------------------------------------------------------------------------------------------------


def everything(s: Scheme) -> list[object]:
    """Every operation that sends; returns what was opened."""
    x = s.receive_input("owner", Z64, (8, 8)).expand()
    y = put_in(s, Z64, Z64.from_int(np.arange(64).reshape(8, 8)))
    held = s.hold(s.refresh(x))
    s.announce("before", b"abc")
    z = s.matmul(held, s.mul(x, y, 3))
    bits = s.from_bits(s.to_bits(z), Z64)
    s.barrier("after")
    return [s.open(z), s.open(bits), s.boolean.open(s.sign_bits(x)), s.open(x, [0])]


def test_the_dealer_hears_announcements_only_and_sees_zeros(parties: int) -> None:
    seen: list[list[object]] = []

    def program(s: Scheme) -> None:
        result = everything(s)
        if s.rank == parties:
            seen.append(result)

    with watched() as views:
        run_scheme("semi2k", program, deal={"x": (Z64, elements(Z64, 8, 8))}, parties=parties)
    names = [f"party-{rank}" for rank in range(parties)]
    heard = [(sender, label, data) for sender, label, data in views.received[DEALER]]
    assert sorted(heard) == sorted(
        [(name, "before/announce", b"abc") for name in names] + [(name, "after/announce", b"\x01") for name in names]
    )
    *everybodys, only_the_firsts = seen[0]
    assert only_the_firsts is None
    assert all(isinstance(values, np.ndarray) and not values.view(np.uint8).any() for values in everybodys)


def test_the_dealer_speaks_to_the_last_party_alone(parties: int) -> None:
    with watched() as views:
        run_scheme("semi2k", everything, deal={"x": (Z64, elements(Z64, 8, 8))}, parties=parties)
    for rank in range(parties):
        labels = {label for sender, label, _ in views.received[f"party-{rank}"] if sender == DEALER}
        assert (labels == {"setup"}) == (rank < parties - 1)


class BitsFromTheDealersSeeds(Semi2k):
    """What must not be: noise that the dealer could compute."""

    def _random_words(self, shape: Shape) -> Share:
        return Share(BITS, (self._source._stream.ring(BITS, shape),))  # type: ignore[attr-defined]


class BitsFromCommonSeeds(Semi2k):
    """What must not be: noise that the other parties could compute."""

    def _random_words(self, shape: Shape) -> Share:
        drawn = self._zero(BITS, shape)
        return Share(BITS, (drawn if self.rank == 0 else BITS.zeros(shape),))


def all_but_ones_coins(kind: type[Semi2k], parties: int, honest: int) -> tuple[npt.NDArray[np.uint8], RingArray]:
    """Bits, and a draw from the dealer's seeds, when all seeds of all members are fixed but the coins of one party."""

    class Known(kind):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            super().setup()
            self._pairs = {
                rank: Generator(bytes([1 + min(rank, self.rank), 1 + max(rank, self.rank)] * 16))
                for rank in self._others
            }
            if self.rank != honest:
                self._coins = Generator(bytes([100 + self.rank] * 32))

    def program(s: Scheme) -> tuple[npt.NDArray[np.uint8] | None, RingArray | None]:
        bits = s.boolean.open(s.boolean.random(1, 4096))
        return bits, s._source._stream.ring(Z64, (4,)) if isinstance(s, Semi2k) else None  # type: ignore[attr-defined]

    numbers = iter(range(10, 10 + parties))
    seeds = mock.patch("cofit.sharing.semi2k.from_dealer.fresh_seed", side_effect=lambda: bytes([next(numbers)] * 32))
    session = mock.patch("support.runs.secrets.token_bytes", side_effect=bytes)
    fresh = mock.patch("cofit.sharing.additive.fresh_seed", side_effect=lambda: os.urandom(32))
    with seeds, session, fresh:
        bits, drawn = run_scheme(Known, program, parties=parties).results[0]
    assert bits is not None
    assert drawn is not None
    return bits, drawn


def agreement(kind: type[Semi2k], parties: int, honest: int) -> float:
    """The p-value that two runs, with the same seeds in everything else, agree in half of the bits."""
    (first, known), (second, again) = (all_but_ones_coins(kind, parties, honest) for _ in range(2))
    np.testing.assert_array_equal(known, again, "the dealer's seeds were to be the same")
    return count_of(first.reshape(-1) == second.reshape(-1), 0.5)


@pytest.mark.parametrize(("parties", "honest"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_noise_follows_neither_from_the_dealers_seeds_nor_from_the_other_parties(parties: int, honest: int) -> None:
    accept({"own coins": agreement(Semi2k, parties, honest)})
    reject({"the dealer's seeds": agreement(BitsFromTheDealersSeeds, parties, honest)})
    reject({"common seeds": agreement(BitsFromCommonSeeds, parties, honest)})


# --- the meter ------------------------------------------------------------------------------------------------------


def vector(s: Scheme, ring: PowerOfTwoRing, count: int = 70) -> Share:
    return s.constant(ring, ring.zeros((count,)))


def matrix(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.constant(ring, ring.zeros((11, 7)))


def training(s: Scheme, ring: PowerOfTwoRing) -> None:
    """Two epochs of a linear model with a held matrix."""
    x, w = s.hold(matrix(s, ring)), vector(s, ring, 7)
    s.inner(x, x, 5)
    for _ in range(2):
        residual = s.matmul(x, w, 5, vector(s, ring, 11))
        w = s.sub(w, s.matmul(x.map(np.transpose), residual, 5))
    s.barrier("end")
    s.open(w)


def norms(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = matrix(s, ring)
    s.inner(x, x)
    s.mul(x, x, 5)


def held_block(s: Scheme, ring: PowerOfTwoRing) -> None:
    block = s.hold(matrix(s, ring)).block((slice(2, 9), slice(1, 5)))
    s.inner(block, block)
    s.matmul(block, vector(s, ring, 4), 5)


METERED: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "open to one": lambda s, r: s.open(vector(s, r), [1]),
    "announce": lambda s, r: s.announce("said", b"12345"),
    "product": lambda s, r: s.mul(matrix(s, r), vector(s, r, 7), 5),
    "squares": norms,
    "truncation": lambda s, r: s.truncate(vector(s, r), 5),
    "matmul": lambda s, r: s.matmul(vector(s, r, 11), matrix(s, r), 5),
    "bits to ring": lambda s, r: s.from_bits(s.boolean.random(3, 70), r),
    "bits": lambda s, r: s.to_bits(vector(s, r)),
    "sign": lambda s, r: s.sign_bits(vector(s, r)),
    "top bits": lambda s, r: s.top_bits(vector(s, r), 21),
    "squares of the high part": lambda s, r: s.high_squares(matrix(s, r), 9),
    "held block": held_block,
    "hold twice": lambda s, r: s.hold(s.hold(matrix(s, r))),
    "held on the right": lambda s, r: s.matmul(vector(s, r, 11), s.hold(matrix(s, r))),
    "held, element-wise": lambda s, r: s.mul(s.hold(matrix(s, r)), vector(s, r, 7)),
    "training": training,
    "noise": lambda s, r: discrete_laplace(Party(s, {}), (9,), 1000, r),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("parties", [2, 3, 4])
@pytest.mark.parametrize("name", METERED)
def test_the_meter_agrees_with_the_run(name: str, parties: int, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        METERED[name](s, ring)

    run = run_scheme("semi2k", program, parties=parties)
    meter = Meter(Semi2k, Semi2k.info.spec(parties))
    program(meter)
    assert meter.tally.bytes == run.everything().bytes_sent
    assert meter.tally.rounds == max(counts.total.rounds for counts in run.traffic)
