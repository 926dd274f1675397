"""Nothing above the schemes looks inside shared bits: all runs as well when they are no packed words.

The double is the cleartext twin with a Boolean part of its own: bits lie one to a byte, reversed. With the same coins
every circuit, protocol and sampler must give what it gives on packed words.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, Z128, FixedPoint, IntegerRing, Ring
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, packed_length, unpack
from cofit.protocols import divide, equal, exponential, inverse_square_root, logarithm, sigmoid
from cofit.sampling.discrete_gaussian import discrete_gaussian
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.gaussian import gaussian
from cofit.secret import Party, SecretArray
from cofit.sharing import BitShare, Share, Spec
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.boolean import Boolean, Rows
from cofit.sharing.clear.party import Clear
from cofit.sharing.packed_bits import PackedBits, common_count, folded_count
from cofit.sharing.shares import PlacedBits
from cofit.transport import Mesh
from support.runs import run_scheme

Array = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Bytes(BitShare):
    """A byte for each bit, the last of a row first."""

    reversed: Array

    @property
    def rows(self) -> int:
        return len(self.reversed)

    @property
    def count(self) -> int:  # type: ignore[override]
        return int(self.reversed.shape[1])


def plain(bits: BitShare) -> Array:
    assert isinstance(bits, Bytes)
    return bits.reversed[:, ::-1]


def shared(bits: Array) -> Bytes:
    return Bytes(np.ascontiguousarray(bits[:, ::-1]))


class ByteBoolean(Boolean):
    def __init__(self, scheme: OfBytes) -> None:
        self._scheme = scheme

    def random(self, rows: int, count: int) -> BitShare:
        words = self._scheme._coins.ring(BITS, (rows, packed_length(count)))
        return shared(unpack(words, count))

    def constant(self, bits: Array) -> BitShare:
        return shared(bits)

    def input(self, source: int, bits: Array | None, rows: int, count: int) -> BitShare:
        words = self._scheme.input(source, None if bits is None else pack(bits), BITS, (rows, packed_length(count)))
        return shared(unpack(words.parts[0], count))

    def open(self, bits: BitShare, to: Sequence[int] | None = None) -> Array | None:
        return plain(bits).copy() if to is None or self._scheme.rank in to else None

    def xor(self, a: BitShare, b: BitShare) -> BitShare:
        common_count(a, b)
        return shared(plain(a) ^ plain(b))

    def not_(self, a: BitShare) -> BitShare:
        return shared(1 - plain(a))

    def and_(self, a: BitShare, b: BitShare) -> BitShare:
        common_count(a, b)
        return shared(plain(a) & plain(b))

    def bilinear(self, a: BitShare, b: BitShare, form: BitForm) -> BitShare:
        assert form.rows(a.rows, b.rows) >= 0
        return shared(unpack(form.apply(pack(plain(a)), pack(plain(b))), common_count(a, b)))

    def select_rows(self, a: BitShare, rows: Rows) -> BitShare:
        return shared(plain(a)[rows])

    def gather_rows(self, pieces: Sequence[tuple[BitShare, Rows]]) -> BitShare:
        return shared(np.concatenate([plain(bits)[rows] for bits, rows in pieces]))

    def fold(self, a: BitShare, groups: int) -> BitShare:
        return shared(plain(a).reshape(a.rows * groups, folded_count(a, groups)))


class OfBytes(Clear):
    """The cleartext twin with such bits; the conversions are those of the twin, from one kind to the other."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._packed = self.boolean
        self.boolean = ByteBoolean(self)

    def to_bits(self, a: Share, bits: int | None = None) -> BitShare:
        packed = super().to_bits(a, bits)
        assert isinstance(packed, PackedBits)
        return shared(unpack(packed.packed.parts[0], packed.count))

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        return Share(ring, (ring.from_int(plain(bits)),))

    def from_numbers(self, numbers: Sequence[PlacedBits], ring: IntegerRing) -> Share:
        packed = [PlacedBits(place, self._packed.constant(plain(bits))) for place, bits in numbers]
        return super().from_numbers(packed, ring)


def values(party: Party, ring: IntegerRing, count: int = 65) -> SecretArray:
    format = FixedPoint(20 if ring is Z64 else 40, ring)
    return party.constant(np.linspace(0.1, 3, count), format)


PROGRAMS: dict[str, Callable[[Party, IntegerRing], SecretArray]] = {
    "divide": lambda p, r: divide(values(p, r), values(p, r), quotient_bound=2.0),
    "inverse_square_root": lambda p, r: inverse_square_root(values(p, r)),
    "logarithm": lambda p, r: logarithm(values(p, r)),
    "exponential": lambda p, r: exponential(values(p, r)),
    "sigmoid": lambda p, r: sigmoid(values(p, r) * 100),
    "equal": lambda p, r: equal(values(p, r), 3.0),
    "random bits": lambda p, r: p.random_bits((7, 11), r),
    "laplace": lambda p, r: discrete_laplace(p, (90,), 1000, r),
    "discrete gaussian": lambda p, r: discrete_gaussian(p, (90,), 30, r),
    "gaussian": lambda p, r: gaussian(p, (9,), FixedPoint(20, r)),
}


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_everything_above_runs_on_bits_of_another_kind(name: str, ring: IntegerRing) -> None:
    seed = secrets.token_bytes(32)

    def program(scheme: Clear) -> npt.NDArray[np.float64]:
        party = Party(scheme, {})
        return party.open(PROGRAMS[name](party, ring), reason="a test")

    with mock.patch("cofit.sharing.clear.party.fresh_seed", return_value=seed):
        (expected,), (got,) = (run_scheme(kind, program, parties=1).results for kind in (Clear, OfBytes))  # type: ignore[arg-type]
    np.testing.assert_array_equal(got, expected)


def test_bits_of_another_kind_are_refused_where_words_are_meant() -> None:
    def program(scheme: OfBytes) -> None:
        with pytest.raises(Exception, match="not packed words"):
            scheme._packed.not_(scheme.boolean.random(1, 64))

    run_scheme(OfBytes, program, parties=1)  # type: ignore[arg-type]
