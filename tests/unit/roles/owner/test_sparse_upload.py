"""An owner with sparse data: it shares what a dense table would be shared as, and never holds one."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.arithmetic.row_blocks import encoded_blocks
from cofit.learn.contribution import encoded_features
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.sparse_rows import SparseRows, sparse_rows
from cofit.roles.files.manifest import deal_contribution
from cofit.roles.owner.upload import contribute
from cofit.roles.service import conversations
from cofit.secret import InputFacts
from cofit.sharing import SCHEMES, scheme_named
from cofit.sharing.known_inputs import components_of
from unit.roles.owner.upload_world import PARTIES, PLAN, SPEC, STUDY, Desk, World

SEED = bytes(range(32))


def table(rows: int, cols: int, density: float = 0.1) -> csr_array:
    return csr_array(random_array((rows, cols), density=density, rng=np.random.default_rng(0)))


@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda ring: ring.name)
@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_components_are_those_of_the_dense_table(name: str, ring: Any) -> None:
    """More than one message, blocks that end within one, and of every holder."""
    matrix, format = table(400, 700), FixedPoint(24, ring)
    scheme = scheme_named(name)
    spec = scheme.info.spec()
    sparse = encoded_blocks(sparse_rows(matrix), format, 1.0)
    dense = format.encode(matrix.toarray(), 1.0)
    for holder in (None, *([0] if scheme.info.knows_inputs else [])):
        found, wanted = (components_of(scheme, spec, ring, v, SEED, holder) for v in (sparse, dense))
        for one, other in zip(found, wanted, strict=True):
            assert one.facts == other.facts
            assert [bytes(piece) for piece in one.content()] == [bytes(piece) for piece in other.content()]


def test_the_manifest_is_that_of_the_dense_table_and_an_upload_goes_on_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_PAUSES", (0.0, 0.0, 0.0))
    matrix, format = table(40, 9000), FixedPoint(24, Z64)
    facts = InputFacts(matrix.shape, format, 1.0)
    sparse, dense = encoded_blocks(sparse_rows(matrix), format, 1.0), format.encode(matrix.toarray(), 1.0)
    manifests = [deal_contribution(SPEC, {"features": (facts, v)}, SEED, PLAN).manifest for v in (sparse, dense)]
    assert manifests[0] == manifests[1]
    world = World(tmp_path, {name: Desk(name, rank) for rank, name in enumerate(PARTIES)})
    known = dict.fromkeys(PARTIES, "ab" * 16)
    uploads = [
        contribute(known, SPEC, {"features": (facts, v)}, world.connect, tmp_path, STUDY, PLAN) for v in (sparse, dense)
    ]
    assert uploads[0] == uploads[1]  # the same data: nothing is sent again


def peak_of_owner(values: Any, tmp_path: Path, rows: int, cols: int) -> int:
    """The most that an owner holds beside its table, from raw values to the last acknowledgement."""
    facts = training_facts(2 * rows, cols, epsilon=1.0)
    plan = plan_training(facts)
    format = plan.formats.of(plan.formats.data)
    agreed = InputFacts((rows, cols), format, 1.0)
    world = World(tmp_path, {name: Desk(name, rank, keep=False) for rank, name in enumerate(PARTIES)})
    known = dict.fromkeys(PARTIES, "ab" * 16)
    tracemalloc.start()
    try:
        encoded = encoded_features(plan, values, format, 1.0)
        contribute(known, SPEC, {"features": (agreed, encoded)}, world.connect, tmp_path, STUDY, PLAN)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_owner_never_holds_its_table_densely(tmp_path: Path) -> None:
    """1,000 x 8,000: 64 MB dense, 1 MB sparse. A block of a few MiB for each party, whatever the rows are."""
    rows, cols = 1000, 8000
    matrix = table(rows, cols, density=0.01)
    peak = peak_of_owner(sparse_rows(matrix), tmp_path, rows, cols)
    assert 8 * rows * cols > 60_000_000
    assert peak < 40_000_000


def test_that_would_notice_a_dense_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, cols = 1000, 8000
    monkeypatch.setattr(SparseRows, "__getitem__", lambda self, rows: self.matrix.toarray()[rows])
    assert peak_of_owner(sparse_rows(table(rows, cols, density=0.01)), tmp_path, rows, cols) > 55_000_000
