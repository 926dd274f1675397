"""What a single party sees is uniform, whatever the secret is; and the tests notice when a mask is missing.

Level of the tests: alpha = 1e-6 for each p-value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cofit.arithmetic import Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.sharing import SCHEMES, Scheme, Share
from cofit.sharing.rep3 import Rep3
from support.runs import OWNER, run_scheme
from support.views import Views, p_uniform_bytes, watched

ALPHA = 1e-6
N = 4096
SECRET_SCHEMES = [name for name in sorted(SCHEMES) if SCHEMES[name].info.secret]


@pytest.fixture(params=SECRET_SCHEMES)
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
    return {
        "input": x,
        "product": s.mul(x, y),
        "product and truncation": s.mul(x, y, shift=9),
        "truncation": s.truncate(x, 9),
        "matrix product": s.matmul(x.map(lambda p: p.reshape(64, 64)), y.map(lambda p: p.reshape(64, 64))),
        "bits": s.select_rows(bits, slice(0, 32)).packed,
        "bits as elements": s.from_bits(s.select_rows(bits, slice(0, 1)), ring),
    }


def observe(scheme: str | type[Scheme], ring: PowerOfTwoRing, constant: int) -> tuple[list[dict[str, Share]], Views]:
    with watched() as views:
        dealt = {name: (ring, values(ring, constant)) for name in ("x", "y")}
        run = run_scheme(scheme, lambda s: work(s, ring, constant), deal=dealt)
    views.received.pop(OWNER)
    return run.results, views


def without_setup(view: list[tuple[str, str, bytes]]) -> bytes:
    return b"".join(data for _, label, data in view if label != "setup")


@pytest.mark.parametrize("constant", [0, 1, -1, 1 << 40])
def test_what_a_party_receives_and_holds_is_uniform(secret_scheme: str, ring: PowerOfTwoRing, constant: int) -> None:
    shares, views = observe(secret_scheme, ring, constant)
    for name, view in views.received.items():
        assert p_uniform_bytes(without_setup(view)) > ALPHA, f"{name} sees structure in its messages"
    for rank, held in enumerate(shares):
        for what, share in held.items():
            for i, part in enumerate(share.parts):
                p = p_uniform_bytes(np.ascontiguousarray(part).view(np.uint8).tobytes())
                assert p > ALPHA, f"rank {rank} sees structure in part {i} of '{what}'"


def test_the_two_parts_a_party_holds_are_independent(secret_scheme: str, ring: PowerOfTwoRing) -> None:
    shares, _ = observe(secret_scheme, ring, 3)
    for held in shares:
        for what, share in held.items():
            if len(share.parts) < 2:
                continue
            first, second = (np.ascontiguousarray(p).reshape(-1).view(np.uint8) for p in share.parts[:2])
            table = np.histogram2d(first >> 4, second >> 4, bins=16)[0]
            assert stats.chi2_contingency(table).pvalue > ALPHA, f"the parts of '{what}' depend on each other"


def test_two_runs_share_nothing(secret_scheme: str, ring: PowerOfTwoRing) -> None:
    _, first = observe(secret_scheme, ring, 5)
    _, second = observe(secret_scheme, ring, 5)
    for name in first.received:
        a = np.frombuffer(without_setup(first.received[name]), np.uint64)
        b = np.frombuffer(without_setup(second.received[name]), np.uint64)
        assert len(a) == len(b)
        assert not np.intersect1d(a, b).size, "a restart must not repeat randomness"


# --- zero-sharing really masks: the receiver's best guess leaves a uniform rest ---------------------------


class Recorded(Generator):
    """A generator that remembers what it gave."""

    __slots__ = ("drawn", "inner")

    def __init__(self, inner: Generator) -> None:
        self.inner = inner
        self.drawn: list[RingArray] = []

    def draw(self, nbytes: int) -> npt.NDArray[np.uint8]:
        drawn = self.inner.draw(nbytes)
        self.drawn.append(drawn)
        return drawn


def masks_seen_by_receivers(kind: type[Rep3], ring: PowerOfTwoRing) -> list[bytes]:
    """For each party: the resharing message it received, less all that it can predict of it.

    Rank j receives z_i, i = j + 1. From its own shares (x_j, x_i) and a guess of x and y (the right one) it computes
    the missing summands, hence the unmasked z_i; and it knows the seed k_i. If what is left is not uniform, the message
    confirms the guess.
    """
    x_true, y_true = values(ring, 12345), values(ring, -678)

    def program(s: Scheme) -> tuple[Share, Share, list[RingArray]]:
        assert isinstance(s, Rep3)
        x = s.receive_input("owner", ring, (N,)).expand()
        y = s.receive_input("owner", ring, (N,)).expand()
        s._next = recorded = Recorded(s._next)
        s.mul(x, y)
        return x, y, recorded.drawn

    with watched() as views:
        outcomes = run_scheme(kind, program, deal={"x": (ring, x_true), "y": (ring, y_true)}).results
    masks = []
    for rank, (x, y, drawn) in enumerate(outcomes):
        x_i, y_i = x.parts[1], y.parts[1]
        x_after = ring.sub(ring.sub(x_true, x.parts[0]), x_i)
        y_after = ring.sub(ring.sub(y_true, y.parts[0]), y_i)
        unmasked = ring.mul_sum([x_i, x_after], [ring.add(y_i, y_after), y_i])
        message = np.frombuffer(views.of(f"party-{rank}", "mul"), ring.dtype)
        mask = ring.sub(message, unmasked)
        masks += [mask.tobytes(), *(ring.sub(mask, known.view(ring.dtype)).tobytes() for known in drawn)]
    return masks


class WithoutZeroSharing(Rep3):
    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        return ring.zeros(shape)


class WithHalfTheMask(Rep3):
    """Masks with one seed only, which the receiver knows."""

    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        self._next.ring(ring, shape)
        return self._own.ring(ring, shape)


def test_resharing_is_masked(ring: PowerOfTwoRing) -> None:
    for mask in masks_seen_by_receivers(Rep3, ring):
        assert p_uniform_bytes(mask) > ALPHA, "a party can predict a resharing message"


@pytest.mark.parametrize("broken", [WithoutZeroSharing, WithHalfTheMask])
def test_a_resharing_without_zero_sharing_fails_that_test(ring: PowerOfTwoRing, broken: type[Rep3]) -> None:
    assert any(p_uniform_bytes(mask) < ALPHA for mask in masks_seen_by_receivers(broken, ring))


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


class TruncationWithoutMask(Rep3):
    """Party 2's mask is left out: parties 0 and 1 open the value itself to each other."""

    def _truncate(self, a: Share, shift: int) -> Share:
        own, following = self._own, self._next
        self._own = self._next = Stuck()
        try:
            return super()._truncate(a, shift)
        finally:
            self._own, self._next = own, following


def opened_masked_value(kind: type[Scheme], ring: PowerOfTwoRing) -> bytes:
    """c = z + r as parties 0 and 1 compute it in a truncation of a constant."""

    def program(s: Scheme) -> Share:
        x = s.input(0, values(ring, 99) if s.rank == 0 else None, ring, (N,))
        s.truncate(x, 8)
        return x

    with watched() as views:
        shares = run_scheme(kind, program).results
    size = N * ring.element_bytes
    # What party 0 gets from party 1 first is x_2 + r_1; with x_0 + x_1, which it holds, that is z + r_1.
    from_1 = next(data for sender, label, data in views.received["party-0"] if label == "truncate")
    assert len(from_1) == size
    return ring.add(np.frombuffer(from_1, ring.dtype), ring.add(*shares[0].parts)).tobytes()


def test_truncation_opens_only_a_masked_value(ring: PowerOfTwoRing) -> None:
    assert p_uniform_bytes(opened_masked_value(Rep3, ring)) > ALPHA
    assert p_uniform_bytes(opened_masked_value(TruncationWithoutMask, ring)) < ALPHA


@pytest.mark.parametrize("constant", [0, 7])
def test_an_owners_messages_are_uniform_at_every_party(secret_scheme: str, ring: PowerOfTwoRing, constant: int) -> None:
    def program(s: Scheme) -> Share:
        return s.receive_input("owner", ring, (N,)).expand()

    with watched() as views:
        shares = run_scheme(secret_scheme, program, deal={"x": (ring, values(ring, constant))}).results
    for rank, share in enumerate(shares):
        for part in share.parts:
            assert p_uniform_bytes(part.tobytes()) > ALPHA
        received = views.of(f"party-{rank}", "input")
        assert len(received) == 64 or p_uniform_bytes(received) > ALPHA, "only seeds, or uniform"
