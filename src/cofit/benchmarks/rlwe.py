"""Products of a matrix with another party's masks by RLWE encryption, both ends in one process: seconds and bytes."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from cofit import kernels
from cofit.arithmetic import Generator, RingArray
from cofit.arithmetic.prg import fresh_seed
from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.packing import MatrixPacking, Packing, RowsPacking
from cofit.sharing.pair.rlwe.parameters import parameters_for
from cofit.sharing.pair.rlwe.server import Server


@dataclass(frozen=True)
class RlweResult:
    """One line of ``cofit bench rlwe``. Seconds are of one core; bytes are those of both messages."""

    product: str
    ring: str
    isa: str
    rows: int
    cols: int
    requests: int
    replies: int
    bytes: int
    client_seconds: float
    server_seconds: float


def measure_rlwe(
    rows: int = 1713, cols: int = 1874, columns: int = 20, repetitions: int = 3, ring_bits: int = 64
) -> list[RlweResult]:
    """The matrix and its transpose times ``columns`` masks, and inner products of rows; medians of processor time."""
    parameters = parameters_for(ring_bits)
    stream = Generator(fresh_seed())
    x = stream.ring(parameters.ring, (rows, cols))
    client = Client(parameters)
    server = Server(parameters, client.key_message)
    products: list[tuple[str, Packing, RingArray]] = [
        ("X B", MatrixPacking(rows, cols, columns, parameters), x),
        ("X^T B", MatrixPacking(cols, rows, columns, parameters), x.T),
        ("rows", RowsPacking(rows, cols, parameters), x),
    ]
    results = []
    for name, packing, matrix in products:
        masks = stream.ring(parameters.ring, packing.operand_shape)
        times = [_times(client, server, packing, matrix, masks) for _ in range(repetitions)]
        client_seconds, server_seconds = (statistics.median(part) for part in zip(*times, strict=True))
        results.append(
            RlweResult(
                name,
                parameters.ring.name,
                kernels.isa(),
                rows,
                cols,
                packing.requests,
                packing.answers,
                packing.request_bytes + packing.reply_bytes,
                client_seconds,
                server_seconds,
            )
        )
    return results


def _times(client: Client, server: Server, packing: Packing, x: RingArray, masks: RingArray) -> tuple[float, float]:
    """Return the seconds of the client and of the server for one product."""
    marks = [time.process_time()]
    request = client.request(packing, masks)
    marks.append(time.process_time())
    _, reply = server.answer(packing, request, x)
    marks.append(time.process_time())
    client.finish(packing, reply)
    marks.append(time.process_time())
    return marks[1] - marks[0] + marks[3] - marks[2], marks[2] - marks[1]
