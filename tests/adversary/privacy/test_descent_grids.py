"""Each release of the noisy descent by itself: its grid is public, and whatever it opens, any data could have opened.

Level, centre, steps and calibrated intercept are whole steps of a public grid before their noise, which is of whole
steps of the same grid; and all that is opened is a public function of these sums. So for any two neighbours and any
noise of the first there is a noise of the second, no further away than the sensitivity, with which the second opens the
same, to the last bit. Here it is computed, and handed to the program. What is then left to an observer of low-order
bits is tested with the samplers' own noise: their distribution is that of the neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from adversary.privacy.test_descent_precision import coarser_noise
from cofit.errors import PartyFailedError
from cofit.learn.losses.loss import STEP_BITS
from cofit.learn.recipes.descent import program
from cofit.learn.recipes.descent.noisy import largest_draw
from cofit.learn.recipes.descent.plan import DescentPlan
from support.chance import ALPHA, accept, reject, shared
from support.descent import Integers, Table, fixed_noise, masked_truncation, opened, plan_of
from support.releases import Releases, certified, drawn, first_steps, grid_of, met, opened_from, opened_of

KINDS = ("calibrated", "parties, level, centred", "owners, centred", "pure", "knorm")
"""The first one has every release, the others other rows or other noise."""
MARKED = [pytest.param(kind, marks=[pytest.mark.slow] if kind.startswith("parties") else []) for kind in KINDS]
ROWS = ("half a unit off", "just off", "tiny", "least double", "next to the bound", "largest", "smallest", "label")
COARSE = 1024
"""Coarser than a release is opened (level: 64 steps), so that a lattice would show there too."""
DRAWS = 3_000


def short_plan(kind: str) -> DescentPlan:
    return first_steps(plan_of(kind, rows=64))


def first_table(plan: DescentPlan) -> Table:
    """Many equal values, so that a sum is a multiple of much."""
    x = np.full((plan.facts.rows, plan.facts.cols), 0.5)
    x[:, 0] = float(plan.facts.feature_bound)
    return x, np.arange(plan.facts.rows) % 2


def other_table(plan: DescentPlan, how: str) -> Table:
    """One record is another: where rounding to the grid of the data, or to that of a release, could show."""
    x, y = first_table(plan)[:2]
    bound, lower = float(plan.facts.feature_bound), float(plan.facts.feature_lower)
    unit = bound * 2.0**-plan.formats.data
    places = np.arange(plan.facts.cols)
    x[0] = {
        "half a unit off": 0.5 + unit * (places + 0.5),
        "just off": 0.5 + unit * (6 * places + 1 + 1e-6),
        "tiny": unit * (places % 3) / 2,
        "least double": np.nextafter(0.0, 1.0) * (1 + places),
        "next to the bound": np.nextafter(bound, 0.0) - unit * places,
        "largest": bound + 0.0 * places,
        "smallest": lower + 0.0 * places,
        "label": x[0],
    }[how]
    y[0] = 1 - y[0] if how == "label" else y[0]
    return x, y


def four_deviations(rng: np.random.Generator, scale: Fraction, shape: tuple[int, ...]) -> Integers:
    """Noise that is rarely as large: two steps then bring scores to where residuals are neither 0 nor whole."""
    size = np.rint(float(scale) * (4 + rng.normal(size=shape) / 2))
    return np.asarray(rng.choice([-1, 1], shape) * size).astype(np.int64).astype(object)


def run(plan: DescentPlan, table: Table, seed: int, like: Releases | None = None) -> tuple[Releases, Integers]:
    """The releases, and what is opened."""
    with fixed_noise(seed, four_deviations), met(like) as releases:
        return releases, opened(plan, table)


# --- the grid --------------------------------------------------------------------------------------------


def check_grids(plan: DescentPlan, rows: tuple[str, ...] = ROWS) -> None:
    tables = [first_table(plan), *(other_table(plan, how) for how in rows)]
    for seed, table in enumerate(tables):
        releases, result = run(plan, table, seed)
        assert list(releases) == [event.name for event in plan.events], "a release has other noise than its own"
        for stated in certified(plan):
            release = releases[stated.name]
            grids = {f"2^-{release.value_bits}", f"2^-{release.noise_bits}"}
            assert grids == {stated.grid}, f"{stated.name} is not on its grid"
            assert release.value.shape == release.noise.shape == (stated.dimension,)
        expected = opened_from(plan, {name: release.sum for name, release in releases.items()})
        assert (result == expected).all(), "more is opened than the releases"


@pytest.mark.parametrize("kind", MARKED)
def test_every_release_meets_its_noise_on_a_public_grid_and_nothing_else_is_opened(kind: str) -> None:
    check_grids(short_plan(kind))


# --- what neighbours can open ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Coupled:
    """Two neighbours that make the same releases, the second with other noise than the first; and what they open."""

    how: str
    here: Releases
    there: Releases
    opened: tuple[Integers, Integers]


def coupled(plan: DescentPlan, rows: tuple[str, ...], *, masks: bool = False) -> list[Coupled]:
    found = []
    for seed, how in enumerate(rows):
        with masked_truncation(seed) if masks else nullcontext():
            here, one = run(plan, first_table(plan), seed)
        with masked_truncation(seed) if masks else nullcontext():
            there, other = run(plan, other_table(plan, how), seed, here)
        found.append(Coupled(how, here, there, (one, other)))
    return found


@cache
def all_coupled(kind: str) -> list[Coupled]:
    return coupled(short_plan(kind), ROWS)


def check_coupling(plan: DescentPlan, pairs: list[Coupled]) -> None:
    for pair in pairs:
        assert (pair.opened[0] == pair.opened[1]).all(), f"'{pair.how}' cannot open what its neighbour does"
        for stated in certified(plan):
            noise = pair.there[stated.name].noise
            move = noise - pair.here[stated.name].noise
            (event,) = (event for event in plan.events if event.name == stated.name)
            assert np.abs(noise).max() <= largest_draw(plan, event), "beyond the largest noise"
            size = int(np.abs(move).sum()) ** 2 if stated.norm == "L1" else int((move * move).sum())
            assert size <= stated.sensitivity**2, f"{stated.name}: further away than the sensitivity"


@pytest.mark.parametrize("kind", MARKED)
def test_whatever_one_table_opens_its_neighbour_opens_with_noise_nearby(kind: str) -> None:
    check_coupling(short_plan(kind), all_coupled(kind))


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
def test_whatever_one_table_opens_its_neighbour_opens_with_noise_nearby_and_the_same_masks(kind: str) -> None:
    plan = short_plan(kind)
    check_coupling(plan, coupled(plan, ROWS[::3], masks=True))


# --- low-order bits --------------------------------------------------------------------------------------


def p_same_residues(here: Integers, there: Integers, modulus: int) -> float:
    """Two lists of values, the same distribution of residues: chi-square of a table with two lines."""
    counts = np.array([np.bincount((v % modulus).astype(np.int64), minlength=modulus) for v in (here, there)])
    counts = counts[:, counts.sum(axis=0) > 0]
    return float(stats.chi2_contingency(counts).pvalue) if counts.shape[1] > 1 else 1.0


def low_bits(
    plan: DescentPlan, pairs: list[Coupled], noise: dict[str, npt.NDArray[np.int64]], name: str
) -> dict[str, float]:
    """p-values for a release and for what is opened of it, given all earlier releases.

    The values before noise are the program's, with their own fractional bits. Only one coordinate counts, in which
    neighbours differ by no multiple of much; half of the draws are for either.
    """
    p_values = {}
    for pair in pairs:
        here, there = pair.here[name].value, pair.there[name].value
        draws = noise[name].astype(object) << pair.here[name].value_bits - grid_of(plan, name)
        apart = [int(move) & -int(move) for move in here - there]  # the largest power of two in it, or 0
        best = int(np.argmin([a or 1 << 60 for a in apart]))
        lists = [here[best] + draws[: len(draws) // 2], there[best] + draws[len(draws) // 2 :]]
        views = {"released": lists}
        if name in ("level", "centre"):
            views["opened"] = [opened_of(plan, name, values) for values in lists]
        for view, (one, other) in views.items():
            for modulus in (2, 4, 8, 16):
                p_values[f"{name}, {pair.how}, {view}, mod {modulus}"] = p_same_residues(one, other, modulus)
    return p_values


BY_ITSELF = {
    "calibrated": ("level", "centre", "step 2", "intercept 1", "intercept 2", "intercept 3"),
    "parties, level, centred": ("level", "centre"),
    "owners, centred": ("centre",),
    "pure": ("step 1", "step 2"),
    "knorm": ("step 1",),
}


RELEASES = [
    pytest.param(kind, name, marks=[pytest.mark.slow] if kind.startswith("parties") else [])
    for kind in KINDS
    for name in BY_ITSELF[kind]
]


@shared
def noise_for(kind: str, factor: int) -> dict[str, npt.NDArray[np.int64]]:
    """The samplers' own, in multiples of ``factor`` steps; drawn once for all releases."""
    with coarser_noise(factor):
        return drawn(short_plan(kind), DRAWS)


@pytest.mark.parametrize(("kind", "name"), RELEASES)
def test_low_bits_of_a_release_are_distributed_as_those_of_its_neighbour(kind: str, name: str) -> None:
    accept(low_bits(short_plan(kind), all_coupled(kind), noise_for(kind, 1), name))


# --- broken on purpose -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), RELEASES)
def test_noise_on_a_coarser_grid_shows_in_what_is_released_and_opened(kind: str, name: str) -> None:
    p_values = low_bits(short_plan(kind), all_coupled(kind), noise_for(kind, COARSE), name)
    for view in {key.split(", ")[-2] for key in p_values}:
        assert min(p for key, p in p_values.items() if view in key) < ALPHA / len(p_values), view


@contextmanager
def broken(*changes: tuple[str, str]) -> Iterator[None]:
    """The program with other lines."""
    source = Path(program.__file__).read_text(encoding="utf-8")
    for line, other in changes:
        assert source.count(line) == 1, f"no such line, or more than one: {line}"
        source = source.replace(line, other)
    with mock.patch.dict(program.__dict__):
        exec(compile(source, program.__file__, "exec"), program.__dict__)
        yield


def level_of(noisy_sum: str) -> str:
    """The level, from a noisy sum of the rows' means."""
    return f"tighten(noisy.divided({noisy_sum}, plan.layout.rows, MEAN_BITS).reshape(1), level_bound(plan))"


_MEANS = "(x.sum(axis=1) * round(Fraction(1 << 20, x.shape[1]))).ldexp(-20).truncate(20).sum()"
_LEVEL = "_level(offset, passed, plan, noise)"
_CENTRE = "_sum(rows, passed, plan) + noise.of(CENTRE)"
_TO_GRID = ("Sum([matrix(rows.x.T, scale)], formats.grid,", "Sum([matrix(rows.x.T, scale)], exact,")
_FINE = "plan.formats.data + plan.formats.scaled"
_EXACT = f"formats.argument + {STEP_BITS}"
_RESIDUALS = (
    (
        "return [_sum_of_residuals(rows, plan, _residuals(rows, plan, moved))]",
        f"return [Sum([by_rows(rows.sign, _residuals(rows, plan, moved))], {_EXACT})]",
    ),
    ("gradient = with_bits(gradient, formats.grid).reshape(plan.layout.outputs)", "gradient = gradient.reshape(1)"),
)
_OFFSET = ("tighten(offset + ", f"tighten(offset.widen({_EXACT} + formats.offset_exponent) + ")
_INTERCEPT = "(gradient + noise).ldexp(-formats.offset_exponent)"
_WIDER = f"(gradient + noise.widen({_EXACT}))"
FINER: dict[str, tuple[tuple[str, str], ...]] = {
    "level, more bits than its noise": ((_LEVEL, level_of(f"{_MEANS} + noise.of(LEVEL).widen(20)")),),
    "level, rounded after its noise": (
        (_LEVEL, level_of(f"({_MEANS} + noise.of(LEVEL).widen(20)).truncate(MEAN_BITS)")),
    ),
    "centre, more bits than its noise": (_TO_GRID, (_CENTRE, _CENTRE + f".widen({_FINE})")),
    "centre, rounded after its noise": (
        _TO_GRID,
        (_CENTRE, f"({_CENTRE}.widen({_FINE})).truncate(plan.formats.grid)"),
    ),
    "intercept, more bits than its noise": (
        *_RESIDUALS,
        _OFFSET,
        (_INTERCEPT, _WIDER + ".ldexp(-formats.offset_exponent)"),
    ),
    "intercept, rounded after its noise": (
        *_RESIDUALS,
        (_INTERCEPT, _WIDER + ".truncate(formats.grid).ldexp(-formats.offset_exponent)"),
    ),
}


@pytest.mark.parametrize("name", FINER)
def test_a_value_finer_than_its_noise_is_noticed(name: str) -> None:
    """Whether it is rounded after that or not; if not, by low-order bits as well."""
    plan = short_plan("calibrated")
    with broken(*FINER[name]):
        with pytest.raises(AssertionError, match="not on its grid"):
            check_grids(plan, ROWS[:1])
        if "more bits" in name:
            release = next(event.name for event in plan.events if event.name.startswith(name.split(",", 1)[0]))
            p_values = low_bits(plan, coupled(plan, ROWS), noise_for("calibrated", 1), release)
            reject({key: p for key, p in p_values.items() if "released" in key})


@pytest.mark.parametrize(
    "changes",
    [((_LEVEL, level_of(f"{_MEANS} + noise.of(LEVEL)")),), (_TO_GRID,), _RESIDUALS],
    ids=["level", "centre", "intercept"],
)
def test_the_program_cannot_add_noise_of_another_grid(changes: tuple[tuple[str, str], ...]) -> None:
    with broken(*changes), pytest.raises(PartyFailedError, match="FormatMismatchError"):
        run(short_plan("calibrated"), first_table(short_plan("calibrated")), 0)


LEAKS = {
    "level": ("extras[LEVEL] = level\n", "extras[LEVEL] = level + offset.sum().reshape(1)\n"),
    "centre": (
        "extras[CENTRE] = centre\n",
        "extras[CENTRE] = centre + with_bits(_sum(rows, passed, plan), plan.formats.data)\n",
    ),
    "intercept": (
        "descent.prepared[INTERCEPT] = offset\n",
        "descent.prepared[INTERCEPT] = offset + with_bits(margins[:1], offset.format.fraction_bits)\n",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_value_that_is_opened_beside_its_noise_is_noticed(name: str) -> None:
    plan = short_plan("calibrated")
    with broken(LEAKS[name]), pytest.raises(AssertionError, match="cannot open what its neighbour does"):
        check_coupling(plan, coupled(plan, ("largest", "smallest")))
    with broken(LEAKS[name]), pytest.raises(AssertionError, match="more is opened"):
        check_grids(plan, ())
