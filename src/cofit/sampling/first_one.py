"""Coins whose bias is a public or a secret number: the bit of the bias at the place of the first one of a random word.

Let v be a word of B uniform bits and P the place of its first (highest) one; P is j with probability 2^-j for
j = 1 .. B, and there is none with probability 2^-B. For a number t = 0.t_1 t_2 ... t_B in binary, the bit t_P (0 where
there is no P) is 1 with probability t_1 / 2 + t_2 / 4 + ... + t_B / 2^B = t, exactly, whatever t is. P does not depend
on t, so where t is secret one inner product with it is enough, instead of a comparison.

Circuit. With w = NOT v, groups of four places: p_i is the product of the first i of a group, the first one is at place
i of it where p_(i-1) XOR p_i; the last p is 1 where the group has no one, and so a place of the next level, until one
group is left. The bits of t are picked in every leaf; a level above adds up the results of its groups, each times the
product of those p that come before it: a group without a one has the result 0 anyway. Words whose length is no power of
4 are filled up with places that never have the one.

Cost: levels = ceil(log4 B); 2 rounds a level for the p, which need nothing but v, and 1 round a level for the results.
ANDs for B = 64: 64 + 16 + 2 for the p, 16 + 4 + 1 for the results (5 where t is public: the leaves are local then).
"""

from __future__ import annotations

from collections.abc import Sequence

from cofit.secret import SecretBits
from cofit.secret.circuits import Circuit, Product
from cofit.sharing.bit_forms import Dot, Each, Spread

_GROUP = 4


class FirstOnes:
    """The first ones of several random words of one length for every element: word w is at [w B, (w + 1) B).

    ``circuit`` must run before or beside the others, which wait for it.
    """

    def __init__(self, random: SecretBits, words: int) -> None:
        self._words = words
        self._length = random.width // words
        self._random = random
        self._places: SecretBits | None = None  # in the leaves: whether the first one is here
        self._before: list[SecretBits] = []  # above them: p_1 .. p_(last - 1) of every group
        self._sizes: list[int] = []  # of the groups of every level
        left = self._length
        while not self._sizes or left > 1:
            self._sizes.append(min(left, _GROUP))
            left = -(-left // self._sizes[-1])

    def circuit(self) -> Circuit[None]:
        """Find the first ones, level by level."""
        none = self._random.ones() ^ self._random.ones()
        absent, length = self._random, self._length  # NOT v of a uniform v is as uniform
        for level, size in enumerate(self._sizes):
            absent, groups = _filled(absent, self._words, length, ~none)
            leaf, top = level == 0, level == len(self._sizes) - 1
            products = yield from _prefix_products(absent, size, last=leaf or not top)
            if leaf:
                before = [~none.join(*[none] * (groups - 1)) if groups > 1 else ~none, *products[:-1]]
                self._places = _alternating([p ^ q for p, q in zip(before, products, strict=True)])
            else:
                self._before.append(_alternating(products[: size - 1]))
            absent, length = products[-1], groups // self._words

    def secret(self, biases: SecretBits) -> Circuit[SecretBits]:
        """Return a coin for every word: its bias is 0.t_1 ... t_B for the secret rows t_1 ... t_B of it."""
        while self._places is None:
            yield []
        zero = biases[0] ^ biases[0]
        filled, _ = _filled(biases, self._words, self._length, zero)
        (results,) = yield [Product(self._places, filled, Dot(self._sizes[0]))]
        return (yield from self._picked(results))

    def public(self, biases: Sequence[int]) -> Circuit[SecretBits]:
        """Return a coin for every word: its bias is biases[word] / 2^B, below 1."""
        while self._places is None:
            yield []
        size, zero = self._sizes[0], self._places[0] ^ self._places[0]
        padded = self._places.width // self._words
        chosen = self._places.join(zero)
        rows = [
            word * padded + j if j < self._length and bias >> (self._length - 1 - j) & 1 else self._places.width
            for word, bias in enumerate(biases)
            for j in range(padded)
        ]
        picked = chosen[rows]
        results = picked[list(range(0, len(rows), size))]
        for i in range(1, size):
            results = results ^ picked[list(range(i, len(rows), size))]
        return (yield from self._picked(results))

    def _picked(self, results: SecretBits) -> Circuit[SecretBits]:
        """Return, for every word, the result of the first group that has a one."""
        zero = results[0] ^ results[0]
        for level, size in enumerate(self._sizes[1:]):
            while len(self._before) <= level:
                yield []
            filled, groups = _filled(results, self._words, results.width // self._words, zero)
            rows = range(0, groups * size, size)
            later = filled[[row + i for row in rows for i in range(1, size)]]
            (added,) = yield [Product(self._before[level], later, Dot(size - 1))]
            results = filled[list(rows)] ^ added
        return results


def _filled(bits: SecretBits, words: int, length: int, filler: SecretBits) -> tuple[SecretBits, int]:
    """Return words of whole groups, filled up with one bit, and how many groups there are."""
    size = min(length, _GROUP)
    groups = -(-length // size)
    if groups * size == length:
        return bits, words * groups
    rows = [word * length + j if j < length else words * length for word in range(words) for j in range(groups * size)]
    return bits.join(filler)[rows], words * groups


def _prefix_products(bits: SecretBits, size: int, *, last: bool) -> Circuit[list[SecretBits]]:
    """Return p_1, ..., p_size of every group (without p_size unless ``last``), each with one row a group. 2 rounds."""
    x = [bits[list(range(i, bits.width, size))] for i in range(size)]
    needed = size if last else size - 1
    if needed <= 1:
        return x[:needed]
    groups = x[0].width
    if needed <= 3:
        (two,) = yield [Product(x[0], x[1], Each())]
        if needed == 2:
            return [x[0], two]
        (three,) = yield [Product(two, x[2], Each())]
        return [x[0], two, three]
    (both,) = yield [Product(x[0].join(x[2]), x[1].join(x[3]), Each())]
    two, pair = both[:groups], both[groups:]
    (rest,) = yield [Product(two, _alternating([x[2], pair]), Spread(2))]
    return [x[0], two, rest[list(range(0, 2 * groups, 2))], rest[list(range(1, 2 * groups, 2))]]


def _alternating(columns: Sequence[SecretBits]) -> SecretBits:
    """Return the first rows of all columns, then the second ones, and so on."""
    if len(columns) == 1:
        return columns[0]
    groups = columns[0].width
    joined = columns[0].join(*columns[1:])
    return joined[[column * groups + group for group in range(groups) for column in range(len(columns))]]
