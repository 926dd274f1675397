"""What a forecast means for the choice of settings, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cofit.learn.facts import Facts
from cofit.learn.losses import loss_named

NEAR = 0.02
"""'Within 2 points' of the accuracy without privacy."""
_SAME = 0.01  # differences below it are within the error of a simulation with 1000 rows held out
FREE = (
    "Choosing settings by this forecast costs no budget, because no private data were touched. Whatever is chosen by "
    "looking at the private data (a setting that was tried on them, an accuracy on them) is a release of its own and "
    "must be charged."
)


@dataclass(frozen=True)
class Compared:
    """A setting and its forecast accuracy at every epsilon that has a plan."""

    label: str
    accuracies: Mapping[float, float]


def smoothing_note(plain: float | None, smoothed: float, batch: int, epsilon: float) -> list[str]:
    """Return what smoothing at prediction brings in this simulation. plain: without; batch: rows that were smoothed."""
    if plain is None:
        return []
    beginning = (
        f"Smoothing at prediction (`cofit predict --smooth`, at no cost in privacy) has {_percent(smoothed)} in place "
        f"of {_percent(plain)} here, at epsilon = {epsilon:g} with {batch:,} rows scored at once"
    )
    if smoothed - plain >= _SAME:
        return [f"{beginning}: it can be expected to help, if real rows vary as these do."]
    return [f"{beginning}: there is nothing to expect of it."]


def suggestions(
    asked: Facts, curves: Sequence[Compared], plain: float, majority: float, in_ranges: float | None
) -> list[str]:
    """Return sentences. ``curves``: first the setting that was asked about. ``in_ranges``: it, with agreed ranges."""
    epsilon = float(asked.epsilon)
    target = loss_named(asked.loss).target
    chance = f"{target.chance if target.ranged else 'always naming the more common class'} ({_percent(majority)})"
    own = curves[0]
    with_delta = [curve for curve in curves if curve.label.startswith("best, delta")]
    same_delta = [curve for curve in curves if curve not in with_delta]
    found = [
        *_best_setting(epsilon, own, same_delta),
        *_useless(epsilon, own, majority, chance),
        _enough(own, plain, target.measure),
        *_other_enough(own, same_delta, plain),
        *_delta(asked, own, with_delta),
        *_ranges(epsilon, own, in_ranges),
    ]
    return [*found, FREE]


def _best_setting(epsilon: float, own: Compared, curves: Sequence[Compared]) -> list[str]:
    values = [(curve.accuracies[epsilon], curve.label) for curve in curves if epsilon in curve.accuracies]
    if not values:
        return []
    best, label = max(values, key=lambda value: value[0])
    mine = own.accuracies.get(epsilon)
    others = "; ".join(f"{name}: {_percent(value)}" for value, name in values if name != label)
    beside = f" ({others})" if others else ""
    if mine is not None and best - mine < _SAME:
        near = "the most accurate of those tried" if label == own.label else "as accurate as the best of those tried"
        return [f"At epsilon = {epsilon:g}, '{own.label}', your setting, is {near}: {_percent(mine)}{beside}."]
    than = "your setting has no plan there" if mine is None else f"{_points(best - mine)} more than your setting"
    return [
        f"At epsilon = {epsilon:g}, '{label}' is the most accurate of those tried: {_percent(best)}, {than}{beside}."
    ]


def _useless(epsilon: float, own: Compared, majority: float, chance: str) -> list[str]:
    mine = own.accuracies.get(epsilon)
    if mine is None or mine >= majority + NEAR:
        return []
    return [
        f"At epsilon = {epsilon:g} your setting is hardly better than {chance}. More records, fewer columns or a "
        f"larger epsilon would be needed."
    ]


def _enough(own: Compared, plain: float, measure: str) -> str:
    reached = _reached(own, plain)
    if reached is not None:
        return (
            f"Your setting comes within 2 points of the {measure} without privacy ({_percent(plain)}) at epsilon = "
            f"{reached:g}; a larger one would buy little."
        )
    if not own.accuracies:
        return f"Without privacy: {_percent(plain)}."
    most = max(own.accuracies)
    return (
        f"No epsilon up to {most:g} brings your setting within 2 points of the {measure} without privacy "
        f"({_percent(plain)}); at {most:g} it has {_percent(own.accuracies[most])}."
    )


def _other_enough(own: Compared, curves: Sequence[Compared], plain: float) -> list[str]:
    mine = _reached(own, plain)
    others = [(reached, curve.label) for curve in curves if (reached := _reached(curve, plain)) is not None]
    if not others:
        return []
    least, label = min(others, key=lambda other: other[0])
    if mine is not None and least >= mine:
        return []
    return [f"'{label}' comes within 2 points at epsilon = {least:g} already."]


def _reached(curve: Compared, plain: float) -> float | None:
    return min((epsilon for epsilon, value in curve.accuracies.items() if value >= plain - NEAR), default=None)


def _delta(asked: Facts, own: Compared, with_delta: Sequence[Compared]) -> list[str]:
    epsilon = float(asked.epsilon)
    mine = own.accuracies.get(epsilon)
    far_below = f"A delta should be far below 1 / {asked.rows:,}, one over the number of records"
    if asked.delta * asked.rows * 10 > 1:
        return [f"{far_below}; {float(asked.delta):.2g} is not."]
    for curve in with_delta:
        value = curve.accuracies.get(epsilon)
        if value is None or mine is None:
            continue
        brings = f"would bring {_points(value - mine)} more" if value - mine >= _SAME else "would bring nothing more"
        return [f"delta is 0. With a delta, '{curve.label}' {brings} at epsilon = {epsilon:g} ({_percent(value)}). "
                f"{far_below}."]  # fmt: skip
    return []


def _ranges(epsilon: float, own: Compared, in_ranges: float | None) -> list[str]:
    mine = own.accuracies.get(epsilon)
    if in_ranges is None or mine is None:
        return []
    gain = in_ranges - mine
    brings = f"would bring about {_points(gain)}" if gain >= _SAME else "would bring nothing"
    return [
        f"Agreed ranges of the values (feature_bound, feature_lower; in a study normalised_by = 'parties') {brings} at "
        f"epsilon = {epsilon:g} ({_percent(in_ranges)}). They must come from public knowledge, not from the data."
    ]


def _percent(accuracy: float) -> str:
    return f"{100 * accuracy:.1f}%"


def _points(difference: float) -> str:
    return f"{100 * difference:.1f} points"
