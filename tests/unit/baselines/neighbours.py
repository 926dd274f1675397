"""Small data, and records of them replaced in ways that move the weights far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cofit.baselines.method import Part, Reals

Parts = list[Part]


def random_part(rng: np.random.Generator, rows: int, columns: int) -> Part:
    x = rng.standard_normal((rows, columns))
    return Part(x / np.linalg.norm(x, axis=1, keepdims=True), rng.integers(0, 2, rows))


def replaced(part: Part, row: Reals, label: int) -> Part:
    """The part with another last record."""
    features, labels = part.features.copy(), part.labels.copy()
    features[-1], labels[-1] = row, label
    return Part(features, labels)


def dragged(rows: int, columns: int, share: float) -> tuple[Part, Part]:
    """All records but one drag the weights along one axis; the last one, misclassified, pulls to either side of it."""
    axis, side = np.zeros(columns), np.zeros(columns)
    axis[0], side[-1] = 1.0, 1.0
    part = Part(np.tile(axis, (rows, 1)), np.zeros(rows, np.int64))
    pull = np.sqrt(1 - share**2) * side
    return replaced(part, share * axis + pull, 1), replaced(part, share * axis - pull, 1)


def flipped(rows: int, columns: int) -> tuple[Part, Part]:
    """One record that matters, among records that say nothing, and the same one with the other label."""
    row = np.full(columns, columns**-0.5)
    part = Part(np.zeros((rows, columns)), np.zeros(rows, np.int64))
    return replaced(part, row, 1), replaced(part, row, 0)


def pairs(rng: np.random.Generator, rows: int, columns: int, count: int) -> Iterator[tuple[Part, Part]]:
    """Neighbours: extreme ones, and random ones with random and opposite replacements."""
    for share in (0.0, 0.25, 0.5, 0.75):
        yield dragged(rows, columns, share)
    yield flipped(rows, columns)
    for _ in range(count):
        part = random_part(rng, rows, columns)
        other = random_part(rng, 1, columns)
        yield part, replaced(part, other.features[0], int(other.labels[0]))
        yield part, replaced(part, -part.features[-1], int(part.labels[-1]))
