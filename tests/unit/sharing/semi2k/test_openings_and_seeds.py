"""semi2k: an opening shows the sum and no summand; every seed is one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Ring, RingArray, Shape
from cofit.sharing import Scheme
from cofit.sharing.semi2k.party import Semi2k
from support.masks import Recorder, unsettled
from support.runs import run_scheme
from unit.sharing.semi2k.test_masks import Scripted, numbers

# --- openings -------------------------------------------------------------------------------------------------------


def summands(kind: type[Semi2k], receiver: int, shift: bool, to: Sequence[int] | None) -> list[RingArray]:
    """What the two other parties of three send to one that opens a value, with a shift in the seed that it lacks."""
    seen: list[RingArray] = []
    others = [rank for rank in range(3) if rank != receiver]

    class Instrumented(Recorder, kind):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            super().setup()
            for rank in self._others:
                pair = sorted((rank, self.rank))
                moved = 0 if shift and pair == others else None
                self._pairs[rank] = Scripted(10 * pair[0] + pair[1], moved, None, None)

        def received(self, operation: str, arrays: Mapping[int, RingArray]) -> None:
            if operation == "open" and self.rank == receiver:
                seen.extend(array.copy() for array in arrays.values())

    def program(s: Scheme) -> None:
        opened = s.open(numbers(s, Z64, 0), to)
        if s.rank == receiver:
            assert opened is not None
            assert set(Z64.to_int(opened).tolist()) == {12345}

    run_scheme(Instrumented, program, parties=3)
    return seen


class WithoutZeroSharing(Semi2k):
    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        return ring.zeros(shape)


@pytest.mark.parametrize("to_all", [True, False])
@pytest.mark.parametrize("receiver", range(3))
def test_an_opening_shows_the_sum_and_no_summand(receiver: int, to_all: bool) -> None:
    to = None if to_all else [receiver]
    plain, shifted = (summands(Semi2k, receiver, shift, to) for shift in (False, True))
    assert unsettled(plain[:1], [shifted[:1]]) == []
    assert unsettled(plain[1:], [shifted[1:]]) == []
    np.testing.assert_array_equal(Z64.add(*plain), Z64.add(*shifted))


@pytest.mark.parametrize("receiver", range(3))
def test_an_opening_without_a_sharing_of_zero_is_noticed(receiver: int) -> None:
    plain, shifted = (summands(WithoutZeroSharing, receiver, shift, None) for shift in (False, True))
    assert unsettled(plain[:1], [shifted[:1]]) == [0]


# --- seeds ----------------------------------------------------------------------------------------------------------


def first_draws(session: bytes, seeds: Callable[[int], bytes], halves: bytes) -> dict[str, bytes]:
    """The beginning of every stream, for fixed seeds of the dealer and halves of the parties."""
    numbers_ = iter(range(100))
    found: dict[str, bytes] = {}

    def program(s: Scheme) -> None:
        if isinstance(s, Semi2k):
            found[f"dealer {s.rank}"] = s._source._stream.draw(32).tobytes()  # type: ignore[attr-defined]
            for rank, pair in s._pairs.items():
                drawn = pair.draw(32).tobytes()
                assert found.setdefault(f"pair {sorted((rank, s.rank))}", drawn) == drawn

    dealer = mock.patch("cofit.sharing.semi2k.from_dealer.fresh_seed", side_effect=lambda: seeds(next(numbers_)))
    party = mock.patch("cofit.sharing.additive.fresh_seed", side_effect=lambda: halves)
    token = mock.patch("support.runs.secrets.token_bytes", side_effect=lambda n: session[:n])
    with dealer, party, token:
        run_scheme("semi2k", program, parties=3)
    return found


def test_every_seed_is_one_of_its_own_and_of_its_session() -> None:
    def alike(rank: int) -> bytes:
        return bytes([7] * 32)

    base = first_draws(bytes(16), alike, bytes(32))
    assert len(base) == 6
    assert len(set(base.values())) == 6, "equal material must not give equal seeds"
    assert base == first_draws(bytes(16), alike, bytes(32))
    assert not set(base.values()) & set(first_draws(bytes([9] * 16), alike, bytes(32)).values())
    for changed in range(3):
        other = first_draws(bytes(16), lambda rank, c=changed: bytes([8 if rank == c else 7] * 32), bytes(32))  # type: ignore[misc]
        assert [name for name in base if base[name] != other[name]] == [f"dealer {changed}"]
    other = first_draws(bytes(16), alike, bytes([1] * 32))
    assert {name for name in base if base[name] == other[name]} == {f"dealer {rank}" for rank in range(3)}
