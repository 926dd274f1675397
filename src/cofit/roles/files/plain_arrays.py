"""Arrays in a file of NumPy's: read strictly, never unpickled."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError


def plain_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an .npz file by name; InvalidInputError for anything but plain arrays."""
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise zipfile.BadZipFile
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                found = {name: arrays[name] for name in arrays.files}
        if not all(isinstance(array, np.ndarray) for array in found.values()):  # NumPy gives other files as bytes
            raise zipfile.BadZipFile
        return found
    except (ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):  # RuntimeError: encrypted
        raise InvalidInputError(f"'{path}' is not a readable .npz file of plain arrays (no Python objects).") from None
    except MemoryError:
        raise InvalidInputError(f"'{path}' states arrays that are too large for this machine's memory.") from None
    except OSError as error:
        raise InvalidInputError(f"'{path}' cannot be read: {error.strerror or error}.") from None
