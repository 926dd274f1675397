"""An owner's file for a study of a program: its columns, or arrays, in the formats of the study."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from cofit.arithmetic import RingArray
from cofit.errors import InvalidInputError
from cofit.roles.files.plain_arrays import plain_arrays
from cofit.roles.files.tables import read_table
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout
from cofit.study.program import ProgramOwner
from cofit.study.program_table import encode_inputs


def read_inputs(owner: ProgramOwner, data: Path, layout: TextLayout = ANY_LAYOUT) -> dict[str, RingArray]:
    """Return the inputs of an owner, encoded, from a table or an .npz file."""
    columns = [name for one in owner.inputs for name in one.columns]
    if data.suffix.lower() == ".npz":
        arrays = plain_arrays(data)
        lines = {name: pa.array(arrays[name]) for name in columns if name in arrays and arrays[name].ndim == 1}
        lengths = {len(line) for line in lines.values()}
        if len(lengths) > 1:
            raise InvalidInputError(f"The arrays of '{data}' that are columns must have one length. Got {lengths}.")
        return encode_inputs(owner, pa.table(lines), arrays)
    table = read_table(data, features=columns, numbers=set(columns), layout=layout)
    return encode_inputs(owner, table, {})
