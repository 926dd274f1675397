"""repn with parties that lie: a program that uses every operation, and what may be done with the messages of a run.

A lie changes what a corrupted party sends in one of its exchanges. *Consistent* lies change what the party believes,
too: it tells all the same, and goes on with it, so that only the proofs can show it. The others tell receivers
different things. ``problem`` says what is wrong with an outcome: nothing, if every honest party has ended with an
error, or has the honest result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, RingArray
from cofit.errors import CofitError
from cofit.sharing.bit_forms import Lookup, Outer
from cofit.sharing.repn.party import Repn
from cofit.sharing.shares import BitShare, PlacedBits, Share
from cofit.transport import Terms, memory_meshes

Send = dict[int, list[RingArray]]
Lie = Callable[["Repn", int, str, Send], Send]
"""The party, the number and name of the exchange, and what is sent: what is sent instead."""
Results = dict[str, Any]
Program = Callable[[Repn], Results]
TIMEOUT = 20.0


class GoneError(Exception):
    """A corrupted party stops without a word."""


# --- runs ------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """By rank: results, or what ended the party; names of the exchanges in which each sent something."""

    results: dict[int, Any] = field(default_factory=dict)
    names: dict[int, list[str]] = field(default_factory=dict)
    parties: dict[int, Repn] = field(default_factory=dict)

    def errors(self, honest: Sequence[int]) -> list[Exception]:
        return [self.results[rank] for rank in honest if isinstance(self.results[rank], Exception)]


def lying(kind: type[Repn], lie: Lie, names: list[str]) -> type[Repn]:
    """A party of that kind, except that what it sends goes through ``lie``."""

    class Lying(kind):  # type: ignore[misc, valid-type]
        def _exchange(
            self,
            operation: str,
            send: Mapping[int, Sequence[RingArray]] | None = None,
            receive: Mapping[int, RingArray] | None = None,
        ) -> None:
            if send:
                label = self._label + operation
                names.append(label)
                send = lie(self, len(names) - 1, label, {rank: list(arrays) for rank, arrays in send.items()})
            super()._exchange(operation, send, receive)

    return Lying


def run(
    program: Program,
    parties: int = 3,
    lies: Mapping[int, Lie] | None = None,
    kinds: Mapping[int, type[Repn]] | None = None,
    kind: type[Repn] = Repn,
    timeout: float = TIMEOUT,
) -> Outcome:
    """Run everybody. ``lies``: of corrupted parties; ``kinds``: of parties that are made otherwise than ``kind``."""
    names = tuple(f"party-{rank}" for rank in range(parties))
    meshes = memory_meshes(names, Terms(bytes(16), bytes(32), "repn"), timeout)
    outcome = Outcome()

    def member(rank: int) -> None:
        mesh, said = meshes[names[rank]], outcome.names.setdefault(rank, [])
        own = (kinds or {}).get(rank, kind)
        try:
            party = lying(own, (lies or {}).get(rank, honestly), said)(mesh, names)
            outcome.parties[rank] = party
            party.setup()
            outcome.results[rank] = program(party)
        except GoneError as gone:
            outcome.results[rank] = gone
        except Exception as error:
            outcome.results[rank] = error
            mesh.abort(str(error))

    threads = [threading.Thread(target=member, args=(rank,), daemon=True) for rank in range(parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "somebody hangs"
    for mesh in meshes.values():
        mesh.close()
    return outcome


def honestly(party: Repn, number: int, name: str, send: Send) -> Send:
    del party, number, name
    return send


# --- the program -----------------------------------------------------------------------------------------

A, B = np.arange(3) * 1000 + 1, np.arange(3) * 777 - 5
MATRIX, VECTOR = np.arange(6).reshape(3, 2) * 50 - 77, np.arange(2) * 9 - 5
LOOKUP = Lookup(2, [(1, np.array([[1], [3], [2]], np.uint64))])
SHIFT = 4


def given(p: Repn, source: int, values: object) -> Share:
    """A value that a party puts in."""
    array = np.asarray(values)
    return p.input(source, Z64.from_int(array) if p.rank == source else None, Z64, array.shape)


def _low(p: Repn, places: slice | list[int]) -> BitShare:
    return p.boolean.select_rows(p.to_bits(given(p, 0, A), bits=5), places)


def _back(p: Repn) -> Share:
    held = p.hold(given(p, 1, MATRIX))
    return p.matmul(held.map(np.transpose), p.matmul(held, given(p, 0, VECTOR)), SHIFT)


def _inner(p: Repn) -> Share:
    matrix = given(p, 1, MATRIX)
    return p.inner(matrix, matrix)


def _outer(p: Repn) -> BitShare:
    bits = _low(p, slice(0, 5))
    low, high = (p.boolean.select_rows(bits, slice(start, start + 2)) for start in (0, 3))
    return p.boolean.bilinear(low, high, Outer())


def _table(p: Repn) -> BitShare:
    bits = _low(p, slice(0, 5))
    return p.boolean.bilinear(p.boolean.select_rows(bits, slice(0, 1)), p.boolean.select_rows(bits, [3, 4]), LOOKUP)


def _noise(p: Repn) -> BitShare:
    noise = p.boolean.random(2, len(B))
    return p.boolean.and_(noise, p.boolean.not_(noise))


def _last(p: Repn, values: object) -> Share:
    return given(p, len(p.names) - 1, values)


OPERATIONS: dict[str, Callable[[Repn], Share | BitShare]] = {
    "sum": lambda p: p.add(given(p, 0, A), _last(p, B)),
    "product": lambda p: p.mul(given(p, 0, A), _last(p, B)),
    "truncated product": lambda p: p.mul(given(p, 0, A), _last(p, B), SHIFT),
    "forward": lambda p: p.matmul(p.hold(given(p, 1, MATRIX)), given(p, 0, VECTOR)),
    "back": _back,
    "inner": _inner,
    "signs": lambda p: p.sign_bits(given(p, 1, B)),
    "bits": lambda p: p.from_bits(p.boolean.input(1, _sign_bits() if p.rank == 1 else None, 1, len(B)), Z64),
    "numbers": lambda p: p.from_numbers([PlacedBits(0, _low(p, slice(0, 2))), PlacedBits(1, _low(p, [3, 4]))], Z64),
    "fresh": lambda p: p.refresh(_last(p, A)),
    "truncated": lambda p: p.truncate(_last(p, A), SHIFT),
    "words": _outer,
    "table": _table,
    "noise": _noise,
    "to one": lambda p: p.mul(given(p, 0, A), given(p, 1, A)),
}


def _sign_bits() -> npt.NDArray[np.uint8]:
    return (B < 0).astype(np.uint8)[None]


def opened(p: Repn, shares: Mapping[str, Share | BitShare]) -> Results:
    """Open shares; one of them to the last party alone: it is None at the others."""
    found: Results = {}
    vars(p)["released"] = found
    for name, share in shares.items():
        to = [len(p.names) - 1] if name == "to one" else None
        if isinstance(share, Share):
            value = p.open(share, to)
            found[name] = None if value is None else np.asarray(Z64.to_int(value))
        else:
            found[name] = p.boolean.open(share, to)
    return found


def program_of(*names: str) -> Program:
    """The program of some operations, all before the first opening."""
    return lambda p: opened(p, {name: OPERATIONS[name](p) for name in names})


everything = program_of(*OPERATIONS)


def _bit(values: Any, place: int) -> Any:
    return np.asarray(values) >> place & 1


def expected() -> Results:
    """What all that is, in the clear."""
    bits = [_bit(A, place) for place in range(5)]
    return {
        "sum": A + B,
        "product": A * B,
        "truncated product": A * B >> SHIFT,
        "forward": MATRIX @ VECTOR,
        "back": MATRIX.T @ (MATRIX @ VECTOR) >> SHIFT,
        "inner": (MATRIX * MATRIX).sum(1),
        "signs": (B < 0)[None],
        "bits": (B < 0)[None],
        "numbers": bits[0] + 2 * bits[1] + 2 * bits[3] + 4 * bits[4],
        "fresh": A,
        "truncated": A >> SHIFT,
        "words": np.stack([bits[i] & bits[j] for i in (0, 1) for j in (3, 4)]),
        "table": np.stack([bits[0] & bits[3], bits[0] & (bits[3] ^ bits[4]), bits[0] & bits[4]]),
        "noise": np.zeros((2, len(B)), np.uint8),
        "to one": A * A,
    }


SLACK = ("truncated product", "back", "truncated")
"""What may be greater by one."""


def wrong(found: Results) -> list[str]:
    """The names of wrong results."""
    right = expected()
    known = {name: np.asarray(value).astype(np.int64) for name, value in found.items() if value is not None}
    differences = {name: value - right[name] for name, value in known.items()}
    return [name for name, d in differences.items() if not ((d == 0) | ((d == 1) & (name in SLACK))).all()]


def problem(outcome: Outcome, corrupted: Sequence[int], must_end: bool = False) -> str:
    """What is wrong with an outcome. ``must_end``: no honest party may have a result."""
    honest = [rank for rank in outcome.results if rank not in corrupted]
    for rank in honest:
        result, released = outcome.results[rank], vars(outcome.parties[rank]).get("released", {})
        if wrong(released):
            return f"party {rank} has a wrong result: {wrong(released)}"
        if isinstance(result, Exception) and not isinstance(result, CofitError):
            return f"party {rank} broke down: {result!r}"
        if must_end and released:
            return f"party {rank} has a result: {released}"
    return ""
