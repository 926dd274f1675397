"""What the tables share.

Every table shows what each contender really guarantees. The paper's own figures stand beside ours where the data are of
the same kind: many sparse Boolean columns, as those of iDASH 2021, which are not public.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np

from cofit.baselines.central import CentralNoPrivacy
from cofit.baselines.noise import gaussian_sigma
from cofit.experiments.ask import Answer, Ask, rounded_up
from cofit.experiments.cells import Contender
from cofit.experiments.result import Curve, Figure, Row, TableResult
from cofit.experiments.settings import DELTA, Settings
from cofit.privacy.accountant import sigma_for, split

PAPER = "paper: "
FAIR = "tight"
"""Every contender that has a choice gets the tight constants of ``proofs.md``: less noise than its source takes."""
NOTHING = Figure(None, "text", text="-")
_LIKE_IDASH_COLUMNS = 500
_ONE_DIRECTION = 0.5

SPREAD = (
    "Accuracy: cross-validation, with as many folds as the settings say; ± is the standard deviation over folds and "
    "draws of noise. Rows are divided by their length; there is no intercept; the penalty is Lambda = 1 on the mean "
    "loss unless a row or a note says otherwise."
)
CALIBRATION = (
    "The paper's experiments train with scikit-learn's C = 1, or with a penalty as weak, which is Lambda = 1/n for "
    "the mean loss, but their noise is computed for Lambda = 1. So their accuracies belong to an epsilon that is "
    "about n times larger than stated. The rows 'as published' repeat that, and show the epsilon that it really has. "
    "Where the other rows show less accuracy than the paper, that is why."
)
TWIN = (
    "cofit's accuracy is measured with the cleartext twin of the protocol, which has the same distribution; times are "
    "those of real runs, every member a process, over TLS on this one machine."
)


def paper_percent(value: float) -> Figure:
    """Return an accuracy of the paper."""
    return Figure(value / 100, "accuracy")


def paper_seconds(value: float) -> Figure:
    """Return a time of the paper."""
    return Figure(value, "seconds")


def like_idash(ask: Ask) -> bool:
    """Whether the data are of the kind of the paper's main set: many Boolean columns."""
    x = ask.data.features
    return x.shape[1] >= _LIKE_IDASH_COLUMNS and bool(np.isin(np.unique(x[:50]), (0, 1)).all())


def row(label: str, answer: Answer, others: Sequence[Figure] = (), *, note: str = "", claimed: float) -> Row:
    """Return accuracy, true epsilon and ``others``; marked if the epsilon that the table is about does not hold."""
    holds = answer.epsilon is not None and answer.epsilon <= claimed * (1 + 1e-9)
    guaranteed = holds or answer.accuracy.value is None  # what was not run is not marked
    return Row(label, (answer.accuracy, answer.guarantee, *others), guaranteed, note)


def without_privacy(ask: Ask, l2: float) -> Answer:
    """Return the accuracy of a trusted curator who adds no noise."""
    return ask.answer(CentralNoPrivacy(l2), 1)


def sampler_note(*answers: Answer) -> str:
    """Return what cofit pays for sampling noise inside the computation, over these answers, for a note."""
    largest = max((answer.delta or 0.0 for answer in answers), default=0.0)
    return (
        "K-norm noise needs no delta. cofit samples it with finitely many bits, inside the computation, which is "
        f"a delta of {rounded_up(largest)} at most here. The baselines' noise is floating point, and taken as exact. "
        f"cofit's Gaussian noise is discrete, and calibrated by the same exact formula as theirs: for the same "
        f"sensitivity it is larger by {100 * (_discrete_surplus() - 1):.2g} % at epsilon = 1."
    )


def _discrete_surplus() -> float:
    """How many times larger cofit's Gaussian noise is than the smallest there is, which the baselines take.

    cofit keeps a thousandth of delta for its sampler. Without the unit of a grid: in steps a sensitivity is large.
    """
    steps = 1 << 30
    sigma = sigma_for(steps, split(1, Fraction(DELTA), {"weights": Fraction(1)})["weights"])
    return float(sigma / steps) / gaussian_sigma(1.0, DELTA)


def commoner_class(*asks: Ask) -> str:
    """Return the accuracy that needs no model, for a note: entries near it may be of models that tell nothing."""
    shares = [float(np.bincount(ask.data.labels, minlength=2).max() / len(ask.data.labels)) for ask in asks]
    each = ", ".join(f"{100 * share:.1f} % of {ask.data.name}" for share, ask in zip(shares, asks, strict=True))
    return (
        f"Always naming the more common class is right for {each}, without any model. With a strong penalty a model "
        "may do just that, noise or not; judge all accuracies against it."
    )


def common_direction(ask: Ask) -> float:
    """Return ||mean of unit rows||^2: 1 if all rows point the same way, near 0 for centred data."""
    return float(np.square(ask.data.unit.rows.mean(axis=0)).sum())


def weak_penalty(ask: Ask) -> float:
    """Return the penalty of the mean loss that is scikit-learn's C = 1 in a fold."""
    return 1 / ask.train_rows


def curve(label: str, ask: Ask, contenders: Sequence[Contender], owners: int) -> Curve:
    """Return accuracy over the epsilon that really holds, where it was measured."""
    answers = [ask.answer(contender, owners) for contender in contenders]
    known = [
        (a.epsilon, f.value, f.spread or 0.0) for a in answers if (f := a.accuracy).value is not None and a.epsilon
    ]
    x, y, spread = zip(*known, strict=True) if known else ((), (), ())
    return Curve(label, tuple(x), tuple(y), tuple(spread))


def table(
    name: str,
    title: str,
    ask: Ask,
    columns: Sequence[str],
    rows: Sequence[Row],
    notes: Sequence[str],
    *,
    curves: Sequence[Curve] = (),
    axes: tuple[str, str] = ("", ""),
) -> TableResult:
    """Return the table, without the paper's columns and rows where the data are of another kind."""
    keep = [i for i, column in enumerate(columns) if like_idash(ask) or not column.startswith(PAPER)]
    kept = [
        Row(r.label, tuple(r.figures[i] for i in keep), r.guaranteed, r.note)
        for r in rows
        if any(r.figures[i] != NOTHING for i in keep)
    ]
    x = ask.data.features
    extra = [commoner_class(ask)] if SPREAD in notes else []
    if SPREAD in notes and (share := common_direction(ask)) > _ONE_DIRECTION:
        extra.append(
            f"The rows of this data set point nearly the same way: {100 * share:.0f} % of their squared length is "
            "their mean's. Without an intercept hardly anything is left to tell them apart by. Centre and scale the "
            "columns by public ranges before."
        )
    if any(column.startswith(PAPER) for column in (columns[i] for i in keep)):
        extra.append(
            "The paper's figures are for its own data (iDASH 2021, 1713 x 1874 Boolean columns), which are not public: "
            "compare the pattern, not the digits."
        )
    if ask.data.groups is not None:
        extra.append(
            "The rows of one person are all in one fold and with one owner. The guarantee is for a row; whoever has k "
            "rows is protected less, by a factor of k in epsilon."
        )
    described = f"{ask.data.name}: {ask.data.about}, {x.shape[0]} x {x.shape[1]}"
    return TableResult(
        name,
        title,
        described,
        tuple(columns[i] for i in keep),
        tuple(kept),
        (*notes, *extra),
        tuple(c for c in curves if c.x),
        axes,
        facts(ask),
    )


def facts(ask: Ask) -> dict[str, Any]:
    """Return the settings and the software of an experiment, for whoever repeats it."""
    return settings_facts(ask.settings)


def settings_facts(s: Settings) -> dict[str, Any]:
    """Return the same from the settings."""
    software = {name: version(name) for name in ("cofit", "numpy", "scipy", "scikit-learn", "dp-accounting")}
    return {
        "seed": s.seed,
        "folds": s.folds,
        "draws": s.draws,
        "repetitions": s.repetitions,
        "delta": DELTA,
        "cores": os.cpu_count(),
        "software": software,
    }
