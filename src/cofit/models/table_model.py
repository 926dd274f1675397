"""A model that scores tables as people have them: of a study, or of a run whose model has bounds for its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.errors import InvalidInputError
from cofit.models.column_bounds import bounded_features
from cofit.models.linear_model import LinearModel
from cofit.models.model_files import read_model
from cofit.study.document import Feature
from cofit.study.encode import encoded_rows


@dataclass(frozen=True, repr=False)
class TableModel:
    """The columns of a table that a model takes, and the model of the rows that they are encoded to.

    label, row_key: names of columns; None where the model has none.
    """

    model: LinearModel
    features: tuple[Feature, ...]
    label: str | None
    row_key: str | None

    @classmethod
    def load(cls, path: str | Path) -> TableModel:
        """Read the file of a model, or raise InvalidInputError that names the file and what is wrong with it."""
        found = read_model(path)
        if not isinstance(found, LinearModel):
            return cls(found.model, found.features, found.label, found.row_key)
        if found.bounds is None or found.feature_names is None:
            raise InvalidInputError(
                f"{path}: This model was saved by an estimator: it does not know how the columns of a table become its "
                f"rows. Prepare them as for training, with the same public bounds and the same order of columns, and "
                f"use cofit.load_model(...).predict in Python. (Models of studies take tables as they are.)"
            )
        names, bounds = found.feature_names, found.bounds
        return cls(replace(found, bounds=None), bounded_features(names, bounds), None, None)

    @property
    def as_released(self) -> TableModel:
        """The same model, predicting with the weights as they were released, without shrinkage."""
        return replace(self, model=self.model.shrunk(0.0))

    def encode(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Return the rows of a table as the weights take them; see ``encoded_rows``."""
        return encoded_rows(self.features, self.model.feature_names or (), table)
