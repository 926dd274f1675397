"""The plots of the report. Each takes public figures and returns a drawing, with a text for those who do not see it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from cofit.experiments.result import TableResult
from cofit.report.accuracy_forecast import AccuracyForecast, rows_in_words
from cofit.report.cost import Cost
from cofit.report.noise_law import NoiseLaw
from cofit.report.svg import ALARM, INK, MUTED, SERIES, drawing, to_svg
from cofit.report.texts import printable, short

Reals = npt.NDArray[np.float64]
_FEWEST_BINS, _MOST_BINS, _MOST_BINS_OF_NARROW_NOISE = 9, 61, 121
_FINE = 401


def weights_plot(weights: Reals, deviation: float, law: NoiseLaw | None) -> Markup:
    """Return the histogram of the published weights, and over it what noise alone would give, where its law is known.

    The curve at x is the number of weights to expect in a bar around x: d P(|eta_1 - x| <= width / 2). So it can be
    compared with the bars however narrow the noise is beside them. ``deviation``: of the noise in a weight.
    """
    reach = 1.04 * max(float(np.abs(weights).max()), 3.2 * deviation)
    bins = min(max(2 * round(math.sqrt(len(weights))) + 1, _FEWEST_BINS), _MOST_BINS)
    if (needed := 2 * reach / deviation) > bins:
        bins = min(round(needed) | 1, _MOST_BINS_OF_NARROW_NOISE)
    edges = np.linspace(-reach, reach, bins + 1)
    with drawing() as (figure, axes):
        axes.hist(weights, list(edges), color=SERIES[0], alpha=0.55, edgecolor=SERIES[0], linewidth=0.6)
        if law is not None:
            x, expected = expected_counts(law, len(weights), reach, edges[1] - edges[0])
            axes.plot(x, expected, color=SERIES[1])
        for side in (-1, 1):
            axes.axvline(side * 2 * deviation, color=SERIES[1], linewidth=0.9, linestyle=(0, (4, 3)))
        axes.set_xlabel("published weight")
        axes.set_ylabel("number of weights")
        axes.set_xlim(-reach, reach)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        text = (
            f"Histogram of {len(weights)} published weights from {weights.min():.3g} to {weights.max():.3g}, "
            f"{'with' if law is None else 'with the number to expect from noise alone, and'} two standard deviations "
            f"of the noise, {deviation:.3g} each."
        )
        return to_svg(figure, "weights", text)


def expected_counts(law: NoiseLaw, count: int, reach: float, width: float) -> tuple[Reals, Reals]:
    """Return places, and how many of ``count`` weights noise alone puts within width / 2 of each."""
    near = np.linspace(-8 * law.deviation, 8 * law.deviation, _FINE)  # where a grid over everything may be too coarse
    x = np.unique(np.clip(np.concatenate([np.linspace(-reach, reach, _FINE), near]), -reach, reach))
    return x, np.asarray(count * (_distribution(law, x + width / 2) - _distribution(law, x - width / 2)))


def _distribution(law: NoiseLaw, x: Reals) -> Reals:
    half = law.tail(np.abs(x)) / 2
    return np.where(x < 0, half, 1 - half)


def accuracy_plot(forecast: AccuracyForecast, epsilon: float) -> Markup:
    """Return accuracy against epsilon, with the released epsilon marked."""
    with drawing() as (figure, axes):
        for colour, curve in zip(SERIES, forecast.curves, strict=False):
            axes.fill_between(curve.epsilons, curve.low, curve.high, color=colour, alpha=0.16, linewidth=0)
            axes.plot(curve.epsilons, curve.median, color=colour)
        axes.axhline(forecast.without_privacy, color=MUTED, linewidth=1, linestyle=(0, (5, 3)))
        axes.axhline(forecast.majority, color=MUTED, linewidth=1, linestyle=(0, (1, 2)))
        axes.axvline(epsilon, color=ALARM, linewidth=1.2)
        if forecast.asked is not None:
            axes.plot([epsilon], [forecast.asked], "o", color=ALARM, markersize=5)
        _logarithmic(axes)
        axes.set_xlabel("epsilon (logarithmic; smaller is more private)")
        axes.set_ylabel(f"{forecast.measure}, forecast")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        own = forecast.curves[0]
        text = f"Forecast {forecast.measure} against epsilon; nothing could be simulated for this setting."
        if own.epsilons:
            released = "" if forecast.asked is None else f"; {forecast.asked:.0%} at the released epsilon {epsilon:g}"
            text = (
                f"Forecast {forecast.measure} on {rows_in_words(forecast)} against epsilon, from {own.median[0]:.0%} "
                f"at epsilon {own.epsilons[0]:g} to "
                f"{own.median[-1]:.0%} at epsilon {own.epsilons[-1]:g}{released}."
            )
        return to_svg(figure, "forecast", text)


def cost_plot(cost: Cost) -> Markup:
    """Return the share of every phase in rounds, bytes and seconds, as bars."""
    names = [phase.name for phase in cost.phases]
    measures = {"rounds": [phase.rounds for phase in cost.phases], "bytes": [phase.bytes for phase in cost.phases]}
    if cost.total.seconds is not None:
        measures["seconds"] = [phase.seconds or 0.0 for phase in cost.phases]  # type: ignore[misc]
    with drawing(height=0.5 + 0.4 * len(measures)) as (figure, axes):
        for row, values in enumerate(measures.values()):
            whole, left = sum(values) or 1, 0.0
            for i, value in enumerate(values):
                colour = SERIES[i % len(SERIES)]
                axes.barh(-row, value / whole, 0.62, left, color=colour, alpha=0.8)
                left += value / whole
        axes.set_yticks([-row for row in range(len(measures))], list(measures))
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_xlim(0, 1)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        shares = [
            f"{name} {value / (sum(measures['bytes']) or 1):.0%}"
            for name, value in zip(names, measures["bytes"], strict=True)
        ]
        return to_svg(figure, "cost", f"Shares of the phases; of all bytes: {', '.join(shares)}.")


def experiment_plot(table: TableResult, number: int) -> Markup | None:
    """Return the curves of an experiment's table; None where it has none."""
    if not table.curves:
        return None
    with drawing() as (figure, axes):
        for i, curve in enumerate(table.curves):
            style = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))[i // len(SERIES) % 4]
            x, y = np.array(curve.x), np.array(curve.y)
            if curve.spread:
                spread = np.array(curve.spread)
                axes.fill_between(x, y - spread, y + spread, color=SERIES[i % len(SERIES)], alpha=0.14, linewidth=0)
            axes.plot(x, y, color=SERIES[i % len(SERIES)], linestyle=style, marker="o", markersize=2.5)
        positive = [value for curve in table.curves for value in curve.x]
        if positive and min(positive) > 0 and max(positive) / min(positive) > 20:
            _logarithmic(axes)
        across, up = (printable(short(label, 60)) for label in table.axes)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        labels = "; ".join(curve.label for curve in table.curves)
        text = short(printable(f"{table.title}: {up} over {across}. {labels}."), 1000)
        return to_svg(figure, f"experiment-{number}", text)


def interval_bar(value: float, low: float, high: float, reach: float, significant: bool) -> Markup:
    """Return one row of a forest plot: an interval, its middle and 0, from -reach to reach."""
    width, height = 110.0, 14.0

    def place(x: float) -> float:
        return round(width / 2 + (width / 2 - 4) * max(-1.0, min(1.0, x / reach)), 1)

    colour = "var(--series-1)" if significant else "var(--muted)"
    middle = height / 2
    return Markup(  # noqa: S704 - numbers and constants only
        f'<svg class="interval" aria-hidden="true" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}"><line x1="{width / 2:g}" x2="{width / 2:g}" y1="0" y2="{height:g}" '
        f'stroke="var(--line-strong)"/><line x1="{place(low)}" x2="{place(high)}" y1="{middle:g}" y2="{middle:g}" '
        f'stroke="{colour}" stroke-width="2"/><circle cx="{place(value)}" cy="{middle:g}" r="3.5" '
        f'fill="{colour}"/></svg>'
    )


def swatches(labels: Sequence[str]) -> list[tuple[int, str]]:
    """Return labels with the numbers of their colours, from 1."""
    return [(i % len(SERIES) + 1, label) for i, label in enumerate(labels)]


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", color=INK, width=0.4)
