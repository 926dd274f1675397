"""What a noisy descent goes on from after an interruption: all of one session, or nothing (``proof.md``, Restart).

    weights, total      the iterate, and the sum of the last iterates
    passed              the verdicts of the check
    prepared            the releases that prepare rows, as steps take them; and the offset of the calibrated intercept
    noise               of the releases to come, by their names

Factors of rows are not kept: they follow from the rows and from these, and are computed again. Numbers that a party
stores of a checkpoint after t of T steps, for d weights and n records: n + d (T - t + 2), and those that prepare rows
(at most 2 d + 2); each as many times as a share has parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.learn.recipes.descent.budget import LEVEL_PARTS, OWN_PARTS
from cofit.learn.recipes.descent.clip import LONGEST
from cofit.learn.recipes.descent.noisy import Noise, largest_draw
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL, MEAN, RADIUS, SPREAD
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import Checkpoints, KeptArray, KeptState

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_WEIGHTS, _TOTAL, _PASSED, _NOISE = "weights", "total", "verdicts", "noise of "


@dataclass
class Descent:
    """A descent after ``done`` steps; those of the calibration count too. ``prepared``: by the names of releases."""

    done: int
    weights: SecretArray
    total: SecretArray
    passed: SecretArray
    prepared: dict[str, SecretArray]
    noise: Noise

    def keep(self, party: Party, checkpoints: Checkpoints | None) -> None:
        """Keep a checkpoint of this step, if one is due."""
        if checkpoints is None:
            return
        noise = {f"{_NOISE}{name}": drawn for name, drawn in self.noise.unused.items()}
        own = {_WEIGHTS: self.weights, _TOTAL: self.total, _PASSED: self.passed}
        checkpoints.reached(party, self.done, {**own, **self.prepared, **noise})


def begun(
    party: Party, plan: DescentPlan, noise: Noise, passed: SecretArray, prepared: dict[str, SecretArray]
) -> Descent:
    """Return a descent before its first step: weights 0."""
    weights = _zeros(party, _weights(plan))
    if plan.calibration:
        prepared = {INTERCEPT: _zeros(party, _part(plan, INTERCEPT)), **prepared}
    return Descent(0, weights, weights, passed, prepared, noise)


def resumed(party: Party, plan: DescentPlan, checkpoints: Checkpoints | None) -> Descent | None:
    """Return the descent of the last checkpoint that all parties have; None if there is none."""
    found = None if checkpoints is None else checkpoints.resume(party)
    if found is None:
        return None
    done, kept = found
    noise = {name.removeprefix(_NOISE): kept.pop(name) for name in list(kept) if name.startswith(_NOISE)}
    weights, total, passed = (kept.pop(name) for name in (_WEIGHTS, _TOTAL, _PASSED))
    return Descent(done, weights, total, passed, kept, Noise(party, plan, noise))


def kept_state(plan: DescentPlan) -> KeptState:
    """Return what a checkpoint holds: names, shapes, formats and bounds, from the plan alone.

    The noise of a release goes with the step that uses it; that of what prepares rows is used before the first.
    After the last step nothing is kept: the release is stored next.
    """
    weights = _weights(plan)
    largest = weights.format.limit(plan.averaged * plan.formats.radius)
    total = KeptArray(_TOTAL, weights.shape, weights.format, largest)
    passed = KeptArray(_PASSED, (plan.layout.rows,), FixedPoint(0, plan.formats.ring), 1)
    noise = [
        KeptArray(
            f"{_NOISE}{event.name}",
            (event.dimension,),
            plan.formats.of(plan.grid_of(event.name)),
            largest_draw(plan, event),
            until=step + 1,
        )
        for step, event in enumerate((*plan.steps, *plan.calibration))
    ]
    parts = [_part(plan, part.name) for part in plan.opened.parts]
    return KeptState((weights, total, passed, *parts, *noise), range(len(noise)))


def level_bound(plan: DescentPlan) -> Fraction:
    """No level is larger: the width counts the offset of a row, of which the level is ``LEVEL_PARTS``."""
    return (plan.layout.width - 1) * Fraction(OWN_PARTS + LEVEL_PARTS, LEVEL_PARTS)


def _weights(plan: DescentPlan) -> KeptArray:
    format = plan.formats.of(plan.formats.weights)
    return KeptArray(_WEIGHTS, plan.layout.shape, format, format.limit(plan.formats.radius))


def _part(plan: DescentPlan, name: str) -> KeptArray:
    """Return a part of what is opened, with its proven bound."""
    formats, clip = plan.formats, plan.formats.clip
    bounds = {INTERCEPT: formats.offset_radius, LEVEL: level_bound(plan), CENTRE: formats.centre}
    if clip is not None:
        bounds |= {MEAN: clip.moved, SPREAD: clip.stretch, RADIUS: LONGEST}
    part = next(part for part in plan.opened.parts if part.name == name)
    format = formats.of(part.bits)
    return KeptArray(name, (part.count,), format, format.limit(bounds[name]))


def _zeros(party: Party, array: KeptArray) -> SecretArray:
    return party.constant(np.zeros(array.shape), array.format)
