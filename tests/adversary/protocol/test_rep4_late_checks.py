"""The attack on checks that come late: it finds nothing in rep4, and everything where a check is one exchange late."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pytest

from adversary.protocol.rep4_tampering import NAMES, Log, N, Place, one_more, run, shared
from cofit.arithmetic import Z64, Generator, RingArray
from cofit.errors import DisputeError
from cofit.sharing import Scheme, Share
from cofit.sharing.rep4.joint import Joint
from cofit.sharing.rep4.party import PAIRS, PRODUCT, Rep4

# c = a b, e = c d. The corrupted party 2 adds 1 to what it sends to party 1 in the first product, a part of c_0. In the
# second one, parties 1 and 3 deal c_0 d_2 + c_2 d_0 to party 2. If party 1 goes on with c_0 + 1, what it sends is off
# by d_2, the summand of d that party 2 lacks, and the digest of party 3 is that of the right value: with it the
# corrupted party tests any guess of d.

ATTACKER, VICTIM = 2, 1
BAD = Place(NAMES[ATTACKER], 2, NAMES[VICTIM], 0)
assert PRODUCT[PAIRS.index((0, 1))] == Joint(ATTACKER, 3, VICTIM)
assert PRODUCT[PAIRS.index((0, 2))] == Joint(VICTIM, 3, ATTACKER)


class Late(Rep4):
    """The mutation: what arrives in an exchange is checked after the next one."""

    _waiting: tuple[str, list[tuple[Joint, bytes, bytes]]] = ("", [])

    def _check(self, operation: str, arrived: Iterable[tuple[int, Joint, RingArray, bytes]]) -> None:
        before, waiting = self._waiting
        self._waiting = (
            operation,
            [(joint, self._digest(n, joint, data.data), vouched) for n, joint, data, vouched in arrived],
        )
        for joint, own, vouched in waiting:
            if own != vouched:
                pair = self.names[joint.sender], self.names[joint.voucher]
                raise self._failed(before, f"'{pair[0]}' and '{pair[1]}' differ.", pair)


def secret_d(s: Scheme, value: int) -> Share:
    """d, fixed but for the summand that the attacker lacks."""
    summands = [Generator(bytes([70 + i] * 32)).ring(Z64, (N,)) for i in range(4)]
    rest = Z64.add(Z64.add(summands[0], summands[1]), summands[3])
    summands[ATTACKER] = Z64.sub(Z64.from_int(np.full(N, value)), rest)
    return Share(Z64, tuple(summands[j] for j in range(4) if j != s.rank))


def attacked(kind: type[Rep4], value: int, place: Place | None) -> tuple[dict[str, object], Log]:
    """Run both products with fixed keys, so that runs can be compared."""

    class Fixed(kind):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            super().setup()
            for key in list(self._keys):
                self._keys[key] = Generator(bytes([key + 1] * 32))

    def program(s: Scheme) -> Share:
        c = s.mul(shared(s, 0), shared(s, 9))
        return s.mul(c, secret_d(s, value))

    outcomes, _, log = run(program, place, one_more, Fixed)
    return outcomes, log


def shown_to_attacker(log: Log) -> dict[tuple[str, int], bytes]:
    """All that the others sent to the attacker after the setup, by sender and exchange."""
    return {
        (name, number): b"".join(messages[NAMES[ATTACKER]])
        for name, exchanges in log.sent.items()
        for number, messages in enumerate(exchanges)
        if number >= 2 and NAMES[ATTACKER] in messages
    }


def guess(log: Log) -> int | None:
    """What the attacker finds out: the value of d whose shift makes the digest that it was sent fit."""
    shown = shown_to_attacker(log)
    if (NAMES[VICTIM], 3) not in shown or (NAMES[3], 3) not in shown:
        return None
    data = np.frombuffer(shown[NAMES[VICTIM], 3][: N * 8], np.uint64)
    vouched = shown[NAMES[3], 3]
    known = [Generator(bytes([70 + i] * 32)).ring(Z64, (N,)) for i in (0, 1, 3)]
    binding = bytes(16) + (2).to_bytes(8, "little") + bytes([PAIRS.index((0, 2)), VICTIM, 3, ATTACKER])
    for value in range(20):
        d_2 = Z64.sub(Z64.from_int(np.full(N, value)), Z64.sum(np.stack(known), axis=0))
        candidate = np.concatenate([data[:1] - d_2[:1], data[1:]])
        if hashlib.sha256(binding + candidate.tobytes()).digest() in vouched:
            return value
    return None


@pytest.mark.parametrize("value", [0, 7, 13])
def test_the_attack_on_late_checks_finds_nothing(value: int) -> None:
    honest = shown_to_attacker(attacked(Rep4, value, None)[1])
    outcomes, log = attacked(Rep4, value, BAD)
    assert isinstance(outcomes[NAMES[VICTIM]], DisputeError)
    assert len(log.sent[NAMES[VICTIM]]) == 3, "the victim has sent a message of the second product"
    shown = shown_to_attacker(log)
    assert (NAMES[VICTIM], 3) in honest and (NAMES[VICTIM], 3) not in shown
    assert shown.items() <= honest.items(), "something that the attacker is shown depends on what it added"
    assert guess(log) is None


@pytest.mark.parametrize("value", [0, 7, 13])
def test_the_attack_succeeds_when_checks_are_one_exchange_late(value: int) -> None:
    honest = shown_to_attacker(attacked(Late, value, None)[1])
    _, log = attacked(Late, value, BAD)
    assert not shown_to_attacker(log).items() <= honest.items()
    assert guess(log) == value
