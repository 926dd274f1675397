"""Every message that t parties of ``shamir`` see together is hidden by draws that they all lack; and what they hold
of a value says nothing of it. How the argument is found: see ``support.coalitions``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, PowerOfTwoRing, Ring
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import Scheme
from cofit.sharing.shamir.geometry import geometry_of
from cofit.sharing.shamir.party import Shamir
from support.coalitions import N, bits, numbers, recorded, run_scripted, shared, simulated, square, tall
from support.forms import FORMS, form_of
from support.schemes import also_slow, form


def inputs(s: Scheme, ring: PowerOfTwoRing) -> None:
    for source in range(len(s.names)):
        s.input(source, ring.from_int(np.full(N, 7)) if s.rank == source else None, ring, (N,))


Operation = Callable[[Scheme, PowerOfTwoRing], object]
OPERATIONS: dict[str, Operation] = {
    "inputs": inputs,
    "product": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10)),
    "two products": lambda s, r: s.mul(s.mul(numbers(s, r, 0), numbers(s, r, 10)), numbers(s, r, 20)),
    "product and truncation": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), shift=9),
    "matrix product": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10)),
    "matrix product plus and truncation": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), 9, square(s, r, 20)),
    "product plus": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), plus=numbers(s, r, 20)),
    "inner products": lambda s, r: s.inner(tall(s, r, 0), tall(s, r, 10)),
    "inner products and truncation": lambda s, r: s.inner(tall(s, r, 0), tall(s, r, 0), shift=9),
    "truncation": lambda s, r: s.truncate(numbers(s, r, 0), 9),
    "truncation by one digit": lambda s, r: s.truncate(numbers(s, r, 0), 1),
    "two truncations": lambda s, r: s.truncate(s.truncate(numbers(s, r, 0), 9), 3),
    "fresh sharing": lambda s, r: s.refresh(numbers(s, r, 0)),
    "and": lambda s, r: s.boolean.and_(bits(s, 2, 0), bits(s, 2, 10)),
    "bits to elements": lambda s, r: s.from_bits(bits(s, 2, 0), r),
    "elements to bits": lambda s, r: s.to_bits(numbers(s, r, 0)),
    "signs of a proven range": lambda s, r: s.sign_bits(numbers(s, r, 0), bits=9),
    "top bits": lambda s, r: s.top_bits(numbers(s, r, 0), 40),
    "high part": lambda s, r: s.high_part(numbers(s, r, 0), 7),
    **{f"form: {name}": lambda s, r, name=name: form_of(s, shared, name) for name in FORMS},  # type: ignore[misc]
}
LONG = ("elements to bits", "two truncations")
SHORT = [(name, op) for name in ("shamir", "shamir/king", "shamir/5", "shamir/5/king") for op in OPERATIONS]
MORE = [(name, op) for name in ("shamir/4", "shamir/5/1", "shamir/5/1/king", "shamir/6") for op in OPERATIONS]
SEVEN = [(name, op) for name in ("shamir/7", "shamir/7/king") for op in OPERATIONS]


def ring_for(operation: str) -> PowerOfTwoRing:
    """Both rings have their turn; the messages are the same."""
    return (Z64, Z128)[sorted(OPERATIONS).index(operation) % 2]


@pytest.mark.parametrize(
    ("name", "operation"),
    also_slow(
        [one for one in SHORT if one[0] in ("shamir", "shamir/king") or one[1] not in LONG],
        *(one for one in SHORT if one[0] not in ("shamir", "shamir/king") and one[1] in LONG),
        *MORE,
        *SEVEN,
    ),
)
def test_every_message_to_a_coalition_is_masked_by_a_draw_of_its_own(name: str, operation: str) -> None:
    ring = ring_for(operation)
    run = recorded(Shamir, form(name).spec, lambda s: OPERATIONS[operation](s, ring))
    assert run.all_exposed() == []


@pytest.mark.parametrize("operation", ["product", "inputs", "fresh sharing", "truncation", "bits to elements"])
def test_somebody_sees_something(operation: str) -> None:
    """The instrument: messages are there, and every coalition sees some of those of a product."""
    run = recorded(Shamir, form("shamir/5").spec, lambda s: OPERATIONS[operation](s, Z64))
    seen = {pair: len(run.view(run.plain, pair)) for pair in combinations(range(5), 2)}
    assert max(seen.values()) >= 2
    if operation == "product":
        assert min(seen.values()) >= 2
    if operation in ("truncation", "bits to elements"):
        sees = {pair for pair in seen if any(m.opening is not None for r in pair for m in run.plain.messages[r])}
        assert (sees != set()) == (operation == "bits to elements")


@pytest.mark.parametrize("name", also_slow(["shamir", "shamir/5"], "shamir/4", "shamir/5/1", "shamir/6", "shamir/7"))
@pytest.mark.parametrize("ring", [Z64, Z128, F61, BITS], ids=str)
def test_what_is_said_of_an_opened_value_follows_from_it_and_the_shares_of_a_coalition(name: str, ring: Ring) -> None:
    spec = form(name).spec
    geometry, shares = geometry_of(spec.parties, spec.threshold), {}
    shape = (3, 1) if ring is BITS else (N,)

    opened, one = {}, ring.from_int(np.ones(shape, np.uint8))

    def work(s: Scheme) -> None:
        shares[s.rank] = shared(s, ring, shape, 3)
        opened[s.rank] = s.open(shares[s.rank])

    log = run_scripted(Shamir, spec, work)
    value = opened[0]
    assert value is not None
    for corrupted in combinations(range(spec.parties), spec.threshold):
        for receiver in corrupted:
            readers = geometry.readers(receiver)
            told = {m.sender: m.array for m in log.messages[receiver]}
            assert set(told) == set(readers[1:])
            honest = sorted(set(told) - set(corrupted))
            made, others = (
                [simulated(geometry, corrupted, v, shares, sender, readers) for sender in honest]
                for v in (value, ring.add(value, one))
            )
            for sender, words in zip(honest, made, strict=True):
                np.testing.assert_array_equal(words, told[sender])
            moved = ring.sub(ring.signed_sum(others), ring.signed_sum(made))
            np.testing.assert_array_equal(moved, one, "another value, and other words")
