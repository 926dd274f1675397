"""``semi2k`` among two to five parties: results."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.sharing import Scheme
from statistical.sampling.checks import count_of
from support.chance import accept
from support.runs import run_scheme
from unit.sharing.semi2k.semi2k_runs import Named, against_clear, assert_equal, elements, opened, put_in


def test_operations_equal_the_cleartext_twin(parties: int, ring: PowerOfTwoRing) -> None:
    x, y, w, v = elements(ring, 4, 5), elements(ring, 4, 5), elements(ring, 5), elements(ring, 4)

    def program(s: Scheme) -> Named:
        last = len(s.names) - 1
        a, b = put_in(s, ring, x), put_in(s, ring, y, last)
        row, column = put_in(s, ring, w, 1), put_in(s, ring, v)
        return opened(
            s,
            {
                "linear": s.sub(s.add(a, s.neg(b)), s.constant(ring, x)),
                "public": s.add_public(s.mul_public(a, w), w),
                "public matrices": s.add(s.matmul_public(a, w), s.rmatmul_public(x, row)),
                "product": s.mul(a, b),
                "broadcast": s.mul(a, row),
                "outer": s.mul(column.map(lambda part: part[:, None]), row),
                "plus": s.mul(a, b, plus=a),
                "square": s.mul(a, a),
                "matrix by vector": s.matmul(a, row, plus=column),
                "vector by matrix": s.matmul(column, b),
                "matrix by matrix": s.matmul(a, b.map(np.transpose)),
                "inner": s.inner(a, b),
                "squared norms": s.inner(a, a),
                "fresh": s.refresh(a),
                "sum": s.sum(s.select(a, [2, 0]), 1),
                "joined": s.concatenate([a, b], 1),
                "empty": s.mul(s.select(a, slice(0, 0)), s.select(b, slice(0, 0))),
            },
        )

    assert_equal(program, ring, parties)


def test_narrowing_equals_the_cleartext_twin(parties: int) -> None:
    x = elements(Z128, 9)
    assert_equal(lambda s: opened(s, {"narrow": s.narrow(put_in(s, Z128, x), Z64)}), Z64, parties)


def test_truncation_is_the_floor_or_one_more(parties: int, ring: PowerOfTwoRing) -> None:
    half = (ring.bits - 2) // 2 - 2
    x, y = elements(ring, 40, 5, magnitude_bits=half), elements(ring, 40, 5, magnitude_bits=half)
    edge = 1 << (ring.bits - 2)
    extremes = ring.from_int(np.array([-edge, edge - 1, -1, 0, 1] * 20, dtype=object))

    def program(s: Scheme) -> Named:
        a, b, far = put_in(s, ring, x), put_in(s, ring, y), put_in(s, ring, extremes)
        row = s.select(b, 0)
        return opened(
            s,
            {
                **{f"extremes by {shift}": s.truncate(far, shift) for shift in (1, 7, ring.bits - 2)},
                "product": s.mul(a, b, half, a),
                "square": s.mul(a, a, half),
                "matrix": s.matmul(a, row, half),
                "inner": s.inner(a, b, half),
                "squared norms": s.inner(a, a, half),
                "held": s.matmul(s.hold(s.refresh(a)), row, half),
            },
        )

    for name, got, want in against_clear(program, ring, parties):
        assert set((got - want).flat) <= {0, 1}, name


def test_bits_equal_the_cleartext_twin(parties: int, ring: PowerOfTwoRing) -> None:
    x = np.concatenate([elements(ring, 68), ring.from_int(np.array([0, -1, 1]))])

    def program(s: Scheme) -> Named:
        a = put_in(s, ring, x)
        bits, sign = s.to_bits(a), s.sign_bits(a)
        low, high = s.boolean.select_rows(bits, slice(0, 3)), s.boolean.select_rows(bits, slice(3, 6))
        logic = s.boolean.stack_rows(
            [s.boolean.and_(low, high), s.boolean.xor(low, high), s.boolean.not_(low), s.boolean.and_(low, low)]
        )
        return opened(
            s, {"bits": s.from_bits(bits, ring), "sign": s.from_bits(sign, ring), "logic": s.from_bits(logic, ring)}
        )

    assert_equal(program, ring, parties)


def test_random_bits_are_fair_bits_in_both_worlds(parties: int) -> None:
    def program(s: Scheme) -> tuple[npt.NDArray[np.uint8] | None, RingArray | None]:
        bits = s.boolean.random(2, 5000)
        return s.boolean.open(bits), s.open(s.from_bits(bits, Z64))

    results = run_scheme("semi2k", program, parties=parties).results
    bits, as_elements = results[0]
    assert bits is not None
    assert as_elements is not None
    np.testing.assert_array_equal(bits, Z64.to_int(as_elements))
    accept({"ones": count_of(bits.reshape(-1) == 1, 0.5)})
    assert all(np.array_equal(bits, other) for other, _ in results if other is not None)


def test_inputs_and_openings_to_some(parties: int, ring: PowerOfTwoRing) -> None:
    dealt = elements(ring, 3, 4)
    own = [elements(ring, 2) for _ in range(parties)]

    def program(s: Scheme) -> list[RingArray | None]:
        shares = [put_in(s, ring, own[rank], rank) for rank in range(parties)]
        owner = s.receive_input("owner", ring, (3, 4)).expand()
        return [s.open(owner), *(s.open(share, [rank]) for rank, share in enumerate(shares))]

    results = run_scheme("semi2k", program, deal={"x": (ring, dealt)}, parties=parties).results
    for rank, (everybodys, *mine) in enumerate(results):
        np.testing.assert_array_equal(everybodys, dealt)
        for other, values in enumerate(mine):
            if other == rank:
                np.testing.assert_array_equal(values, own[rank])
            else:
                assert values is None


def test_two_expansions_of_a_dealt_value_are_two_values_for_the_dealer_too(ring: PowerOfTwoRing) -> None:
    x = elements(ring, 6)

    def program(s: Scheme) -> RingArray | None:
        dealt = s.receive_input("owner", ring, (6,))
        return s.open(s.mul(dealt.expand(), dealt.expand()))

    for result in run_scheme("semi2k", program, deal={"x": (ring, x)}).results:
        np.testing.assert_array_equal(result, ring.mul(x, x))
