"""The model of a study: released weights, and how the study turns the columns of a table into what they multiply.

The study's bounds and categories are part of the file, so that a table as the owners have it, with its columns in any
order, can be scored by whoever has the file. Everything in it is public. Reading is strict and executes nothing.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.errors import CofitError, InvalidInputError, parameter_error
from cofit.models.linear_model import LinearModel
from cofit.models.model_text import CUT_OFF, model_text
from cofit.privacy.certificate import Certificate
from cofit.study.columns import UNKNOWN, WrongTypeError, matches, plain_column
from cofit.study.document import Feature, Study
from cofit.study.encode import encode_columns
from cofit.study.plan import study_plan
from cofit.study.problems import UNKNOWN_VALUE, Problems

VERSION = 1
KIND = "cofit study model"
_FIELDS = {"kind", "version", "study", "label", "row_key", "features", "model"}
_FEATURE_FIELDS = {field.name for field in fields(Feature)}


@dataclass(frozen=True, repr=False)
class StudyModel:
    """A linear model with the encoding of its study.

    study: its name and hash. label, row_key: names of columns (row_key may be None). features: as in the study.
    ``model.feature_names`` are the encoded columns in the order of the weights.
    """

    study: tuple[str, str]
    label: str
    row_key: str | None
    features: tuple[Feature, ...]
    model: LinearModel

    def __post_init__(self) -> None:
        encoded = [name for feature in self.features for name in feature.encoded_names]
        if len(set(encoded)) != len(encoded) or set(encoded) != set(self.model.feature_names or ()):
            raise InvalidInputError("The features of a study model must encode to the columns that its weights name.")

    def __repr__(self) -> str:
        return f"<StudyModel of '{self.study[0]}', {len(self.features)} features, {self.model!r}>"

    @classmethod
    def from_release(cls, study: Study, weights: tuple[float, ...], certificate: Certificate) -> StudyModel:
        """Return the model of a study's released weights, in the order of ``Study.weight_names``."""
        data = study.data
        model = LinearModel.from_weights(study_plan(study), weights, certificate, data.label_values, study.weight_names)
        return cls((study.name, study.hash), data.label, data.row_key, data.features, model)

    @property
    def as_released(self) -> StudyModel:
        """The same model, predicting with the weights as they were released, without shrinkage."""
        return replace(self, model=self.model.shrunk(0.0))

    # --- tables ------------------------------------------------------------------------------------------

    def encode(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Return the rows of a table as the weights take them; columns in any order, others ignored.

        Raises TableError, whose text is for who holds the table, with all that does not fit the study.
        """
        problems = Problems("The table")
        for feature in self.features:
            if (count := table.column_names.count(feature.name)) != 1:
                problems.add(f"column '{feature.name}' {'is missing' if not count else f'occurs {count} times'}")
        problems.raise_any()
        if not table.num_rows:
            raise InvalidInputError("The table has no rows. Give one with a row for everybody who is to be scored.")
        encoded = encode_columns(self.features, table, problems)
        problems.raise_any()
        place = {name: i for i, name in enumerate(n for feature in self.features for n in feature.encoded_names)}
        return np.asarray(encoded[:, [place[name] for name in self.model.feature_names or ()]])

    def labels(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Return the classes of a table's rows as 0 and 1, or raise TableError."""
        problems = Problems("The table")
        if table.column_names.count(self.label) != 1:
            problems.add(f"column '{self.label}', the label, must be there once")
            problems.raise_any()
        words = " or ".join(str(value) for value in self.model.classes)
        column = plain_column(table, self.label)
        try:
            places = matches(column, self.model.classes).places  # type: ignore[arg-type]
        except WrongTypeError as kind:
            problems.add(f"column '{self.label}' has the type {kind}; it must hold {words}")
            problems.raise_any()
        problems.add_cells(self.label, places == UNKNOWN, UNKNOWN_VALUE, f"it must be {words}")
        problems.raise_any()
        return np.asarray(places)

    # --- from and to -------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return it as JSON, version 1."""
        document = {
            "kind": KIND,
            "version": VERSION,
            "study": {"name": self.study[0], "hash": self.study[1]},
            "label": self.label,
            "row_key": self.row_key,
            "features": [asdict(feature) for feature in self.features],
            "model": json.loads(self.model.to_json()),
        }
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> StudyModel:
        """Read what ``to_json`` wrote, or raise InvalidInputError."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise InvalidInputError(f"A study model must be valid JSON. {CUT_OFF}") from None
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind != KIND:
            raise InvalidInputError(
                "This file is no model of a study, as `cofit model` writes it"
                + ("; read it in Python with cofit.load_model." if kind == "cofit linear model" else ".")
            )
        if document.get("version") != VERSION:
            raise parameter_error("version", "a study model", f"{VERSION}", document.get("version"))
        if set(document) != _FIELDS:
            raise InvalidInputError(f"A study model must have the fields {sorted(_FIELDS)} and no others.")
        study, features = document["study"], document["features"]
        if not isinstance(study, dict) or set(study) != {"name", "hash"} or not isinstance(features, list):
            raise InvalidInputError("A study model must name its study, and list its features.")
        for name, value in (("label", document["label"]), ("row_key", document["row_key"]), *study.items()):
            if not isinstance(value, str) and not (name == "row_key" and value is None):
                raise parameter_error(name, "a study model", "a text", value)
        return cls(
            (study["name"], study["hash"]),
            document["label"],
            document["row_key"],
            tuple(_feature(i, feature) for i, feature in enumerate(features)),
            LinearModel.from_json(json.dumps(document["model"])),
        )

    @classmethod
    def load(cls, path: str | Path) -> StudyModel:
        """Read a file that holds ``to_json``, or raise InvalidInputError that names the file."""
        text = model_text(path)
        try:
            return cls.from_json(text)
        except CofitError as error:
            raise InvalidInputError(f"{path}: {error}") from None


def _feature(index: int, given: Any) -> Feature:
    """Return one feature of a file, with the types that a study gives it."""
    if not isinstance(given, dict) or set(given) != _FEATURE_FIELDS or not isinstance(given["values"], list):
        raise InvalidInputError(f"features[{index}] of a study model must have the fields {sorted(_FEATURE_FIELDS)}.")
    feature = Feature(**{**given, "values": tuple(given["values"])})
    lower, upper, values, missing = feature.lower, feature.upper, feature.values, feature.missing
    sound = isinstance(feature.name, str) and isinstance(feature.clip, bool)
    if feature.type == "number":
        bounds = [lower, upper] if missing is None else [lower, upper, missing]
        sound &= all(isinstance(b, int | float) and not isinstance(b, bool) and math.isfinite(b) for b in bounds)
        sound = sound and lower < upper and not values
    elif feature.type == "category":
        kinds = {type(value) for value in values}
        sound &= len(values) >= 2 and kinds in ({str}, {int}) and (missing is None or missing in values)
    elif feature.type == "boolean":
        sound &= not values and (missing is None or isinstance(missing, bool))
    else:
        sound = False
    if not sound:
        raise InvalidInputError(f"features[{index}] of a study model must be a feature as a study has it.")
    return feature
