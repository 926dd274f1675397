"""Messages that cannot be right are refused, with what is wrong; and so are operands of other shapes and rings."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, Generator
from cofit.errors import ProtocolError, RingMismatchError, ShapeError
from cofit.sharing.pair.rlwe.client import Client, key_bytes
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import Parameters
from cofit.sharing.pair.rlwe.residues import Message, uniform
from cofit.sharing.pair.rlwe.server import Server

Pair = tuple[Client, Server]
Change = Callable[[Message], Message]


def too_large(message: Message) -> Message:
    """The last residues are 2^50 - 1."""
    changed = message.copy()
    changed[-26:] = 255
    return changed


WRONG: list[tuple[Change, str]] = [
    (lambda message: message[:-1], "must have"),
    (lambda message: np.append(message, np.uint8(0)), "must have"),
    (lambda message: message[:0], "must have"),
    (lambda message: message.astype(np.uint16), "must have"),
    (lambda message: message.reshape(1, -1), "must have"),
    (too_large, "not below its prime"),
]


@pytest.mark.parametrize(("change", "wrong"), WRONG)
def test_a_wrong_message_is_refused(pair: Pair, change: Change, wrong: str) -> None:
    client, server = pair
    parameters = client.parameters
    assert client.key_message.nbytes == key_bytes(parameters)
    with pytest.raises(ProtocolError, match=f"The public key .*{wrong}"):
        Server(parameters, change(client.key_message))
    for packing in (MatrixPacking(6, 9, 6, parameters), RowsPacking(9, 9, parameters)):
        x, b = (parameters.ring.zeros(shape) for shape in (packing.matrix_shape, packing.operand_shape))
        request = client.request(packing, b)
        with pytest.raises(ProtocolError, match=f"The request of an encrypted product .*{wrong}"):
            server.answer(packing, change(request), x)
        _, reply = server.answer(packing, request, x)
        with pytest.raises(ProtocolError, match=f"The reply of an encrypted product .*{wrong}"):
            client.finish(packing, change(reply))


def test_operands_of_other_shapes_and_rings_are_refused(pair: Pair, parameters: Parameters) -> None:
    client, server = pair
    packing = MatrixPacking(2, 3, 4, parameters)
    other = {64: Z128, 128: Z64}[parameters.bits]
    request = client.request(packing, parameters.ring.zeros((3, 4)))
    with pytest.raises(ShapeError, match="masks"):
        client.request(packing, parameters.ring.zeros((4, 3)))
    with pytest.raises(RingMismatchError):
        client.request(packing, other.zeros((3, 4)))
    with pytest.raises(ShapeError, match="matrix"):
        server.answer(packing, request, parameters.ring.zeros((3, 2)))
    with pytest.raises(RingMismatchError):
        server.answer(packing, request, other.zeros((2, 3)))


class Scripted:
    """A stream that begins with ones, twice, and goes on with threes."""

    def __init__(self) -> None:
        self.words_drawn: list[int] = []

    def draw(self, nbytes: int) -> Message:
        out = np.zeros(nbytes, dtype=np.uint8)
        out[:13] = 255  # two residues that are no residues
        return out

    def words(self, shape: tuple[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        self.words_drawn.append(shape[0])
        return np.full(shape, 2**64 - 1 if len(self.words_drawn) == 1 else 3, dtype=np.uint64)


def test_what_is_no_residue_is_drawn_again(parameters: Parameters) -> None:
    stream = Scripted()
    out = uniform(cast(Generator, stream), parameters.moduli, 8)
    assert stream.words_drawn == [2, 2]
    assert out[0].tolist() == [3, 3, 15, 0, 0, 0, 0, 0]
    assert not out[1:].any()
