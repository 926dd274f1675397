"""Every message of ``rep3`` is hidden by randomness that its receiver lacks: the one-time-pad argument, by machine.

A receiver lacks one seed. How the argument is found: see ``support.masks``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, Ring, RingArray, Shape, ring_of_bits
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.narrow import Narrow
from cofit.errors import SequenceError, TransportError
from cofit.sharing import Scheme, Share
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.rep3 import party as rep3
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.sums import Clip, Kind, Product, ProductSum
from support.forms import FORMS, form_of
from support.masks import constant, shifted_numbers, unsettled
from support.pairwise import pairwise
from support.runs import run_scheme
from support.views import watched

N = 64
Frames = dict[int, list[RingArray]]
Broken = tuple[type[Rep3], int]


class Scripted(Generator):
    """The stream of a fixed seed, with one draw shifted."""

    __slots__ = ("calls", "inner", "shifted_call")

    def __init__(self, seed: int, shifted_call: int | None) -> None:
        super().__init__(bytes([seed + 1] * 32))
        self.calls = 0
        self.shifted_call = shifted_call

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn = super().ring(ring, shape)
        self.calls += 1
        if self.calls - 1 == self.shifted_call:
            drawn = ring.add(drawn, constant(ring, shape))
        return drawn

    def rings(self, ring: Ring, shape: Shape, count: int) -> list[RingArray]:
        return [self.ring(ring, shape) for _ in range(count)]

    def narrow(self, count: int, bits: int, arrays: int) -> list[Narrow]:
        assert count == N  # so that numbers fill their words
        drawn = [super(Scripted, self).narrow(count, bits, 1)[0] for _ in range(arrays)]
        for place, array in enumerate(drawn):
            self.calls += 1
            if self.calls - 1 == self.shifted_call:
                drawn[place] = shifted_numbers(array.reshape(N, -1)).reshape(-1)
        return drawn


def shared(s: Scheme, ring: Ring, shape: Shape, salt: int) -> Share:
    """A fixed sharing with random-looking summands, made without any message."""
    summands = [Generator(bytes([100 + salt + i] * 32)).ring(ring, shape) for i in range(3)]
    if isinstance(ring, PowerOfTwoRing):  # small values, so that truncation is within its domain
        total = ring.add(ring.add(summands[0], summands[1]), ring.from_int(np.full(shape, -(12345 + salt))))
        summands[2] = ring.neg(total)
    return Share(ring, (summands[s.rank], summands[(s.rank + 1) % 3]))


def numbers(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N,), salt)


def square(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (8, 8), salt)


def tall(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N, 3), salt)


def foreseen(s: Scheme, ring: PowerOfTwoRing) -> Share:
    x, row = square(s, ring, 0), square(s, ring, 10).map(lambda part: part[0])
    mask = s.squares_mask(ring, 8)
    assert mask is not None
    return s.foreseen_squares(x, row, row, mask, s.matmul(s.squared_distances(x, row), mask))


def products(s: Scheme, ring: PowerOfTwoRing, salt: int = 0) -> tuple[Product, ...]:
    """Of every kind, all as long."""
    a, b, one = numbers(s, ring, salt), numbers(s, ring, salt + 10), numbers(s, ring, salt + 20).map(lambda p: p[:1])
    table = tall(s, ring, salt)
    return (
        Product(Kind.MATMUL, (table,), (a.map(lambda p: p[:3]),)),
        Product(Kind.INNER, (a,), (b,)),
        Product(Kind.MUL, (a,), (one,)),
        Product(Kind.PAIRS, (a, b), (b, a.map(lambda p: np.broadcast_to(p[:1], (N,))))),
    )


def clipped(s: Scheme, ring: PowerOfTwoRing, shift: int) -> Share:
    pairs = Product(Kind.PAIRS, (numbers(s, ring, 0),), (numbers(s, ring, 10),))
    return s.clipped_sum(ProductSum((pairs,), shift, numbers(s, ring, 20)), Clip(-1 << 20, 1 << 20, 40))


def inputs(s: Scheme, ring: PowerOfTwoRing) -> None:
    for source in range(3):
        s.input(source, ring.from_int(np.full(N, 7)) if s.rank == source else None, ring, (N,))


OPERATIONS: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "inputs": inputs,
    "product": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10)),
    "product and truncation": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), shift=9),
    "matrix product": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10)),
    "matrix product and truncation": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), shift=9),
    "product plus": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), plus=numbers(s, r, 20)),
    "product plus and truncation": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), 9, numbers(s, r, 20)),
    "matrix product plus": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), plus=square(s, r, 20)),
    "matrix product plus and truncation": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), 9, square(s, r, 20)),
    "held matrix": lambda s, r: s.matmul(s.hold(square(s, r, 0), 2), square(s, r, 10)),
    "held matrix and truncation": lambda s, r: s.matmul(s.hold(square(s, r, 0), 2), square(s, r, 10), 9),
    "inner products": lambda s, r: s.inner(tall(s, r, 0), tall(s, r, 10)),
    "inner products and truncation": lambda s, r: s.inner(tall(s, r, 0), tall(s, r, 10), shift=9),
    "truncation": lambda s, r: s.truncate(numbers(s, r, 0), 9),
    "two truncations": lambda s, r: s.truncate(s.truncate(numbers(s, r, 0), 9), 3),
    "and": lambda s, r: s.boolean.and_(*(PackedBits(shared(s, BITS, (2, 1), salt), 64) for salt in (0, 10))),
    "bits to elements": lambda s, r: s.from_bits(PackedBits(shared(s, BITS, (1, 1), 0), N), r),
    "weighed bits": lambda s, r: s.weighed_bits(
        PackedBits(shared(s, BITS, (3, 1), 0), N // 3), r.from_int([[1, 5, -2]]), r
    ),
    "sum of products": lambda s, r: s.product_sums([ProductSum(products(s, r))]),
    "sum of products and truncation": lambda s, r: s.product_sums([ProductSum(products(s, r), 9, numbers(s, r, 30))]),
    "sums of products": lambda s, r: s.product_sums(
        [ProductSum(products(s, r)), ProductSum(products(s, r, 3), 9), ProductSum(products(s, r, 5), 4)]
    ),
    "clipped sum": lambda s, r: clipped(s, r, 9),
    "clipped sum, exact": lambda s, r: clipped(s, r, 0),
    "squared distances": lambda s, r: s.squared_distances(square(s, r, 0), square(s, r, 10).map(lambda part: part[0])),
    "foreseen squares": foreseen,
    "elements to bits": lambda s, r: s.to_bits(numbers(s, r, 0)),
    "signs": lambda s, r: s.sign_bits(numbers(s, r, 0)),
    "signs of a proven range": lambda s, r: s.sign_bits(numbers(s, r, 0), bits=25),
    "top bits": lambda s, r: s.top_bits(numbers(s, r, 0), 20),
    **{f"form: {name}": lambda s, r, name=name: form_of(s, shared, name) for name in FORMS},  # type: ignore[misc]
}
ON_BITS = (
    "and",
    "elements to bits",
    "signs",
    "signs of a proven range",
    "top bits",
    *(f"form: {name}" for name in FORMS),
)


BIT_LABELS = ("clip/signals", "clip/mul")


def messages(
    kind: type[Rep3], ring: PowerOfTwoRing, operation: str, lacking: int, call: int | None
) -> tuple[Frames, int]:
    """What every party received, split into pieces of one draw each; and the number of draws from a seed."""
    draws = []
    sent: dict[tuple[int, int], list[RingArray]] = {(to, by): [] for to in range(3) for by in range(3)}

    class Instrumented(kind):  # type: ignore[misc, valid-type]
        def _exchange(
            self,
            label: str,
            send: Mapping[int, Sequence[RingArray]] | None = None,
            receive: Mapping[int, RingArray] | None = None,
        ) -> None:
            for to, arrays in (send or {}).items():
                kept = sent[to, self.rank]
                for array in arrays if label != "setup" else ():
                    kept += pieces(self._label + label, self.rank, array)
            super()._exchange(label, send, receive)

        def setup(self) -> None:
            super().setup()
            following = (self.rank + 1) % 3
            self._own = Scripted(self.rank, call if self.rank == lacking else None)
            self._next = Scripted(following, call if following == lacking else None)

    def pieces(label: str, sender: int, array: RingArray) -> list[RingArray]:
        flat = array.reshape(-1).copy()
        if array.dtype == np.uint8:
            return [flat.reshape(N, -1)]
        if operation in ON_BITS or label in BIT_LABELS or (label == "clip/mask" and sender == 2):
            return [flat]
        return [flat[i : i + N] for i in range(0, len(flat), N)]

    def program(s: Scheme) -> None:
        assert isinstance(s, Rep3)
        OPERATIONS[operation](s, ring)
        if s.rank == lacking:
            draws.append(s._own.calls)  # type: ignore[attr-defined]

    run_scheme(Instrumented, program)
    return {to: [piece for by in range(3) for piece in sent[to, by]] for to in range(3)}, draws[0]


def unmasked(kind: type[Rep3], ring: PowerOfTwoRing, operation: str, lacking: int) -> list[int]:
    """Return the messages to the party that lacks a seed that are not proved to be hidden."""
    receiver = (lacking + 1) % 3
    plain, draws = messages(kind, ring, operation, lacking, None)
    shifted = [messages(kind, ring, operation, lacking, t)[0][receiver] for t in range(draws)]
    return unsettled(plain[receiver], shifted)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_message_is_masked_by_a_draw_of_its_own(ring: PowerOfTwoRing, operation: str) -> None:
    assert [unmasked(Rep3, ring, operation, lacking) for lacking in range(3)] == [[], [], []]


class Seeded(Rep3):
    """The same seeds in every run."""

    def setup(self) -> None:
        super().setup()
        self._own, self._next = (Generator(bytes([rank % 3] * 32)) for rank in (self.rank, self.rank + 1))


@pytest.mark.parametrize("shift", [0, 5])
def test_a_product_in_pieces_sends_the_same_as_one_at_once(
    ring: PowerOfTwoRing, shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sent(cached: int) -> list[bytes]:
        monkeypatch.setattr(rep3, "_CACHED", cached)

        def program(s: Scheme) -> None:
            s.mul(shared(s, ring, (10, 7), 0), shared(s, ring, (10, 7), 10), shift)

        with watched() as views:
            run_scheme(Seeded, program)
        return [
            bytes(data) for rank in range(3) for _, label, data in views.received[f"party-{rank}"] if label != "setup"
        ]

    assert sent(16 * ring.element_bytes) == sent(1 << 20)


# --- the same check must notice every way to get it wrong ---------------------------------------------------------


class WithHalfTheMask(Rep3):
    """Masks with one seed only, which the receiver knows."""

    def _masks(self, ring: Ring, shape: Shape, shift: int, plus: Share | None) -> Any:
        masks = super()._masks(ring, shape, shift, plus)
        masks.minus.clear()
        return masks


class WithoutZeroSharing(WithHalfTheMask):
    def _masks(self, ring: Ring, shape: Shape, shift: int, plus: Share | None) -> Any:
        masks = super()._masks(ring, shape, shift, plus)
        del masks.plus[0 if plus is None else 1]
        return masks


class SameDraws(Generator):
    """A generator whose draws ``these`` repeat the first one, or are zero: a mask used twice, or not at all."""

    __slots__ = ("count", "first", "inner", "repeat", "zero")

    def __init__(self, inner: Generator, repeat: tuple[int, ...], zero: tuple[int, ...]) -> None:
        self.inner, self.repeat, self.zero, self.count = inner, repeat, zero, 0

    @property
    def position(self) -> int:  # type: ignore[override]
        return self.inner.position

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn = self.inner.ring(ring, shape)
        self.count += 1
        if self.count == 1:
            self.first = drawn
        if self.count - 1 in self.repeat:
            return self.first
        return ring.zeros(shape) if self.count - 1 in self.zero else drawn

    def rings(self, ring: Ring, shape: Shape, count: int) -> list[RingArray]:
        return [self.ring(ring, shape) for _ in range(count)]

    def narrow(self, count: int, bits: int, arrays: int) -> list[Narrow]:
        drawn = []
        for _ in range(arrays):
            (numbers,) = self.inner.narrow(count, bits, 1)
            self.count += 1
            if self.count - 1 in self.repeat:
                ring = ring_of_bits(8 * self.first.dtype.itemsize)
                numbers = ring.to_narrow(self.first, bits, numbers)
            drawn.append(np.zeros_like(numbers) if self.count - 1 in self.zero else numbers)
        return drawn


def broken_truncation(seed: int, repeat: tuple[int, ...] = (), zero: tuple[int, ...] = ()) -> Broken:
    """Truncation in which some draws from one seed are the first one again, or zero, at both holders; and the seed."""

    class Changed(Rep3):
        def _masks(self, ring: Ring, shape: Shape, shift: int, plus: Share | None) -> Any:
            own, following = self._own, self._next
            if self.rank == seed:
                self._own = SameDraws(own, repeat, zero)
            if (self.rank + 1) % 3 == seed:
                self._next = SameDraws(following, repeat, zero)
            try:
                return super()._masks(ring, shape, shift, plus)
            finally:
                self._own, self._next = own, following

    return Changed, seed


BROKEN = {  # draws from k_0: r_0, o_0, m_0, h_0; from k_2: r_1, h_2
    "r_0 left out": broken_truncation(0, zero=(0,)),
    "o_0 left out": broken_truncation(0, zero=(1,)),
    "m_0 left out": broken_truncation(0, zero=(2,)),
    "h_0 left out": broken_truncation(0, zero=(3,)),
    "o_0 is r_0": broken_truncation(0, repeat=(1,)),
    "m_0 is r_0": broken_truncation(0, repeat=(2,)),
    "h_0 is r_0": broken_truncation(0, repeat=(3,)),
    "r_1 left out": broken_truncation(2, zero=(0,)),
    "h_2 left out": broken_truncation(2, zero=(1,)),
    "h_2 is r_1": broken_truncation(2, repeat=(1,)),
}


TRUNCATIONS = ["truncation", *(name for name in OPERATIONS if name.endswith("and truncation"))]


@pytest.mark.parametrize(("ring", "operation", "name"), pairwise([Z64, Z128], TRUNCATIONS, list(BROKEN)), ids=str)
def test_a_truncation_with_a_missing_or_reused_mask_is_noticed(ring: PowerOfTwoRing, operation: str, name: str) -> None:
    kind, seed = BROKEN[name]
    assert unmasked(kind, ring, operation, seed)


def broken_clip(seed: int, repeat: tuple[int, ...] = (), zero: tuple[int, ...] = ()) -> Broken:
    """Clipping in which some draws from one seed are the first one again, or zero, at both holders; and the seed."""

    class Changed(Rep3):
        def clipped_sum(self, one: ProductSum, clip: Clip) -> Share:
            own, following = self._own, self._next
            if self.rank == seed:
                self._own = SameDraws(own, repeat, zero)
            if (self.rank + 1) % 3 == seed:
                self._next = SameDraws(following, repeat, zero)
            try:
                return super().clipped_sum(one, clip)
            finally:
                self._own, self._next = own, following

    return Changed, seed


ANDS = 4  # levels of 10 groups: so many draws are for ANDs
BROKEN_CLIPS = {  # draws from k_0: r_0, T_0, p_0, ANDs, six of d_0, o_0; from k_2: r_1, p_2, ANDs, o_2
    **{f"draw {i} of k_0 left out": broken_clip(0, zero=(i,)) for i in (0, 1, 2, *range(3 + ANDS, 10 + ANDS))},
    **{f"draw {i} of k_2 left out": broken_clip(2, zero=(i,)) for i in (0, 1, 2 + ANDS)},
    "d_0 is r_0": broken_clip(0, repeat=(5 + ANDS,)),
    "o_0 is r_0": broken_clip(0, repeat=(9 + ANDS,)),
    "o_2 is r_1": broken_clip(2, repeat=(2 + ANDS,)),
}


@pytest.mark.parametrize("name", BROKEN_CLIPS)
def test_a_clip_with_a_missing_or_reused_mask_is_noticed(name: str) -> None:
    kind, seed = BROKEN_CLIPS[name]
    assert unmasked(kind, Z64, "clipped sum", seed)


PRODUCTS = [name for name in OPERATIONS if "product" in name and name not in (*TRUNCATIONS, "sums of products")]
RESHARINGS = [*PRODUCTS, "and", *(name for name in OPERATIONS if name.startswith("form"))]


@pytest.mark.parametrize("broken", [WithoutZeroSharing, WithHalfTheMask])
@pytest.mark.parametrize("operation", RESHARINGS)
def test_a_resharing_without_a_full_zero_sharing_is_noticed(
    ring: PowerOfTwoRing, broken: type[Rep3], operation: str
) -> None:
    assert any(unmasked(broken, ring, operation, lacking) for lacking in range(3))


def test_parties_whose_streams_are_apart_stop(ring: PowerOfTwoRing) -> None:
    def program(s: Scheme) -> None:
        if s.rank == 1:
            s.boolean.random(1, 64)
        s.mul(numbers(s, ring, 0), numbers(s, ring, 10))

    with pytest.raises(TransportError) as caught:
        run_scheme("rep3", program)
    assert isinstance(caught.value, SequenceError) or "another step" in str(caught.value)
