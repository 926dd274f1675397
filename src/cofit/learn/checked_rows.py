"""The check of rows, labels and weights on secrets: one secret bit a record, 1 where its owner kept to the study.

What is tested, and what it proves: ``row_check_proof.md``. Who learns what: nobody anything. A liar's values have no
proven range, so every test here holds for all integers of the ring.

**Before and after the verdict.** Until the verdict of a row is multiplied in, what is computed from it may be any
integer of the ring, whatever public bound travels with it. A comparison of it must not rely on that bound
(``sign_bits``, or ``unbounded=True``), and nothing joins it to other records but a product with the verdict. These are:

- here: all that is tested (``sign_bits`` and ``top_bits``, of all of the ring);
- recipe ``paper``: squared lengths (``minimiser/norm.py``), scores and what a loss makes of them (``losses``), until
  ``minimiser/program.py`` multiplies residuals, or inverse lengths, by the verdict (or a loss's evaluation takes it in:
  ``odd_sigmoid`` is exactly 0 where it is 0);
- recipe ``best``: means and offsets of rows (also times their factors), products of rows with weights and with the
  centre, which are not compared; and squared lengths, until ``scaled_rows``, ``centred_rows`` and ``clipped_rows``
  multiply them by the verdict. Then those of a row that failed are 0, and roots and comparisons of them have their
  proven ranges. ``Rows.signed`` puts the verdict into the factors of the rows: margins are exactly 0 where it is 0, and
  comparing them costs what their range needs.

Cost a row, beside that of matrix products with public numbers: a sign test of about 40 of 64 bits for every projection
(or two for every value, where there are few columns), one of 64 bits for the length, two for the label, two for a
weight, one for the mean, and an AND of them all. Rounds, once for every batch of rows: with ``rep3`` about 28.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cofit.learn.base_plan import Plan
from cofit.learn.batches import batch_count, even_parts
from cofit.learn.inputs import FEATURES, Holders, gathered_weights
from cofit.learn.row_check import BlockCheck, check_of, projection_matrix
from cofit.learn.weights import not_negative
from cofit.secret import Party, SecretArray, SecretBits, bits_to_array, concatenate

_HELD_A_TEST = 8  # shared elements that are held for every test of a row
_WORD = 64


class Checked(NamedTuple):
    """``passed``: see ``verdicts``. ``squares``: the squared length of every row, as an integer of the ring, where a
    test needs it of the whole row; any integer for a record that failed."""

    passed: SecretArray
    squares: SecretArray | None


def verdicts(
    party: Party, plan: Plan, holders: Holders, features: SecretArray, labels: SecretArray, coin: bytes
) -> SecretArray:
    """Return 1 for every record that passes all tests and 0 for every other, as integers. Nobody learns which.

    features, labels: of all owners (``gathered``). coin: drawn when all contributions were fixed (``common_coin``).
    """
    return checked(party, plan, holders, features, labels, coin).passed


def checked(
    party: Party, plan: Plan, holders: Holders, features: SecretArray, labels: SecretArray, coin: bytes
) -> Checked:
    """Return the verdicts, and what was computed for them that others need too."""
    blocks, weights = _blocks(party, plan, holders, features), gathered_weights(party, plan, holders)
    matrices = [projection_matrix(coin, i, check) for i, (_, check) in enumerate(blocks)]
    tests = sum(check.tests for _, check in blocks)
    tests += 2 * (plan.target.outputs - 1)

    squares: list[SecretArray] = []

    def test(tested: _Tests, start: int, end: int) -> None:
        for (columns, check), matrix in zip(blocks, matrices, strict=True):
            squares.extend(_test_block(tested, _integers(features.block(slice(start, end), columns)), check, matrix))
        _test_mean(tested, plan, _integers(features.block(slice(start, end), _all_columns(blocks))))
        tested.exact(*plan.target.not_negative(_integers(labels[start:end])))
        if weights is not None:
            tested.exact(*not_negative(_integers(weights[start:end])))

    passed = _in_batches(party, features, tests, test)
    whole = len(blocks) == 1 and blocks[0][0] == slice(0, features.shape[1])
    return Checked(passed, concatenate(squares) if squares and whole else None)


def row_verdicts(party: Party, rows: SecretArray, check: BlockCheck, coin: bytes) -> SecretArray:
    """The same for whole rows alone, of somebody who brings nothing else. coin: drawn when they were fixed."""
    matrix = projection_matrix(coin, 0, check)

    def test(tested: _Tests, start: int, end: int) -> None:
        _test_block(tested, _integers(rows.block(slice(start, end), slice(0, rows.shape[1]))), check, matrix)

    return _in_batches(party, rows, check.tests, test)


def _in_batches(
    party: Party, features: SecretArray, tests: int, test: Callable[[_Tests, int, int], None]
) -> SecretArray:
    """Return the verdicts of all rows. test: adds the tests of the rows from one place to another; tests: how many."""
    rows = features.shape[0]
    batches = _even_words(rows, batch_count(features, rows, _HELD_A_TEST * tests, features.size))
    found = []
    party.progress("check", 0, len(batches))
    with party.label("check"):
        for done, (start, end) in enumerate(batches):
            tested = _Tests(end - start)
            test(tested, start, end)
            found.append(tested.passed())
            party.progress("check", done + 1, len(batches))
    return concatenate(found)


class _Tests:
    """Collects numbers that must not be negative, one of each kind a row; rows are filled up to whole words."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._exact: list[SecretArray] = []
        self._bits: list[SecretBits] = []

    def exact(self, *values: SecretArray) -> None:
        """Test that numbers, one a row, are not negative."""
        self._exact += [value.reshape(1, self._rows) for value in values]

    def coarse(self, values: SecretArray, low: int) -> None:
        """The same for several a row, shape (kinds, rows), ignoring the lowest bits."""
        self._bits.append(~self._filled(values).sign_bits(low).folded())

    def in_arc(self, values: SecretArray, low: int) -> None:
        """Test that both top bits are 0."""
        self._bits.append(~self._filled(values).top_bits(low).folded())

    def passed(self) -> SecretArray:
        """Return 1 for every row all of whose numbers passed, 0 for the others."""
        if self._exact:
            self.coarse(concatenate(self._exact), 0)
        first, *others = self._bits
        both = first.join(*others).every()
        return bits_to_array(both, self._ring)[0][: self._rows]

    def _filled(self, values: SecretArray) -> SecretArray:
        self._ring = values.format.ring
        missing = -self._rows % _WORD
        if not missing:
            return values
        return concatenate([values, values[:, :1] * np.zeros((1, missing), np.int64)], axis=1)


def _blocks(party: Party, plan: Plan, holders: Holders, features: SecretArray) -> list[tuple[slice, BlockCheck]]:
    """Return the columns of every owner's block, and its tests. A column that the parties added is nobody's."""
    formats = plan.formats
    widths = [plan.facts.cols + plan.own_columns]
    if plan.facts.partition == "vertical":
        widths = [party.facts(owner, FEATURES).shape[1] for owner in holders.features]
    found, start = [], 0
    for width in widths:
        check = check_of(
            plan.facts, formats.ring.bits, formats.data, formats.rounded, width, len(widths), features.summands
        )
        found.append((slice(start, start + width), check))
        start += width
    return found


def _test_block(tested: _Tests, y: SecretArray, check: BlockCheck, matrix: npt.NDArray[np.int64]) -> list[SecretArray]:
    """Add the tests of a block; return its squared lengths, if there is a test of them."""
    if check.absolute:
        _test_absolute(tested, y, check)
        return []
    if check.projections:
        tested.in_arc(y.matmul(matrix).T + check.offset, check.low)
    else:
        tested.coarse(concatenate([y.T + check.offset, -y.T + check.offset]), check.low)
    if check.shift:
        squares = y.high_squares(check.shift, check.shifted_square)
        tested.exact((-squares + check.shifted_square) * (1 << check.shift))
    squared = y.inner(y, proven_bound=check.square)
    tested.exact(-squared + check.square)
    return [squared]


def _test_absolute(tested: _Tests, y: SecretArray, check: BlockCheck) -> None:
    """The sum of absolute values: the sign of every entry, then every absolute value, then their sum."""
    signs = bits_to_array(y.sign_bits(), y.format.ring)[0]
    absolute = y + signs * y * -2
    tested.coarse(-absolute.T + check.offset, check.low)
    tested.exact(-absolute.sum(axis=1) + math.isqrt(check.square))


def _test_mean(tested: _Tests, plan: Plan, y: SecretArray) -> None:
    """The mean of a row is not below the agreed one, less what rounding and the owners' tolerance leave."""
    if plan.least_mean is None:
        return
    cols, one = y.shape[1], 1 << plan.formats.data
    least = math.floor(cols * (plan.least_mean * one - 1))
    tested.exact(y.sum(axis=1) - least)


def _integers(values: SecretArray) -> SecretArray:
    """Return what the ring holds, as integers."""
    return values.ldexp(values.format.fraction_bits)


def _all_columns(blocks: list[tuple[slice, BlockCheck]]) -> slice:
    return slice(0, blocks[-1][0].stop)


def _even_words(rows: int, count: int) -> list[tuple[int, int]]:
    """Return where batches begin and end: whole words of rows, but for the last."""
    words = -(-rows // _WORD)
    parts = even_parts(words, min(count, words))
    return [(start * _WORD, min(end * _WORD, rows)) for start, end in parts]
