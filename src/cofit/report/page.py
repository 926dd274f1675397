"""The report: one HTML page without scripts that loads nothing, from public facts.

Names and texts in a model, a study or an experiment were written by other people. Everything is escaped, what cannot be
printed is replaced, and the page forbids scripts and every request by its Content-Security-Policy. Equal inputs give
equal bytes: there is no clock in it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from cofit.experiments.result import TableResult
from cofit.models.column_bounds import bounded_features
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate, CertifiedRelease
from cofit.privacy.mechanisms import mechanism_named
from cofit.report.accuracy_forecast import AccuracyForecast, NoForecast, rows_in_words
from cofit.report.cost import Cost
from cofit.report.noise_law import noise_law
from cofit.report.plots import accuracy_plot, cost_plot, experiment_plot, interval_bar, swatches, weights_plot
from cofit.report.significance import LEVEL, judged_weights, published_weights, shown_weights, signal_norm
from cofit.report.study_facts import check_study, columns_in_words, glossary, participants
from cofit.report.texts import capitalised, day, printable, probability, short, signed
from cofit.report.words import (
    NOT_PROTECTED,
    explanation,
    rows_for_use,
    scheme_in_words,
    verdict,
    weights_of_records,
    who_could_read_everything,
)
from cofit.study.document import Feature, Study
from cofit.units import duration, size

GENERATOR = "cofit report"
MOST_SHOWN = 40
_LONGEST_TEXT = 20_000
_TEMPLATES = files("cofit.report") / "templates"
_FILTERS = (capitalised, day, duration, probability, short, signed, size)


@dataclass(frozen=True)
class ReportInput:
    """What a report is made from. ``cost`` is ``measured``, or forecast from the plan, or None if neither is known.

    ``study``: the model's, where it is at hand: it names the analysts. ``rebuilt``: whether the certificate was made
    again from its facts; not if another release of cofit wrote it.
    """

    model: LinearModel | StudyModel
    forecast: AccuracyForecast | NoForecast
    cost: Cost | None = None
    measured: bool = False
    experiments: Sequence[TableResult] = ()
    notes: tuple[str, ...] = ()
    study: Study | None = None
    rebuilt: bool = True


@cache
def _template() -> Template:
    """Return the page's template, which takes longer to compile than most pages to fill in."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {filter.__name__: filter for filter in _FILTERS}
    return environment.from_string((_TEMPLATES / "report.html.j2").read_text(encoding="utf-8"))


def render_report(given: ReportInput) -> str:
    """Return the page, or raise InvalidInputError if the study is not the model's."""
    if given.study is not None:
        check_study(given.study, given.model)
    analysts = () if given.study is None else tuple(analyst.name for analyst in given.study.analysts)
    model = given.model.model if isinstance(given.model, StudyModel) else given.model
    certificate, features = model.certificate, _features(given.model)
    return _template().render(
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        generator=GENERATOR,
        cofit_version=version("cofit"),
        title=given.model.study[0] if isinstance(given.model, StudyModel) else _title(certificate),
        study=given.model if isinstance(given.model, StudyModel) else None,
        model=model,
        c=certificate,
        certificate_text=Markup.escape(printable(certificate.to_text())),  # whole, however long
        verdict=verdict(certificate),
        explanation=explanation(certificate),
        scheme_words=scheme_in_words(certificate),
        readers=who_could_read_everything(certificate),
        not_protected=NOT_PROTECTED,
        others=certificate.about_others,
        needed=rows_for_use(certificate),
        clipped=model.rows is not None and model.rows.mean is not None,
        weights_of_records=weights_of_records(certificate, model.classes),
        owners=certificate.owners,
        participants=participants(certificate, analysts),
        columns=columns_in_words(features[:MOST_SHOWN]),
        all_columns=len(features),
        glossary=glossary(certificate, analysts),
        mechanism=mechanism_named(certificate.mechanism).title,
        given=given,
        cost_swatches=swatches([phase.name for phase in given.cost.phases]) if given.cost else (),
        cost_figure=None if given.cost is None else cost_plot(given.cost),
        no_forecast=isinstance(given.forecast, NoForecast),
        forecast=given.forecast,
        rows_of_forecast=rows_in_words(given.forecast) if isinstance(given.forecast, AccuracyForecast) else None,
        forecast_figure=(
            accuracy_plot(given.forecast, float(certificate.epsilon))
            if isinstance(given.forecast, AccuracyForecast)
            else None
        ),
        experiments=[
            (table, experiment_plot(table, i), swatches([curve.label for curve in table.curves]))
            for i, table in enumerate(given.experiments, 1)
        ],
        **(_weights_of_descent(model) if certificate.method == "descent" else _weights(model)),
    )


def _features(model: LinearModel | StudyModel) -> tuple[Feature, ...]:
    """Return what is known of the columns of a table: all in a study, bounds in some other models, and nothing else."""
    if isinstance(model, StudyModel):
        return model.features
    return () if model.bounds is None else bounded_features(model.feature_names or (), model.bounds)


def _weights(model: LinearModel) -> dict[str, Any]:
    certificate = model.certificate
    law = noise_law(certificate)
    weights, _ = published_weights(model)
    judged = judged_weights(model)
    shown = judged[:MOST_SHOWN]
    reach = max(abs(end) for weight in shown for end in (weight.low, weight.high))
    significant = sum(weight.significant for weight in judged)
    return {
        "judged": True,
        "deviation": law.deviation,
        "signal": signal_norm(weights, certificate),
        "weights_figure": weights_plot(weights, law.deviation, law),
        "weights": [(w, interval_bar(w.value, w.low, w.high, reach, w.significant)) for w in shown],
        "significant": significant,
        "decimals": _decimals(law.deviation),
        "beyond": significant - sum(weight.significant for weight in shown),
        "level": LEVEL,
    }


def _weights_of_descent(model: LinearModel) -> dict[str, Any]:
    """Later steps answer to the noise of earlier ones: weights are shown, and not judged."""
    certificate = model.certificate
    weights, _ = published_weights(model)
    shown = shown_weights(model)[:MOST_SHOWN]
    reach = max(abs(weight.value) for weight in shown) or 1.0
    deviation = model.deviation
    centre = () if model.rows is None else model.rows.centre or ()
    return {
        "judged": False,
        "deviation": deviation,
        "weights_figure": weights_plot(weights, deviation, None),
        "weights": [(w, interval_bar(w.value, min(w.value, 0), max(w.value, 0), reach, True)) for w in shown],
        "decimals": _decimals(deviation),
        "length": float(np.linalg.norm(weights)),
        "shrinkage": model.shrinkage,
        "left": int(np.count_nonzero(model.weights)),
        "row_level": None if model.rows is None else model.rows.level,
        "radius": None if model.rows is None else model.rows.radius,
        "centre_length": float(np.linalg.norm(centre)) if centre else None,
        "releases": _releases(certificate),
    }


def _releases(certificate: Certificate) -> list[tuple[str, CertifiedRelease, float, float]]:
    """Return the noisy releases, with sensitivity and scale in units of their grid; equal steps in one line."""
    lines: list[tuple[str, CertifiedRelease, float, float]] = []
    groups = itertools.groupby(certificate.releases, lambda one: (one.sensitivity, one.scale, one.dimension, one.grid))
    for (sensitivity, scale, _, grid), group in groups:
        members = list(group)
        last = members[-1].name.removeprefix(members[-1].name.split(" ")[0])
        name = members[0].name if len(members) == 1 else f"{members[0].name} to{last}"
        step = Fraction(2) ** int(grid.removeprefix("2^"))
        lines.append((name, members[0], float(sensitivity * step), float(scale * step)))
    return lines


def _decimals(deviation: float) -> int:
    return max(1 - math.floor(math.log10(deviation)), 0)


def _title(certificate: Certificate) -> str:
    """Return a name for a model that has none: what it is, without how it was trained, and whose data it is from."""
    owners = sorted(certificate.owners)
    names = f"{', '.join(owners[:-1])} and {owners[-1]}" if 1 < len(owners) <= 3 else f"{len(owners)} owners"
    kind = re.split(r" with | \(", certificate.model)[0]
    return f"{capitalised(kind)} of {names}"


def _shown(value: object) -> object:
    """Return what the template shows: our own markup as it is, and texts without what cannot be printed."""
    return value if isinstance(value, Markup) else printable(short(value, _LONGEST_TEXT))
