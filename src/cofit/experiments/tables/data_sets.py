"""Table 7: other data sets."""

from __future__ import annotations

from collections.abc import Sequence

from cofit.baselines.federated_output import FederatedOutput
from cofit.experiments import paper
from cofit.experiments.ask import Ask
from cofit.experiments.cells import Cofit
from cofit.experiments.result import Figure, Row, TableResult
from cofit.experiments.settings import DELTA
from cofit.experiments.tables.common import (
    CALIBRATION,
    FAIR,
    NOTHING,
    SPREAD,
    TWIN,
    commoner_class,
    facts,
    paper_percent,
    paper_seconds,
    sampler_note,
    weak_penalty,
    without_privacy,
)


def table7(asks: Sequence[Ask]) -> TableResult:
    """Accuracy at epsilon = 1 with two owners, and time with three parties, for several data sets."""
    epsilon = 1.0
    rows = []
    for ask in asks:
        x = ask.data.features
        rows.append(
            Row(
                ask.data.name,
                (
                    Figure(x.shape[0], "count"),
                    Figure(x.shape[1], "count"),
                    without_privacy(ask, weak_penalty(ask)).accuracy,
                    without_privacy(ask, 1.0).accuracy,
                    ask.accuracy(FederatedOutput(epsilon, sensitivity=FAIR)),
                    ask.accuracy(Cofit(epsilon)),
                    ask.accuracy(Cofit(epsilon, DELTA)),
                    ask.timing("rep3").seconds,
                ),
                note=ask.data.about,
            )
        )
    for name, known in paper.OTHER_SETS.items():
        rows.append(
            Row(
                f"the paper's {name}",
                (
                    Figure(known["rows"], "count"),
                    Figure(known["cols"], "count"),
                    paper_percent(known["central"]),
                    NOTHING,
                    paper_percent(known["baseline"]),
                    paper_percent(known["cofit"]),
                    NOTHING,
                    paper_seconds(known["seconds"]),
                ),
                guaranteed=False,
                note="as printed, with the noise of another penalty than it was trained with; not public",
            )
        )
    columns = (
        "rows",
        "columns",
        "no privacy, C = 1",
        "no privacy, Lambda = 1",
        "every owner alone, K-norm",
        "cofit, K-norm",
        "cofit, Gaussian",
        "time, 3 parties",
    )
    described = ", ".join(ask.data.name for ask in asks)
    title = "Other data sets, at epsilon = 1 with two owners"
    grouped = [ask.data.name for ask in asks if ask.data.groups is not None]
    extra = () if not grouped else (f"In {', '.join(grouped)}, the rows of one person are all in one fold.",)
    noise = sampler_note(*(ask.answer(Cofit(epsilon)) for ask in asks))
    notes = (SPREAD, commoner_class(*asks), TWIN, noise, CALIBRATION, *extra)
    return TableResult("table7", title, described, columns, tuple(rows), notes, (), ("", ""), facts(asks[0]))
