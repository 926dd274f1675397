"""From an owner's file to the arrays that a study's program takes. Runs at the owner.

What does not fit is refused, all problems together, as in ``study.encode``: missing columns, another number of rows or
another shape, values that are missing, no numbers, not finite, beyond the agreed bound, or no whole numbers where the
input has no fractional bits. Columns that the study does not name are not read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.arithmetic import RingArray
from cofit.study.columns import DatesError, WrongTypeError, numbers, plain_column
from cofit.study.problems import INFINITE, MISSING, NO_NUMBER, OUT_OF_BOUNDS, Problems
from cofit.study.program import ProgramInput, ProgramOwner

Reals = npt.NDArray[np.float64]
_FRACTION = "with a fraction", "with a fraction"


def encode_inputs(
    owner: ProgramOwner, table: pa.Table, arrays: Mapping[str, npt.NDArray[np.generic]]
) -> dict[str, RingArray]:
    """Return every input of ``owner`` in its format, or raise TableError, which is for the owner's own terminal.

    table: with the columns that inputs name. arrays: for inputs that name none.
    """
    problems = Problems(f"The data of owner '{owner.name}'")
    found = {
        one.name: _columns(one, table, problems) if one.columns else _array(one, arrays, problems)
        for one in owner.inputs
    }
    problems.raise_any()
    return {
        one.name: one.facts.format.encode(values, one.bound)
        for one in owner.inputs
        if (values := found[one.name]) is not None
    }


def _columns(one: ProgramInput, table: pa.Table, problems: Problems) -> Reals | None:
    if table.num_rows != one.shape[0]:
        problems.add(
            f"input '{one.name}': there are {table.num_rows} rows, and the study says {one.shape[0]}; use the right "
            "file, or agree on another number"
        )
        return None
    columns = [_column(one, name, table, problems) for name in one.columns]
    if any(column is None for column in columns):
        return None
    joined = np.stack([column for column in columns if column is not None], axis=1)
    return joined[:, 0] if len(one.shape) == 1 else joined


def _column(one: ProgramInput, name: str, table: pa.Table, problems: Problems) -> Reals | None:
    count = table.column_names.count(name)
    if count != 1:
        problems.add(f"column '{name}' is missing" if not count else f"column '{name}' occurs {count} times; keep one")
        return None
    try:
        column = numbers(plain_column(table, name))
    except DatesError:
        problems.add(f"column '{name}' holds dates or times; give a number instead, such as days since a public date")
        return None
    except WrongTypeError as kind:
        problems.add(f"column '{name}' has the type {kind}; the study says it holds numbers")
        return None
    problems.add_cells(name, column.missing, MISSING, "the value is missing; fill it in, or remove the row")
    problems.add_cells(name, column.wrong, NO_NUMBER, "it is not a number; write digits with a point, as in 1.5")
    return _checked(one, name, column.values, ~(column.missing | column.wrong), problems)


def _array(one: ProgramInput, arrays: Mapping[str, npt.NDArray[np.generic]], problems: Problems) -> Reals | None:
    array = arrays.get(one.name)
    if array is None:
        problems.add(
            f"input '{one.name}' of shape {one.shape} is an array, and comes from an .npz file under that name"
        )
        return None
    if array.shape != one.shape or array.dtype.kind not in "buif":
        problems.add(
            f"array '{one.name}' has shape {array.shape} and type {array.dtype}; the study says {one.shape}, of numbers"
        )
        return None
    values = array.astype(np.float64)
    flat = values.reshape(-1)
    missing = np.isnan(flat)
    problems.add_cells(one.name, missing, MISSING, "the value is missing; fill it in")
    _checked(one, one.name, flat, ~missing, problems)
    return values


def _checked(one: ProgramInput, name: str, values: Reals, there: npt.NDArray[np.bool_], problems: Problems) -> Reals:
    infinite = there & np.isinf(values)
    problems.add_cells(name, infinite, INFINITE, "it is not finite")
    usable = there & ~infinite
    with np.errstate(invalid="ignore"):
        problems.add_cells(
            name,
            usable & (np.abs(values) > one.bound),
            OUT_OF_BOUNDS,
            f"it is beyond the agreed bound {one.bound:g}; correct it, or agree on another bound",
        )
        if not one.fraction_bits:
            remedy = "the study takes whole numbers here (fraction_bits = 0)"
            problems.add_cells(name, usable & (values != np.rint(values)), _FRACTION, remedy)
    return values
