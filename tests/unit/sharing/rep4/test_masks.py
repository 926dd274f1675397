"""Every element that a party of ``rep4`` receives is hidden by a draw from the key that it lacks, and from no other.

What else it receives is digests, all of data that it has: it computes each of them itself and compares. How the
argument is found by machine: see ``support.masks``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.errors import SequenceError, TransportError
from cofit.sharing import Scheme, Share
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.rep4.joint import Joint
from cofit.sharing.rep4.party import Rep4
from support.forms import FORMS, form_of
from support.masks import Recorder, constant, unsettled
from support.runs import run_scheme
from support.views import watched

N = 16


class Scripted(Generator):
    """The stream of a fixed seed, with one row of all draws shifted."""

    __slots__ = ("row", "rows")

    def __init__(self, key: int, row: int | None) -> None:
        super().__init__(bytes([key + 1] * 32))
        self.rows, self.row = 0, row

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn = super().ring(ring, shape).copy()
        place = -1 if self.row is None else self.row - self.rows
        self.rows += shape[0]
        if 0 <= place < shape[0]:
            drawn[place] = ring.add(drawn[place], constant(ring, shape[1:]))
        return drawn


def shared(s: Scheme, ring: Ring, shape: Shape, salt: int) -> Share:
    """A fixed sharing with random-looking summands, made without any message."""
    summands = [Generator(bytes([100 + salt + i] * 32)).ring(ring, shape) for i in range(4)]
    if isinstance(ring, PowerOfTwoRing):  # small values, so that truncation is within its domain
        rest = ring.add(ring.add(summands[0], summands[1]), summands[2])
        summands[3] = ring.sub(ring.from_int(np.full(shape, 12345 + salt)), rest)
    return Share(ring, tuple(summands[j] for j in range(4) if j != s.rank))


def numbers(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N,), salt)


def square(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (4, 4), salt)


def inputs(s: Scheme, ring: PowerOfTwoRing) -> None:
    for source in range(4):
        s.input(source, ring.from_int(np.full(N, 7)) if s.rank == source else None, ring, (N,))


def truncated_twice(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.truncate(s.mul(numbers(s, ring, 0), numbers(s, ring, 10), 9), 3)


OPERATIONS: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "inputs": inputs,
    "product": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10)),
    "product plus and truncation": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), 9, numbers(s, r, 20)),
    "matrix by vector": lambda s, r: s.matmul(square(s, r, 0), shared(s, r, (4,), 10)),
    "matrix product and truncation": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), shift=9),
    "inner products": lambda s, r: s.inner(square(s, r, 0), square(s, r, 10)),
    "truncation": lambda s, r: s.truncate(numbers(s, r, 0), 9),
    "two truncations": truncated_twice,
    "and": lambda s, r: s.boolean.and_(*(PackedBits(shared(s, BITS, (2, 1), salt), 64) for salt in (0, 10))),
    "bits to elements": lambda s, r: s.from_bits(PackedBits(shared(s, BITS, (1, 1), 0), N), r),
    "elements to bits": lambda s, r: s.to_bits(numbers(s, r, 0)),
    "signs": lambda s, r: s.sign_bits(numbers(s, r, 0)),
    "signs of a proven range": lambda s, r: s.sign_bits(numbers(s, r, 0), bits=25),
    "top bits": lambda s, r: s.top_bits(numbers(s, r, 0), 20),
    **{f"form: {name}": lambda s, r, name=name: form_of(s, shared, name) for name in FORMS},  # type: ignore[misc]
}
CASES = [(name, Z64) for name in OPERATIONS]
CASES += [(name, Z128) for name in ("inputs", "product", "truncation", "product plus and truncation")]


def messages(
    kind: type[Rep4], ring: PowerOfTwoRing, operation: str, key: int, row: int | None
) -> tuple[list[RingArray], int]:
    """The arrays that the rank without a key received, and the number of rows drawn from it.

    Fails if it received anything else than these and digests that it compared with its own.
    """
    arrived: list[RingArray] = []
    compared: list[bytes] = []
    rows: list[int] = []

    class Instrumented(Recorder, kind):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            super().setup()
            for k in list(self._keys):
                self._keys[k] = Scripted(k, row if k == key else None)

        def _check(self, operation: str, items: Iterable[tuple[int, Joint, RingArray, bytes]]) -> None:
            items = list(items)
            super()._check(operation, items)
            for _, joint, data, digest in items if self.rank == key else []:
                arrived.extend(data.copy().view(self.in_use.dtype).reshape(joint.arrays, -1))
                compared.append(digest)

        def _jointly(
            self,
            operation: str,
            ring: Ring,
            shape: Shape,
            schedule: tuple[Joint, ...],
            known: Mapping[int, Sequence[RingArray]],
        ) -> dict[int, RingArray]:
            self.in_use = ring
            received: dict[int, RingArray] = super()._jointly(operation, ring, shape, schedule, known)
            return received

        def received(self, operation: str, arrays: Mapping[int, RingArray]) -> None:
            if self.rank == key and self._keys:
                arrived.extend(array for array in arrays.values() if array.dtype != np.uint8)

        def _agree_on(self, operation: str, texts: Mapping[int, bytes], complaint: str) -> None:
            super()._agree_on(operation, texts, complaint)
            if self.rank == key and self._keys:
                compared.extend(texts.values())

    def program(s: Scheme) -> None:
        assert isinstance(s, Rep4)
        OPERATIONS[operation](s, ring)
        if s.rank == (key + 1) % 4:
            rows.append(s._keys[key].rows)  # type: ignore[attr-defined]

    with watched() as views:
        run_scheme(Instrumented, program)
    seen = sum(len(data) for _, label, data in views.received.get(f"party-{key}", []) if label != "setup")
    assert seen == sum(array.nbytes for array in arrived) + DIGEST_BYTES * len(compared)
    return arrived, rows[0]


def unmasked(ring: PowerOfTwoRing, operation: str, key: int, kind: type[Rep4] = Rep4) -> list[int]:
    """Return the messages to the rank that lacks a key that are not proved to be hidden."""
    plain, rows = messages(kind, ring, operation, key, None)
    shifted = [messages(kind, ring, operation, key, row)[0] for row in range(rows)]
    return unsettled(plain, shifted)


@pytest.mark.parametrize(("operation", "ring"), CASES, ids=str)
def test_every_message_is_masked_by_a_draw_of_its_own(ring: PowerOfTwoRing, operation: str) -> None:
    assert [unmasked(ring, operation, key) for key in range(4)] == [[], [], [], []]


# --- the same check must notice every way to get it wrong ---------------------------------------------------------


def broken(key: int, row: int, what: str) -> type[Rep4]:
    """A scheme in which one row that is drawn from a key is zero, or the row before it again, at all holders."""

    class Broken(Rep4):
        def _draw(self, key_: int, ring: Ring, shape: Shape, count: int) -> RingArray:
            drawn = super()._draw(key_, ring, shape, count)
            if key_ != key:
                return drawn
            seen = getattr(self, "seen", 0)
            self.seen = seen + count
            if len(drawn) and 0 <= row - seen < count:
                drawn = drawn.copy()
                drawn[row - seen] = drawn[row - seen - 1] if what == "repeat" else ring.zeros(shape)
            return drawn

    return Broken


# how many rows an operation draws from K_0, K_1, K_2 and K_3
DRAWS = {"product": (0, 1, 3, 2), "truncation": (2, 1, 5, 4), "product plus and truncation": (2, 1, 7, 6)}
DRAWS["bits to elements"] = (1, 1, 3, 3)
DRAWS["form: lookup"] = (0, 1, 3, 2)
BROKEN = [
    (operation, key, row, what)
    for operation, counts in DRAWS.items()
    for key, count in enumerate(counts)
    for row in range(count)
    for what in (("zero", "repeat") if row else ("zero",))
]


@pytest.mark.parametrize(("operation", "key", "row", "what"), BROKEN, ids=str)
def test_a_missing_or_reused_mask_is_noticed(operation: str, key: int, row: int, what: str) -> None:
    assert unmasked(Z64, operation, key, broken(key, row, what))


def test_the_draws_are_those_that_are_broken_above() -> None:
    for operation, counts in DRAWS.items():
        assert tuple(messages(Rep4, Z64, operation, key, None)[1] for key in range(4)) == counts


# --- keys ---------------------------------------------------------------------------------------------------------


def contributions() -> dict[tuple[int, int], list[bytes]]:
    """What each rank sent to each other one in the first round of the setup, by seed."""
    with watched() as views:
        run_scheme("rep4", lambda s: None)
    sent: dict[tuple[int, int], list[bytes]] = {}
    for receiver, log in views.received.items():
        for sender, _, data in log[:3]:
            pair = int(sender[-1]), int(receiver[-1])
            sent[pair] = [data[i : i + 32] for i in range(0, len(data), 32)]
    return sent


def test_no_contribution_to_a_key_is_seen_by_the_party_that_lacks_it() -> None:
    sent = contributions()
    assert len(sent) == 12
    for sender in range(4):
        receivers: dict[bytes, set[int]] = {}
        for other in range(4):
            for seed in sent.get((sender, other), []):
                receivers.setdefault(seed, set()).add(other)
        others = set(range(4)) - {sender}
        expected = [others - {j} for j in others] + [others]
        assert sorted(map(sorted, receivers.values())) == sorted(map(sorted, expected))


def first_draws(session: bytes, seed_of: Callable[[int, int], bytes]) -> list[dict[int, bytes]]:
    """The beginning of every key at every rank, for fixed contributions: ``seed_of`` a rank and a number."""
    counters: dict[int, int] = {}

    def seed() -> bytes:
        rank = ranks[threading.get_ident()]
        counters[rank] = counters.get(rank, -1) + 1
        return seed_of(rank, counters[rank])

    ranks: dict[int, int] = {}

    class Known(Rep4):
        def setup(self) -> None:
            ranks[threading.get_ident()] = self.rank
            super().setup()

    token = mock.patch("support.runs.secrets.token_bytes", side_effect=lambda n: session[:n])
    with mock.patch("cofit.sharing.rep4.joint.fresh_seed", side_effect=seed), token:
        return run_scheme(Known, lambda s: {k: g.draw(32).tobytes() for k, g in s._keys.items()}).results  # type: ignore[attr-defined]


def test_a_key_depends_on_every_contribution_and_on_the_session() -> None:
    def alike(rank: int, number: int) -> bytes:
        return bytes([1 + 4 * rank + number] * 32)

    base = first_draws(bytes(16), alike)
    keys = {key: draw for own in base for key, draw in own.items()}
    assert all(own == {key: draw for key, draw in keys.items() if key != rank} for rank, own in enumerate(base))
    assert len(set(keys.values())) == 5
    elsewhere = first_draws(bytes([9] * 16), alike)
    assert not {draw for own in elsewhere for draw in own.values()} & set(keys.values())
    for rank in range(4):
        for number in range(4):
            changed = first_draws(
                bytes(16),
                lambda r, n, at=(rank, number): bytes(32) if (r, n) == at else alike(r, n),  # type: ignore[misc]
            )
            moved = [{key for key, draw in own.items() if draw != keys[key]} for own in changed]
            (key,) = set.union(*moved)
            assert moved == [set() if r == key else {key} for r in range(4)]


def test_parties_whose_streams_are_apart_stop() -> None:
    def program(s: Scheme) -> None:
        if s.rank == 1:
            s.boolean.random(1, 64)
        s.mul(numbers(s, Z64, 0), numbers(s, Z64, 10))

    with pytest.raises(TransportError) as caught:
        run_scheme("rep4", program)
    assert isinstance(caught.value, SequenceError) or "another step" in str(caught.value)
