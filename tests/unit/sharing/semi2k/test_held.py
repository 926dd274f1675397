"""``semi2k``: matrices that are opened under a mask once, and used in many products."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import Party
from cofit.arithmetic import Z64, Z128, FixedPoint, PowerOfTwoRing
from cofit.secret import SecretArray
from cofit.sharing import Scheme
from cofit.sharing.held import HeldShare
from unit.sharing.semi2k.semi2k_runs import Named, against_clear, assert_equal, elements, opened, put_in, some


def test_products_with_a_held_matrix(parties: int, ring: PowerOfTwoRing) -> None:
    x, w, v, m = elements(ring, 6, 4), elements(ring, 4), elements(ring, 6), elements(ring, 4, 3)

    def program(s: Scheme) -> Named:
        held = s.hold(put_in(s, ring, x))
        assert (s.info.name == "semi2k") == isinstance(held, HeldShare)
        row, column, matrix = put_in(s, ring, w), put_in(s, ring, v), put_in(s, ring, m)
        transposed = held.map(np.transpose)
        return opened(
            s,
            {
                "vector": s.matmul(held, row),
                "again": s.matmul(held, s.add(row, row), plus=column),
                "transposed": s.matmul(transposed, column),
                "matrix": s.matmul(held, matrix),
                "squared norms": s.inner(held, held),
                "squared norms again": s.inner(held, held),
                "of columns": s.inner(transposed, transposed),
                "inner": s.inner(held, put_in(s, ring, x)),
                "rows": s.matmul(held.map(lambda part: part[1:3]), row),
                "held on the right": s.matmul(column, held),
                "with itself": s.matmul(held, held.map(np.transpose)),
                "held again": s.matmul(s.hold(held), row),
                "still": s.matmul(held, row),
            },
        )

    assert_equal(program, ring, parties)


@pytest.mark.parametrize("place", [(slice(1, 5), slice(0, 2)), (slice(None), slice(1, 4)), (slice(0, 6), slice(None))])
def test_a_block_of_a_held_matrix_is_held_too(parties: int, place: tuple[slice, slice]) -> None:
    x, y = elements(Z64, 6, 4, magnitude_bits=20), elements(Z64, 6, 4, magnitude_bits=20)

    def program(s: Scheme) -> Named:
        held, other = s.hold(put_in(s, Z64, x)), s.select(put_in(s, Z64, y), place)
        block = held.block(place)
        assert type(block) is type(held)
        vector = s.select(other, (0, slice(None)))
        shares = {
            "open": block,
            "squares": s.inner(block, block),
            "inner": s.inner(block, other),
            "matmul": s.matmul(block, vector),
            "transposed": s.matmul(block.map(np.transpose), s.select(other, (slice(None), 0))),
            "still there": s.inner(held, held),
        }
        return opened(s, shares)

    assert_equal(program, Z64, parties)


def test_a_held_matrix_is_an_ordinary_share_in_all_the_rest(parties: int) -> None:
    x, y = elements(Z128, 6, 4, magnitude_bits=60), elements(Z128, 6, 4, magnitude_bits=60)

    def program(s: Scheme) -> Named:
        held, other = s.hold(put_in(s, Z128, x)), put_in(s, Z128, y)
        bits = s.from_bits(s.to_bits(held), Z128)
        shares = {
            "open": held,
            "add": s.add(held, other),
            "sub": s.sub(other, held),
            "neg": s.neg(held),
            "public": s.mul_public(s.add_public(held, x), x),
            "public matrix": s.rmatmul_public(x[0, :1, None], s.select(held, [0])),
            "mul": s.mul(held, other),
            "square": s.mul(held, held),
            "mul plus": s.mul(other, other, plus=held),
            "select": s.select(held, ([0, 2], slice(1, 3))),
            "sum": s.sum(held, 0),
            "concatenate": s.concatenate([held, other, held], 1),
            "refresh": s.refresh(held),
            "bits": bits,
            "sign": s.from_bits(s.sign_bits(held), Z128),
        }
        truncated = s.truncate(held, 0)
        party = Party(s, {})
        value = SecretArray(s, held, FixedPoint(10, Z128), 1 << 61)
        stored = party.import_share(party.export_share(value))
        narrow = s.narrow(held, Z64)
        return {
            **opened(s, {**shares, "no truncation": truncated, "exported": stored._share}),
            "narrow": Z128.from_int(Z64.to_int(some(s.open(narrow), narrow))),
        }

    assert_equal(program, Z128, parties)


def test_truncation_of_a_held_matrix(parties: int, ring: PowerOfTwoRing) -> None:
    x = elements(ring, 6, 4, magnitude_bits=40)

    def program(s: Scheme) -> Named:
        held = s.hold(put_in(s, ring, x))
        return opened(s, {"truncate": s.truncate(held, 9), "of the transpose": s.truncate(held.map(np.transpose), 9)})

    for name, got, want in against_clear(program, ring, parties):
        assert set((got - want).flat) <= {0, 1}, name


def test_holding_touches_no_memory_but_its_operands(ring: PowerOfTwoRing) -> None:
    x = elements(ring, 40, 7)

    def program(s: Scheme) -> Named:
        whole = put_in(s, ring, x)
        rows = s.hold(whole.map(lambda part: part[:20]))
        s.hold(rows)
        s.hold(rows.map(lambda part: part[3:]))
        return opened(s, {"whole": whole, "rows": rows, "matvec": s.matmul(rows, s.select(whole, 30))})

    assert_equal(program, ring, 2)
