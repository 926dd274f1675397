"""The public reference that a study names: a table of rows, or the file of a map.

Of a **table** every participant makes the map itself when it loads the study: the same to the last digit on every
machine (``learn.recipes.descent.reproducible``), from the columns, the number of records, epsilon and delta of the
study. So the table is all that has to go with the study; nothing that is derived from it is kept on disk, and nobody
has to trust a map that somebody else made. The study's hash has that of the file and that of the map.

A **map** (`cofit reference`) is taken as it is: of more rows, and for those who must not hand out the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.learn.recipes.descent.reference import ReferenceMap, reference_map
from cofit.roles.files.plain_arrays import plain_arrays
from cofit.study.document import Study
from cofit.study.encoding import study_encoding

REFERENCE, DIRECTIONS = "reference", "reference_directions"
_OF_MAPS = {"mean", "directions", "variances"}


def named_reference(folder: Path, data: Any, study: Callable[[], Study]) -> dict[str, tuple[ReferenceMap, str | None]]:
    """Return the map that the data section of a document names, and the hash of its table, by the name of the file.

    folder: of the study. study: the same without its reference. What is malformed is left to ``parse_study``.
    """
    name = data.get(REFERENCE) if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(name, str) or not name:
        return {}
    path = folder / name
    if not path.is_file():
        raise InvalidInputError(
            f"The file of data.{REFERENCE} must exist beside the study: a table of public rows, or a map that `cofit "
            f"reference` makes of one. Got '{path}' instead."
        )
    if path.suffix == ".npz":
        arrays = plain_arrays(path)
        if _OF_MAPS & set(arrays):
            return {name: (ReferenceMap.from_arrays(arrays), None)}
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InvalidInputError(f"The file of data.{REFERENCE} cannot be read: '{path}': {error.strerror}.") from None
    return {name: (_made(_Table(path, digest, study(), data.get(DIRECTIONS) is True)), digest)}


class _Table:
    """A table and the study that it is for. Equal where the same map is made."""

    def __init__(self, path: Path, digest: str, study: Study, directions: bool) -> None:
        self.path, self.study, self.directions = path, study, directions
        privacy = study.privacy
        means = (study_encoding(study), study.data.rows, privacy.epsilon, privacy.delta, directions)
        self._key = digest, json.dumps(means, sort_keys=True)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Table) and self._key == other._key

    def rows(self) -> npt.NDArray[np.float64]:
        from cofit.roles.files.tables import read_study_table  # noqa: PLC0415 - Arrow, which parties seldom need
        from cofit.study.encode import encoded_rows  # noqa: PLC0415

        data = self.study.data
        table = read_study_table(self.path, data.features, data.label, data.label_values)
        return encoded_rows(data.features, self.study.weight_names, table)


@lru_cache(maxsize=16)
def _made(table: _Table) -> ReferenceMap:
    study = table.study
    return reference_map(
        table.rows(),
        study.data.rows,
        epsilon=study.privacy.epsilon,
        delta=study.privacy.delta,
        directions_only=table.directions,
        reproducible=True,
    )
