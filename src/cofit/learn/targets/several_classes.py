"""Several classes, as a row of zeros and ones each. The class with the largest score is the predicted one.

A record of class k > 0 is shared as the unit vector e_k of K - 1 numbers, one of class 0 as zeros: the entry of class
0, one minus the sum of the others, is nobody's to lie about. So the rules are those of two classes in every column
(each entry is 0 or 1) and one more (their sum is at most 1): 2 (K - 1) + 1 tests. The tests of single entries hold for
every integer of the ring, and once they hold the sum is at most K - 1, so that it cannot wrap: three entries of about a
third of the ring, which add up to 1 modulo the ring, fail the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Shape
from cofit.errors import InvalidInputError
from cofit.learn.targets.target import Target
from cofit.secret import SecretArray, concatenate

MOST_CLASSES = 256


@dataclass(frozen=True)
class SeveralClasses(Target):
    """Labels 0 to ``classes`` - 1: integers."""

    classes: int
    name: ClassVar[str] = "several classes"
    fraction_bits: ClassVar[int] = 0
    bound: ClassVar[float] = 1.0

    @property
    def outputs(self) -> int:
        """A column of weights for every class."""
        return self.classes

    def shape(self, rows: int) -> Shape:
        """A number for every class but the first."""
        return (rows, self.classes - 1)

    def encoded(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        if not np.isin(labels, range(self.classes)).all():
            raise InvalidInputError(f"Labels must be integers from 0 to {self.classes - 1}, one for each row.")
        return np.asarray(np.equal.outer(labels, np.arange(1, self.classes)), dtype=np.int64)

    def not_negative(self, labels: SecretArray) -> tuple[SecretArray, ...]:
        """y_k >= 0 and 1 - y_k >= 0 for every k, and 1 - the sum of them >= 0."""
        columns = [labels[:, k] for k in range(self.classes - 1)]
        return (*columns, *(-column + 1 for column in columns), -labels.sum(axis=1) + 1)

    def indicators(self, labels: SecretArray, passed: SecretArray) -> SecretArray:
        """Return 1 in the column of its class for every record that passed, and 0 elsewhere; shape (rows, classes)."""
        others = (labels * passed.reshape(-1, 1)).with_integer_limit(1)
        first = (passed - others.sum(axis=1)).with_integer_limit(1)
        return concatenate([first.reshape(-1, 1), others], axis=1)
