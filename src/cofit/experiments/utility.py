"""What accuracy to expect, from public facts alone: curves over epsilon for both recipes, and suggestions.

Rows are made up (``claims``), as many as the study has, or come from a public sample. For every epsilon and setting the
plan that a study would have is made, its training and its noise are simulated (``simulation``), and rows that were held
out are scored. No private data are touched, so no privacy is spent, whatever is chosen by it. It is a forecast: real
data may be easier or harder. Equal inputs give equal results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError, parameter_error
from cofit.experiments.public_rows import PublicRows, public_sample, rows_like
from cofit.experiments.simulation import Simulation, too_large
from cofit.experiments.suggestions import Compared, smoothing_note, suggestions
from cofit.learn.facts import PARAMETERS, Facts, training_facts
from cofit.learn.losses import loss_named
from cofit.learn.plan import plan_training
from cofit.learn.targets import NUMBER, Count

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0)
PENALTIES = (1.0, 0.1, 0.01)
COMPARISON_DELTA = 1e-6
QUICK_SIZE = 5_000_000
"""Up to this ``simulation.size_of`` a forecast takes about 20 seconds on two cores."""
LARGEST_SIZE = 100_000_000
"""Beyond it nothing is simulated with noisy descent: it would take minutes, and gigabytes."""
_DRAWS, _FEWEST_DRAWS, _DRAWN_ROWS = 24, 6, 200_000
_COMMON = (
    "partition", "loss", "fit_intercept", "feature_bound", "feature_lower", "row_nonzeros", "norm_floor",
    "pure_steps",
)  # fmt: skip
ACCURACY, R_SQUARED, D_SQUARED = "accuracy", NUMBER.measure, Count.measure
Progress = Callable[[int, int], None]
"""Called with how many of all simulations are done."""


@dataclass(frozen=True)
class AccuracyCurve:
    """Accuracy over epsilon: the median over draws of the noise, and the range of the middle 80 % of them.

    Epsilons for which the setting has no plan are left out. ``l2`` and ``mechanism``: None where the recipe chooses.
    """

    label: str
    recipe: str
    l2: float | None
    mechanism: str | None
    delta: float
    epsilons: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def at(self, epsilon: float) -> float | None:
        """Return the median at an epsilon, or None where there is none."""
        return self.median[self.epsilons.index(epsilon)] if epsilon in self.epsilons else None


@dataclass(frozen=True)
class AccuracyForecast:
    """Curves, the first of the setting that was asked about, and suggestions in plain words.

    origin: where the rows come from; given: whether they are somebody's sample. trained_on: different rows that
    training saw; held_out: rows that were scored. without_privacy: the same loss without noise. majority: always naming
    the more common class. notes: what could not be simulated, and why. measure: what all figures are, ``ACCURACY`` or,
    of a real target, ``R_SQUARED``.
    """

    origin: str
    given: bool
    rows: int
    epsilon: float
    delta: float
    trained_on: int
    held_out: int
    draws: int
    without_privacy: float
    majority: float
    curves: tuple[AccuracyCurve, ...]
    suggestions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    measure: str = ACCURACY

    @property
    def title(self) -> str:
        """The measure, as a sentence begins with it."""
        explained = {R_SQUARED: "variance", D_SQUARED: "Poisson deviance"}.get(self.measure)
        return "Accuracy" if explained is None else f"{self.measure} (the part of the {explained} explained)"

    @property
    def chance(self) -> str:
        """What ``majority`` is the figure of."""
        return "Always the more common class" if self.measure == ACCURACY else "Always the mean"

    @property
    def naming(self) -> str:
        """The same within a sentence."""
        return "always naming the more common class" if self.measure == ACCURACY else "always naming the mean"

    @property
    def asked(self) -> float | None:
        """The median of the setting that was asked about, at its epsilon."""
        return self.curves[0].at(self.epsilon)

    @property
    def touched(self) -> str:
        """What the forecast cost in privacy, in one sentence."""
        if self.given:
            return (
                "If the sample has no record of the study, as whoever gave it must know, no data of the study were "
                "touched, and this costs no privacy."
            )
        return "The study's own data were not touched, so this costs no privacy."

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {**asdict(self), "asked": self.asked, "touched": self.touched}


def forecast_accuracy(
    rows: int,
    cols: int,
    *,
    X: Any = None,
    y: Any = None,
    epsilons: Sequence[float] = EPSILONS,
    progress: Progress | None = None,
    **facts: Any,
) -> AccuracyForecast:
    """Return how accurate a private model may be, and what would make it more accurate, without any private data.

    Parameters
    ----------
    rows, cols : int
        Records and columns of the study, of all owners together, without the intercept.
    X, y : table and labels 0 and 1 (from 0 on with ``classes``; of a regression targets from -1 to 1), default=None
        A **public or made-up** sample in the study's columns. Never records of the study: what this function shows
        would be a release of its own. None: made-up 0/1 data of the study's size.
    epsilons : sequence of float
        Where to compute the curves, beside the ``epsilon`` of the facts.
    progress : callable, default=None
        Called with (done, total) after each simulation.
    **facts
        Public facts of the study, as an estimator takes them: ``epsilon``, ``delta``, ``recipe``, ``l2``,
        ``partition``, ``feature_bound``, ``feature_lower``, ``loss`` and so on.

    Returns
    -------
    AccuracyForecast
        ``curves``, ``without_privacy``, ``majority``, ``suggestions``, ``notes``; ``to_dict()`` for plain numbers.
    """
    known = list(PARAMETERS)
    for name in sorted(facts.keys() - set(known)):
        must_be = f"left out; the facts that it knows are {', '.join(known)}"
        raise parameter_error(name, "forecast_accuracy", must_be, facts[name])
    facts = {**facts, "pure_steps": facts.get("pure_steps") is not False}
    asked = training_facts(rows, cols, **facts)
    if (X is None) != (y is None):
        raise InvalidInputError("A sample must have both X and y, or leave out both for made-up rows.")
    if reason := too_large(rows, cols, LARGEST_SIZE) if X is None else None:
        raise InvalidInputError(f"{reason} Give a public or made-up sample, X and y, for recipe 'paper'.")
    bound = float(asked.feature_bound)
    sample = rows_like(asked, bound) if X is None else _given(X, y, asked)
    given = {name: value for name, value in facts.items() if value is not None}
    return simulated_forecast(rows, cols, given, sample, settings=all_settings, epsilons=epsilons, progress=progress)


def _given(X: Any, y: Any, asked: Facts) -> PublicRows:
    numbers = loss_named(asked.loss).target.ranged
    return public_sample(X, y, asked.cols, numbers=numbers, classes=asked.classes, largest=asked.largest_count)


# --- settings --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One way to train: a label, and the facts of ``training_facts`` beside rows, columns and epsilon."""

    label: str
    facts: Mapping[str, Any]


Settings = Callable[[Facts, Mapping[str, Any]], list[Setting]]


def all_settings(asked: Facts, given: Mapping[str, Any]) -> list[Setting]:
    """Return the setting that was asked about, the other recipe, other penalties, and a delta where there is none."""
    found = [*own_and_other(asked, given)]
    if _descent_only(asked):
        return found
    penalties = [l2 for l2 in PENALTIES if f"paper, l2 = {l2:g}" not in [setting.label for setting in found]]
    found += [_paper(asked, given, l2) for l2 in penalties]
    if not asked.delta and asked.recipe == "best" and not given.get("pure_steps"):
        own = {name: value for name, value in given.items() if name != "epsilon"}
        found.append(Setting("best, pure_steps", {**own, "pure_steps": True}))
    if not asked.delta:
        found.append(_best(given, comparison_delta(asked.rows), named=True))
    return found


def own_and_other(asked: Facts, given: Mapping[str, Any]) -> list[Setting]:
    """Return the setting that was asked about, and the other recipe with the same delta, which several classes lack,
    as do counts."""
    own = {name: value for name, value in given.items() if name != "epsilon"}
    if own.get("mechanism") == "knorm":
        del own["mechanism"]  # where it cannot be sampled, at large epsilons, the plan takes Laplace noise instead
    if _descent_only(asked):
        return [Setting("best", own)]
    if asked.recipe == "best":
        return [Setting("best", own), _paper(asked, given, 1.0)]
    return [Setting(f"paper, l2 = {float(asked.l2):g}", own), _best(given, float(asked.delta))]


def _descent_only(asked: Facts) -> bool:
    """Whether recipe 'paper' has nothing of the kind."""
    return asked.classes > 2 or not loss_named(asked.loss).minimised


def own_setting(asked: Facts, given: Mapping[str, Any]) -> list[Setting]:
    """Return the setting that was asked about alone: another recipe does not map rows by a reference."""
    return own_and_other(asked, given)[:1]


def comparison_delta(rows: int) -> float:
    """Return a delta far below 1 / n."""
    return min(COMPARISON_DELTA, 0.1 / rows)


def _best(given: Mapping[str, Any], delta: float, *, named: bool = False) -> Setting:
    common = {name: given[name] for name in _COMMON if name in given}
    return Setting(f"best, delta = {delta:.2g}" if named else "best", {**common, "recipe": "best", "delta": delta})


def _paper(asked: Facts, given: Mapping[str, Any], l2: float) -> Setting:
    common = {name: given[name] for name in (*_COMMON, "sensitivity") if name in given}
    scaling = min(1.0, float(asked.feature_bound)) if asked.recipe == "best" else float(asked.intercept_scaling)
    facts = {**common, "recipe": "paper", "delta": asked.delta, "l2": l2, "intercept_scaling": scaling}
    return Setting(f"paper, l2 = {l2:g}", facts)


# --- curves ----------------------------------------------------------------------------------------------


def simulated_forecast(
    rows: int,
    cols: int,
    given: Mapping[str, Any],
    sample: PublicRows,
    *,
    settings: Settings,
    epsilons: Sequence[float] = EPSILONS,
    largest: int = LARGEST_SIZE,
    progress: Progress | None = None,
) -> AccuracyForecast:
    """Return the forecast for public facts (``given``, as ``training_facts`` takes them) with these rows.

    ``largest``: no larger ``size_of`` is simulated with noisy descent.
    """
    asked = training_facts(rows, cols, **given)
    epsilon = float(asked.epsilon)
    if isinstance(epsilons, int | float):
        raise parameter_error("epsilons", "forecast_accuracy", "a list of numbers above 0", epsilons)
    wanted = tuple(sorted({*(_checked(value) for value in epsilons), epsilon}))
    data = sample.split(rows)
    draws = min(_DRAWS, max(_FEWEST_DRAWS, _DRAWN_ROWS // rows))
    simulation = Simulation(rows, cols, data, draws, largest)
    chosen = settings(asked, given)
    ranges = _with_ranges(asked, given, sample)
    total, done = len(chosen) * len(wanted) + 2 + int(ranges is not None), 0

    def told(count: int = 1) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    plain = simulation.without_privacy(asked)
    told()
    curves, notes = [], _notes(sample, len(data.train), rows)
    if asked.budget_shares:
        notes += [f"{warning[0].upper()}{warning[1:].removesuffix('.')}." for warning in plan_training(asked).warnings]
    for setting in chosen:
        figures: dict[float, tuple[float, float, float]] = {}
        reasons: dict[str, list[float]] = {}
        for value in wanted:
            found = simulation.accuracies(value, setting.facts)
            told()
            if isinstance(found, str):
                reasons.setdefault(found, []).append(value)
            else:
                low, median, high = (_rounded(q) for q in np.quantile(found, (0.1, 0.5, 0.9)))
                figures[value] = (median, low, high)
        curves.append(_curve(setting, asked, figures))
        for reason, values in reasons.items():
            at = ", ".join(f"{value:g}" for value in values)
            notes.append(f"{setting.label}: nothing was simulated at epsilon = {at}. {reason}")
    in_ranges = None
    if ranges is not None:
        found = simulation.accuracies(epsilon, ranges)
        told()
        in_ranges = None if isinstance(found, str) else float(np.median(found))
    smoothed = simulation.smoothed(epsilon, chosen[0].facts)
    told()
    if smoothed is not None:
        notes += smoothing_note(curves[0].at(epsilon), float(np.median(smoothed)), len(data.test), epsilon)
    compared = [Compared(curve.label, dict(zip(curve.epsilons, curve.median, strict=True))) for curve in curves]
    return AccuracyForecast(
        origin=sample.origin,
        given=sample.given,
        rows=rows,
        epsilon=epsilon,
        delta=float(asked.delta),
        trained_on=len(data.train),
        held_out=len(data.test),
        draws=draws,
        without_privacy=_rounded(plain),
        majority=_rounded(data.majority),
        curves=tuple(curves),
        suggestions=tuple(suggestions(asked, compared, plain, data.majority, in_ranges)),
        notes=tuple(notes),
        measure=loss_named(asked.loss).target.measure,
    )


def _rounded(figure: float) -> float:
    """Return a figure for people to read: counts of rows say less than six decimals, and floats more."""
    return round(float(figure), 6)


def _curve(setting: Setting, asked: Facts, figures: Mapping[float, tuple[float, float, float]]) -> AccuracyCurve:
    facts = setting.facts
    recipe = facts.get("recipe", "best")
    median, low, high = zip(*figures.values(), strict=True) if figures else ((), (), ())
    return AccuracyCurve(
        label=setting.label,
        recipe=recipe,
        l2=float(facts.get("l2", 1.0)) if recipe == "paper" else None,
        mechanism=facts.get("mechanism"),
        delta=float(facts.get("delta", asked.delta)),
        epsilons=tuple(figures),
        median=median,
        low=low,
        high=high,
    )


def _with_ranges(asked: Facts, given: Mapping[str, Any], sample: PublicRows) -> dict[str, Any] | None:
    """Return recipe 'best' with agreed ranges, where the study has none and they would be used; else None."""
    if asked.recipe != "best" or not asked.delta or asked.normalised_by != "owners":
        return None
    ends = float(sample.features.min()), float(sample.features.max())
    bound = given.get("feature_bound", max(-ends[0], ends[1], 1e-9))
    ranged = {
        **{name: value for name, value in given.items() if name not in ("epsilon", "normalised_by")},
        "feature_bound": bound,
        "feature_lower": given.get("feature_lower", max(min(ends[0], 0.99 * float(bound)), -float(bound))),
    }
    try:
        plan = plan_training(training_facts(asked.rows, asked.cols, epsilon=float(asked.epsilon), **ranged))
    except InvalidInputError:
        return None
    return ranged if plan.least_mean is not None else None


def _notes(sample: PublicRows, trained_on: int, rows: int) -> list[str]:
    if not sample.given:
        return []
    if trained_on < rows:
        return [
            f"The sample has {trained_on:,} rows to train on, and the study {rows:,}. Recipe 'best' was simulated with "
            f"{rows:,} rows drawn from the sample with replacement. The noise is that of the study's {rows:,} records; "
            f"but more different records may teach more than this shows."
        ]
    return [f"Training saw {rows:,} rows of the sample, drawn without replacement: as many as the study has."]


def _checked(epsilon: object) -> float:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < 1e6:
        raise parameter_error("epsilons", "forecast_accuracy", "numbers above 0", epsilon)
    return float(epsilon)
