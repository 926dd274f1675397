"""The pseudorandom generator and the derivation of seeds."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from cofit.arithmetic import F61, Z64, Z128, Generator, IntegerRing, Ring, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, elements_from, fresh_seed
from cofit.errors import InvalidInputError
from support.rejecting import REJECTING

CHUNK = 1 << 18
SEED = bytes(range(32))


def test_known_answer() -> None:
    """AES-256 of counters 0 and 1 under the zero key (NIST's key and text all zero; the second from counter mode)."""
    stream = Generator(bytes(32)).draw(32).tobytes()
    assert stream[:16].hex() == "dc95c078a2408989ad48a21492842087"
    assert stream[16:].hex() == "530f8afbc74536b9a963b4f1c4cb738b"


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(0, 70), max_size=8))
def test_the_stream_does_not_depend_on_the_sizes_drawn(seed: bytes, sizes: list[int]) -> None:
    generator = Generator(seed)
    pieces = [generator.draw(size) for size in sizes]
    assert [piece.size for piece in pieces] == sizes
    assert b"".join(piece.tobytes() for piece in pieces) == Generator(seed).draw(sum(sizes)).tobytes()


@pytest.mark.parametrize(
    "sizes",
    [
        [CHUNK, CHUNK],
        [CHUNK - 1, 2],
        [1, CHUNK],
        [CHUNK + 1, CHUNK - 1, 7],
        [3, 3 * CHUNK + 5, 11],
        [2 * CHUNK, 16],
        [0, 5, 0, CHUNK + 16],
    ],
    ids=str,
)
def test_the_stream_is_contiguous_across_chunks(sizes: list[int]) -> None:
    whole = Generator(SEED)
    small = b"".join(whole.draw(1 << 12).tobytes() for _ in range(-(-sum(sizes) // (1 << 12))))
    generator = Generator(SEED)
    pieces = b"".join(generator.draw(size).tobytes() for size in sizes)
    assert pieces == small[: sum(sizes)]
    assert Generator(SEED).draw(sum(sizes)).tobytes() == pieces


def test_different_seeds_give_different_streams() -> None:
    streams = {Generator(SEED[:i] + bytes([SEED[i] ^ 1]) + SEED[i + 1 :]).draw(32).tobytes() for i in range(32)}
    streams.add(Generator(SEED).draw(32).tobytes())
    assert len(streams) == 33


@pytest.mark.parametrize("size", [1 << 20, 1 << 18])
def test_bytes_look_uniform(size: int) -> None:
    """A fixed seed, so the test never flickers; the quantile would admit one in a million seeds as an exception."""
    counts = np.bincount(Generator(SEED).draw(size), minlength=256)
    statistic = float(((counts - size / 256) ** 2 / (size / 256)).sum())
    assert chi2.isf(1 - 1e-6, 255) < statistic < chi2.isf(1e-6, 255)


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0,), (2, 0), (400, 300)], ids=str)
def test_ring_elements_are_the_stream(ring: IntegerRing, shape: tuple[int, ...]) -> None:
    elements = Generator(SEED).ring(ring, shape)
    assert elements.shape == shape
    assert elements.dtype == ring.dtype
    assert elements.flags.aligned
    count = int(np.prod(shape, dtype=int))
    assert elements.tobytes() == Generator(SEED).draw(count * ring.element_bytes).tobytes()


@pytest.mark.parametrize("ring", [BITS, Z64, Z128, F61], ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0,), (40, 300)], ids=str)  # small, and beyond a chunk in all
@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_several_arrays_are_those_of_as_many_draws(ring: Ring, shape: tuple[int, ...], count: int) -> None:
    once, one_by_one = Generator(SEED), Generator(SEED)
    arrays = once.rings(ring, shape, count)
    expected = [one_by_one.ring(ring, shape) for _ in range(count)]
    assert [array.tobytes() for array in arrays] == [array.tobytes() for array in expected]
    assert all(isinstance(array, np.ndarray) and array.shape == shape for array in arrays)
    assert once.position == one_by_one.position


def test_words_are_the_stream() -> None:
    words = Generator(SEED).words((3, 5))
    assert words.dtype == np.uint64
    assert words.shape == (3, 5)
    assert words.tobytes() == Generator(SEED).draw(120).tobytes()
    assert Generator(SEED).ring(BITS, (3, 5)).tobytes() == words.tobytes()


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_seeds_of_another_length_are_refused(size: int) -> None:
    with pytest.raises(InvalidInputError, match="32 bytes long") as info:
        Generator(b"\x41" * size)
    assert "AAAA" not in str(info.value)


def test_repr_hides_the_seed() -> None:
    assert repr(Generator(b"S" * 32)) == "<Generator>"
    assert not hasattr(Generator(SEED), "__dict__")


def test_fresh_seeds_are_fresh() -> None:
    seeds = {fresh_seed() for _ in range(50)}
    assert len(seeds) == 50
    assert {len(seed) for seed in seeds} == {SEED_BYTES}


@given(st.binary(min_size=1, max_size=80), st.text(max_size=20))
def test_derived_seeds_follow_rfc_5869(material: bytes, purpose: str) -> None:
    key = hmac.new(bytes(32), material, hashlib.sha256).digest()
    want = hmac.new(key, purpose.encode() + b"\x01", hashlib.sha256).digest()
    assert derive_seed(material, purpose) == want


def test_derived_seeds_depend_on_material_and_purpose() -> None:
    seeds = {derive_seed(material, purpose) for material in (b"a", b"b", b"ab") for purpose in ("", "x", "y", "xy")}
    assert len(seeds) == 12
    assert {len(seed) for seed in seeds} == {SEED_BYTES}
    assert derive_seed(b"a", "x") == derive_seed(b"a", "x")


@pytest.mark.parametrize("ring", [Z64, Z128, F61, BITS], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7), (3, 0), (700, 300), (3, 50_000), (2, 3, 4)], ids=str)
def test_elements_drawn_in_place_are_those_of_the_stream(ring: Ring, shape: Shape) -> None:
    """Contiguous or with gaps, in one piece or in chunks of rows."""
    want = Generator(SEED)
    elements, following = want.ring(ring, shape), want.draw(8).tobytes()
    roomy = ring.zeros((*shape[:-1], 2 * shape[-1] + 1)) if shape else ring.zeros(())
    gaps = roomy[..., 1::2] if shape else roomy
    for out in (ring.zeros(shape), gaps):
        generator = Generator(SEED)
        generator.ring_into(ring, out)
        np.testing.assert_array_equal(out, elements)
        assert generator.draw(8).tobytes() == following
    if shape:
        assert (roomy[..., ::2] == ring.zeros(())).all()


# --- a stream that begins anywhere ------------------------------------------------------------------------------


def by_definition(start: int, nbytes: int) -> bytes:
    """Block by block: AES-256 of the number of the block, without counter mode."""
    first, last = start // 16, (start + nbytes) // 16
    cipher = Cipher(algorithms.AES256(SEED), modes.ECB()).encryptor()
    blocks = b"".join(cipher.update((i % (1 << 128)).to_bytes(16, "big")) for i in range(first, last + 1))
    return blocks[start - 16 * first :][:nbytes]


@pytest.mark.parametrize("start", range(41))
def test_a_stream_begins_at_any_byte(start: int) -> None:
    whole = Generator(SEED).draw(200).tobytes()
    generator = Generator(SEED, start)
    assert generator.position == start
    assert generator.draw(7).tobytes() == whole[start : start + 7]
    buffer = bytearray(60)
    generator.fill(memoryview(buffer))
    assert bytes(buffer) == whole[start + 7 : start + 67]
    assert generator.position == start + 67
    assert by_definition(start, 50) == whole[start : start + 50]


@pytest.mark.parametrize("inside", [-17, -16, -1, 0, 1, 15, 16])
@pytest.mark.parametrize("power", [18, 32, 36, 40, 64, 68, 100, 131])
def test_a_stream_begins_far_behind(power: int, inside: int) -> None:
    """Also where 32 and 64 bits of the number of a block are used up: bytes 2^36 and 2^68."""
    start = (1 << power) + inside
    generator = Generator(SEED, start)
    assert generator.draw(100).tobytes() == by_definition(start, 100)
    assert generator.position == start + 100


@pytest.mark.parametrize("start", [3, (1 << 36) - 1000])
def test_long_draws_from_the_middle(start: int) -> None:
    assert Generator(SEED, start).draw(CHUNK + 40).tobytes() == by_definition(start, CHUNK + 40)


@pytest.mark.parametrize("start", [-1, -16, 1 << 132])
def test_a_stream_has_no_other_places(start: int) -> None:
    with pytest.raises(InvalidInputError, match="'start' parameter of Generator"):
        Generator(SEED, start)


@pytest.mark.parametrize("first", [0, 1, 2, 3, 5, 100, CHUNK // 8 - 1, CHUNK // 8, CHUNK // 8 + 1, CHUNK // 4 + 3])
@pytest.mark.parametrize("ring", [BITS, Z64, Z128, F61, REJECTING], ids=["bits", "Z64", "Z128", "F61", "rejecting"])
def test_elements_behind_the_first_ones(ring: Ring, first: int) -> None:
    """The same elements, and the same place in the stream, as if those before had been drawn."""
    whole = Generator(SEED)
    elements = whole.ring(ring, (first + 5,))
    stream = elements_from(SEED, ring, first)
    np.testing.assert_array_equal(stream.ring(ring, (5,)), elements[first:])
    assert stream.position == whole.position
    if ring is REJECTING and first > 99:
        assert whole.position > 8 * (first + 5), "some were passed over"


def test_a_negative_number_of_elements_is_refused() -> None:
    for ring in (Z64, F61):
        with pytest.raises(InvalidInputError, match="'first' parameter of elements_from"):
            elements_from(SEED, ring, -1)
