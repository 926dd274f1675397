"""What t parties see in a check, and in sums of masked digits, says nothing of the values.

Every message of a check is hidden by draws of its own (``repn_check_views.py``); statistics look at the same from
outside. Streams are the same in every run, so that no test fails by chance; ALPHA is for each p-value.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import BitShare, Share
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.repn.fields import Scalars
from cofit.sharing.repn.party import Repn
from cofit.sharing.shares import PlacedBits
from cofit.sharing.steps import Protocol
from support.chance import ALPHA
from support.views import p_uniform_bytes
from unit.sharing.repn import repn_masks
from unit.sharing.repn.repn_check_views import Seen, exposed, run_scripted, view
from unit.sharing.repn.repn_runs import drawn, shared

RUNS = 40


def products(p: Repn, value: int = 3, ring: Ring = Z64) -> None:
    share = shared(p, ring, ring.from_int(np.full(3, value)), 1)
    p.mul(share, share)


def all_kinds(p: Repn) -> None:
    products(p)
    products(p, ring=F61)
    words = shared(p, BITS, drawn(BITS, (2, 1), "words"), 1)
    p.relations.note_form(words, words, None, words)
    p.relations.note_zero(shared(p, BITS, BITS.zeros((1, 1)), 2))


def held(p: Repn) -> None:
    p.matmul(
        p.hold(shared(p, Z64, Z64.from_int(np.eye(2, dtype=np.int64)), 3)),
        shared(p, Z64, Z64.from_int(np.arange(2)), 4),
    )


# --- messages of a check ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "parties"),
    [
        (products, 3),
        (all_kinds, 3),
        pytest.param(held, 3, marks=pytest.mark.slow),
        pytest.param(lambda p: products(p, ring=Z128), 3, marks=pytest.mark.slow),
        pytest.param(products, 5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.timeout(600)
def test_every_message_of_a_check_is_hidden_by_a_draw_of_its_own(program: Any, parties: int) -> None:
    assert exposed(program, parties, list(combinations(range(parties), (parties - 1) // 2))) == {}


class NothingHidesW(Repn):
    def _hiding(self, ring: Any, claims: Any) -> list[dict[int, bytes]]:
        return [{place: bytes(len(raw)) for place, raw in own.items()} for own in super()._hiding(ring, claims)]


class NothingHidesTheLast(Repn):
    """Opens x and y themselves."""

    def _random(self, ring: Ring, shape: Shape) -> Share:
        return super()._random(ring, shape).linear(lambda part: ring.zeros(part.shape))


class NothingIsDrawn(Repn):
    def _drawn(self, groups: Any, ring: Ring, shape: Shape) -> Any:
        return {group: ring.zeros(shape) for group in groups if self.rank in group}


@pytest.mark.parametrize(
    ("kind", "what"), [(NothingHidesW, "W"), (NothingHidesTheLast, "f and g"), (NothingIsDrawn, "dealt")]
)
def test_what_is_not_hidden_is_found(kind: type[Repn], what: str) -> None:
    found = exposed(products, 3, [(0,), (1,), (2,)], kind)
    assert len(found) == 3 and all(any(one.startswith(what) for one in left) for left in found.values())


# --- statistics ------------------------------------------------------------------------------------------


def as_bytes(message: Seen) -> bytes:
    """Bytes that are uniform if the message is."""
    if message.ring is None:  # W: a few bits beyond the draws that hide it are not
        return b"".join(value.to_bytes(23, "little")[:20] for value in message.values)
    if isinstance(message.ring, Scalars) or message.ring is F61:
        prime = getattr(message.ring, "prime", (1 << 61) - 1)
        return b"".join(((value << 32) // prime).to_bytes(4, "little") for value in message.values)
    return b"".join(value.to_bytes(8, "little") for value in message.values)


def heard(secret: int, first: int, kind: type[Repn] = Repn) -> dict[tuple[int, str], bytes]:
    """All that each party alone hears in many checks of a product, by what it is."""
    found: dict[tuple[int, str], bytes] = {}
    for salt in range(first, first + RUNS):
        log = run_scripted(lambda p: products(p, secret), 3, kind=kind, salt=salt)
        for rank in range(3):
            for message in view(log, (rank,)):
                found[rank, message.what] = found.get((rank, message.what), b"") + as_bytes(message)
    return found


def test_what_is_heard_in_checks_is_uniform_whatever_the_secret_is() -> None:
    for secret in (0, (1 << 31) - 1):
        for of, data in heard(secret, secret % 7 * RUNS).items():
            assert p_uniform_bytes(data) > ALPHA, (secret, of)


def test_what_is_opened_in_the_end_differs_from_check_to_check() -> None:
    opened = set()
    for salt in range(RUNS):
        log = run_scripted(products, 3, salt=salt)
        (last,) = (message for message in view(log, (0,)) if message.what == "f and g")
        opened |= set(last.values)
    assert len(opened) == 2 * RUNS


def test_the_statistics_notice_what_is_not_hidden() -> None:
    found = heard(1, 0, NothingHidesW)
    assert all(p_uniform_bytes(found[rank, "W"]) < ALPHA for rank in range(3))
    found = heard(1, 0, NothingIsDrawn)
    assert all(p_uniform_bytes(found[rank, what]) < ALPHA for rank in range(3) for what in ("dealt", "f and g"))


# --- sums of masked digits -------------------------------------------------------------------------------


def opened_digits(secret: int, parties: int, kind: type[Repn] = Repn) -> dict[int, bytes]:
    """What openers see of numbers that all have the same digits."""
    count, width = 4096, 6
    seen: dict[int, bytes] = {}
    words = np.stack([np.full(count // 64, -(secret >> i & 1), np.int64) for i in range(width)]).view(np.uint64)

    class Opens(kind):  # type: ignore[misc, valid-type]
        def _opened_words(self, bits: BitShare) -> Protocol[RingArray | None]:
            value: RingArray | None = yield from super()._opened_words(bits)
            if value is not None:
                seen[self.rank] = value.tobytes()
            return value

    def work(p: Repn) -> None:
        bits = PackedBits(shared(p, BITS, words, secret), count)
        p.from_numbers([PlacedBits(0, bits)], Z64)

    repn_masks.run_scripted(Opens, parties, work)
    return seen


class NoMasks(Repn):
    """Digits that are no masks."""

    def _masking_bits(self, ring: Ring, rows: int, count: int) -> Protocol[list[Share]]:
        found = yield from super()._masking_bits(ring, rows, count)
        return [share.linear(lambda part: ring.zeros(part.shape)) for share in found]


@pytest.mark.parametrize("parties", [3, 5])
def test_digits_under_masks_are_uniform(parties: int) -> None:
    for secret in (0, 1, 63):
        seen = opened_digits(secret, parties)
        assert seen and all(p_uniform_bytes(data) > ALPHA for data in seen.values())


def test_digits_under_no_masks_are_not() -> None:
    assert all(p_uniform_bytes(data) < ALPHA for data in opened_digits(5, 3, NoMasks).values())
