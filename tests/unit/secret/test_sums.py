"""Sums of products, and sums that are clipped as they are truncated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray
from cofit.arithmetic import Generator
from cofit.arithmetic.narrow import narrow_bytes
from cofit.errors import CofitError, FormatMismatchError, InvalidInputError, RangeError
from cofit.secret.sums import Sum, by_element, by_pairs, by_rows, matrix, sums
from cofit.sharing import Scheme, Share
from cofit.sharing.sums import Clip, Kind, Product, ProductSum
from support.pairwise import pairwise
from support.runs import run_scheme
from unit.secret.runs import SCHEMES, F, failure, opened, run

X = np.arange(12).reshape(4, 3) / 8 - 0.5
W = np.array([0.5, -1.25, 2.0])
C = np.array([0.25, -0.5, 1.0, 3.0])
FINE = 20


def numbers(party: Party, values: Any, ring: Any, bits: int = FINE) -> SecretArray:
    return party.constant(values, FixedPoint(bits, ring))


@pytest.mark.parametrize(("scheme", "ring"), pairwise([*SCHEMES], [Z64, Z128]), ids=str)
def test_sums_of_all_kinds(scheme: str, ring: Any) -> None:
    def program(party: Party) -> SecretArray:
        x, w, c = (numbers(party, values, ring) for values in (X, W, C))
        total = w.sum().reshape(1)
        whole, along = sums(
            Sum([matrix(x, w), by_element(c, (-total).repeated(4)), by_rows(w, w)], FINE, plus=c.widen(2 * FINE)),
            Sum([by_rows(-w, w)], 2 * FINE),
        )
        both = Sum([by_pairs([c, whole], [c, total.repeated(4)]), by_element(c, total)], FINE).value()
        return both * 2 + along.truncate(FINE).repeated(4)

    whole = X @ W - C * W.sum() + W @ W + C
    expected = 2 * (C * C + whole * W.sum() + C * W.sum()) - W @ W
    assert np.abs(opened(program, scheme) - expected).max() <= 8 * 2.0**-FINE


def test_a_sum_costs_what_a_product_does_and_sums_travel_together() -> None:
    def program(party: Party) -> None:
        x, w, c = (numbers(party, values, Z64) for values in (X, W, C))
        terms = [matrix(x, w), by_element(c, w[:1].repeated(4)), by_rows(w, w)]
        with party.label("a"):
            sums(Sum(terms, 2 * FINE), Sum(terms, FINE), Sum([by_rows(w, w)], FINE))

    traffic = run(program, "rep3").traffic.values()
    assert max(counts.get_or_zero("a/sums").rounds for counts in traffic) == 2
    assert sum(counts.get_or_zero("a/sums").bytes_sent for counts in traffic) == (
        3 * 8 * (4 + 4 + 1) + 3 * (narrow_bytes(4, FINE) + narrow_bytes(1, FINE))
    )


LOWER, UPPER = -700, 1300


def around(values: int) -> list[int]:
    rng = np.random.default_rng(8)
    close = [end + more for end in (LOWER, UPPER, 0) for more in range(-3, 4)]
    return [*close, 1 << 22, -(1 << 22), *rng.integers(-2000, 2000, values - len(close) - 2).tolist()]


@pytest.mark.parametrize("count", [23, 64, 200])
@pytest.mark.parametrize("shift", [0, 1, 9, 38])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_a_clipped_sum_is_the_clip_of_the_truncated_sum(ring: Any, shift: int, count: int) -> None:
    """For integers at and about both ends, and the largest that there may be. Truncation rounds down, or up."""
    wanted = np.array(around(count))

    def program(party: Party) -> SecretArray:
        value = party.constant(wanted, FixedPoint(0, ring)).loosened((1 << 22) + 1)
        one = party.constant(np.ones(count, dtype=np.int64), FixedPoint(0, ring))
        scaled = (value * (1 << shift)).ldexp(-shift)
        total = Sum([by_pairs([scaled, value], [one, (one * 0).ldexp(-shift)])], 0, proven_bound=(1 << 22) + 1)
        assert total.clips(LOWER, UPPER)
        return total.clipped(LOWER, UPPER)

    assert opened(program, "rep3").tolist() == np.clip(wanted, LOWER, UPPER).tolist()


@pytest.mark.parametrize("bits", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_every_clip_of_every_number_that_a_few_bits_hold(ring: Any, bits: int) -> None:
    """So far truncated that no bit is left beyond those that are compared; in random shares, with random low bits."""
    shift, largest = ring.bits - bits, max((1 << bits - 2) - 1, 1)
    far = (1 << bits - 1) - 1 - largest
    ends = [(low, high) for low in range(-far, far + 1) for high in range(low + 1, far + 1)]
    ends = [ends[i] for i in np.random.default_rng(bits).permutation(len(ends))[:12]] + [(-far, far)]
    low_bits = [0, 1, 1 << shift - 1, (1 << shift) - 1, 3 << shift - 3]
    values = [(t << shift) + low for t in range(-largest, largest) for low in low_bits] + [largest << shift]

    def program(s: Scheme) -> list[list[int]]:
        z, one = (_shared(s, ring, numbers, salt) for salt, numbers in ((3, values), (9, [1] * len(values))))
        total = ProductSum((Product(Kind.MUL, (z,), (one,)),), shift)
        return [ring.to_int(s.open(s.clipped_sum(total, Clip(*pair, bits)))).tolist() for pair in ends]

    for found in run_scheme("rep3", program).results:
        for (low, high), clipped in zip(ends, found, strict=True):
            for value, got in zip(values, clipped, strict=True):
                floor, exact = value >> shift, value % (1 << shift) == 0
                assert got in {min(max(t, low), high) for t in (floor, floor if exact else floor + 1)}


def _shared(s: Scheme, ring: Any, values: list[int], salt: int) -> Share:
    """Values whose three summands all look random."""
    drawn = [Generator(bytes([salt + i] * 32)).ring(ring, (len(values),)) for i in range(2)]
    summands = [*drawn, ring.sub(ring.sub(ring.from_int(np.array(values, dtype=object)), drawn[0]), drawn[1])]
    return Share(ring, (summands[s.rank], summands[(s.rank + 1) % 3]))


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_a_clip_of_what_is_between_two_integers(ring: Any) -> None:
    """The truncated sum is one of the two, and the clip is of that one."""
    values = np.linspace(-3, 3, 601)

    def program(party: Party) -> SecretArray:
        x = numbers(party, values, ring)
        total = Sum([by_element(x, numbers(party, np.ones(601), ring))], 6, proven_bound=4)
        return total.clipped(-64, 100)

    found = opened(program, "rep3") * 64
    assert (found == np.round(found)).all()
    assert (np.abs(found - np.clip(values * 64, -64, 100)) < 1).all()
    assert found.min() == -64
    assert found.max() == 100


def test_less_is_as_if_subtracted_afterwards() -> None:
    def program(party: Party) -> SecretArray:
        c = numbers(party, C, Z64)
        total = Sum([by_element(c, c)], FINE, proven_bound=9, plus=c.widen(2 * FINE)).less(
            numbers(party, C, Z64, 4), 12
        )
        assert total is not None
        return total.value()

    assert np.abs(opened(program, "rep3") - C * C).max() <= 2.0**-FINE


def test_less_says_where_there_is_no_room() -> None:
    def program(party: Party) -> None:
        x = party.constant(C, FixedPoint(28, Z64))
        total = Sum([by_element(x, x)], 12, proven_bound=32)
        assert total.less(party.constant([0.0] * 4, FixedPoint(4, Z64)), 60) is not None
        assert total.less(party.constant([0.0] * 4, FixedPoint(4, Z64)), 70) is None

    run(program, "rep3")


def test_a_scheme_that_does_not_clip_says_so() -> None:
    def program(party: Party) -> None:
        c = numbers(party, C, Z64)
        total = Sum([by_element(c, c)], FINE)
        assert not total.clips(0, 5)
        party._scheme.clipped_sum(total._sum, Clip(0, 5, 40))

    error = failure(program)
    assert isinstance(error, InvalidInputError)
    assert "has no clipped sums" in str(error)


def mixed(party: Party) -> Sum:
    c = numbers(party, C, Z64)
    return Sum([by_element(c, c), by_element(c, numbers(party, C, Z64, 8))], FINE)


def long_targets(party: Party) -> Sum | None:
    c = numbers(party, C, Z64)
    return Sum([by_element(c, c)], 4).less(c, 12)


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (mixed, FormatMismatchError, "with 40 fractional bits before the truncation"),
        (long_targets, InvalidInputError, "of at most 4 fractional bits"),
        (lambda p: Sum([by_element(x := p.constant([1e6], F), x)], 24), RangeError, "A product before its truncation"),
    ],
)
def test_refusals(program: Callable[[Party], object], error: type[CofitError], message: str) -> None:
    found = failure(program)
    assert isinstance(found, error)
    assert message in str(found)
