"""The exact form of a plan: all of it, and added fields only where they are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from cofit.arithmetic import Z64
from cofit.learn.exact import ADDED, exact, stated_fields


@dataclass(frozen=True)
class _Numbers:
    part: Fraction
    ring: object = Z64
    note: str = field(default="not compared", compare=False)
    later: int = field(default=3, metadata=ADDED)


def test_every_number_in_full() -> None:
    numbers = _Numbers(Fraction(1, 3))
    assert exact(numbers) == ["_Numbers", {"part": "1/3", "ring": Z64.name}]
    assert exact({"a": (numbers.part, None, True, "x")}) == {"a": ["1/3", None, True, "x"]}


def test_an_added_field_counts_where_it_is_not_the_default() -> None:
    assert exact(_Numbers(Fraction(1, 3), later=3)) == exact(_Numbers(Fraction(1, 3)))
    assert exact(_Numbers(Fraction(1, 3), later=4)) != exact(_Numbers(Fraction(1, 3)))
    assert [one.name for one in stated_fields(_Numbers(Fraction(1), later=4))] == ["part", "ring", "later"]
