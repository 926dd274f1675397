"""The noise of all releases, and means of noisy sums."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.learn.batches import even_parts
from cofit.learn.recipes.descent.formats import log2_up
from cofit.learn.recipes.descent.rows import with_bits
from cofit.privacy.events import Event
from cofit.sampling.discrete_gaussian import discrete_gaussians
from cofit.sampling.discrete_gaussian import largest_draw as largest_gaussian
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.discrete_laplace import largest_draw as largest_laplace
from cofit.sampling.rounded_knorm import largest_draw as largest_knorm
from cofit.sampling.rounded_knorm import rounded_knorms
from cofit.secret import Party, SecretArray, concatenate

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_DRAWS_AT_ONCE = 1 << 16
"""A draw holds about 1 kB at a party while it is made; more at once are no faster, and a batch costs some 17 rounds."""
_INVERSE_BITS = 16


def divided(value: SecretArray, count: int, bits: int) -> SecretArray:
    """Return value / count, truncated to ``bits``; the public factor is rounded to 16 significant bits."""
    shift = log2_up(Fraction(count)) + _INVERSE_BITS
    return with_bits((value * round(Fraction(1 << shift, count))).ldexp(-shift), bits)


class Noise:
    """The noise of the releases to come, by their names: nobody knows any of it."""

    def __init__(self, party: Party, plan: DescentPlan, left: Mapping[str, SecretArray] | None = None) -> None:
        """left: what another session has drawn and not used; None: the noise of all releases is drawn, now."""
        self._drawn = _all_draws(party, plan) if left is None else dict(left)
        self._steps = [event.name for event in plan.steps]

    @property
    def unused(self) -> Mapping[str, SecretArray]:
        """What is left, by the names of the releases."""
        return self._drawn

    def of(self, name: str) -> SecretArray:
        """Return the noise of a release, and keep it no longer: it is used once."""
        return self._drawn.pop(name)

    def of_step(self, step: int) -> SecretArray:
        """Return the noise of a step, and keep it no longer."""
        return self._drawn.pop(self._steps[step])


def _all_draws(party: Party, plan: DescentPlan) -> dict[str, SecretArray]:
    batches = [[(event, event.dimension) for event in plan.events]] if _knorm(plan) else _batches(plan.events)
    pieces: dict[str, list[SecretArray]] = {event.name: [] for event in plan.events}
    party.progress("noise", 0, len(batches))
    with party.label("noise"):
        for done, batch in enumerate(batches):
            for (event, _), drawn in zip(batch, _draws(party, plan, batch), strict=True):
                pieces[event.name].append(drawn)
            party.progress("noise", done + 1, len(batches))
    joined = {name: parts[0] if len(parts) == 1 else concatenate(parts) for name, parts in pieces.items()}
    return {name: value.ldexp(-plan.grid_of(name)) for name, value in joined.items()}


def largest_draw(plan: DescentPlan, event: Event) -> int:
    """Return what no noise of a release exceeds in magnitude, in steps of its grid."""
    if _knorm(plan):
        return largest_knorm(event.dimension, event.scale)
    largest = largest_laplace if plan.layout.norm == "l1" else largest_gaussian
    return largest(event.scale, precision=plan.precision)


def _draws(party: Party, plan: DescentPlan, batch: list[tuple[Event, int]]) -> list[SecretArray]:
    """Return so many draws for each of some events, those of equal laws by one draw."""
    if _knorm(plan):
        return _vectors(party, plan, [event for event, _ in batch])
    sizes: dict[Fraction, int] = {}
    for event, size in batch:
        sizes[event.scale] = sizes.get(event.scale, 0) + size
    ring, precision = plan.formats.ring, plan.precision
    if plan.layout.norm == "l1":
        drawn = [discrete_laplace(party, (size,), t, ring, precision=precision) for t, size in sizes.items()]
    else:
        drawn = discrete_gaussians(party, list(sizes.items()), ring, precision=precision)
    rest = dict(zip(sizes, drawn, strict=True))
    results = []
    for event, size in batch:
        results.append(rest[event.scale][:size])
        rest[event.scale] = rest[event.scale][size:]
    return results


def _vectors(party: Party, plan: DescentPlan, events: list[Event]) -> list[SecretArray]:
    """Return one vector of K-norm noise for each of some events, whose laws are equal: whole, and all in one draw."""
    (law,) = {(event.dimension, event.scale) for event in events}
    drawn = rounded_knorms(party, len(events), *law, plan.formats.ring)
    return [drawn[i] for i in range(len(events))]


def _knorm(plan: DescentPlan) -> bool:
    return plan.mechanism_name == "knorm"


def _batches(events: tuple[Event, ...]) -> list[list[tuple[Event, int]]]:
    """Return which events, and how many draws for each, are drawn at once: as few times as can be, and about equally
    many each time."""
    total = sum(event.dimension for event in events)
    batches: list[list[tuple[Event, int]]] = []
    for start, end in even_parts(total, -(-total // _DRAWS_AT_ONCE)):
        place, batch = 0, []
        for event in events:
            size = min(place + event.dimension, end) - max(place, start)
            if size > 0:
                batch.append((event, size))
            place += event.dimension
        batches.append(batch)
    return batches
