"""Studies: the public agreement of all participants, what follows from it, and how an owner's table is encoded.

Pure: nothing here reads files or clocks. ``cofit.roles.files.tables`` reads studies and tables from disk.
"""

from typing import TYPE_CHECKING, Any

from cofit.study.document import Study
from cofit.study.parse import parse_study
from cofit.study.plan import study_plan
from cofit.study.problems import TableError

if TYPE_CHECKING:
    from cofit.study.encode import EncodedTable, encode_table

__all__ = ["EncodedTable", "Study", "TableError", "encode_table", "parse_study", "study_plan"]


def __getattr__(name: str) -> Any:
    """Tables are the owners': the parties' processes should not have to load what reads them."""
    if name in ("EncodedTable", "encode_table"):
        from cofit.study import encode  # noqa: PLC0415 - loads pyarrow

        return getattr(encode, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
