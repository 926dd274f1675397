"""A study on one machine whose rows nobody has: keys, the agreement, and what its owners share.

All of it lies in one private directory. Rows are made up from a seed, a block at a time, while they are shared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.row_blocks import RowBlocks, encoded_blocks
from cofit.learn.contribution import prepared_blocks
from cofit.learn.inputs import FEATURES, LABELS
from cofit.roles.files.keys import load_identity_for, write_identity
from cofit.roles.files.studies import load_study
from cofit.roles.jobs.training import Training
from cofit.roles.local.run import DEALER, party_names
from cofit.roles.owner.contribute import prepare_inputs, send
from cofit.sharing import scheme_named
from cofit.study.document import Study
from cofit.transport import Identity, generate_identity, listen

OWNERS = ("owner-1", "owner-2")
ANALYST = "analyst"
_MADE_AT_ONCE = 256  # rows from one seed
_ONES = 13  # of 256 values are 1
_HOST = "127.0.0.1"
_TIMEOUT = 600


@dataclass(frozen=True, repr=False, eq=False)
class MadeUpRows(RowBlocks):
    """Features 0 and 1, one in 20 of them 1: rows ``first`` and following of a table that follows from ``seed``."""

    first: int
    rows: int
    cols: int
    seed: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.cols

    def __getitem__(self, rows: slice) -> npt.NDArray[np.float64]:
        start, stop, _ = rows.indices(self.rows)
        begin, end = self.first + start, self.first + stop
        blocks = range(begin // _MADE_AT_ONCE, -(-end // _MADE_AT_ONCE))
        made = [np.empty((0, self.cols))]
        for block in blocks:
            random = np.random.default_rng((self.seed, block)).bytes(_MADE_AT_ONCE * self.cols)
            values = np.frombuffer(random, np.uint8).reshape(_MADE_AT_ONCE, self.cols) < _ONES
            at = block * _MADE_AT_ONCE
            made.append(values[max(begin - at, 0) : end - at].astype(np.float64))
        return np.concatenate(made)


def made_up_tables(rows: int, cols: int, owners: int) -> Iterator[tuple[MadeUpRows, npt.NDArray[np.int64]]]:
    """Yield for every owner an equal part of the rows, and labels that a hidden linear rule gives nine times in ten."""
    rng = np.random.default_rng(2)
    rule = rng.standard_normal(cols)
    for i in range(owners):
        first, end = (rows * j // owners for j in (i, i + 1))
        table = MadeUpRows(first, end - first, cols)
        scores = np.concatenate([block @ rule for block in table.blocks()])
        labels = (scores > rule.sum() * _ONES / 256) ^ (rng.random(len(scores)) < 0.1)
        yield table, labels.astype(np.int64)


@dataclass(frozen=True)
class MadeUpStudy:
    """Rows and columns of a study in ``directory``, by a scheme. ``shards``: of every party; None: it is one process.

    Two owners have half of the rows each. Recipe 'best'; no checkpoints.
    """

    directory: Path
    rows: int
    cols: int
    scheme: str
    shards: int | None

    @property
    def path(self) -> Path:
        """Where the agreement is."""
        return self.directory / "study.toml"

    @property
    def parties(self) -> tuple[str, ...]:
        """The computing parties."""
        return party_names(scheme_named(self.scheme).info.default_parties)

    @property
    def dealers(self) -> tuple[str, ...]:
        """The dealer, where the scheme has one."""
        return (DEALER,) if scheme_named(self.scheme).info.dealer else ()

    def write(self) -> None:
        """Make keys for everybody, and the agreement with addresses of this machine."""
        servers = (*self.parties, *self.dealers)
        for name in (*servers, *OWNERS, ANALYST):
            write_identity(generate_identity(name), self.directory)
        addresses = dict(zip(servers, _free_ports(len(servers)), strict=True))
        shards = [] if self.shards is None else [f"shards = {self.shards}"]
        lines = ["format = 1", 'name = "made up"', "[model]", 'kind = "logistic_regression"', 'recipe = "best"']
        lines += ["[privacy]", "epsilon = 1.0", "[data]", 'partition = "horizontal"', 'label = "y"']
        lines += ["label_values = [0, 1]", "[[data.features]]", 'prefix = "x"', f"count = {self.cols}"]
        lines += ['type = "boolean"', "[compute]", f'scheme = "{self.scheme}"', *shards]
        lines += [f"timeout = {_TIMEOUT}", "connect_timeout = 120"]
        for name in servers:
            lines += ["[dealer]" if name in self.dealers else "[[parties]]", *_named(name)]
            lines += [f'address = "{_HOST}:{addresses[name]}"']
        for i, name in enumerate(OWNERS):
            first, end = (self.rows * j // len(OWNERS) for j in (i, i + 1))
            lines += ["[[owners]]", *_named(name), f"rows = {end - first}"]
        lines += ["[[analysts]]", *_named(ANALYST)]
        self.path.write_text("\n".join(lines) + "\n")

    def identity(self, study: Study, name: str) -> Identity:
        """The key of one participant."""
        return load_identity_for(study, self.directory / f"{name}.key", name)

    def contribute(self) -> None:
        """Let the owners share their rows, one after the other; the parties must answer already."""
        study = load_study(self.path)
        job = Training(study)
        for name, (table, labels) in zip(OWNERS, made_up_tables(self.rows, self.cols, len(OWNERS)), strict=True):
            facts = job.inputs[name]
            features = encoded_blocks(prepared_blocks(job.plan, table), facts[FEATURES].format, facts[FEATURES].bound)
            answers = facts[LABELS].format.encode(job.plan.target.encoded(labels), facts[LABELS].bound)
            shared = prepare_inputs(job, name, {FEATURES: features, LABELS: answers})
            send(shared, self.identity(study, name), self.directory / f"{name}.owner", "made up")


def _named(name: str) -> list[str]:
    return [f'name = "{name}"', f'certificate = "{name}.pem"']


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at."""
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(listen(_HOST, 0)).port for _ in range(count)]
