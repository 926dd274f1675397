"""What is special about the prime field: uniform elements by rejection, and why its truncation needs one bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import F61, Generator
from cofit.arithmetic.ring import Source

P = (1 << 61) - 1


def words(*values: int) -> Source:
    """A stream of these words, and of nothing more."""
    stream = iter(values)

    def source(count: int) -> npt.NDArray[np.uint8]:
        return np.array([next(stream) for _ in range(count // 8)], dtype=np.uint64).view(np.uint8)

    return source


def test_the_word_that_is_no_element_is_left_out() -> None:
    """P, with any of the three high bits: all of them are dropped, and the next word is taken."""
    stream = (P, 5, (7 << 61) | P, (3 << 61) | 9, P - 1, P, P, (1 << 61), 4)
    assert F61.uniform(words(*stream), (5,)).tolist() == [5, 9, P - 1, 0, 4]


@pytest.mark.parametrize("cuts", [(5,), (1, 1, 1, 1, 1), (2, 3), (4, 1), (0, 5, 0)])
def test_it_does_not_matter_in_which_pieces_elements_are_drawn(cuts: tuple[int, ...]) -> None:
    source = words(P, 5, P, 9, P - 1, P, P, 0, 4)
    assert [int(v) for count in cuts for v in F61.uniform(source, (count,))] == [5, 9, P - 1, 0, 4]


def test_elements_of_a_generator_are_spread_over_the_field() -> None:
    elements = Generator(bytes(range(32))).ring(F61, (100_000,))
    assert F61.admits(elements)
    counts = np.bincount((elements >> np.uint64(57)).astype(np.int64), minlength=16)
    assert np.abs(counts - 6250).max() < 6 * np.sqrt(6250)


def test_what_comes_from_outside_is_looked_at() -> None:
    assert F61.admits(np.array([0, P - 1], dtype=np.uint64))
    assert not F61.admits(np.array([0, P], dtype=np.uint64))
    assert not F61.admits(np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("k", [3, 5, 7])
def test_top_bits_tell_whether_a_masked_value_wrapped_modulo_a_mersenne_prime(k: int) -> None:
    """All values, masks and shifts of smaller fields: the note at the head of ``mersenne.py``."""
    p, half = (1 << k) - 1, 1 << (k - 1)
    for z in range(half):
        for r in range(p):
            c = (z + r) % p
            wrapped = (r >= half) and (c < half)
            assert wrapped == (z + r >= p)
            for s in range(k - 1):
                truncated = (c >> s) - (r >> s) + wrapped * (1 << (k - s))
                assert truncated - (z >> s) in (0, 1)
