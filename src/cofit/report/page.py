"""The report: one HTML page without scripts that loads nothing, from public facts.

Names and texts in a model, a study or an experiment were written by other people. Everything is escaped, what cannot be
printed is replaced, and the page forbids scripts and every request by its Content-Security-Policy. Equal inputs give
equal bytes: there is no clock in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from cofit.experiments.result import TableResult
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate
from cofit.report.accuracy_forecast import AccuracyForecast, NoForecast
from cofit.report.cost import Cost
from cofit.report.noise_law import noise_law
from cofit.report.plots import accuracy_plot, cost_plot, experiment_plot, interval_bar, swatches, weights_plot
from cofit.report.significance import LEVEL, JudgedWeight, judged_weights, published_weights, signal_norm
from cofit.report.words import NOT_PROTECTED, explanation, scheme_in_words, verdict, who_could_read_everything

GENERATOR = "cofit report"
MOST_SHOWN = 30
_LONGEST_TEXT = 20_000
_MECHANISMS = {"knorm": "K-norm", "laplace": "Laplace", "gaussian": "Gaussian"}


@dataclass(frozen=True)
class ReportInput:
    """What a report is made from. ``cost`` is ``measured``, or forecast from the plan, or None if neither is known."""

    model: LinearModel | StudyModel
    forecast: AccuracyForecast | NoForecast
    cost: Cost | None = None
    measured: bool = False
    experiments: Sequence[TableResult] = ()
    notes: tuple[str, ...] = ()


def render_report(given: ReportInput) -> str:
    """Return the page."""
    model = given.model.model if isinstance(given.model, StudyModel) else given.model
    certificate = model.certificate
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_printable, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "capitalised": lambda text: text[:1].upper() + text[1:],
        "day": _day,
        "probability": _probability,
        "seconds": _seconds,
        "short": _short,
        "signed": _signed,
        "size": _size,
    }
    templates = files("cofit.report") / "templates"
    page = environment.from_string((templates / "report.html.j2").read_text(encoding="utf-8"))
    return page.render(
        style=Markup((templates / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        generator=GENERATOR,
        cofit_version=version("cofit"),
        title=given.model.study[0] if isinstance(given.model, StudyModel) else _title(certificate),
        study=given.model if isinstance(given.model, StudyModel) else None,
        model=model,
        c=certificate,
        verdict=verdict(certificate),
        explanation=explanation(certificate),
        scheme_words=scheme_in_words(certificate),
        readers=who_could_read_everything(certificate),
        not_protected=NOT_PROTECTED,
        owners=_owners(certificate),
        mechanism=_MECHANISMS[certificate.mechanism],
        mechanisms=_MECHANISMS,
        given=given,
        cost_swatches=swatches([phase.name for phase in given.cost.phases]) if given.cost else (),
        cost_figure=None if given.cost is None else cost_plot(given.cost),
        no_forecast=isinstance(given.forecast, NoForecast),
        forecast=given.forecast,
        forecast_figure=(
            accuracy_plot(given.forecast, float(certificate.epsilon))
            if isinstance(given.forecast, AccuracyForecast)
            else None
        ),
        experiments=[
            (table, experiment_plot(table, i), swatches([curve.label for curve in table.curves]))
            for i, table in enumerate(given.experiments, 1)
        ],
        **_weights(model),
    )


def _weights(model: LinearModel) -> dict[str, Any]:
    certificate = model.certificate
    law = noise_law(certificate)
    weights, _ = published_weights(model)
    judged = judged_weights(model)
    shown = judged[:MOST_SHOWN]
    reach = max(abs(end) for weight in shown for end in (weight.low, weight.high))
    significant = sum(weight.significant for weight in judged)
    return {
        "law": law,
        "signal": signal_norm(weights, certificate),
        "weights_figure": weights_plot(weights, law),
        "weights": [(weight, _bar(weight, reach)) for weight in shown],
        "significant": significant,
        "decimals": min(max(2 - math.floor(math.log10(shown[0].high - shown[0].value)), 0), 15),
        "beyond": significant - sum(weight.significant for weight in shown),
        "level": LEVEL,
    }


def _bar(weight: JudgedWeight, reach: float) -> Markup:
    return interval_bar(weight.value, weight.low, weight.high, reach, weight.significant)


def _title(certificate: Certificate) -> str:
    """Return a name for a model that has none: what it is, and whose data it is from."""
    owners = sorted(certificate.owners)
    names = f"{', '.join(owners[:-1])} and {owners[-1]}" if 1 < len(owners) <= 3 else f"{len(owners)} owners"
    return f"{certificate.model[:1].upper()}{certificate.model[1:]} of {names}"


def _owners(certificate: Certificate) -> list[tuple[str, str, bool]]:
    """Return every owner, the shapes of what it contributed, and whether it is a computing party too."""
    rows = []
    for owner in sorted(certificate.owners):
        shapes = certificate.owners[owner]
        parts = [
            f"{name}: {' x '.join(f'{size:,}' for size in shapes[name]) or 'one number'}" for name in sorted(shapes)
        ]
        rows.append((owner, "; ".join(parts) or "nothing", owner in certificate.parties))
    return rows


# --- values as text --------------------------------------------------------------------------------------


def _printable(value: object) -> object:
    """Return what is shown: our own markup as it is, and text without characters that cannot be printed."""
    if isinstance(value, Markup):
        return value
    text = str(value)
    return "".join(
        ch if ch.isprintable() or ch in "\n\t" else "\N{REPLACEMENT CHARACTER}" for ch in text[:_LONGEST_TEXT]
    )


def _short(text: object, most: int = 120) -> str:
    shown = str(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _probability(p: float) -> str:
    if p >= 0.9995:
        return "1"
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def _size(count: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.3g} {unit}"
    return f"{count:,} B"


def _signed(value: float, decimals: int) -> str:
    return f"{value:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def _day(created: str) -> str:
    """Return an ISO 8601 date as people write it."""
    moment = datetime.fromisoformat(created)
    day = f"{moment.day} {moment:%B} {moment.year}"
    if "T" not in created:
        return day
    zone = " UTC" if moment.utcoffset() == timedelta(0) else f" {moment:%Z}".rstrip()
    return f"{day}, {moment:%H:%M}{zone}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "not known"
    if seconds < 0.01:
        return "below 0.01 s"
    if seconds < 120:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
