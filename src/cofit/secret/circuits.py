"""Boolean circuits on secret bits that run side by side, so that the products of all of them take one round.

A circuit is a generator: it yields the products that it needs next, and is sent their results; what it returns is its
result. ``beside`` makes one circuit of several that run in step; one that has to wait for another yields nothing to
compute. ``run`` computes a circuit: each round is one exchange.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from cofit.secret.bits import SecretBits
from cofit.sharing.bit_forms import BitForm, SideBySide

T = TypeVar("T")


class Product(NamedTuple):
    """A public bilinear form of two operands."""

    left: SecretBits
    right: SecretBits
    form: BitForm


Circuit: TypeAlias = Generator[list[Product], list[SecretBits], T]


def beside(*circuits: Circuit[Any]) -> Circuit[list[Any]]:
    """Return the results of several circuits, in order."""
    results: list[Any] = [None] * len(circuits)
    answers: dict[int, list[SecretBits] | None] = dict.fromkeys(range(len(circuits)))
    while True:
        asked: dict[int, list[Product]] = {}
        for place, answer in answers.items():
            try:
                asked[place] = next(circuits[place]) if answer is None else circuits[place].send(answer)
            except StopIteration as end:
                results[place] = end.value
        if not asked:
            return results
        found = iter((yield [product for some in asked.values() for product in some]))
        answers = {place: [next(found) for _ in some] for place, some in asked.items()}


def run(circuit: Circuit[T]) -> T:
    """Return the result of a circuit."""
    try:
        asked = next(circuit)
        while True:
            asked = circuit.send(_products(asked))
    except StopIteration as end:
        result: T = end.value
        return result


def _products(products: Sequence[Product]) -> list[SecretBits]:
    """Return several products of bits of one shape. 1 round."""
    parts = tuple((p.left.width, p.right.width, p.form) for p in products)
    first, *others = products
    left = first.left.join(*(p.left for p in others)) if others else first.left
    right = first.right.join(*(p.right for p in others)) if others else first.right
    joint = left.bilinear(right, SideBySide(parts) if others else first.form)
    results, start = [], 0
    for a, b, form in parts:
        rows = form.rows(a, b)
        results.append(joint[start : start + rows])
        start += rows
    return results
