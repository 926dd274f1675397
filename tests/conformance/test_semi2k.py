"""``semi2k`` among two to five parties: results, held matrices, what the dealer hears, and programs that part ways."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint, Generator, PowerOfTwoRing, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.errors import PartyFailedError, TransportError
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.secret import SecretArray
from cofit.sharing import BitShare, Scheme, Share, scheme_named
from cofit.sharing.held import HeldShare
from cofit.sharing.meter import Meter
from cofit.sharing.semi2k import Semi2k
from statistical.sampling.checks import ALPHA, count_of
from support.runs import DEALER, TIMEOUT, run_scheme
from support.views import watched

RNG = np.random.default_rng(2024)
Named = dict[str, RingArray]


@pytest.fixture(params=[2, 3, 4, 5])
def parties(request: pytest.FixtureRequest) -> int:
    return int(request.param)


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


# --- results --------------------------------------------------------------------------------------------------------


def test_operations_equal_the_cleartext_twin(parties: int, ring: PowerOfTwoRing) -> None:
    x, y, w, v = elements(ring, 4, 5), elements(ring, 4, 5), elements(ring, 5), elements(ring, 4)

    def program(s: Scheme) -> Named:
        last = len(s.names) - 1
        a, b = put_in(s, ring, x), put_in(s, ring, y, last)
        row, column = put_in(s, ring, w, 1), put_in(s, ring, v)
        return opened(
            s,
            {
                "linear": s.sub(s.add(a, s.neg(b)), s.constant(ring, x)),
                "public": s.add_public(s.mul_public(a, w), w),
                "public matrices": s.add(s.matmul_public(a, w), s.rmatmul_public(x, row)),
                "product": s.mul(a, b),
                "broadcast": s.mul(a, row),
                "outer": s.mul(column.map(lambda part: part[:, None]), row),
                "plus": s.mul(a, b, plus=a),
                "square": s.mul(a, a),
                "matrix by vector": s.matmul(a, row, plus=column),
                "vector by matrix": s.matmul(column, b),
                "matrix by matrix": s.matmul(a, b.map(np.transpose)),
                "inner": s.inner(a, b),
                "squared norms": s.inner(a, a),
                "fresh": s.refresh(a),
                "sum": s.sum(s.select(a, [2, 0]), 1),
                "joined": s.concatenate([a, b], 1),
                "empty": s.mul(s.select(a, slice(0, 0)), s.select(b, slice(0, 0))),
            },
        )

    assert_equal(program, ring, parties)


def test_narrowing_equals_the_cleartext_twin(parties: int) -> None:
    x = elements(Z128, 9)
    assert_equal(lambda s: opened(s, {"narrow": s.narrow(put_in(s, Z128, x), Z64)}), Z64, parties)


def test_truncation_is_the_floor_or_one_more(parties: int, ring: PowerOfTwoRing) -> None:
    half = (ring.bits - 2) // 2 - 2
    x, y = elements(ring, 40, 5, magnitude_bits=half), elements(ring, 40, 5, magnitude_bits=half)
    edge = 1 << (ring.bits - 2)
    extremes = ring.from_int(np.array([-edge, edge - 1, -1, 0, 1] * 20, dtype=object))

    def program(s: Scheme) -> Named:
        a, b, far = put_in(s, ring, x), put_in(s, ring, y), put_in(s, ring, extremes)
        row = s.select(b, 0)
        return opened(
            s,
            {
                **{f"extremes by {shift}": s.truncate(far, shift) for shift in (1, 7, ring.bits - 2)},
                "product": s.mul(a, b, half, a),
                "square": s.mul(a, a, half),
                "matrix": s.matmul(a, row, half),
                "inner": s.inner(a, b, half),
                "squared norms": s.inner(a, a, half),
                "held": s.matmul(s.hold(s.refresh(a)), row, half),
            },
        )

    for name, got, want in against_clear(program, ring, parties):
        assert set((got - want).flat) <= {0, 1}, name


def test_bits_equal_the_cleartext_twin(parties: int, ring: PowerOfTwoRing) -> None:
    x = np.concatenate([elements(ring, 68), ring.from_int(np.array([0, -1, 1]))])

    def program(s: Scheme) -> Named:
        a = put_in(s, ring, x)
        bits, sign = s.to_bits(a), s.sign_bits(a)
        low, high = s.select_rows(bits, slice(0, 3)), s.select_rows(bits, slice(3, 6))
        logic = s.stack_rows([s.and_(low, high), s.xor(low, high), s.not_(low), s.and_(low, low)])
        return opened(
            s, {"bits": s.from_bits(bits, ring), "sign": s.from_bits(sign, ring), "logic": s.from_bits(logic, ring)}
        )

    assert_equal(program, ring, parties)


def test_random_bits_are_fair_bits_in_both_worlds(parties: int) -> None:
    def program(s: Scheme) -> tuple[npt.NDArray[np.uint8] | None, RingArray | None]:
        bits = s.random_bits(2, 5000)
        return s.open_bits(bits), s.open(s.from_bits(bits, Z64))

    results = run_scheme("semi2k", program, parties=parties).results
    bits, as_elements = results[0]
    assert bits is not None
    assert as_elements is not None
    np.testing.assert_array_equal(bits, Z64.to_int(as_elements))
    assert count_of(bits.reshape(-1) == 1, 0.5) > ALPHA
    assert all(np.array_equal(bits, other) for other, _ in results if other is not None)


def test_inputs_and_openings_to_some(parties: int, ring: PowerOfTwoRing) -> None:
    dealt = elements(ring, 3, 4)
    own = [elements(ring, 2) for _ in range(parties)]

    def program(s: Scheme) -> list[RingArray | None]:
        shares = [put_in(s, ring, own[rank], rank) for rank in range(parties)]
        owner = s.receive_input("owner", ring, (3, 4)).expand()
        return [s.open(owner), *(s.open(share, [rank]) for rank, share in enumerate(shares))]

    results = run_scheme("semi2k", program, deal={"x": (ring, dealt)}, parties=parties).results
    for rank, (everybodys, *mine) in enumerate(results):
        np.testing.assert_array_equal(everybodys, dealt)
        for other, values in enumerate(mine):
            if other == rank:
                np.testing.assert_array_equal(values, own[rank])
            else:
                assert values is None


def test_two_expansions_of_a_dealt_value_are_two_values_for_the_dealer_too(ring: PowerOfTwoRing) -> None:
    x = elements(ring, 6)

    def program(s: Scheme) -> RingArray | None:
        dealt = s.receive_input("owner", ring, (6,))
        return s.open(s.mul(dealt.expand(), dealt.expand()))

    for result in run_scheme("semi2k", program, deal={"x": (ring, x)}).results:
        np.testing.assert_array_equal(result, ring.mul(x, x))


# --- held matrices --------------------------------------------------------------------------------------------------


def test_products_with_a_held_matrix(parties: int, ring: PowerOfTwoRing) -> None:
    x, w, v, m = elements(ring, 6, 4), elements(ring, 4), elements(ring, 6), elements(ring, 4, 3)

    def program(s: Scheme) -> Named:
        held = s.hold(put_in(s, ring, x))
        assert (s.info.name == "semi2k") == isinstance(held, HeldShare)
        row, column, matrix = put_in(s, ring, w), put_in(s, ring, v), put_in(s, ring, m)
        transposed = held.map(np.transpose)
        return opened(
            s,
            {
                "vector": s.matmul(held, row),
                "again": s.matmul(held, s.add(row, row), plus=column),
                "transposed": s.matmul(transposed, column),
                "matrix": s.matmul(held, matrix),
                "squared norms": s.inner(held, held),
                "squared norms again": s.inner(held, held),
                "of columns": s.inner(transposed, transposed),
                "inner": s.inner(held, put_in(s, ring, x)),
                "rows": s.matmul(held.map(lambda part: part[1:3]), row),
                "held on the right": s.matmul(column, held),
                "with itself": s.matmul(held, held.map(np.transpose)),
                "held again": s.matmul(s.hold(held), row),
                "still": s.matmul(held, row),
            },
        )

    assert_equal(program, ring, parties)


def test_a_held_matrix_is_an_ordinary_share_in_all_the_rest(parties: int) -> None:
    x, y = elements(Z128, 6, 4, magnitude_bits=60), elements(Z128, 6, 4, magnitude_bits=60)

    def program(s: Scheme) -> Named:
        held, other = s.hold(put_in(s, Z128, x)), put_in(s, Z128, y)
        bits = s.from_bits(s.to_bits(held), Z128)
        shares = {
            "open": held,
            "add": s.add(held, other),
            "sub": s.sub(other, held),
            "neg": s.neg(held),
            "public": s.mul_public(s.add_public(held, x), x),
            "public matrix": s.rmatmul_public(x[0, :1, None], s.select(held, [0])),
            "mul": s.mul(held, other),
            "square": s.mul(held, held),
            "mul plus": s.mul(other, other, plus=held),
            "select": s.select(held, ([0, 2], slice(1, 3))),
            "sum": s.sum(held, 0),
            "concatenate": s.concatenate([held, other, held], 1),
            "refresh": s.refresh(held),
            "bits": bits,
            "sign": s.from_bits(s.sign_bits(held), Z128),
        }
        truncated = s.truncate(held, 0)
        party = Party(s, {})
        value = SecretArray(s, held, FixedPoint(10, Z128), 1 << 61)
        stored = party.import_share(party.export_share(value))
        narrow = s.narrow(held, Z64)
        return {
            **opened(s, {**shares, "no truncation": truncated, "exported": stored._share}),
            "narrow": Z128.from_int(Z64.to_int(_some(s.open(narrow), narrow))),
        }

    assert_equal(program, Z128, parties)


def _some(values: RingArray | None, share: Share) -> RingArray:
    return share.ring.zeros(share.shape) if values is None else values


def test_truncation_of_a_held_matrix(parties: int, ring: PowerOfTwoRing) -> None:
    x = elements(ring, 6, 4, magnitude_bits=40)

    def program(s: Scheme) -> Named:
        held = s.hold(put_in(s, ring, x))
        return opened(s, {"truncate": s.truncate(held, 9), "of the transpose": s.truncate(held.map(np.transpose), 9)})

    for name, got, want in against_clear(program, ring, parties):
        assert set((got - want).flat) <= {0, 1}, name


def test_holding_touches_no_memory_but_its_operands(ring: PowerOfTwoRing) -> None:
    x = elements(ring, 40, 7)

    def program(s: Scheme) -> Named:
        whole = put_in(s, ring, x)
        rows = s.hold(whole.map(lambda part: part[:20]))
        s.hold(rows)
        s.hold(rows.map(lambda part: part[3:]))
        return opened(s, {"whole": whole, "rows": rows, "matvec": s.matmul(rows, s.select(whole, 30))})

    assert_equal(program, ring, 2)


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
    return [s.open(z), s.open(bits), s.open_bits(s.sign_bits(x)), s.open(x, [0])]


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

    def random_bits(self, rows: int, count: int) -> BitShare:
        return BitShare(Share(BITS, (self._source.matrix(BITS, (rows, packed_length(count))),)), count)


class BitsFromCommonSeeds(Semi2k):
    """What must not be: noise that the other parties could compute."""

    def random_bits(self, rows: int, count: int) -> BitShare:
        shape = (rows, packed_length(count))
        drawn = self._zero(BITS, shape)
        return BitShare(Share(BITS, (drawn if self.rank == 0 else BITS.zeros(shape),)), count)


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
        bits = s.open_bits(s.random_bits(1, 4096))
        return bits, s._source.matrix(Z64, (4,)) if isinstance(s, Semi2k) else None

    numbers = iter(range(10, 10 + parties))
    seeds = mock.patch("cofit.sharing.semi2k_dealer.fresh_seed", side_effect=lambda: bytes([next(numbers)] * 32))
    session = mock.patch("support.runs.secrets.token_bytes", side_effect=bytes)
    fresh = mock.patch("cofit.sharing.semi2k.fresh_seed", side_effect=lambda: os.urandom(32))
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
    assert agreement(Semi2k, parties, honest) > ALPHA
    assert agreement(BitsFromTheDealersSeeds, parties, honest) < ALPHA
    assert agreement(BitsFromCommonSeeds, parties, honest) < ALPHA


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


METERED: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "open to one": lambda s, r: s.open(vector(s, r), [1]),
    "announce": lambda s, r: s.announce("said", b"12345"),
    "product": lambda s, r: s.mul(matrix(s, r), vector(s, r, 7), 5),
    "squares": norms,
    "truncation": lambda s, r: s.truncate(vector(s, r), 5),
    "matmul": lambda s, r: s.matmul(vector(s, r, 11), matrix(s, r), 5),
    "bits to ring": lambda s, r: s.from_bits(s.random_bits(3, 70), r),
    "bits": lambda s, r: s.to_bits(vector(s, r)),
    "sign": lambda s, r: s.sign_bits(vector(s, r)),
    "hold twice": lambda s, r: s.hold(s.hold(matrix(s, r))),
    "held on the right": lambda s, r: s.matmul(vector(s, r, 11), s.hold(matrix(s, r))),
    "held, element-wise": lambda s, r: s.mul(s.hold(matrix(s, r)), vector(s, r, 7)),
    "training": training,
    "noise": lambda s, r: discrete_laplace(Party(s, {}), (9,), 1000, r),
}


@pytest.mark.parametrize("parties", [2, 3, 4])
@pytest.mark.parametrize("name", METERED)
def test_the_meter_agrees_with_the_run(name: str, parties: int, ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        METERED[name](s, ring)

    run = run_scheme("semi2k", program, parties=parties)
    meter = Meter(scheme_named("semi2k"), parties)
    program(meter)
    assert meter.tally.bytes == run.everything().bytes_sent
    assert meter.tally.rounds == max(counts.total.rounds for counts in run.traffic)


# --- programs that part ways ----------------------------------------------------------------------------------------


def secret(s: Scheme, *values: int) -> Share:
    return put_in(s, Z64, Z64.from_int(np.array(values)))


def first_opened(s: Scheme, value: int) -> int:
    """A public number: at the dealer it is 0."""
    return int(_some(s.open(secret(s, value)), secret(s, value))[0])


def product(s: Scheme) -> object:
    return s.open(s.mul(secret(s, 3), secret(s, 4)))


def more_steps(s: Scheme) -> object:
    return product(s) if first_opened(s, 1) else None


def more_steps_before_an_announcement(s: Scheme) -> object:
    result = product(s) if first_opened(s, 1) else None
    s.barrier("end")
    return result


def fewer_steps_before_an_announcement(s: Scheme) -> object:
    result = None if first_opened(s, 1) else product(s)
    s.barrier("end")
    return result


def another_step(s: Scheme) -> object:
    return product(s) if first_opened(s, 1) else s.open(s.truncate(secret(s, 3), 1))


def another_shift(s: Scheme) -> object:
    return s.open(s.truncate(secret(s, 1000, 5000), 1 + first_opened(s, 3)))


def a_square(s: Scheme) -> object:
    x, y = secret(s, 3), secret(s, 4)
    return s.open(s.mul(x, x if first_opened(s, 1) else y))


def a_transpose(s: Scheme) -> object:
    x = s.hold(secret(s, 1, 2, 3, 4).map(lambda part: part.reshape(2, 2)))
    return s.open(s.matmul(x.map(np.transpose) if first_opened(s, 1) else x, secret(s, 1, 10)))


def another_broadcast(s: Scheme) -> object:
    row, column = (1, 4), (4, 1)
    shapes = (row, column) if first_opened(s, 1) else (column, row)
    a, b = (secret(s, 1, 2, 3, 4).map(lambda part, to=shape: part.reshape(to)) for shape in shapes)  # type: ignore[misc]
    return s.open(s.mul(a, b))


def another_length(s: Scheme) -> object:
    bits = s.random_bits(1, 3 if first_opened(s, 1) else 4)
    return s.open(s.from_bits(bits, Z64))


BRANCHING = [
    more_steps,
    more_steps_before_an_announcement,
    fewer_steps_before_an_announcement,
    another_step,
    another_shift,
    a_square,
    a_transpose,
    another_broadcast,
    another_length,
]


TOLD = "must not branch on one|bytes for 'from_bits'|'dealer' closed the connection"


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("program", BRANCHING, ids=lambda program: program.__name__)
def test_a_program_that_branches_on_an_opened_value_stops_at_once(
    program: Callable[[Scheme], object], parties: int
) -> None:
    began = time.monotonic()
    with pytest.raises(TransportError, match=TOLD) as caught:
        run_scheme("semi2k", program, parties=parties)
    assert time.monotonic() - began < TIMEOUT / 4, "the parties waited for each other"
    assert "dealer" in str(caught.value)


def test_steps_that_the_dealer_alone_takes_change_nothing() -> None:
    def program(s: Scheme) -> RingArray | None:
        x = secret(s, 7)
        if not first_opened(s, 1):
            x = s.mul(x, x)
        return s.open(x)

    assert [int(_some(r, Share(Z64, (Z64.zeros((1,)),)))[0]) for r in run_scheme("semi2k", program).results] == [7, 7]


def branches(party: Party) -> object:
    x = party.constant(np.array([1.0]), FixedPoint(20))
    if party.open(x, reason="a test")[0] > 0:
        x = x * x
    return party.open(x, reason="a test")


def test_a_user_is_told_that_a_program_must_not_branch() -> None:
    with pytest.raises(PartyFailedError, match="must not branch on one"):
        run_local(branches, scheme="semi2k", timeout=TIMEOUT)


def one_more_draw(s: Scheme) -> None:
    s.refresh(secret(s, 1))


def one_more_correlation(s: Scheme) -> None:
    assert isinstance(s, Semi2k)
    s._source.matrix(Z64, (1,))


@pytest.mark.parametrize("extra", [one_more_draw, one_more_correlation])
@pytest.mark.parametrize(("parties", "rank"), [(2, 0), (2, 1), (3, 0), (3, 2)])
def test_parties_whose_streams_are_apart_stop(extra: Callable[[Scheme], None], parties: int, rank: int) -> None:
    def program(s: Scheme) -> object:
        a, b = secret(s, 3), secret(s, 4)
        if s.rank == rank:
            extra(s)
        return s.mul(a, b)

    with pytest.raises(TransportError, match="another step"):
        run_scheme("semi2k", program, parties=parties)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_parties_that_truncate_by_different_shifts_stop(rank: int) -> None:
    with pytest.raises(TransportError, match="another step"):
        run_scheme("semi2k", lambda s: s.truncate(secret(s, 1000), 3 if s.rank == rank else 4), parties=3)
