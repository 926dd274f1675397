"""Correlated randomness made ahead, from the demand that a run without values recorded; and sources that send."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import ProtocolError, TransportError
from cofit.learn.recipes.minimiser.program import train
from cofit.protocols import divide, sigmoid
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.secret import Party, SecretArray
from cofit.sharing import Scheme, Share, scheme_named
from cofit.sharing.correlations import (
    Bits,
    Correlations,
    Demand,
    HeldProduct,
    Product,
    Request,
    Travelling,
    Truncation,
)
from cofit.sharing.known_inputs import assembled, components_of
from cofit.sharing.registry import recorded_demand
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.semi2k.from_dealer import Dealing, Exchange, FromDealer
from cofit.sharing.semi2k.party import Semi2k
from cofit.sharing.semi2k.sources import SOURCES
from support.runs import Run, run_scheme
from support.training import COIN, contributions, planned

CHUNK = 1 << 20
FORMAT = FixedPoint(20)
Program = Callable[[Scheme], Any]


def matrix(s: Scheme) -> Share:
    return s.constant(Z64, Z64.from_int(np.arange(35).reshape(7, 5)))


def held(s: Scheme) -> Any:
    """A held matrix, its transpose and a part of it, in products of every kind."""
    x = s.hold(matrix(s))
    w = s.constant(Z64, Z64.from_int(np.arange(5)))
    z = s.matmul(x, w)
    part = x.block((slice(2, 6), slice(1, 4)))
    narrow = s.matmul(part, s.select(w, slice(0, 3)))
    back = s.matmul(part.map(np.transpose), narrow)
    sums = [s.matmul(x.map(np.transpose), z, 3), s.inner(x, x), s.inner(x, matrix(s), 2), back]
    return [Z64.to_int(opened).astype(float) for value in sums if (opened := s.open(value)) is not None]


def functions(s: Scheme) -> Any:
    party = Party(s, {})
    x = party.constant(np.linspace(0.5, 2, 9), FORMAT)
    results = [divide(x, x, quotient_bound=8.0), sigmoid(x * 100), x.inner(x), x * x]
    return [1000 * party.open(value, reason="a test") for value in results]


def noise(s: Scheme) -> Any:
    """Numbers from their digits, tables that are looked up: only the range of the result is known."""
    party = Party(s, {})
    drawn: SecretArray = discrete_laplace(party, (40,), 5, Z64)
    opened = party.open(drawn, reason="a test")
    return [float(np.abs(opened).max() < 1000)]


def known(s: Scheme) -> Any:
    """A matrix of which every party knows some rows."""
    blocks = [Z64.from_int(np.arange(12).reshape(3, 4) + 100 * rank) for rank in range(len(s.names))]
    inputs = s.inputs(s.spec)
    pieces = [
        (
            inputs.known(Z64, (3, 4), s.rank, rank, block if rank == s.rank else None),
            (slice(3 * rank, 3 * rank + 3), slice(0, 4)),
        )
        for rank, block in enumerate(blocks)
    ]
    x = s.hold(s.expand_joined(Z64, (3 * len(blocks), 4), pieces))
    w = s.constant(Z64, Z64.from_int(np.arange(4)))
    sums = [s.matmul(x, w), s.inner(x, x), s.matmul(x.map(np.transpose), s.matmul(x, w))]
    return [Z64.to_int(opened).astype(float) for value in sums if (opened := s.open(value)) is not None]


PROGRAMS: dict[str, Program] = {"held": held, "known": known, "functions": functions, "noise": noise}


def demand_of(program: Program, parties: int | None = None) -> Demand:
    return recorded_demand(Semi2k.info.spec(parties), program)


def prepared(program: Program, demand: Demand) -> Program:
    def run(s: Scheme) -> Any:
        assert isinstance(s, Semi2k | Semi2kDealer)
        with s.label("ahead"):
            s.prepare(demand)
        assert s._source.prepared == len(demand)
        result = program(s)
        assert s._source.prepared == 0, "something was handed out twice, or not at all"
        return result

    return run


def alike(run: Run[Any], other: Run[Any]) -> bool:
    """Whether both opened the same everywhere, but for what truncation rounds."""
    pairs = zip(run.results, other.results, strict=True)
    return all(np.allclose(a, b, atol=1, rtol=0) for got, wanted in pairs for a, b in zip(got, wanted, strict=True))


def counted(run: Run[Any], label: str) -> tuple[int, int]:
    """Rounds at the party that waits most, and bytes of all members: of the labels that begin so, or do not."""
    wanted = [
        [counts[name] for name in counts if name.startswith("ahead") == (label == "ahead")]
        for counts in (*run.traffic, run.dealer)
        if counts is not None
    ]
    return max(sum(c.rounds for c in own) for own in wanted), sum(c.bytes_sent for own in wanted for c in own)


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_made_ahead_gives_the_same_and_the_dealer_is_silent_afterwards(name: str, parties: int) -> None:
    program = PROGRAMS[name]
    demand = demand_of(program, parties)
    now = run_scheme("semi2k", program, parties=parties)
    run = run_scheme("semi2k", prepared(program, demand), parties=parties)
    assert alike(run, now)
    assert now.dealer is not None and run.dealer is not None
    dealt = now.dealer.total.bytes_sent
    assert {label for label in run.dealer if run.dealer[label].bytes_sent} <= {"ahead/prepare"}
    rounds, sent = counted(run, "ahead")
    assert (rounds, sent) == (math.ceil(dealt / CHUNK), dealt), "what was made ahead came in one stream"
    before, after = counted(now, "online"), counted(run, "online")
    assert after[1] == before[1] - dealt
    alone = sum(1 for request in demand if isinstance(request, HeldProduct) and request.right is None)
    assert after[0] == before[0] - alone, "squares of a held matrix wait for the dealer alone"


def test_training_runs_on_a_demand_that_was_recorded() -> None:
    rng = np.random.default_rng(3)
    plan = planned(40, 3, mechanism="laplace")
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    owners, holders = contributions(plan, x / np.abs(x).max(), y)
    encoded = {
        (owner, name): (given.format.ring, given.format.encode(given.values, given.bound))
        for owner, named in owners.items()
        for name, given in named.items()
    }
    kind = scheme_named("semi2k")
    sent = {
        key: {
            c.facts: b"".join(map(bytes, c.content()))
            for c in components_of(kind, kind.info.spec(2), ring, values, bytes(32), None)
        }
        for key, (ring, values) in encoded.items()
    }

    def program(s: Scheme) -> npt.NDArray[np.float64]:
        party = Party(s, {owner: {name: c.facts() for name, c in named.items()} for owner, named in owners.items()})
        for (owner, name), (ring, values) in encoded.items():
            mine = {f.name: memoryview(data) for f, data in sent[owner, name].items() if s.rank in f.ranks}
            party.take(owner, name, assembled(type(s), s.spec, ring, values.shape, s.rank, mine, None))
        return np.asarray(party.open(train(party, plan, holders, COIN), reason="a test"), np.float64)

    demand = demand_of(program)
    now, run = run_scheme("semi2k", program), run_scheme("semi2k", prepared(program, demand))
    assert np.array_equal(*run.results)
    assert np.allclose(run.results[0], now.results[0], atol=1e-4) and np.any(run.results[0] != 0)
    assert now.dealer is not None and run.dealer is not None
    dealt = run.dealer["ahead/prepare"].bytes_sent
    assert run.dealer.total.bytes_sent == dealt == now.dealer.total.bytes_sent, "the dealer spoke while they trained"
    alone = sum(1 for request in demand if isinstance(request, HeldProduct) and request.right is None)
    assert counted(run, "online")[0] == counted(now, "online")[0] - alone
    assert counted(run, "ahead")[0] == math.ceil(dealt / CHUNK)


@pytest.mark.parametrize("cut", [1, 3, 8])
def test_a_part_is_made_ahead_and_the_rest_when_it_is_asked_for(cut: int) -> None:
    demand = demand_of(held)
    run, now = run_scheme("semi2k", prepared(held, demand[:cut])), run_scheme("semi2k", held)
    assert alike(run, now)

    def in_two_parts(s: Scheme) -> Any:
        s.prepare(demand[:cut])
        s.prepare(demand[cut:])
        return held(s)

    assert alike(run_scheme("semi2k", in_two_parts), now)


def test_a_program_that_asks_for_something_else_is_stopped() -> None:
    def other(s: Scheme) -> Any:
        return s.open(s.truncate(matrix(s), 4))

    demand = demand_of(lambda s: s.open(s.truncate(matrix(s), 5)))
    with pytest.raises((ProtocolError, TransportError), match=r"was prepared|stopped the run"):
        run_scheme("semi2k", prepared(other, demand))


def test_after_that_nothing_of_what_was_prepared_is_handed_out() -> None:
    def program(s: Scheme) -> str:
        s.prepare(demand)
        with pytest.raises(ProtocolError, match=r"asks for \w+ Z_2\^64 \(.*\), and \w+ Z_2\^64 \(.*\) was prepared"):
            s.truncate(matrix(s), 4)
        with pytest.raises(ProtocolError, match="was prepared"):
            s.truncate(matrix(s), 5)
        with pytest.raises(ProtocolError, match="was prepared"):
            s.prepare(demand)
        return "stopped"

    demand = demand_of(lambda s: [s.truncate(matrix(s), 5) for _ in range(3)])
    assert run_scheme("semi2k", program).results == ["stopped", "stopped"]


def test_equal_requests_get_different_randomness() -> None:
    """Of the kinds that mask a message: the same mask twice would show the difference of two values."""

    def program(s: Scheme) -> None:
        assert isinstance(s, Semi2k | Semi2kDealer)
        s.prepare(demand)
        made: list[Any] = [s._source.ask(request) for request in demand]
        if isinstance(s, Semi2k):
            first = [getattr(mask, name).tobytes() for mask, name in zip(made, names, strict=True)]
            assert len(set(first)) == len(first)

    kinds: dict[str, Request[Any]] = {
        "left": Product(Z64, "mul", (8,), (8,), (8,)),
        "mask": Truncation(Z64, (8,), 5),
        "words": Bits(Z64, 1, 64),
    }
    demand = tuple(request for request in kinds.values() for _ in range(3))
    names = [name for name in kinds for _ in range(3)]
    run_scheme("semi2k", program)


def test_two_things_before_a_message_are_refused() -> None:
    """The last party would read what no message fills."""

    def program(s: Scheme) -> bool:
        assert isinstance(s, Semi2k | Semi2kDealer)
        request = Truncation(Z64, (8,), 5)
        s._source.ask(request)
        if s.rank != 1 or isinstance(s, Semi2kDealer):
            return True
        with pytest.raises(ProtocolError, match="before a message"):
            s._source.ask(request)
        return True

    run_scheme("semi2k", program)


def test_parties_with_different_demands_stop() -> None:
    def program(s: Scheme) -> Any:
        s.prepare(demands[s.rank == 0])
        return s.open(s.mul(s.constant(Z64, Z64.zeros((4,))), s.constant(Z64, Z64.zeros((4,)))))

    def product(s: Scheme) -> Any:
        return s.mul(s.constant(Z64, Z64.zeros((4,))), s.constant(Z64, Z64.zeros((4,))))

    demands = [demand_of(product), demand_of(lambda s: (product(s), s.truncate(matrix(s), 3)))]
    with pytest.raises(TransportError, match="another step"):
        run_scheme("semi2k", program)


@pytest.mark.parametrize("scheme", ["clear", "rep3", "rep4"])
def test_schemes_without_a_source_have_nothing_to_prepare(scheme: str) -> None:
    def program(s: Scheme) -> Any:
        s.prepare(demand)
        return functions(s)

    demand = recorded_demand(scheme_named(scheme).info.spec(), functions)
    assert demand == ()
    assert alike(run_scheme(scheme, program), run_scheme(scheme, functions))


# --- a source that sends as well as it receives ----------------------------------------------------------


class FromTheFirst(Correlations):
    """No dealer: the first party makes what fits and sends it along. For tests: it knows all masks."""

    def __init__(self, exchange: Exchange, rank: int, parties: int) -> None:
        super().__init__()
        self._end: Correlations = FromDealer(exchange, rank, parties)
        self._rank, self._last, self._outside = rank, parties - 1, parties
        self._maker = Dealing(exchange, parties) if rank == 0 else None

    def start(self, session: bytes) -> None:
        seeds = [bytes([9 + rank] * 32) for rank in range(self._outside)]
        assert isinstance(self._end, FromDealer)
        self._end._seed[:] = np.frombuffer(seeds[self._rank], np.uint8)
        self._end.start(session)
        if self._maker is not None:
            self._maker._seeds = seeds
            self._maker.start(session)

    def position(self, rank: int) -> int:
        return self.asked

    def travelling(self) -> Travelling:
        awaited = self._end.travelling().receive.get(self._outside)
        out = self._maker.travelling().send if self._maker is not None else {}
        if not self.asked:
            return Travelling({}, {})
        return Travelling(out, {} if awaited is None else {0: awaited})

    def _make(self, request: Request[Any]) -> Any:
        if self._maker is not None:
            known = self._maker.ask(self._maker._resolved(request))
            del known
        return self._end.ask(request)

    def _make_ahead(self, demand: Sequence[Request[Any]]) -> Sequence[Any]:
        pytest.fail("this source makes nothing ahead")


class Alone(Semi2k):
    """``semi2k`` without a dealer, on such a source."""

    info = replace(Semi2k.info, name="alone", correlations="first", knows_inputs=False)


@pytest.mark.parametrize("parties", [2, 3])
def test_a_source_among_the_parties_sends_in_the_same_exchanges(parties: int) -> None:
    def program(s: Scheme) -> Any:
        party = Party(s, {})
        x = party.constant(np.linspace(0.5, 2, 9), FORMAT)
        results = [divide(x, x, quotient_bound=8.0), x.inner(x), x * x]
        return [1000 * party.open(value, reason="a test") for value in results]

    with mock.patch.dict(SOURCES, {"first": FromTheFirst}):
        run = run_scheme(Alone, program, parties=parties)
    now = run_scheme("semi2k", program, parties=parties)
    assert alike(run, now)
    assert run.dealer is None
    assert max(c.total.rounds for c in run.traffic) == max(c.total.rounds for c in now.traffic)
