"""Row by row computations in batches, so that what they hold at once stays small beside the data.

A function of one number a row (the derivative of the loss, the inverse of a norm) holds tens or hundreds of shared
elements for every row while it runs: powers, bits as ring elements, masks. For data of few columns that would be many
times the shares of the data themselves. So rows go in batches: what a batch holds is at most half of the shares of the
data, or 32 MiB where that is more (with two summands an element, as in ``rep3``). Data of many columns need one batch.
Where the plan limits the memory of the parties, a batch holds no more than a quarter of that (``memory.py``).

Each batch costs the rounds of the function; the bytes are the same. How many there are follows from public shapes. What
holds a few elements a row, about as many as a truncated product does, goes at once: so do the steps of noisy descent
where the scheme clips sums (``sharing/sums.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from cofit.secret import SecretArray, concatenate

_SMALL_BYTES = 32 << 20
_SUMMANDS = 2
_OF_MEMORY = 4


def in_batches(
    compute: Callable[..., SecretArray], columns: Sequence[SecretArray], temporaries: int, data: int
) -> SecretArray:
    """Return compute(*columns), for a function that treats every row on its own.

    columns: one secret number a row in each. temporaries: how many shared elements ``compute`` holds for a row. data:
    how many shared elements the data have, which are held anyway.
    """
    rows = len(columns[0])
    count = batch_count(columns[0], rows, temporaries, data)
    if count == 1:
        return compute(*columns)
    return concatenate([compute(*(c[start:end] for c in columns)) for start, end in even_parts(rows, count)])


def even_parts(total: int, count: int) -> list[tuple[int, int]]:
    """Return where each of ``count`` parts of about the same size begins and ends."""
    return list(pairwise(total * i // count for i in range(count + 1)))


def batch_count(value: SecretArray, rows: int, temporaries: int, data: int) -> int:
    """Return in how many batches the rows go, of which ``value`` is computed, or from which."""
    each = _SUMMANDS * value.format.ring.element_bytes
    most = data // 2 if value.batch_bytes is None else min(data // 2, value.batch_bytes // each)
    return max(1, math.ceil(rows * temporaries / max(most, _SMALL_BYTES // each)))


def batch_bytes(memory: int | None) -> int | None:
    """Return how much a batch may hold where a party may use so much memory; None: no limit."""
    return None if memory is None else memory // _OF_MEMORY
