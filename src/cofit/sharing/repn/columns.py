"""Columns of integers too long for a word, added all at once.

A column is one Python integer in which every entry has a place of ``WIDTH`` bytes. Sums and differences of columns, and
shifts of entries whose low bits are 0, are those of the two integers, as long as no entry becomes negative or too long.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

WIDTH = 48
Bytes = npt.NDArray[np.uint8]


def column(entries: npt.NDArray[np.generic]) -> int:
    """Return the column of integers, a row of little-endian bytes or words for each."""
    rows = np.ascontiguousarray(entries)
    raw = rows.view(np.uint8).reshape(len(rows), -1)
    places = np.zeros((len(raw), WIDTH), np.uint8)
    places[:, : raw.shape[1]] = raw
    return int.from_bytes(places.tobytes(), "little")


def repeated(entry: int, count: int) -> int:
    """Return a column of one integer, so many times."""
    return int.from_bytes(entry.to_bytes(WIDTH, "little") * count, "little")


def entries(of: int, count: int, size: int) -> Bytes:
    """Return the lowest bytes of every entry, (count, size); all above must be 0."""
    places = np.frombuffer(of.to_bytes(count * WIDTH, "little"), np.uint8).reshape(count, WIDTH)
    if places[:, size:].any():
        raise OverflowError(f"An integer of a column has more than {size} bytes.")
    return np.ascontiguousarray(places[:, :size])
