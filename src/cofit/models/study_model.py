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

from cofit.errors import InvalidInputError, VerificationError, parameter_error
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.targets import NUMBER
from cofit.models.columns_of_weights import coef_of
from cofit.models.linear_model import KIND as LINEAR
from cofit.models.linear_model import LinearModel
from cofit.models.model_text import CUT_OFF, loaded, written_by
from cofit.privacy.certificate import Certificate
from cofit.privacy.strict_fields import json_object
from cofit.roles.files.published import Release
from cofit.roles.files.signatures import PartySignature, check_signatures
from cofit.study.columns import UNKNOWN, WrongTypeError, matches, plain_column
from cofit.study.document import Feature, Study
from cofit.study.encode import encode_columns, encoded_rows
from cofit.study.encoding import encoding
from cofit.study.plan import study_plan
from cofit.study.problems import UNKNOWN_VALUE, Problems, quoted

VERSION = 2
KIND = "cofit study model"
_FIELDS = {"kind", "version", "study", "label", "row_key", "features", "model", "released", "signatures"}
_OWNER = "a study model"
_OF_A_RUN = (
    "It is of a run without a study, and names no column of labels: compare what cofit.load_model(...).predict says in "
    "Python, on rows that are prepared as for training (the demo's model prepares them itself)."
)
_FEATURE_FIELDS = {field.name for field in fields(Feature)}


@dataclass(frozen=True, repr=False)
class StudyModel:
    """A linear model with the encoding of its study.

    study: its name and hash. label, row_key: names of columns (row_key may be None). features: as in the study.
    ``model.feature_names`` are the encoded columns in the order of the weights. released: every number that was opened,
    exactly, from which the model follows. signatures: of all parties, over these numbers, the encoding and the
    certificate; none where nobody has signed, as before a study has run.
    """

    study: tuple[str, str]
    label: str
    row_key: str | None
    features: tuple[Feature, ...]
    model: LinearModel
    released: tuple[float, ...]
    signatures: tuple[PartySignature, ...] = ()

    def __post_init__(self) -> None:
        if self.study[1] != self.model.certificate.study:
            must_be = f"that of its certificate, {self.model.certificate.study}"
            raise parameter_error("study.hash", _OWNER, must_be, self.study[1])
        encoded = [name for feature in self.features for name in feature.encoded_names]
        if len(set(encoded)) != len(encoded) or set(encoded) != set(self.model.feature_names or ()):
            raise InvalidInputError("The features of a study model must encode to the columns that its weights name.")
        if self.model.bounds is not None:
            raise parameter_error("model.bounds", _OWNER, "left out: its features have the bounds", "bounds")

    def __repr__(self) -> str:
        return f"<StudyModel of '{self.study[0]}', {len(self.features)} features, {self.model!r}>"

    @classmethod
    def from_release(
        cls,
        study: Study,
        weights: tuple[float, ...],
        certificate: Certificate,
        signatures: tuple[PartySignature, ...] = (),
    ) -> StudyModel:
        """Return the model of a study's released weights, in the order of ``Study.weight_names``."""
        data = study.data
        model = LinearModel.from_weights(
            study_plan(study),
            weights,
            certificate,
            data.label_values,
            study.weight_names,
            data.label_range,
            data.reference,
        )
        named = (study.name, study.hash)
        return cls(named, data.label, data.row_key, data.features, model, tuple(weights), signatures)

    @property
    def encoding(self) -> dict[str, Any]:
        """What the columns of a table mean, as the parties have signed it."""
        one = self.model
        names, columns = one.feature_names or (), self.features
        mapped = None if one.reference is None else one.reference.hash
        return encoding(self.study[0], self.label, self.row_key, one.classes, columns, names, one.target_range, mapped)

    def check_signatures(self) -> None:
        """Raise VerificationError, which names the party, unless all parties have signed what this model rests on."""
        check_signatures(self.signatures, Release(self.released, self.model.certificate), self.encoding)

    @property
    def as_released(self) -> StudyModel:
        """The same model, predicting with the weights as they were released, without shrinkage."""
        return replace(self, model=self.model.shrunk(0.0))

    # --- tables ------------------------------------------------------------------------------------------

    def encode(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Return the rows of a table as the weights take them; columns in any order, others ignored.

        Raises TableError, whose text is for who holds the table, with all that does not fit the study.
        """
        return encoded_rows(self.features, self.model.feature_names or (), table)

    def labels(self, table: pa.Table) -> npt.NDArray[Any]:
        """Return the places of the rows' classes among those of the model, from 0 on, of a regressor their targets; or
        raise TableError."""
        problems = Problems("The table")
        if table.column_names.count(self.label) != 1:
            problems.add(f"column '{self.label}', the label, must be there once")
            problems.raise_any()
        if self.model.target_range is not None:
            label = Feature(self.label, "number", *self.model.target_range)
            scaled = encode_columns([label], table, problems)[:, 0]
            problems.raise_any()
            return NUMBER.predicted(scaled, self.model.target_range)
        words = " or ".join(quoted(value) for value in self.model.classes)
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
        """Return it as JSON, version 2."""
        document = {
            "kind": KIND,
            "version": VERSION,
            "study": {"name": self.study[0], "hash": self.study[1]},
            "label": self.label,
            "row_key": self.row_key,
            "features": [asdict(feature) for feature in self.features],
            "model": json.loads(self.model.to_json()),
            "released": list(self.released),
            "signatures": [asdict(one) for one in self.signatures],
        }
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> StudyModel:
        """Read what ``to_json`` wrote, or raise InvalidInputError.

        The certificate is rebuilt from its facts, the model from the released numbers, and signatures that are
        there must fit. Whose keys they are made with is not known here: ``verify_model``.
        """
        try:
            document = json.loads(text, object_pairs_hook=json_object)
        except InvalidInputError:
            raise
        except (ValueError, RecursionError):
            raise InvalidInputError(f"A study model must be valid JSON. {CUT_OFF}") from None
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind != KIND:
            of_a_run = f" {_OF_A_RUN}" if kind == LINEAR else ""
            raise InvalidInputError(f"This file is not the model of a study, as `cofit model` writes it.{of_a_run}")
        if document.get("version") != VERSION:
            must_be = f"{VERSION}, the version that this release can read{written_by(document.get('model'))}"
            raise parameter_error("version", _OWNER, must_be, document.get("version"))
        if set(document) != _FIELDS:
            raise InvalidInputError(f"A study model must have the fields {sorted(_FIELDS)} and no others.")
        study, features = document["study"], document["features"]
        if not isinstance(study, dict) or set(study) != {"name", "hash"} or not isinstance(features, list):
            raise InvalidInputError("A study model must name its study, and list its features.")
        for name, value in (("label", document["label"]), ("row_key", document["row_key"]), *study.items()):
            if not isinstance(value, str) and not (name == "row_key" and value is None):
                raise parameter_error(name, "a study model", "a text", value)
        released, signatures = document["released"], document["signatures"]
        if not isinstance(released, list) or not all(isinstance(v, float) and math.isfinite(v) for v in released):
            raise parameter_error("released", _OWNER, "a list of finite floats", "something else")
        if not isinstance(signatures, list):
            raise parameter_error("signatures", _OWNER, "a list", signatures)
        result = cls(
            (study["name"], study["hash"]),
            document["label"],
            document["row_key"],
            tuple(_feature(i, feature) for i, feature in enumerate(features)),
            LinearModel.from_json(json.dumps(document["model"])),
            tuple(released),
            tuple(PartySignature.from_stated(f"signatures[{i}]", one) for i, one in enumerate(signatures)),
        )
        result.check_released()
        return result

    def check_released(self) -> None:
        """Raise InvalidInputError unless the model follows from the released numbers, and signatures fit them.

        Where another release of cofit wrote the certificate, only what needs no plan is compared.
        """
        one, plan = self.model, rebuilt_plan(self.model.certificate)
        if len(self.released) != one.certificate.released:
            raise parameter_error("released", _OWNER, f"{one.certificate.released} numbers", len(self.released))
        if plan is None:
            again, names = replace(one, coef=coef_of(self.released, one.features, one.lines)), ["coef"]
        else:
            again = one.again(plan, self.released)
            names = ["coef", "intercept", "constant", "norm_floor", "rows"]
        for name in names:
            if getattr(one, name) != getattr(again, name):
                raise parameter_error(f"model.{name}", _OWNER, "what the released numbers give", "something else")
        if self.signatures:
            try:
                self.check_signatures()
            except VerificationError as error:
                raise InvalidInputError(str(error)) from None

    @classmethod
    def load(cls, path: str | Path) -> StudyModel:
        """Read a file that holds ``to_json``, or raise InvalidInputError that names the file."""
        return loaded(path, cls.from_json)


def _is_finite(value: object) -> bool:
    """Whether this is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _feature(index: int, given: Any) -> Feature:
    """Return one feature of a file, with the types that a study gives it."""
    if not isinstance(given, dict) or set(given) != _FEATURE_FIELDS or not isinstance(given["values"], list):
        raise InvalidInputError(f"features[{index}] of a study model must have the fields {sorted(_FEATURE_FIELDS)}.")
    feature = Feature(**{**given, "values": tuple(given["values"])})
    lower, upper, values, missing = feature.lower, feature.upper, feature.values, feature.missing
    sound = isinstance(feature.name, str) and isinstance(feature.clip, bool)
    if any(b is not None and not isinstance(b, bool | int | float | str) for b in (lower, upper, missing)):
        sound = False
    elif feature.type == "number":
        bounds = [lower, upper] if missing is None else [lower, upper, missing]
        sound &= all(_is_finite(b) for b in bounds)
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
