"""Public bilinear forms of bits: what a row of the left operand reaches, and by what it is multiplied there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.arithmetic.integers import Words
from cofit.errors import ShapeError
from cofit.sharing.bit_forms import BitForm, Dot, Each, Lookup, Outer, SideBySide, Spread

Sized = tuple[BitForm, int, int]


def words(rng: np.random.Generator, *shape: int) -> Words:
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


@st.composite
def simple(draw: Any, width: int) -> Sized:
    kind = draw(st.sampled_from(["each", "outer", "spread", "dot", "lookup"]))
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    if kind == "each":
        return Each(), m, m
    if kind == "outer":
        return Outer(), m, n
    if kind == "spread":
        return Spread(n), m, m * n
    if kind == "dot":
        return Dot(n), m * n, m * n
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cut = draw(st.integers(1, width))
    sizes = [cut, width - cut] if cut < width else [width]
    some = [(size, rng.integers(0, 1 << n, (3, m), dtype=np.uint64)) for size in sizes]
    return Lookup(n, some), m, n


@st.composite
def forms(draw: Any, width: int) -> Sized:
    parts: list[Sized] = draw(st.lists(simple(width), min_size=1, max_size=4))
    if len(parts) == 1:
        return parts[0]
    form = SideBySide(tuple((m, n, form) for form, m, n in parts))
    return form, sum(m for _, m, _ in parts), sum(n for _, _, n in parts)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(0, 2**32))
def test_the_form_is_the_sum_over_rows_of_what_each_is_multiplied_by(data: Any, width: int, seed: int) -> None:
    form, lefts, rights = data.draw(forms(width))
    rng = np.random.default_rng(seed)
    left, right = words(rng, lefts, width), words(rng, rights, width)
    total = np.zeros((form.rows(lefts, rights), width), np.uint64)
    reached = form.reached(lefts, rights)
    assert len(reached) == lefts
    for row, places in enumerate(reached):
        assert len(set(places)) == len(places), "a result is reached once"
        factors = form.factors(row, lefts, right)
        assert factors.shape == (len(places), width)
        total[list(places)] ^= left[row] & factors
    np.testing.assert_array_equal(total, form.apply(left, right))


def test_a_row_beyond_the_last_is_refused() -> None:
    form = SideBySide(((2, 2, Each()),))
    with pytest.raises(ShapeError, match="no such row"):
        form.factors(2, 2, np.zeros((2, 1), np.uint64))
