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
from typing import NamedTuple

from cofit.errors import InvalidInputError, parameter_error
from cofit.secret import SecretBits


class Comparison(NamedTuple):
    """The question whether word number ``word`` is below ``threshold``."""

    word: int
    threshold: int


class _Block(NamedTuple):
    """A block of one word: its place (0 is the lowest of its size) and the public bits of the threshold in it."""

    word: int
    place: int
    constant: int


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
    """Wire the comparisons, from whole words down to single positions."""
    size = 1 << (precision - 1).bit_length()
    blocks = list(dict.fromkeys(_Block(word, 0, threshold) for word, threshold in comparisons))
    row_of = {block: row for row, block in enumerate(blocks)}
    answers = [row_of[_Block(word, 0, threshold)] for word, threshold in comparisons]
    steps = []
    while size > 1:
        half = size // 2
        mask = (1 << half) - 1
        paired = [b for b in blocks if (2 * b.place + 1) * half < precision]
        alone = [b for b in blocks if (2 * b.place + 1) * half >= precision]
        high = [_Block(b.word, 2 * b.place + 1, b.constant >> half) for b in paired]
        low = [_Block(b.word, 2 * b.place, b.constant & mask) for b in paired]
        kept = [_Block(b.word, 2 * b.place, b.constant) for b in alone]
        rows = _rows(high + low + kept, half, precision)
        steps.append(_Step([rows[b] for b in high], [rows[b] for b in low], [rows[b] for b in kept]))
        blocks, size = list(rows), half
    positions = [b.word * precision + b.place for b in blocks]
    width = words * precision
    less = [width + p if b.constant else 2 * width for b, p in zip(blocks, positions, strict=True)]
    equal = [p if b.constant else width + p for b, p in zip(blocks, positions, strict=True)]
    return _Circuit(less, equal, steps[::-1], answers)


def _rows(blocks: list[_Block], size: int, precision: int) -> dict[_Block, int]:
    """Give every different block a row, in the order in which the step that makes it leaves them."""
    unique = dict.fromkeys(blocks)
    half = size // 2
    paired = [b for b in unique if size > 1 and (2 * b.place + 1) * half < precision]
    alone = [b for b in unique if size == 1 or (2 * b.place + 1) * half >= precision]
    return {block: row for row, block in enumerate(paired + alone)}
