"""The breast-cancer data of scikit-learn, scaled by public ranges.

The features are scaled to [-1, 1] by ranges that are written down here. The program computes nothing from the data to
find them: a range computed from the patients would tell something of them, outside every guarantee. They are round
numbers, chosen with the public description of this public data set at hand. A real study takes its ranges from the
literature or the instruments, never from its own patients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.learn.bounds import scaled_by_bounds

Reals = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

RANGES = {
    "mean radius": (6, 24),
    "mean texture": (10, 30),
    "mean perimeter": (40, 160),
    "mean area": (100, 1300),
    "mean smoothness": (0.06, 0.14),
    "mean compactness": (0, 0.2),
    "mean concavity": (0, 0.2),
    "mean concave points": (0, 0.1),
    "mean symmetry": (0.1, 0.25),
    "mean fractal dimension": (0.05, 0.08),
    "radius error": (0, 1),
    "texture error": (0, 2.5),
    "perimeter error": (0, 6),
    "area error": (0, 80),
    "smoothness error": (0, 0.015),
    "compactness error": (0, 0.06),
    "concavity error": (0, 0.08),
    "concave points error": (0, 0.025),
    "symmetry error": (0, 0.04),
    "fractal dimension error": (0, 0.008),
    "worst radius": (8, 26),
    "worst texture": (10, 40),
    "worst perimeter": (50, 180),
    "worst area": (200, 1600),
    "worst smoothness": (0.08, 0.18),
    "worst compactness": (0, 0.6),
    "worst concavity": (0, 0.6),
    "worst concave points": (0, 0.3),
    "worst symmetry": (0.15, 0.45),
    "worst fractal dimension": (0.05, 0.12),
}
"""Public ranges of the features; what is outside is clipped."""
CLASSES = ("malignant", "benign")


def breast_cancer() -> tuple[Reals, Labels]:
    """Return the scaled features and the labels, 0 and 1 for ``CLASSES``."""
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - takes a second to import

    data: Any = load_breast_cancer()
    if tuple(data.feature_names) != tuple(RANGES):
        raise AssertionError("scikit-learn's data set has other columns than the public ranges")
    return scaled(data.data), data.target.astype(np.int64)


def scaled(values: Reals) -> Reals:
    """Return the features mapped linearly from ``RANGES`` to [-1, 1], clipped."""
    lower, upper = np.array(list(RANGES.values()), dtype=np.float64).T
    return scaled_by_bounds(values, lower, upper)
