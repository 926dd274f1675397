"""Some rows of what an owner dealt: which bytes of its components a shard needs, and the share that it makes of them.

A component is a seed, or elements of the value's shape, row by row. Of elements, some rows are a range of bytes. A seed
goes to the shard in full, and the shard begins its stream at the first element of its rows: what comes before is not
drawn (but with a ring in which not every pattern of bits is an element: ``prg.elements_from``). So the share of some
rows is, to the last bit, those rows of the share of the whole value.

A shard with a seed could expand all rows of that summand. It is a machine of the party that was dealt the seed, and
sees no more than the party does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from cofit.arithmetic import Ring, Shape
from cofit.errors import parameter_error
from cofit.sharing.known_inputs import assembled
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import ComponentFacts, DealtShare
from cofit.sharing.spec import Spec
from cofit.sharing.summands import SEED


def component_range(facts: ComponentFacts, shape: Shape, rows: slice) -> slice:
    """Return which bytes of a component (without its salt) a shard with these rows of a value of this shape needs.

    Of a seed all.
    """
    _check_rows(shape, rows)
    if facts.name.startswith(SEED):
        return slice(0, facts.size)
    count = math.prod(shape)
    element = facts.size // max(count, 1)
    if facts.size != count * element:
        raise parameter_error("facts", "component_range", f"those of a component of a value of shape {shape}", facts)
    width = math.prod(shape[1:]) * element
    return slice(rows.start * width, rows.stop * width)


def assembled_rows(
    scheme: type[Scheme],
    spec: Spec,
    ring: Ring,
    shape: Shape,
    rank: int,
    received: Mapping[str, memoryview],
    holder: int | None,
    rows: slice,
) -> DealtShare:
    """As ``known_inputs.assembled``, of some rows alone: a dealt share of shape (rows.stop - rows.start, *shape[1:]).

    shape: of the whole value. received: by component, the bytes that ``component_range`` named.
    """
    _check_rows(shape, rows)
    piece = (rows.stop - rows.start, *shape[1:])
    return assembled(scheme, spec, ring, piece, rank, received, holder, rows.start * math.prod(shape[1:]))


def _check_rows(shape: Shape, rows: slice) -> None:
    """Raise InvalidInputError unless these are rows of an array of this shape."""
    if not shape:
        raise parameter_error("shape", "a piece", "that of an array with rows", shape)
    numbers = all(isinstance(end, int) and not isinstance(end, bool) for end in (rows.start, rows.stop))
    if not numbers or rows.step not in (None, 1) or not 0 <= rows.start <= rows.stop <= shape[0]:
        raise parameter_error("rows", "a piece", f"a slice(start, stop) with 0 <= start <= stop <= {shape[0]}", rows)
