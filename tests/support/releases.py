"""Each release of a noisy descent by itself: what meets its noise, its noise as drawn, and what is opened of it.

All of it with ``clear``: for tests alone.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from cofit import Party, SecretArray, run_local
from cofit.learn.certify import certify
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.formats import MEAN_BITS, log2_up
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.privacy.certificate import CertifiedRelease
from support.descent import Integers, holding, integers


@dataclass(frozen=True)
class Release:
    """A value where it meets its noise: integers, in units of so many fractional bits."""

    value: Integers
    value_bits: int
    noise: Integers
    noise_bits: int

    @property
    def sum(self) -> Integers:
        return np.asarray(self.value + self.noise)


Releases = dict[str, Release]


def first_steps(plan: DescentPlan, steps: int = 2) -> DescentPlan:
    """The same releases with the same noise, but for the later steps."""
    left_out = plan.steps[steps:]
    return replace(plan, events=tuple(event for event in plan.events if event not in left_out))


def grid_of(plan: DescentPlan, name: str) -> int:
    """The public fractional bits of a release, written down here once more."""
    if name == "radius":
        assert plan.formats.clip is not None
        return plan.formats.clip.radius_grid
    return MEAN_BITS if name == "level" else plan.formats.grid


@functools.cache
def certified(plan: DescentPlan) -> tuple[CertifiedRelease, ...]:
    """The releases as a certificate of this plan states them."""
    shapes = {"owner-0": {"features": (plan.facts.rows, plan.facts.cols), "labels": plan.target.shape(plan.facts.rows)}}
    if plan.facts.weight_bound is not None:
        shapes["owner-0"]["weights"] = (plan.facts.rows,)
    return certify(plan, parties=("a", "b", "c"), owners=shapes, openings=(), created="2026-03-01").releases


@contextmanager
def met(like: Releases | None = None) -> Iterator[Releases]:
    """Record what meets the noise of each release, in order.

    ``like``: noise is exchanged, as it is added, for that which makes every release the one of that run. What is
    recorded as noise is then what the samplers would have had to draw.
    """
    found: Releases = {}
    known: list[tuple[str, SecretArray]] = []
    of, of_step = noisy.Noise.of, noisy.Noise.of_step
    add, widen = SecretArray.__add__, SecretArray.widen

    def handed_out(self: Any, name: str) -> SecretArray:
        known.append((name, of(self, name)))
        return known[-1][1]

    def step_handed_out(self: Any, step: int) -> SecretArray:
        known.append((self._steps[step], of_step(self, step)))
        return known[-1][1]

    def name_of(value: object) -> str | None:
        return next((name for name, noise in known if noise is value), None)

    def widened(self: SecretArray, bits: int) -> SecretArray:
        result = widen(self, bits)
        if (name := name_of(self)) is not None:
            known.append((name, result))
        return result

    def added(self: SecretArray, other: Any) -> SecretArray:
        name = name_of(other)
        if name is None:
            return add(self, other)
        assert name not in found, f"the noise of {name} is used twice"
        value, noise = np.atleast_1d(integers(self)), integers(other)
        bits = self.format.fraction_bits, other.format.fraction_bits
        if like is not None:
            noise = like[name].sum - value
            other = holding(other, noise)
        found[name] = Release(value, bits[0], noise, bits[1])
        return add(self, other)

    with (
        mock.patch.object(noisy.Noise, "of", handed_out),
        mock.patch.object(noisy.Noise, "of_step", step_handed_out),
        mock.patch.object(SecretArray, "__add__", added),
        mock.patch.object(SecretArray, "widen", widened),
    ):
        yield found


def opened_of(plan: DescentPlan, name: str, release: Integers) -> Integers:
    """What is opened of the level or of the centre: a public function of the release alone, by exact integers."""
    shift = log2_up(Fraction(plan.layout.rows)) + 16
    factor = round(Fraction(1 << shift, plan.layout.rows))
    bits = MEAN_BITS if name == "level" else plan.formats.data
    return np.asarray(release * factor >> (grid_of(plan, name) + shift - bits))


def opened_from(plan: DescentPlan, sums: dict[str, Integers]) -> Integers:
    """All that is opened: a public function of the releases alone, by exact integers."""
    weights = total = np.zeros(plan.cols, dtype=object)
    for number, event in enumerate(plan.steps):
        weights = weights + (sums[event.name] >> plan.formats.cells << plan.formats.cells)
        if number >= plan.epochs - plan.averaged:
            total = total + weights
    parts = [total]
    if plan.calibration:
        parts.append(sum((sums[event.name] for event in plan.calibration), np.zeros(1, dtype=object)))
    parts += [opened_of(plan, name, sums[name]) for name in ("level", "centre") if name in sums]
    return np.concatenate(parts)


def drawn(plan: DescentPlan, count: int, scheme: str = "clear") -> dict[str, npt.NDArray[np.int64]]:
    """The noise of every release, in steps of its grid, as the program draws it, as if each had ``count`` coordinates.

    With any scheme: it is opened.
    """
    wide = replace(plan, events=tuple(replace(event, dimension=count) for event in plan.events))

    def draw(party: Party) -> dict[str, Any]:
        noise = noisy.Noise(party, wide)
        values = {event.name: noise.of(event.name) for event in wide.events}
        whole = {name: value.ldexp(value.format.fraction_bits) for name, value in values.items()}
        return {name: np.asarray(party.open(value, reason="a test of noise")) for name, value in whole.items()}

    parties = 1 if scheme == "clear" else None
    results = run_local(draw, scheme=scheme, parties=parties, timeout=600).results
    return {name: values.astype(np.int64) for name, values in next(iter(results.values())).items()}
