"""Whatever n - 1 parties of ``semi2k`` receive is hidden by draws from the dealer's seed of the one that is left.

They see the messages of the honest party and, if the last party is among them, those of the dealer; of all seeds they
lack only the one that the dealer gave the honest party. Fewer parties see less and lack more. How the argument is
found: see ``support.masks``. An opening is no secret, but its summands are: for these, one of three parties at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.semi2k.party import Semi2k
from support.forms import FORMS, form_of
from support.known import partly_known
from support.masks import Recorder, constant, unsettled
from support.runs import run_scheme

N = 16


class Scripted(Generator):
    """The stream of a fixed seed, with one draw shifted; some draws are zero, or those of an earlier place again."""

    __slots__ = ("drawn", "repeat", "shifted", "zero")

    def __init__(self, seed: int, shifted: int | None, zero: int | None, repeat: tuple[int, int] | None) -> None:
        super().__init__(bytes([seed + 1] * 32))
        self.drawn: list[RingArray] = []
        self.shifted, self.zero, self.repeat = shifted, zero, repeat

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn, place = super().ring(ring, shape), len(self.drawn)
        if place == self.shifted:
            drawn = ring.add(drawn, constant(ring, shape))
        if place == self.zero:
            drawn = ring.zeros(shape)
        if self.repeat is not None and place == self.repeat[1]:
            drawn = self.drawn[self.repeat[0]].reshape(shape)
        self.drawn.append(drawn)
        return drawn


def shared(s: Scheme, ring: Ring, shape: Shape, salt: int) -> Share:
    """A fixed sharing with random-looking summands, made without any message."""
    count = len(s.names)
    summands = [Generator(bytes([100 + salt + i] * 32)).ring(ring, shape) for i in range(count)]
    if isinstance(ring, PowerOfTwoRing):  # small values, so that truncation is within its domain
        summands[0] = ring.from_int(np.full(shape, 12345 + salt))
        for other in summands[1:]:
            summands[0] = ring.sub(summands[0], other)
    return Share(ring, (summands[s.rank] if s.rank < count else summands[0],))


def numbers(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N,), salt)


def square(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (4, 4), salt)


def words(s: Scheme, salt: int) -> BitShare:
    return PackedBits(shared(s, BITS, (N, 1), salt), 64)


def squared(s: Scheme, ring: PowerOfTwoRing) -> None:
    a, rows = numbers(s, ring, 0), square(s, ring, 20)
    s.mul(a, a)
    s.inner(rows, rows, 9)


def held_products(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0))
    s.matmul(x, square(s, ring, 10))
    s.matmul(x, square(s, ring, 20))


def held_transposes(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0))
    z = s.matmul(x, square(s, ring, 10), 9)
    s.matmul(x.map(np.transpose), z, 9)


def held_norms(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0))
    s.inner(x, x, 9)
    s.inner(x, x)


def held_elsewhere(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0))
    s.truncate(s.mul(x, x), 9)
    s.truncate(x, 3)


def two_held(s: Scheme, ring: PowerOfTwoRing) -> None:
    s.hold(square(s, ring, 0))
    s.hold(square(s, ring, 10))


def known_products(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(partly_known(s, square(s, ring, 0), axis=0))
    z = s.matmul(x, square(s, ring, 10), 9)
    s.matmul(x.map(np.transpose), z, 9)


def known_columns(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(partly_known(s, square(s, ring, 0), axis=1))
    s.matmul(x, square(s, ring, 10))
    s.matmul(x.map(np.transpose), square(s, ring, 20), 9)


def known_in_part(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(partly_known(s, square(s, ring, 0), axis=1, unknown=True))
    s.inner(x, x, 9)
    s.matmul(x, square(s, ring, 10))


def known_norms(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(partly_known(s, square(s, ring, 0), axis=0))
    s.inner(x, x, 9)
    s.inner(x, square(s, ring, 10))


def known_elsewhere(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = partly_known(s, square(s, ring, 0), axis=0)
    s.mul(x, x, 9)
    s.truncate(s.hold(x), 3)


def two_known(s: Scheme, ring: PowerOfTwoRing) -> None:
    s.hold(partly_known(s, square(s, ring, 0), axis=0))
    s.hold(partly_known(s, square(s, ring, 10), axis=0))


def two_truncations(s: Scheme, ring: PowerOfTwoRing) -> None:
    s.truncate(s.truncate(numbers(s, ring, 0), 9), 3)


OPERATIONS: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "product": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10)),
    "product plus and truncation": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), 9, numbers(s, r, 20)),
    "squares": squared,
    "matrix product and truncation": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), shift=9),
    "inner products": lambda s, r: s.inner(square(s, r, 0), square(s, r, 10)),
    "truncations": two_truncations,
    "two held matrices": two_held,
    "products with a held matrix": held_products,
    "held matrix and its transpose": held_transposes,
    "squared norms of a held matrix": held_norms,
    "held matrix as an ordinary share": held_elsewhere,
    "known rows and their transpose": known_products,
    "known columns": known_columns,
    "columns known in part": known_in_part,
    "squared norms of known rows": known_norms,
    "known rows as ordinary shares": known_elsewhere,
    "two matrices with known rows": two_known,
    "and": lambda s, r: s.boolean.and_(words(s, 0), words(s, 10)),
    "bits to elements": lambda s, r: s.from_bits(words(s, 0), r),
    "elements to bits": lambda s, r: s.to_bits(shared(s, r, (64,), 0)),
    "signs": lambda s, r: s.sign_bits(shared(s, r, (64,), 0)),
    "signs of a proven range": lambda s, r: s.sign_bits(shared(s, r, (64,), 0), bits=25),
    "top bits": lambda s, r: s.top_bits(shared(s, r, (64,), 0), 20),
    **{f"form: {name}": lambda s, r, name=name: form_of(s, shared, name) for name in FORMS},  # type: ignore[misc]
}
CASES = [(name, ring, n) for name in OPERATIONS for ring, n in ((Z64, 2), (Z64, 3))]
CASES += [(name, Z128, 2) for name in OPERATIONS if name not in ("and", "elements to bits") and "form" not in name]
MANY_MESSAGES = ("top bits", "signs", "elements to bits")


def long(operation: str, ring: PowerOfTwoRing, parties: int) -> bool:
    """Bits of wide numbers are many messages, of which three parties or more bits are no other kind; and what
    truncates nothing sends the same messages in either ring."""
    many = operation in MANY_MESSAGES and (ring, parties) != (Z64, 2)
    return many or (ring is Z128 and "truncation" not in operation)


QUICK = [pytest.param(*case, marks=[pytest.mark.slow] if long(*case) else []) for case in CASES]


def messages(
    operation: str,
    ring: PowerOfTwoRing,
    parties: int,
    honest: int,
    shifted: int | None = None,
    zero: int | None = None,
    repeat: tuple[int, int] | None = None,
) -> tuple[list[RingArray], list[RingArray]]:
    """What all parties but one are sent from outside, one array for each masked value; and the draws of its seed.

    ``shifted``, ``zero``, ``repeat``: draws from that seed that are changed, at both ends.
    """
    seen: dict[int, list[tuple[int, RingArray]]] = {}
    draws: list[RingArray] = []

    def stream(rank: int) -> Scripted:
        return Scripted(rank, shifted, zero, repeat) if rank == honest else Scripted(rank, None, None, None)

    class Instrumented(Recorder, Semi2k):
        def setup(self) -> None:
            super().setup()
            self._source._stream = stream(self.rank)  # type: ignore[attr-defined]
            seen[self.rank] = []

        def _opened(self, operation: str, ring: Ring, own: Sequence[RingArray]) -> list[RingArray]:
            self.sizes = [array.size for array in own]
            return super()._opened(operation, ring, own)

        def received(self, operation: str, arrays: Mapping[int, RingArray]) -> None:
            for rank, array in arrays.items():
                if rank == parties:
                    seen[self.rank].append((rank, array.copy()))
                else:
                    sizes = [array.size] if operation == "hold" else self.sizes
                    pieces = np.split(array.reshape(-1), np.cumsum(sizes)[:-1])
                    seen[self.rank] += [(rank, piece.copy()) for piece in pieces]

    class InstrumentedDealer(Semi2kDealer):
        def setup(self) -> None:
            super().setup()
            self._source._streams = [stream(rank) for rank in range(parties)]  # type: ignore[attr-defined]

    def program(s: Scheme) -> None:
        OPERATIONS[operation](s, ring)
        if isinstance(s, Semi2k) and s.rank == honest:
            draws.extend(s._source._stream.drawn)  # type: ignore[attr-defined]

    with mock.patch("support.runs.dealer_of", return_value=InstrumentedDealer):
        run_scheme(Instrumented, program, parties=parties)
    others = [rank for rank in range(parties) if rank != honest]
    from_honest = [[array for sender, array in seen[rank] if sender == honest] for rank in others]
    for copies in from_honest[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(copies, from_honest[0], strict=True)), "not the same for all"
    from_dealer = [array for rank in others for sender, array in seen[rank] if sender == parties]
    return from_honest[0] + from_dealer, draws


def unmasked(
    operation: str,
    ring: PowerOfTwoRing,
    parties: int,
    honest: int,
    zero: int | None = None,
    repeat: tuple[int, int] | None = None,
) -> list[int]:
    """Return the messages to all but the honest party that are not proved to be hidden."""
    plain, draws = messages(operation, ring, parties, honest, None, zero, repeat)
    assert plain
    shifted = [messages(operation, ring, parties, honest, t, zero, repeat)[0] for t in range(len(draws))]
    return unsettled(plain, shifted)


@pytest.mark.parametrize(("operation", "ring", "parties"), QUICK, ids=str)
def test_every_message_is_masked_by_a_draw_that_all_receivers_lack(
    operation: str, ring: PowerOfTwoRing, parties: int
) -> None:
    assert [unmasked(operation, ring, parties, honest) for honest in range(parties)] == [[]] * parties


# --- the same check must notice every way to get it wrong -----------------------------------------------------------

BREAKABLE = (
    "product",
    "product plus and truncation",
    "squares",
    "truncations",
    "two held matrices",
    "products with a held matrix",
    "squared norms of a held matrix",
    "two matrices with known rows",
    "known columns",
    "columns known in part",
    "squared norms of known rows",
    "bits to elements",
    "form: lookup",
    "form: side by side",
)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("operation", BREAKABLE)
@pytest.mark.parametrize("honest", [0, 1])
def test_every_draw_that_is_left_out_is_noticed(operation: str, honest: int) -> None:
    _, draws = messages(operation, Z64, 2, honest)
    for place in range(len(draws)):
        assert unmasked(operation, Z64, 2, honest, zero=place), f"draw {place} is not needed"


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("operation", BREAKABLE)
@pytest.mark.parametrize("honest", [0, 1])
def test_every_draw_that_is_used_twice_is_noticed(operation: str, honest: int) -> None:
    """Among others: A for two held matrices, B for two products with one, the mask of one truncation for another."""
    _, draws = messages(operation, Z64, 2, honest)
    sizes = [draw.size for draw in draws]
    pairs = [(i, j) for j in range(len(sizes)) for i in range(j) if sizes[i] == sizes[j]]
    for pair in pairs:
        assert unmasked(operation, Z64, 2, honest, repeat=pair), f"draws {pair} may be the same"


def test_the_draws_are_those_that_are_broken_above() -> None:
    """A, then B and C for each product; of the last party no C, which the dealer sends it."""
    assert [len(messages("products with a held matrix", Z64, 2, honest)[1]) for honest in (0, 1)] == [5, 3]
    assert [len(messages("truncations", Z64, 2, honest)[1]) for honest in (0, 1)] == [4, 2]
    assert [len(messages("two held matrices", Z64, 2, honest)[1]) for honest in (0, 1)] == [2, 2]
    assert [len(messages("two matrices with known rows", Z64, 2, honest)[1]) for honest in (0, 1)] == [2, 2]
    assert [len(messages("columns known in part", Z64, 2, honest)[1]) for honest in (0, 1)] == [6, 4]
