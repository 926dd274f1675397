"""Secret words against public thresholds: is u < T?

u has the bits u_(B-1) ... u_0 and T the public bits t_j. Every position gives two signals, less and equal:

    t_j = 1:  less = NOT u_j, equal = u_j          t_j = 0:  less = 0, equal = NOT u_j

and two neighbouring blocks, high and low, give those of their union:

    less = less_high XOR (equal_high AND less_low)          equal = equal_high AND equal_low

(less and equal of one block are never both 1, so XOR is OR.) The blocks double until one is left. A block's signals
depend on its word, its place and the public bits of T in it only; what several thresholds of one word have in common is
computed once. Exact; nobody learns anything; T = 0 and T = 2^B need no circuit.

Cost with ``rep3``: ceil(log2 B) rounds; for a word with one threshold 2 B - 3 ANDs, B a power of two (3 bits each, all
parties together); for one word with n >= 256 thresholds at B = 64 at most 4864 + 13 n ANDs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

from cofit.errors import InvalidInputError, parameter_error
from cofit.secret import SecretBits


class Comparison(NamedTuple):
    """The question whether word number ``word`` is below ``threshold``."""

    word: int
    threshold: int


@dataclass(frozen=True)
class _Step:
    """How to double the blocks: the rows of high and low halves, and of top blocks that have no partner."""

    high: list[int]
    low: list[int]
    alone: list[int]


@dataclass(frozen=True)
class _Circuit:
    """The public wiring: where single positions take their signals, the steps, and the row of each answer."""

    less: list[int]
    equal: list[int]
    steps: list[_Step]
    answers: list[int]


def below(words: SecretBits, precision: int, comparisons: Sequence[Comparison]) -> SecretBits:
    """Return one bit for each comparison: 1 where the word is below the threshold.

    ``words`` holds several words of B = ``precision`` bits for every element: word w is at [w B, (w + 1) B).
    """
    if precision < 1 or words.width % precision:
        raise parameter_error("words", "below", f"a whole number of words of {precision} bits", words.width)
    count = words.width // precision
    if not all(0 <= c.word < count and 0 <= c.threshold <= 1 << precision for c in comparisons):
        raise InvalidInputError(f"A comparison needs one of the {count} words and a threshold from 0 to 2^{precision}.")
    never = words[0] ^ words[0]
    results = never.join(~never)
    rows = {0: 0, 1 << precision: 1}
    asked = tuple(c for c in comparisons if c.threshold not in rows)
    if asked:
        results = results.join(_run(_circuit(precision, count, asked), words))
    places = iter(range(2, 2 + len(asked)))
    return results[[rows[c.threshold] if c.threshold in rows else next(places) for c in comparisons]]


def _run(circuit: _Circuit, words: SecretBits) -> SecretBits:
    signals = words.join(~words, words[0] ^ words[0])
    less, equal = signals[circuit.less], signals[circuit.equal]
    for step in circuit.steps:
        pairs = len(step.high)
        if step is circuit.steps[-1]:
            return (less[step.high] ^ (equal[step.high] & less[step.low]))[circuit.answers]
        both = equal[step.high * 2] & less[step.low].join(equal[step.low])
        less = (less[step.high] ^ both[:pairs]).join(less[step.alone])
        equal = both[pairs:].join(equal[step.alone])
    return less[circuit.answers]


@lru_cache(maxsize=32)
def _circuit(precision: int, words: int, comparisons: tuple[Comparison, ...]) -> _Circuit:
    """Wire the comparisons, from whole words down to single positions.

    A block is one integer, for speed: which of all blocks of its size it is, word after word and from the lowest
    place, and in the last ``precision`` bits the public bits of the threshold in it.
    """
    size = 1 << (precision - 1).bit_length()
    last = (1 << precision) - 1
    blocks = list(dict.fromkeys(word << precision | threshold for word, threshold in comparisons))
    row_of = {block: row for row, block in enumerate(blocks)}
    answers = [row_of[word << precision | threshold] for word, threshold in comparisons]
    steps = []
    places = 1
    while size > 1:
        half = size // 2
        mask = (1 << half) - 1
        paired, alone = _by_partner(blocks, size, places, precision)
        places *= 2
        high = [((b >> precision) * 2 + 1) << precision | (b & last) >> half for b in paired]
        low = [(b >> precision) * 2 << precision | b & mask for b in paired]
        kept = [(b >> precision) * 2 << precision | b & last for b in alone]
        first, then = _by_partner(list(dict.fromkeys(high + low + kept)), half, places, precision)
        blocks, size = first + then, half  # in the order in which the step that makes them leaves them
        row = {block: number for number, block in enumerate(blocks)}
        steps.append(_Step([row[b] for b in high], [row[b] for b in low], [row[b] for b in kept]))
    width = words * precision
    positions = [(b >> precision) // places * precision + (b >> precision) % places for b in blocks]
    less = [width + p if b & last else 2 * width for b, p in zip(blocks, positions, strict=True)]
    equal = [p if b & last else width + p for b, p in zip(blocks, positions, strict=True)]
    return _Circuit(less, equal, steps[::-1], answers)


def _by_partner(blocks: list[int], size: int, places: int, precision: int) -> tuple[list[int], list[int]]:
    """Return the blocks of two halves, and those whose upper half is beyond the word (or that are one position)."""
    half = size // 2
    if not half:
        return [], blocks
    if precision == places * size:
        return blocks, []
    whole = [(2 * ((b >> precision) % places) + 1) * half < precision for b in blocks]
    return list(compress(blocks, whole)), [b for b, both in zip(blocks, whole, strict=True) if not both]
