"""What may be sent as a message: any C-contiguous buffer of plain numbers, seen as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cofit.errors import InvalidInputError

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from numpy.typing import NDArray
    from typing_extensions import Buffer

    Bytes: TypeAlias = Buffer | NDArray[Any]

_EMPTY = memoryview(bytearray())


def byte_view(buffer: Bytes) -> memoryview:
    """Return the bytes of a C-contiguous buffer, without a copy."""
    try:
        view = memoryview(cast("Buffer", buffer))
        if view.format == "B" and view.ndim == 1 and view.c_contiguous:
            return view
        return view.cast("B") if view.nbytes else _EMPTY
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"A message must be a C-contiguous buffer of plain numbers, such as a NumPy array. {error}"
        ) from None
