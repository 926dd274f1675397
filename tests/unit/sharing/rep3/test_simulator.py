"""The simulator of a truncation in ``rep3/proof.md``: its law, draw by draw in small rings; its equations in runs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.arithmetic.narrow import Narrow
from cofit.sharing import Share
from cofit.sharing.rep3.party import Rep3
from support.runs import OWNER, run_scheme
from support.views import Views, watched

Integers = npt.NDArray[np.int64]


# --- small rings: every draw -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Small:
    """Numbers of k bits, divided by 2^s, with what is multiplied by 2^(k-s) sent in b bits. summands: of z, modulo 2^k.

    broken: the name of a draw that is left out.
    """

    k: int
    s: int
    b: int
    summands: tuple[int, int, int]
    broken: str = ""

    def modulo(self, value: Any) -> Any:
        return value % (1 << self.k)

    def short(self, value: Any) -> Any:
        return value % (1 << self.b)

    def all(self, **bits: int) -> dict[str, Integers]:
        """Every combination of numbers of so many bits."""
        grids = np.indices([1 << each for each in bits.values()]).reshape(len(bits), -1)
        return dict(zip(bits, grids, strict=True))

    def of_mask(self, r: Any) -> tuple[Any, Any]:
        """c, and u."""
        c = self.modulo(sum(self.summands) + (1 << self.k - 2) + r)
        return c, 1 - (c >> self.k - 1)

    def high(self, value: Any) -> Any:
        return value << self.k - self.s

    def real(self) -> list[Integers]:
        """What each party sees, with the shares that come of it, for all draws of a run."""
        k, s, b = self.k, self.s, self.b
        d = self.all(r_0=k, o_0=k, m_0=b, h_0=b, r_1=k, h_2=b)
        seen = d | ({self.broken: d[self.broken] * 0} if self.broken else {})
        r_0, o_0, m_0, h_0, r_1, h_2 = seen.values()
        z_0, z_1, z_2 = self.summands
        r = self.modulo(r_0 + r_1 - z_2)
        c, u = self.of_mask(r)
        o_2, m_1 = self.modulo(-(r >> s) - o_0), self.short((r >> k - 1) - m_0)
        g_0, g_1 = self.short(u * m_0 - h_0), self.short(u * m_1 - h_2)
        first, second = self.modulo(z_0 + r_0), self.modulo(z_1 + r_1)
        assert np.array_equal(self.modulo(first + second + (1 << k - 2)), c)
        y = (
            self.modulo(o_0 + self.high(h_0)),
            self.modulo((c >> s) - (1 << k - 2 - s) + self.high(g_0 + g_1)),
            self.modulo(o_2 + self.high(h_2)),
        )
        z = (self.modulo(sum(self.summands)) + (1 << k - 1)) % (1 << k) - (1 << k - 1)
        assert set(np.unique(self.modulo(sum(y) - (z >> s)))) <= {0, 1}
        views = (r_0, o_0, m_0, h_0, second, g_1), (r_1, h_2, o_2, m_1, first, g_0), (*seen.values(), o_2, m_1)
        return [self.law(*view, *y) for view in views]

    def simulated(self) -> list[Integers]:
        """The same from the simulator, for all that the functionality draws, and all that it draws itself."""
        k, s, b = self.k, self.s, self.b
        ideal = {"r": k, "y_0": k, "top": s}
        found = []
        for rank, draws in enumerate((("r_0", "m_0", "h_0"), ("r_1", "m_1", "h_2"), ("r_0", "m_0", "h_0"))):
            sizes = {name: k if name.startswith("r") else b for name in draws}
            d = self.all(**ideal, **sizes, rest=b - s)
            r, y_0, top, one, two, three, rest = d.values()
            c, u = self.of_mask(r)
            y_1 = self.modulo((c >> s) - (1 << k - 2 - s) + self.high(top))
            z, carries = self.rounded(r)
            y_2 = self.modulo((z >> s) + carries - y_0 - y_1)
            z_0, z_1, z_2 = self.summands
            rest = rest << s
            view: tuple[Any, ...]
            if rank == 0:
                g_0 = self.short(u * two - three)
                g_1 = (top - g_0) % (1 << s) + rest
                view = (
                    one,
                    self.modulo(y_0 - self.high(three)),
                    two,
                    three,
                    self.modulo(c - (1 << k - 2) - z_0 - one),
                    g_1,
                )
            elif rank == 1:
                g_1 = self.short(u * two - three)
                g_0 = (top - g_1) % (1 << s) + rest
                view = (
                    one,
                    three,
                    self.modulo(y_2 - self.high(three)),
                    two,
                    self.modulo(c - (1 << k - 2) - z_1 - one),
                    g_0,
                )
            else:
                o_0, r_1 = self.modulo(y_0 - self.high(three)), self.modulo(r - one + z_2)
                missing = self.modulo(y_0 + y_2 + (r >> s)) >> k - s
                h_2 = (missing - three) % (1 << s) + rest
                o_2, m_1 = self.modulo(-(r >> s) - o_0), self.short((r >> k - 1) - two)
                view = one, o_0, two, three, r_1, h_2, o_2, m_1
            found.append(self.law(*view, y_0, y_1, y_2))
        return found

    def rounded(self, r: Integers) -> tuple[int, Integers]:
        """z, and whether the low bits of z + 2^(k-2) and r carry."""
        z = (self.modulo(sum(self.summands)) + (1 << self.k - 1)) % (1 << self.k) - (1 << self.k - 1)
        low = (1 << self.s) - 1
        return z, ((z + (1 << self.k - 2)) & low) + (r & low) >> self.s

    def law(self, *columns: Any) -> Integers:
        """All combinations, as numbers in order: each as often as it comes."""
        total = np.zeros(np.broadcast_shapes(*(np.shape(column) for column in columns)), np.int64)
        for column in columns:
            total = (total << self.k) + column
        return np.sort(total)


SIZES = [(3, 1, 1), (3, 1, 2), (4, 1, 2), (4, 2, 2)]


def splits(k: int) -> list[tuple[int, int, int]]:
    """Every value that may be truncated, as three summands."""
    return [(5 % (1 << k), 3, (z - 8) % (1 << k)) for z in range(-(1 << k - 2), 1 << k - 2)]


@pytest.mark.parametrize(("k", "s", "b"), SIZES)
def test_the_simulator_has_the_law_of_a_run(k: int, s: int, b: int) -> None:
    for summands in splits(k):
        small = Small(k, s, b, summands)
        for real, made in zip(small.real(), small.simulated(), strict=True):
            np.testing.assert_array_equal(real, made)


@pytest.mark.parametrize("broken", ["r_0", "r_1", "o_0", "m_0", "h_0", "h_2"])
def test_without_one_of_the_draws_it_has_not(broken: str) -> None:
    small = Small(3, 1, 2, splits(3)[1], broken)
    laws = list(zip(small.real(), small.simulated(), strict=True))
    assert any(not np.array_equal(real, made) for real, made in laws)


# --- runs: the equations -----------------------------------------------------------------------------------


class Kept(Rep3):
    """A party that keeps what it draws for its truncation."""

    own: list[Any]
    following: list[Any]

    def _masks(self, ring: Any, shape: Any, shift: int, plus: Any) -> Any:
        masks = super()._masks(ring, shape, shift, plus)
        if shift:
            self.own, self.following = list(masks.own), list(masks.following)
        return masks


def elements(ring: PowerOfTwoRing, array: RingArray) -> list[int]:
    return [int(value) % ring.modulus for value in ring.to_int(array)]


def numbers(packed: Narrow | bytes, bits: int, count: int) -> list[int]:
    size = -(-bits // 8)
    return [int.from_bytes(bytes(packed[i * size : (i + 1) * size]), "little") for i in range(count)]


@dataclass(frozen=True)
class Truncated:
    """One element of a run, in the words of the proof."""

    z: int
    summands: tuple[int, int, int]
    r_0: int
    o_0: int
    m_0: int
    h_0: int
    r_1: int
    h_2: int
    o_2: int
    m_1: int
    to_0: int
    to_1: int
    g_0: int
    g_1: int
    y: tuple[int, int, int]


COUNT = 40


def values(ring: PowerOfTwoRing, shift: int) -> list[int]:
    most, rng = 1 << ring.value_bits, np.random.default_rng(shift)
    edges = [-most, most - 1, 0, -1, 1, -(1 << shift), (1 << shift) - 1]
    drawn = [int.from_bytes(rng.bytes(16), "little") % (2 * most) - most for _ in range(COUNT - len(edges))]
    return [max(-most, min(most - 1, value)) for value in edges] + drawn


def truncated(ring: PowerOfTwoRing, shift: int, product: bool) -> list[Truncated]:
    z = values(ring, shift)

    def work(s: Any) -> tuple[Any, Share, Share, Share]:
        x = s.receive_input(OWNER, ring, (COUNT,)).expand()
        one = s.receive_input(OWNER, ring, (COUNT,)).expand()
        return s, x, one, s.mul(x, one, shift) if product else s.truncate(x, shift)

    dealt = {"x": (ring, ring.from_int(np.array(z, object))), "one": (ring, ring.from_int(np.ones(COUNT, int)))}
    with watched() as views:
        (p_0, x_0, a_0, y_0), (p_1, x_1, a_1, y_1), (p_2, x_2, a_2, _) = run_scheme(Kept, work, deal=dealt).results
    if product:
        pairs = [(x_0, a_0), (x_1, a_1), (x_2, a_2)]
        parts = [elements(ring, ring.cross_product(x.parts, a.parts)) for x, a in pairs]
    else:
        parts = [elements(ring, ring.add(*x_0.parts)), elements(ring, x_1.parts[1]), [0] * COUNT]
    first, second, third = p_0.names
    assert not sent(views, third, first) + sent(views, third, second), "party 2 hears nothing"
    (to_0, g_1), (to_1, g_0) = sent(views, first, second), sent(views, second, first)
    assert not sent(views, first, third)
    (by_2,) = sent(views, second, third)
    o_2, m_1 = by_2[: COUNT * ring.element_bytes], by_2[COUNT * ring.element_bytes :]
    r_0, o_0, m_0, h_0 = p_0.own
    r_1, h_2 = p_2.own
    for ours, theirs in zip([*p_2.own, *p_2.following], [*p_1.following, *p_0.own], strict=True):
        assert bytes(ours) == bytes(theirs)
    own: dict[str, Any] = {
        "z": z,
        "summands": list(zip(*parts, strict=True)),
        "r_0": elements(ring, r_0),
        "o_0": elements(ring, o_0),
        "m_0": numbers(m_0, shift, COUNT),
        "h_0": numbers(h_0, shift, COUNT),
        "r_1": elements(ring, r_1),
        "h_2": numbers(h_2, shift, COUNT),
        "o_2": told(ring, o_2),
        "m_1": numbers(m_1, shift, COUNT),
        "to_0": told(ring, to_0),
        "to_1": told(ring, to_1),
        "g_0": numbers(g_0, shift, COUNT),
        "g_1": numbers(g_1, shift, COUNT),
        "y": list(zip(*(elements(ring, part) for part in (y_0.parts[0], y_0.parts[1], y_1.parts[1])), strict=True)),
    }
    return [Truncated(**{field.name: own[field.name][i] for field in fields(Truncated)}) for i in range(COUNT)]


def sent(views: Views, receiver: str, sender: str) -> list[bytes]:
    """What one party has told another for the truncation, in order."""
    arrived = views.received[receiver]
    return [data for by, label, data in arrived if by == sender and label in ("truncate", "mul")]


def told(ring: PowerOfTwoRing, data: bytes) -> list[int]:
    return elements(ring, np.frombuffer(data, ring.dtype))


@pytest.mark.parametrize("product", [False, True], ids=["of a value", "of a product"])
@pytest.mark.parametrize(
    ("ring", "shift"), [(Z64, 1), (Z64, 9), (Z64, 24), (Z64, 62), (Z128, 20), (Z128, 126)], ids=str
)
def test_the_messages_of_a_run_are_those_that_the_simulator_completes(
    ring: PowerOfTwoRing, shift: int, product: bool
) -> None:
    k, s, size = ring.bits, shift, ring.modulus
    for t in truncated(ring, shift, product):
        (z_0, z_1, z_2), (y_0, y_1, y_2) = t.summands, t.y
        assert sum(t.summands) % size == t.z % size
        r = (t.r_0 + t.r_1 - z_2) % size
        c = (t.z + (1 << k - 2) + r) % size
        u, low = 1 - (c >> k - 1), (1 << s) - 1
        # the functionality
        assert (y_0 + y_1 + y_2 - (t.z >> s)) % size == (((t.z + (1 << k - 2)) & low) + (r & low) >> s)
        assert (y_1 - (c >> s) + (1 << k - 2 - s)) % (1 << k - s) == 0
        # party 0
        assert t.o_0 == (y_0 - (t.h_0 << k - s)) % size
        assert t.to_0 == (c - (1 << k - 2) - z_0 - t.r_0) % size
        assert (y_1 - (c >> s) + (1 << k - 2 - s) - (u * t.m_0 - t.h_0 + t.g_1 << k - s)) % size == 0
        # party 1
        assert t.o_2 == (y_2 - (t.h_2 << k - s)) % size
        assert t.to_1 == (c - (1 << k - 2) - z_1 - t.r_1) % size
        assert (y_1 - (c >> s) + (1 << k - 2 - s) - (u * t.m_1 - t.h_2 + t.g_0 << k - s)) % size == 0
        # party 2
        assert (y_0 + y_2 + (r >> s) - (t.h_0 + t.h_2 << k - s)) % size == 0
