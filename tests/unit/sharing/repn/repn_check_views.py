"""What t parties see in a check of ``repn``, and which draws that they lack hide it.

As in ``support.masks``, draw by draw: every one is shifted, in two turns, and what changes is looked at. Coins are the
same in all runs. What is opened stands for what is said of it: a value that is 0, and f and g, of which the third value
is the product; the summand that a coalition lacks follows from it and from its own.

An element of a field is hidden by a draw that is in it times anything public but 0; an element of Z_2^k by one that is
added or taken off. W (``lifted.py``) is an integer under an integer that is larger by far.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

from cofit.arithmetic import Z64, Z128, Generator, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import Scheme
from cofit.sharing.group_streams import Group
from cofit.sharing.repn.fields import BinaryField, Scalars, public_stream
from cofit.sharing.repn.lifted import claim_bytes
from cofit.sharing.repn.party import Repn
from cofit.sharing.shares import Share
from cofit.sharing.steps import Messages, Protocol
from support.coalitions import Change, Draw, Key, Scripted
from support.masks import unsettled_by
from support.runs import run_scheme

SHIFTS = (0x0123456789ABCDE, 0x6DCBA987654321)
GF = BinaryField()
Effect = str


@dataclass
class Seen:
    """Something that a party hears: integers, of a ring, or W with ring None. ``told``: the summands, if opened."""

    sender: int
    what: str
    ring: Ring | None
    values: list[int]


@dataclass
class Log:
    """What was heard in checks, by receiver; and all draws."""

    seen: dict[int, list[Seen]] = field(default_factory=dict)
    draws: dict[Key, int] = field(default_factory=dict)


def _fixed_coins() -> Callable[[], bytes]:
    own = threading.local()

    def nonce() -> bytes:
        own.count = getattr(own, "count", 0) + 1
        return hashlib.sha256(own.count.to_bytes(4, "little")).digest()

    return nonce


def _integers(ring: Ring, array: RingArray) -> list[int]:
    words = array.reshape(-1)
    return [int(value) for value in (words if words.dtype.names is None else ring.to_int(words))]


def watching(kind: type[Repn], log: Log, changes: Mapping[Draw, Change], salt: int) -> type[Repn]:
    """A party with scripted streams that notes what it hears in checks."""

    class Watching(kind):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            super().setup()
            self._pairs = {r: Scripted(("pair", tuple(sorted((r, self.rank)))), changes, salt) for r in self._others}
            self._groups = {g: Scripted(("group", g), changes, salt) for g in self._own_groups}
            for r in self._others:
                self._common[r] = [self._pairs[r], *(self._groups[g] for g in self._own_groups if r in g)]
            log.seen[self.rank] = []

        def _note(self, sender: int, what: str, ring: Ring | None, values: list[int]) -> None:
            if self._label.startswith("verify/"):
                log.seen[self.rank].append(Seen(sender, what, ring, values))

        def _dealt(self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None) -> Any:
            protocol = super()._dealt(ring, shape, dealers, own)
            messages: Messages = next(protocol)
            yield messages
            for sender, array in messages.receive.items():
                self._note(sender, "dealt", ring, _integers(ring, array))
            return (yield from protocol)

        def _opened(self, share: Share, receivers: Sequence[int]) -> Protocol[RingArray | None]:
            value: RingArray | None = yield from super()._opened(share, receivers)
            if value is not None:
                self._note(-1, "opened", share.ring, _integers(share.ring, value))
            return value

        def _published(self, payload: bytes) -> Protocol[list[bytes]]:
            said: list[bytes] = yield from super()._published(payload)
            for sender, told in enumerate(said):
                if len(told) > 64:  # no digest and no nonce
                    size = next(size for size in sizes if len(told) % (size * 56) == 0)
                    values = [int.from_bytes(told[i : i + size], "little") for i in range(0, len(told), size)]
                    self._note(sender, "W", None, values)
            return said

        def _seen(self, coins: Any, said: list[bytes]) -> Generator:
            coins.said.append(said)
            return public_stream("whatever the session is", *said)

        def _hiding(self, ring: Any, claims: Any) -> list[dict[int, bytes]]:
            found: list[dict[int, bytes]] = super()._hiding(ring, claims)
            size = claims.hiding_bytes
            for dealer, own in enumerate(found):
                for place, raw in own.items():
                    more = changes.get((("hiding", self._own_groups[place]), dealer))
                    if more is not None and any(raw):
                        step = int(more(BITS, (1,))[0])
                        values = [int.from_bytes(raw[i : i + size], "little") for i in range(0, len(raw), size)]
                        own[place] = b"".join((v + step).to_bytes(size, "little") for v in values)
            return found

    sizes = [claim_bytes(ring) for ring in (Z64, Z128)]
    return Watching


def run_scripted(
    program: Callable[[Repn], object],
    parties: int,
    changes: Mapping[Draw, Change] | None = None,
    kind: type[Repn] = Repn,
    salt: int = 0,
) -> Log:
    """Run a program and check it."""
    log = Log()

    def own(s: Scheme) -> None:
        assert isinstance(s, Repn)
        program(s)
        s.verify()
        log.draws |= {stream.key: stream.calls for stream in s._groups.values() if isinstance(stream, Scripted)}

    with mock.patch("cofit.sharing.repn.check.fresh_seed", _fixed_coins()):
        run_scheme(watching(kind, log, changes or {}, salt), own, parties=parties)
    return log


def draws_of(log: Log, parties: int) -> list[Draw]:
    """All draws of groups; and those that hide what every party tells all, which are bytes."""
    found = [(key, call) for key, calls in sorted(log.draws.items()) for call in range(calls)]
    return [*found, *((("hiding", key[1]), d) for key in sorted(log.draws) for d in range(parties) if d in key[1])]


def _shift(amount: int) -> Change:
    def change(ring: Ring, shape: Shape) -> RingArray:
        size = int(np.prod(shape))
        values = [amount * (i + 1) % (1 << 59) for i in range(size)]
        if ring is BITS:
            return np.asarray(values, np.uint64).reshape(shape)
        return ring.from_int(np.asarray(values, dtype=object)).reshape(shape)

    return change


def _ratios(plain: Seen, changed: Seen, amount: int) -> list[object]:
    """By element: what a shift did to it; None where nothing, and -1 where it is no multiple of the shift."""
    found: list[object] = []
    for i, (a, b) in enumerate(zip(plain.values, changed.values, strict=True)):
        step = amount * (i + 1) % (1 << 59)
        if a == b:
            found.append(None)
        elif plain.ring is None:
            found.append(1 if b - a == amount else -1)
        elif plain.ring is BITS:
            found.append(_gf_ratio(a ^ b, step))
        elif isinstance(plain.ring, Scalars) or plain.ring.bits == 61:
            prime = getattr(plain.ring, "prime", None) or plain.ring.modulus  # type: ignore[attr-defined]
            found.append((b - a) * pow(step, -1, prime) % prime)
        else:
            size = 1 << plain.ring.bits
            found.append(1 if (b - a - step) % size == 0 or (a - b - step) % size == 0 else -1)
    return found


def _gf_ratio(change: int, step: int) -> int:
    inverse, square = 1, step
    for _ in range(63):
        square = GF.mul(square, square)
        inverse = GF.mul(inverse, square)
    return GF.mul(change, inverse)


def _effect(plain: Seen, both: Sequence[Seen]) -> Effect:
    ratios = [_ratios(plain, changed, amount) for changed, amount in zip(both, SHIFTS, strict=True)]
    if all(ratio is None for one in ratios for ratio in one):
        return "none"
    alike = all(a == b and a not in (None, -1) for a, b in zip(*ratios, strict=True))
    return "shift" if alike else "otherwise"


def view(log: Log, corrupted: Group) -> list[Seen]:
    """What T hears from others; of the last opening f and g alone, and once."""
    heard = [m for rank in corrupted for m in log.seen[rank] if m.sender not in corrupted and m.what != "opened"]
    for m in log.seen[corrupted[0]]:
        if m.what == "opened" and len(m.values) == 3:
            heard.append(Seen(-1, "f and g", m.ring, m.values[:2]))
        elif m.what == "opened":
            assert not any(m.values), "what must be 0 says nothing else"
    return heard


def exposed(
    program: Callable[[Repn], object], parties: int, coalitions: Sequence[Group], kind: type[Repn] = Repn
) -> dict[Group, list[str]]:
    """By coalition: what is not proved to be hidden."""
    plain = run_scripted(program, parties, kind=kind)
    draws = draws_of(plain, parties)
    shifted = {
        draw: [run_scripted(program, parties, {draw: _shift(amount)}, kind) for amount in SHIFTS] for draw in draws
    }
    left = {}
    for some in coalitions:
        heard = view(plain, some)
        lacked = [[view(log, some) for log in shifted[d]] for d in draws if not set(d[0][1]) & set(some)]
        copies = [
            (m.what, tuple(m.values), *(tuple(v[i].values) for d in lacked for v in d)) for i, m in enumerate(heard)
        ]
        first = [i for i, one in enumerate(copies) if one not in copies[:i]]
        effects = [[_effect(heard[i], [one[i], other[i]]) for i in first] for one, other in lacked]
        left[some] = [f"{heard[first[i]].what} of {heard[first[i]].sender}" for i in unsettled_by(effects, len(first))]
    return {some: what for some, what in left.items() if what}
