"""Owners' inputs, by their public facts, and where each lies in an array that several are joined to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cofit.arithmetic import FixedPoint, Place, Shape
from cofit.errors import FormatMismatchError, ShapeError, parameter_error

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Inputs: who contributes them, and under which name."""


@dataclass(frozen=True)
class InputFacts:
    """The public facts of an owner's input."""

    shape: Shape
    format: FixedPoint
    bound: float


def checked_pairs(inputs: Sequence[tuple[str, str]]) -> Pairs:
    """Return the pairs (owner, name) of a call of ``Party.joined``, or raise InvalidInputError."""
    pairs = tuple(inputs)
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise parameter_error("inputs", "joined", "one pair (owner, name of an input) or more", inputs)
    if len(set(pairs)) != len(pairs):
        raise parameter_error("inputs", "joined", "pairs (owner, name of an input), all different", inputs)
    return pairs


def places_of(pairs: Pairs, facts: Sequence[InputFacts], axis: int) -> tuple[Shape, list[Place]]:
    """Return the shape of several inputs joined along an axis, and the place of each in it."""
    (owner, name), first = pairs[0], facts[0]
    if not isinstance(axis, int) or not 0 <= axis < len(first.shape):
        allowed = f"a dimension of input '{name}' of '{owner}', of shape {first.shape}"
        raise parameter_error("axis", "joined", allowed, axis)
    places: list[Place] = []
    end = 0
    for pair, other in zip(pairs, facts, strict=True):
        both = f"input '{pair[1]}' of '{pair[0]}' to input '{name}' of '{owner}'"
        if other.format != first.format:
            raise FormatMismatchError(f"Cannot join {both}: one is in {other.format}, the other in {first.format}.")
        shapes = [(*shape[:axis], *shape[axis + 1 :]) for shape in (other.shape, first.shape)]
        if len(other.shape) != len(first.shape) or shapes[0] != shapes[1]:
            raise ShapeError(f"Cannot join {both} along axis {axis}: the shapes are {other.shape} and {first.shape}.")
        start, end = end, end + other.shape[axis]
        places.append(tuple(slice(start, end) if i == axis else slice(0, n) for i, n in enumerate(first.shape)))
    return (*first.shape[:axis], end, *first.shape[axis + 1 :]), places
