"""From an owner's table to numbers: features in the study's order, labels 0 and 1, row keys. Runs at the owner.

Everything is encoded by what the study says and nothing by the data: numbers go linearly from their public bounds to
[-1, 1], booleans to 0 or 1, a category to one column of 0 and 1 for each of its agreed values, the label to its place
in ``label_values``. Error bound: a scaled number is within 2^-50 of the exact one.

What does not fit is refused, all problems of the table together (the first twenty are told): missing, superfluous and
repeated columns, the number of rows, missing and repeated row keys, wrong types, dates, texts that are no numbers,
values out of bounds, infinite or missing, unknown categories and labels. A TableError counts them by column, names rows
and no values, and is meant for the owner's own terminal; see ``cofit.study.problems``.

A number beyond a bound by no more than ``cofit.learn.bounds.TOLERANCE`` of the range is taken for rounding, and
clipped to the bound: what is encoded is within the bounds, always.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.bounds import beyond, scaled_by_bounds
from cofit.learn.sparse_rows import FeatureTable, SparseRows
from cofit.learn.targets import NUMBER
from cofit.study.columns import (
    BOOLEANS,
    UNKNOWN,
    DatesError,
    Reals,
    WrongTypeError,
    matches,
    numbers,
    plain_column,
    row_keys,
)
from cofit.study.document import Feature, OwnerEntry, Study, Value
from cofit.study.fields import nearest, suggestion
from cofit.study.problems import (
    DATE,
    INFINITE,
    MISSING,
    NO_NUMBER,
    NOT_WHOLE,
    OUT_OF_BOUNDS,
    REPEATED,
    UNKNOWN_VALUE,
    Problems,
    listed,
    quoted,
)
from cofit.study.sparse_table import SparseTable, encode_matrix

_NO_DATES = "give a number instead, such as days since a public date or age in years"
_WRITE_NUMBERS = "write digits with a point, as in 1.5; --decimal is for CSV files with decimal commas"
_LABEL_IN = "fill it in, or remove the row: every record needs a label"


def _fill_in(problems: Problems) -> str:
    """Return what to do about a value that is not there."""
    if problems.agreed:
        return "fill it in, or remove the row"
    return "fill it in, remove the row, or agree on a value for 'missing' in the study"


@dataclass(frozen=True, repr=False, eq=False)
class EncodedTable:
    """One owner's data, ready to be shared. ``features`` (rows x columns), ``labels`` (0 and 1, or numbers from -1 to
    1), ``keys`` and ``weights`` (0 to the bound), each None where the owner has none. ``moved``: how many values of a
    column were moved to a bound, for the owner alone."""

    features: FeatureTable | None
    labels: npt.NDArray[Any] | None
    keys: tuple[str, ...] | None
    moved: Mapping[str, int] = field(default_factory=dict)
    weights: Reals | None = None

    def __repr__(self) -> str:
        shapes = [None if part is None else part.shape for part in (self.features, self.labels)]
        return f"<EncodedTable, features {shapes[0]}, labels {shapes[1]}, {'no ' if self.keys is None else ''}keys>"

    def rows(self, order: npt.NDArray[np.int64]) -> EncodedTable:
        """Return these rows in this order."""
        return EncodedTable(
            self._features_of(order),
            None if self.labels is None else self.labels[order],
            None if self.keys is None else tuple(self.keys[i] for i in order.tolist()),
            weights=None if self.weights is None else self.weights[order],
        )

    def _features_of(self, order: npt.NDArray[np.int64]) -> FeatureTable | None:
        if isinstance(self.features, SparseRows):
            return self.features.take(order)
        return None if self.features is None else self.features[order]


def owner_named(study: Study, name: str) -> OwnerEntry:
    """Return the owner of that name, or raise InvalidInputError."""
    owner = study.owner(name)
    if owner is None:
        raise parameter_error("owner", "a study", f"one of {[entry.name for entry in study.owners]}", name)
    return owner


def expected_columns(study: Study, owner: OwnerEntry) -> tuple[str, ...]:
    """Return the columns that the owner's table must have: its features, the label if it holds it, the row key."""
    special = [study.data.label] if owner.holds_label else []
    if study.data.weight is not None and owner.holds_label:
        special.append(study.data.weight)
    if study.data.row_key is not None:
        special.append(study.data.row_key)
    return (*owner.columns, *special)


def encode_table(study: Study, owner: str, table: pa.Table | SparseTable) -> EncodedTable:
    """Return the table of ``owner`` encoded as the study says, rows in the order of the table; or raise TableError."""
    entry = owner_named(study, owner)
    problems = Problems(f"The table of owner '{owner}'")
    wanted = expected_columns(study, entry)
    _check_rows(study, entry, table.num_rows, problems)
    sparse = None
    if isinstance(table, SparseTable):
        held = study.features_of(entry)
        sparse = encode_matrix(held, table.matrix, problems) if held else None
        wanted, table = wanted[len(entry.columns) :], table.others
    present = _check_columns(study, wanted, table, problems)
    keys = None
    if study.data.row_key in present:
        keys = checked_keys(study.data.row_key, table, problems)
    features = [feature for feature in study.features_of(entry) if feature.name in present]
    encoded: FeatureTable | None = encode_columns(features, table, problems) if features else sparse
    labels = None
    if entry.holds_label and study.data.label in present:
        labels = _labels(study, table, problems)
    weights = None
    if entry.holds_label and study.data.weight is not None and study.data.weight in present:
        column = Feature(study.data.weight, "number", 0.0, study.data.weight_bound or 0.0)
        weights = (encode_columns([column], table, problems)[:, 0] + 1) / 2 * column.upper
    problems.raise_any()
    if encoded is not None and study.data.reference is not None and study.data.partition == "horizontal":
        encoded = study.data.reference.in_blocks(encoded)
    kept = None if keys is None else tuple(key for key in keys if key is not None)
    return EncodedTable(encoded, labels, kept, problems.moved, weights)


def encoded_rows(features: Sequence[Feature], names: Sequence[str], table: pa.Table) -> Reals:
    """Return a table's rows in the encoded columns ``names``; its columns are in any order, and others ignored.

    Raises TableError, whose text is for who holds the table, with all that does not fit the features.
    """
    problems = Problems("The table", agreed=True)
    others = set(table.column_names) - {feature.name for feature in features}
    for feature in features:
        if not (count := table.column_names.count(feature.name)):
            problems.add(f"column '{feature.name}' is missing{suggestion(feature.name, others) or '; add it'}")
        elif count > 1:
            problems.add(f"column '{feature.name}' occurs {count} times; keep one")
    problems.raise_any()
    if not table.num_rows:
        raise InvalidInputError("The table has no rows. Give one with a row for everybody who is to be scored.")
    encoded = encode_columns(features, table, problems)
    problems.raise_any()
    place = {name: i for i, name in enumerate(n for feature in features for n in feature.encoded_names)}
    return np.asarray(encoded[:, [place[name] for name in names]])


def _labels(study: Study, table: pa.Table, problems: Problems) -> npt.NDArray[Any]:
    """Return the places of classes, or numbers scaled from their range to [-1, 1]."""
    data = study.data
    if data.label_feature is not None and data.label_range is not None:
        scaled = encode_columns([data.label_feature], table, problems)[:, 0]
        broken = data.target(study.model.kind).not_whole(NUMBER.predicted(scaled, data.label_range))
        problems.add_cells(data.label, broken, NOT_WHOLE, "it is no whole number, as counts are; correct it")
        return scaled
    return _matched(data.label, table, data.label_values, problems, remedy=_LABEL_IN)


def encode_columns(features: Sequence[Feature], table: pa.Table, problems: Problems) -> Reals:
    """Return the encoded columns of ``features`` side by side; entries with a problem are left at 0."""
    result = np.zeros((table.num_rows, sum(feature.width for feature in features)))
    start = 0
    for feature in features:
        block = result[:, start : start + feature.width]
        start += feature.width
        if feature.type == "number":
            _put_number(feature, table, block, problems)
        elif feature.type == "boolean":
            block[:, 0] = _matched(feature.name, table, (False, True), problems, feature.missing)
        else:
            places = _matched(feature.name, table, feature.values, problems, feature.missing)
            block[np.arange(len(places)), places] = 1.0
    return result


def _check_columns(study: Study, wanted: Sequence[str], table: pa.Table, problems: Problems) -> set[str]:
    """Note what is missing, repeated or superfluous; return the wanted columns that can be read."""
    counts = Counter(table.column_names)
    extra = [name for name in counts if name not in set(wanted)]
    for name in wanted:
        if not counts[name] and (near := nearest(name, extra)) is not None:
            extra.remove(near)  # one mistake is one problem
            problems.add(f"column '{name}' is missing (did you mean '{near}'?); rename '{near}', or add '{name}'")
        elif not counts[name]:
            problems.add(f"column '{name}' is missing; add it, or agree on a study without it")
        elif counts[name] > 1:
            problems.add(f"column '{name}' occurs {counts[name]} times; keep one")
    if not study.data.ignore_extra:
        for name in extra:
            column = f"column '{name}'" if name else "a column without a name"
            problems.add(f"{column} is not one that this owner brings; remove it, or agree on ignore_extra = true")
    return {name for name in wanted if counts[name] == 1}


def _check_rows(study: Study, owner: OwnerEntry, rows: int, problems: Problems) -> None:
    if study.data.unmatched == "drop":
        if rows < owner.rows:
            problems.add(f"there are {rows} rows, and the study needs {owner.rows} that all owners have in common")
    elif rows != owner.rows:
        problems.add(
            f"there are {rows} rows, and the study says {owner.rows}; use the right file, or agree on another number"
        )


def checked_keys(name: str, table: pa.Table, problems: Problems) -> list[str | None] | None:
    """Return the row keys of a table, with what is wrong with them noted; None where the column cannot hold any."""
    try:
        keys = row_keys(plain_column(table, name))
    except WrongTypeError as kind:
        problems.add(f"column '{name}' has the type {kind}; row keys are texts or whole numbers")
        return None
    counts = Counter(keys)
    repeated = np.array([key is not None and counts[key] > 1 for key in keys], dtype=np.bool_)
    absent = np.array([key is None for key in keys], dtype=np.bool_)
    problems.add_cells(name, absent, MISSING, "the row key is missing; every row needs its own")
    problems.add_cells(name, repeated, REPEATED, "another row has the same key; keys must be unique")
    return keys


def _put_number(feature: Feature, table: pa.Table, block: Reals, problems: Problems) -> None:
    name, lower, upper = feature.name, feature.lower, feature.upper
    try:
        column = numbers(plain_column(table, name))
    except DatesError:
        problems.add(f"column '{name}' holds dates or times; {_NO_DATES}")
        return
    except WrongTypeError as kind:
        problems.add(f"column '{name}' has the type {kind}; the study says it holds numbers")
        return
    values = column.values
    if feature.missing is None:
        problems.add_cells(name, column.missing, MISSING, f"the value is missing; {_fill_in(problems)}")
    else:
        values = np.where(column.missing, float(feature.missing), values)
    problems.add_cells(name, column.dates, DATE, f"it is a date or time; {_NO_DATES}")
    problems.add_cells(name, column.wrong & ~column.dates, NO_NUMBER, f"it is not a number; {_WRITE_NUMBERS}")
    infinite = np.isinf(values)
    problems.add_cells(name, infinite, INFINITE, f"it is not finite; {_fill_in(problems)}")
    if not feature.clip:
        remedy = "correct it" + ("" if problems.agreed else ", or agree on other bounds or on clip = true")
        told = f"it is beyond the agreed bounds {lower:g} to {upper:g}; {remedy}"
        problems.add_cells(name, beyond(values, lower, upper) & ~infinite, OUT_OF_BOUNDS, told)
    elif (moved := beyond(values, lower, upper) & ~infinite).any():
        problems.moved[name] = int(moved.sum())
    usable = np.isfinite(values)
    block[:, 0] = scaled_by_bounds(np.where(usable, values, lower), lower, upper)


def _matched(
    name: str,
    table: pa.Table,
    values: Sequence[Value],
    problems: Problems,
    missing: Value | float | None = None,
    remedy: str | None = None,
) -> npt.NDArray[np.int64]:
    """Return the place of each entry in ``values``; entries with a problem are left at 0."""
    array = plain_column(table, name)
    words = list(BOOLEANS) if isinstance(values[0], bool) else [quoted(value) for value in values]
    try:
        found = matches(array, values)
    except WrongTypeError as kind:
        problems.add(f"column '{name}' has the type {kind}; the study says it holds one of {listed(words)}")
        return np.zeros(table.num_rows, dtype=np.int64)
    places = found.places
    if missing is None:
        problems.add_cells(name, found.missing, MISSING, f"the value is missing; {remedy or _fill_in(problems)}")
    else:
        places = np.where(found.missing, list(values).index(missing), places)  # type: ignore[arg-type]
    unknown = (places == UNKNOWN) & ~found.missing
    problems.add_cells(name, unknown, UNKNOWN_VALUE, f"it is none of {listed(words)}; write one of these")
    return np.maximum(places, 0)
