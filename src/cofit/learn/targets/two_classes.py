"""Two classes, as 0 and 1. A positive score stands for the second one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.learn.targets.several_classes import SeveralClasses
from cofit.learn.targets.target import Target
from cofit.secret import SecretArray


class TwoClasses(Target):
    """Labels 0 and 1: integers."""

    name: ClassVar[str] = "two classes"
    fraction_bits: ClassVar[int] = 0
    bound: ClassVar[float] = 1.0

    def among(self, classes: int) -> Target:
        """More of them are ``SeveralClasses``."""
        return self if classes == 2 else SeveralClasses(classes)

    def encoded(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        if not np.isin(labels, (0, 1)).all():
            raise InvalidInputError("Labels must be 0 and 1, one for each row.")
        return labels.astype(np.int64)

    def not_negative(self, labels: SecretArray) -> tuple[SecretArray, ...]:
        """y >= 0 and 1 - y >= 0."""
        return labels, -labels + 1

    def signs(self, labels: SecretArray) -> SecretArray:
        """Return -1 for the first class and 1 for the second."""
        return labels * 2 - 1


TWO_CLASSES = TwoClasses()
