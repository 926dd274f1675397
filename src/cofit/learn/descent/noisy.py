"""The noise of all releases, and means of noisy sums."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

from cofit.learn.batches import even_parts
from cofit.learn.descent.formats import log2_up
from cofit.learn.descent.plan import DescentPlan
from cofit.learn.descent.rows import with_bits
from cofit.privacy.events import Event
from cofit.sampling.discrete_gaussian import discrete_gaussian
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.secret import Party, SecretArray, concatenate

_DRAWS_AT_ONCE = 1 << 15
"""A draw holds about 10 kB at a party while it is made; more at once are no faster, and a batch costs 8 rounds."""
_INVERSE_BITS = 16


def divided(value: SecretArray, count: int, bits: int) -> SecretArray:
    """Return value / count, truncated to ``bits``; the public factor is rounded to 16 significant bits."""
    shift = log2_up(Fraction(count)) + _INVERSE_BITS
    return with_bits((value * round(Fraction(1 << shift, count))).ldexp(-shift), bits)


class Noise:
    """The noise of all releases, drawn before anything else: nobody knows any of it."""

    def __init__(self, party: Party, plan: DescentPlan) -> None:
        self._drawn: dict[str, SecretArray] = {}
        formats = plan.formats
        sample = discrete_laplace if plan.layout.norm == "l1" else discrete_gaussian
        groups = [(events, _batches(len(events) * events[0].dimension)) for events in _groups(plan.events)]
        done, total = 0, sum(len(batches) for _, batches in groups)
        party.progress("noise", done, total)
        with party.label("noise"):
            for events, batches in groups:
                drawn = []
                for size in batches:
                    drawn.append(sample(party, (size,), events[0].scale, formats.ring, precision=plan.precision))
                    done += 1
                    party.progress("noise", done, total)
                rows = concatenate(drawn).reshape(len(events), events[0].dimension)
                for event, one in zip(events, rows, strict=True):
                    self._drawn[event.name] = one.ldexp(-plan.grid_of(event.name))
        self._steps = [event.name for event in plan.steps]

    def of(self, name: str) -> SecretArray:
        """Return the noise of a release, and keep it no longer: it is used once."""
        return self._drawn.pop(name)

    def of_step(self, step: int) -> SecretArray:
        """Return the noise of a step, and keep it no longer."""
        return self._drawn.pop(self._steps[step])


def _groups(events: tuple[Event, ...]) -> list[list[Event]]:
    """Return the events in groups of one law and dimension."""
    return [list(alike) for _, alike in groupby(events, key=lambda event: (event.scale, event.dimension))]


def _batches(draws: int) -> list[int]:
    """Return how many are drawn at once: as few times as can be, and about equally many each time."""
    return [end - start for start, end in even_parts(draws, -(-draws // _DRAWS_AT_ONCE))]
