"""How much memory a computing party needs for a training run, and whether the shares of the data lie on its disk.

    process   an interpreter with everything loaded, the lines to the others, what the allocator does not reuse, and
              what does not grow with the rows: the noise, which is drawn in batches, and public matrices of the check
    matrix    the shares of the features: rows x columns x the parts of a share, in memory or in a file
    held      everything else that the program holds at once, of all parts. Counted: the program runs on shares without
              values, whose comings and goings say so (``sharing/live.py``): labels, verdicts, factors and residuals,
              and the batches of what is computed row by row
    working   what an operation on all rows takes while it runs: masks, messages, sums. Measured

``process`` and ``working`` are constants that runs were measured for (``benchmarks/README.md``, "Memory"); a test
holds the whole to what processes show. Where the matrix lies in a file, what is resident of it are the blocks that are
read: ``on_disk``.

Where rows are in shards, all this is of a shard's process and its rows. A head has no matrix; what it holds is counted
likewise, with the verdicts of all rows (``head_memory_of``).

Batches decide on rounds, so how large they may be is a number of the plan (``facts.memory``, the same at all parties);
where a party has the matrix is its own matter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from cofit.arithmetic.mapped import BLOCK_BYTES
from cofit.learn.base_plan import Plan
from cofit.sharing import Spec, scheme_of

_PROCESS = 192 << 20
_WORKING = 14  # elements for every row, column of weights and part of a share
_HEAD_WORKING = (
    4  # elements for every row at a head: the vector of a checkpoint, its masks, and what is stored. Assumed
)
_BLOCKS = 3  # of the matrix, that are resident at once: one that is read, and what a batch was lent


@dataclass(frozen=True)
class Memory:
    """Bytes that a party needs. ``in_memory``, ``on_disk``: resident, by where the matrix lies."""

    process: int
    matrix: int
    held: int
    working: int

    @property
    def in_memory(self) -> int:
        """All together."""
        return self.process + self.matrix + self.held + self.working

    @property
    def on_disk(self) -> int:
        """All but the matrix, of which some blocks are resident."""
        return self.in_memory - self.matrix + min(self.matrix, _BLOCKS * BLOCK_BYTES)

    def exceeds(self, limit: int | None) -> bool:
        """Whether the matrix must lie on disk, for a party that may use so much; None: any amount."""
        return limit is not None and self.in_memory > limit

    def least(self, spec: Spec) -> int:
        """Return what a party needs at least with this scheme."""
        return self.on_disk if scheme_of(spec).in_memory is None else self.in_memory

    def to_dict(self) -> dict[str, int]:
        """Return plain numbers."""
        return {**asdict(self), "in_memory": self.in_memory, "on_disk": self.on_disk}


def memory_of(plan: Plan, spec: Spec, live: int, rows: int | None = None) -> Memory:
    """Return what a party needs. live: what the program holds at most of one part of a share, with the matrix. rows:
    those of a shard; None: all."""
    facts, element = plan.facts, plan.formats.ring.element_bytes
    parts = scheme_of(spec).costs(spec).share_parts
    rows = facts.rows if rows is None else rows
    matrix = rows * (facts.input_cols + plan.own_columns) * element
    outputs = facts.classes if facts.classes > 2 else 1
    working = _WORKING * rows * outputs * element
    return Memory(_PROCESS, parts * matrix, parts * max(0, live - matrix), parts * working)


def head_memory_of(plan: Plan, spec: Spec, live: int) -> Memory:
    """Return what the head of a party needs whose rows are in shards: no matrix, but one verdict for every row, which
    the heads keep at checkpoints. live: what the program holds there at most of one part of a share."""
    parts, element = scheme_of(spec).costs(spec).share_parts, plan.formats.ring.element_bytes
    return Memory(_PROCESS, 0, parts * live, parts * _HEAD_WORKING * plan.facts.rows * element)
