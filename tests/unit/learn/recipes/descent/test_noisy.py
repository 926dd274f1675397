"""How the draws of a batch are handed out: to every release its own, of its own law, and none twice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.learn.recipes.descent import noisy
from cofit.roles.local.run import run_local
from cofit.secret import Party, SecretArray
from support.descent import plan_of

Integers = npt.NDArray[np.object_]


def handed_out(
    kind: str, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> tuple[dict[str, Integers], dict[int, Fraction]]:
    """What every release gets if all draws are different numbers, and the scale of the law that each was drawn from."""
    plan = plan_of(kind)
    scales: dict[int, Fraction] = {}
    calls: list[int] = []

    def numbered(party: Party, size: int, scale: Fraction, ring: IntegerRing) -> SecretArray:
        values = np.arange(len(scales), len(scales) + size)
        scales.update(dict.fromkeys(values.tolist(), scale))
        return party.constant(values, FixedPoint(0, ring))

    def gaussians(
        party: Party, laws: list[tuple[Fraction, int]], ring: IntegerRing, *, precision: int
    ) -> list[SecretArray]:
        assert precision == plan.precision
        assert len({sigma for sigma, _ in laws}) == len(laws), "draws of one law are one draw"
        calls.append(sum(size for _, size in laws))
        return [numbered(party, size, sigma, ring) for sigma, size in laws]

    def laplace(party: Party, shape: tuple[int, ...], t: Fraction, ring: IntegerRing, *, precision: int) -> SecretArray:
        assert precision == plan.precision
        calls.append(shape[0])
        return numbered(party, shape[0], t, ring)

    monkeypatch.setattr(noisy, "discrete_gaussians", gaussians)
    monkeypatch.setattr(noisy, "discrete_laplace", laplace)
    monkeypatch.setattr(noisy, "_DRAWS_AT_ONCE", at_once)

    def program(party: Party) -> dict[str, Integers]:
        noise = noisy.Noise(party, plan)
        got = {event.name: party.open(noise.of(event.name), reason="test") for event in plan.events}
        return {name: (values * (1 << plan.grid_of(name))).astype(object) for name, values in got.items()}

    results = next(iter(run_local(program, scheme="clear", parties=1).results.values()))
    assert max(calls) <= at_once
    for event in plan.events:
        assert results[event.name].shape == (event.dimension,)
        assert {scales[int(value)] for value in results[event.name]} == {event.scale}
    return results, scales


@pytest.mark.parametrize("at_once", [1 << 16, 7, 1])
@pytest.mark.parametrize("kind", ["owners", "parties, level, centred", "calibrated", "pure"])
def test_every_draw_is_handed_out_once_and_to_a_release_of_its_law(
    kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, scales = handed_out(kind, monkeypatch, at_once)
    given = [int(value) for values in results.values() for value in values]
    assert sorted(given) == list(range(len(scales)))
