"""Studies: the public agreement of all participants, what follows from it, and how an owner's table is encoded.

Pure: nothing here reads files or clocks. ``cofit.roles.files.tables`` reads studies and tables from disk.
"""

from cofit.study.document import Study
from cofit.study.encode import EncodedTable, encode_table
from cofit.study.parse import parse_study
from cofit.study.plan import study_plan
from cofit.study.problems import TableError

__all__ = ["EncodedTable", "Study", "TableError", "encode_table", "parse_study", "study_plan"]
