"""The rows of sender and chooser differ by Delta where the choice is 1; kernels give the bits of the portable form."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import kernels
from cofit.arithmetic.integers import Words
from cofit.errors import InvalidInputError, ProtocolError
from cofit.sharing.pair.base_ot import offered, received, replied
from cofit.sharing.pair.extension import QUANTUM, Chooser, Sender, corrections_bytes
from cofit.sharing.pair.streams import NativeStreams, PortableStreams, Streams
from cofit.sharing.pair.trees import base_choices, grown, punctured

Bytes = npt.NDArray[np.uint8]

pytestmark = pytest.mark.usefixtures("isa")

VECTOR = {  # of the leaves i mod 251, i = 0 ... 13311; made from the definition, bit by bit
    "rows": "af0bb58f7d0b5ee6de743a144e71f189b0297091c72a6df439ef369f08a1c8ad",
    "choices": "b93f3f0e1a973a6c232399a4645e4507dca8721fa66dcafcfcd6d8308d05d96d",
    "corrections": "8e8897c6a9ebbd78d8a66a1ee3854a0a96b17165b54b568c6c76acd4234c3d26",
    "sender": "664678bf94f5c0971b607576932f26ae83ff2d9f161f40d4e0bb100dea45948c",
}
DELTA = np.array([0x0123456789ABCDEF, 0xFEDCBA9876543210], np.uint64)


def unpacked(words: Words) -> Bytes:
    return np.unpackbits(words.view(np.uint8), bitorder="little")


def dealt(rng: np.random.Generator) -> tuple[Chooser, Sender, Bytes]:
    """Chooser and sender, with what base transfers would have given."""
    pairs = rng.integers(0, 256, (130, 2, 16), dtype=np.uint8)
    delta_bits = rng.integers(0, 2, 128, dtype=np.uint8)
    leaves, sums = grown(pairs)
    fewer = punctured(delta_bits, pairs[np.arange(130), base_choices(delta_bits)], sums)
    return Chooser(leaves), Sender(fewer, delta_bits), delta_bits


def holds(rows: Words, choices: Words, theirs: Words, delta: Words) -> bool:
    return bool((theirs == rows ^ unpacked(choices)[:, None] * delta).all())


@pytest.mark.parametrize("count", [QUANTUM, 5 * QUANTUM, 40 * QUANTUM])
def test_rows_differ_by_delta_where_the_choice_is_one(count: int, rng: np.random.Generator) -> None:
    chooser, sender, delta_bits = dealt(rng)
    rows, choices, corrections = chooser.extend(count)
    theirs = sender.extend(count, corrections)
    assert rows.shape == theirs.shape == (count, 2)
    assert choices.shape == (count // 64,)
    assert corrections.shape == (corrections_bytes(count),) == (25 * count // 8,)
    assert (unpacked(sender.delta) == delta_bits).all()
    assert holds(rows, choices, theirs, sender.delta)
    assert not holds(rows, ~choices, theirs, sender.delta)


def test_from_base_transfers_to_rows(rng: np.random.Generator) -> None:
    delta_bits = rng.integers(0, 2, 128, dtype=np.uint8)
    offer, message = offered(base_choices(delta_bits))
    pairs, reply = replied(message, b"label")
    leaves, sums = grown(pairs)
    chooser = Chooser(leaves)
    sender = Sender(punctured(delta_bits, received(offer, reply, b"label"), sums), delta_bits)
    rows, choices, corrections = chooser.extend(QUANTUM)
    assert holds(rows, choices, sender.extend(QUANTUM, corrections), sender.delta)


@pytest.mark.parametrize("all_bits", [0, 1])
def test_extreme_deltas(all_bits: int, rng: np.random.Generator) -> None:
    pairs = rng.integers(0, 256, (130, 2, 16), dtype=np.uint8)
    delta_bits = np.full(128, all_bits, np.uint8)
    leaves, sums = grown(pairs)
    sender = Sender(punctured(delta_bits, pairs[np.arange(130), base_choices(delta_bits)], sums), delta_bits)
    rows, choices, corrections = Chooser(leaves).extend(QUANTUM)
    assert holds(rows, choices, sender.extend(QUANTUM, corrections), sender.delta)


def test_two_calls_are_one_call(rng: np.random.Generator) -> None:
    seed = int(rng.integers(2**32))
    once, twice = (dealt(np.random.default_rng(seed)) for _ in range(2))
    counts = [QUANTUM, 3 * QUANTUM]
    rows, choices, corrections = once[0].extend(sum(counts))
    parts = [twice[0].extend(count) for count in counts]
    for whole, pieces in zip((rows, choices, corrections), zip(*parts, strict=True), strict=True):
        assert (whole == np.concatenate(pieces)).all()
    theirs = once[1].extend(sum(counts), corrections)
    in_turn = [twice[1].extend(count, part[2]) for count, part in zip(counts, parts, strict=True)]
    assert (theirs == np.concatenate(in_turn)).all()


def test_choices_rows_and_corrections_look_uniform(rng: np.random.Generator) -> None:
    """Ones in 2^20 bits and more: within five standard deviations; no two rows alike; no bit of a row that stays."""
    rows, choices, corrections = dealt(rng)[0].extend(64 * QUANTUM)
    for bits in (unpacked(choices), np.unpackbits(corrections), unpacked(rows)):
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(bits.size)
    assert len(np.unique(rows, axis=0)) == len(rows)
    by_place = np.unpackbits(rows.view(np.uint8), axis=1).mean(axis=0)
    assert abs(by_place - 0.5).max() < 6 * 0.5 / np.sqrt(len(rows))


def both_streams(leaves: Bytes) -> list[Streams]:
    return [PortableStreams(leaves), NativeStreams(leaves)] if kernels.aes_available() else [PortableStreams(leaves)]


def test_kernels_give_the_bits_of_the_portable_form(rng: np.random.Generator) -> None:
    for count in (QUANTUM, 2 * QUANTUM, 33 * QUANTUM):
        leaves = rng.integers(0, 256, (26, 32, 16), dtype=np.uint8)
        delta = rng.integers(0, 2**64, 2, dtype=np.uint64)
        told = rng.integers(0, 256, corrections_bytes(count), dtype=np.uint8)
        portable, *natives = both_streams(leaves)
        rows, choices, corrections = portable.chosen(count)
        theirs = portable.corrected(count, told, delta)
        for native in natives:
            native_rows, native_choices, native_corrections = native.chosen(count)
            assert (native_rows == rows).all()
            assert (native_choices == choices).all()
            assert (native_corrections == corrections).all()
            assert (native.corrected(count, told, delta) == theirs).all()


def test_fixed_vectors() -> None:
    leaves = (np.arange(13312) % 251).astype(np.uint8).reshape(26, 32, 16)
    told = (np.arange(corrections_bytes(2 * QUANTUM)) % 253).astype(np.uint8)
    for streams in both_streams(leaves):
        rows, choices, corrections = streams.chosen(2 * QUANTUM)
        theirs = streams.corrected(2 * QUANTUM, told, DELTA)
        found: dict[str, npt.NDArray[Any]] = {
            "rows": rows,
            "choices": choices,
            "corrections": corrections,
            "sender": theirs,
        }
        assert {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in found.items()} == VECTOR


def test_corrections_may_start_anywhere(rng: np.random.Generator) -> None:
    """As part of a message that carries more, at any byte of it."""
    chooser, sender, _ = dealt(rng)
    rows, choices, corrections = chooser.extend(QUANTUM)
    message = np.concatenate([np.zeros(3, np.uint8), corrections])
    assert holds(rows, choices, sender.extend(QUANTUM, message[3:]), sender.delta)


def test_nothing_is_nothing(rng: np.random.Generator) -> None:
    chooser, sender, _ = dealt(rng)
    rows, choices, corrections = chooser.extend(0)
    assert rows.shape == (0, 2)
    assert choices.size == corrections.size == 0
    assert sender.extend(0, corrections).shape == (0, 2)


def test_delta_cannot_be_changed_from_outside(rng: np.random.Generator) -> None:
    _, sender, delta_bits = dealt(rng)
    sender.delta[:] = 0
    assert (unpacked(sender.delta) == delta_bits).all()


def test_what_does_not_fit_is_refused(rng: np.random.Generator) -> None:
    chooser, sender, delta_bits = dealt(rng)
    for count in (-QUANTUM, 1, QUANTUM + 64):
        with pytest.raises(InvalidInputError, match=r"'count' parameter of .* must be a multiple of 1024"):
            chooser.extend(count)
    with pytest.raises(ProtocolError, match=f"have {25 * 128} bytes"):
        sender.extend(QUANTUM, np.zeros(25 * 128 - 1, np.uint8))
    with pytest.raises(InvalidInputError, match="'leaves' parameter of Chooser"):
        Chooser(np.zeros((26, 32, 8), np.uint8))
    with pytest.raises(InvalidInputError, match="'delta_bits' parameter of Sender"):
        Sender(np.zeros((26, 32, 16), np.uint8), delta_bits[:-1])
