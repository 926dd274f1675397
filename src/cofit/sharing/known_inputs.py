"""How an owner's values reach the parties if the owner may be one of them.

``holder`` is the rank of the party that the owner is, or None for an owner outside. Where the scheme lets a party keep
its own data as they are (``SchemeInfo.knows_inputs``), a holder gets the values in one component, and nobody else gets
anything; in all other cases the values are shared as the scheme does it. Every member must come to the same holder, so
it is a fact of the study: the party that has the owner's name and certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from cofit.arithmetic import Ring, Shape
from cofit.errors import parameter_error
from cofit.sharing.inputs import Values, in_chunks
from cofit.sharing.member import as_bytes
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import Component, ComponentFacts, DealtShare
from cofit.sharing.spec import Spec

_VALUES = "values"


def layout_of(
    scheme: type[Scheme], spec: Spec, ring: Ring, shape: Shape, holder: int | None
) -> tuple[ComponentFacts, ...]:
    """Return the public facts of the components of an owner's value."""
    keeper = _keeper(scheme, spec, holder)
    if keeper is None:
        return scheme.inputs(spec).layout(ring, shape)
    return known_layout(ring, shape, keeper)


def known_layout(ring: Ring, shape: Shape, holder: int) -> tuple[ComponentFacts, ...]:
    """Return the facts of the one component of values that the party ``holder`` keeps as they are."""
    return (ComponentFacts(_VALUES, (holder,), math.prod(shape) * ring.element_bytes),)


def components_of(
    scheme: type[Scheme], spec: Spec, ring: Ring, values: Values, seed: bytes, holder: int | None
) -> tuple[Component, ...]:
    """Return the components of an owner's value; those that are shared follow from ``seed``."""
    if _keeper(scheme, spec, holder) is None:
        return scheme.inputs(spec).components(ring, values, seed)
    (facts,) = layout_of(scheme, spec, ring, values.shape, holder)

    def content() -> Iterator[memoryview]:
        return (as_bytes(chunk) for chunk in in_chunks(ring, values))

    return (Component(facts, content),)


def assembled(
    scheme: type[Scheme],
    spec: Spec,
    ring: Ring,
    shape: Shape,
    rank: int,
    received: Mapping[str, memoryview],
    holder: int | None,
    offset: int = 0,
) -> DealtShare:
    """Return the share of ``rank`` (a dealer's too, which has received nothing) from the components that it got.

    offset: as ``Inputs.assemble`` says.
    """
    keeper = _keeper(scheme, spec, holder)
    inputs = scheme.inputs(spec)
    if keeper is None:
        return inputs.assemble(ring, shape, rank, received, offset)
    values = np.frombuffer(received[_VALUES], ring.dtype).reshape(shape) if rank == keeper else None
    return inputs.known(ring, shape, rank, keeper, values)


def _keeper(scheme: type[Scheme], spec: Spec, holder: int | None) -> int | None:
    """Return the holder if it keeps the values as they are."""
    if holder is not None and not 0 <= holder < spec.parties:
        raise parameter_error("holder", "an owner's input", f"a rank from 0 to {spec.parties - 1}, or None", holder)
    return holder if scheme.info.knows_inputs else None
