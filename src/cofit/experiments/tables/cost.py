"""Tables 3 and 8: what a run costs, by scheme and by the number of computing parties. Always real processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cofit.experiments import paper
from cofit.experiments.ask import Ask, Timing
from cofit.experiments.result import Curve, Figure, Row, TableResult
from cofit.experiments.tables.common import NOTHING, PAPER, paper_seconds, table

EPOCHS = 1000
PARTIES = (2, 3, 4, 5, 7)
_ACTIVE = {3: "repn", 4: "rep4", 5: "repn", 7: "repn"}
_SCHEMES = (
    ("semi2k", "2 parties and a dealer, passive (semi2k)"),
    ("rep3", "3 parties, passive (rep3)"),
    ("repn", "3 parties, active (repn)"),
    ("rep4", "4 parties, active (rep4)"),
)


def table3(ask: Ask) -> TableResult:
    """Time by scheme, for owners of rows and of columns."""
    rows = []
    for scheme, label in _SCHEMES:
        for epochs in (None, EPOCHS) if ask.settings.long_runs else (None,):
            across, down = (ask.timing(scheme, partition, epochs) for partition in ("horizontal", "vertical"))
            count = across.epochs or down.epochs
            rows.append(
                Row(
                    f"{label}, {f'{count} epochs, as proven enough' if epochs is None else f'{epochs} epochs'}",
                    (
                        across.seconds,
                        down.seconds,
                        across.rounds,
                        across.bytes,
                        *(paper_seconds(paper.SECONDS[scheme, p]) for p in ("horizontal", "vertical")),
                    ),
                )
            )
    columns = ("owners of rows", "owners of columns", "rounds", "bytes sent by all", f"{PAPER}rows", f"{PAPER}columns")
    notes = (
        f"All members ran on this one machine with {os.cpu_count()} cores, over TLS on loopback; the paper's parties "
        "had machines with 32 cores each and a gigabit network between them. Times are from connected processes to "
        "the release, with all checks of active schemes, medians where there are several runs. Rounds and bytes are "
        "those of owners of rows.",
        "The paper's times are for 1000 epochs. A fixed step with a proven rate reaches the minimiser in far fewer, "
        "and the certificate says how near. The paper's scheme for two parties has no dealer, which is why it is so "
        "slow.",
    )
    return table("table3", "Time by scheme", ask, columns, rows, notes)


def table8(ask: Ask) -> TableResult:
    """Time and traffic by the number of computing parties."""
    rows, curves = [], []
    for epochs in (None, EPOCHS) if ask.settings.long_runs else (None,):
        measured = {count: ask.timing("shamir", epochs=epochs, parties=count) for count in paper.SHAMIR_PASSIVE}
        rows += [
            _row(f"{count} parties, passive (shamir), {_epochs(timing, epochs)}", timing, paper.SHAMIR_PASSIVE[count])
            for count, timing in measured.items()
        ]
        if epochs is None:
            curves.append(_curve("shamir", measured))
    for epochs in (None, EPOCHS) if ask.settings.long_runs else (None,):
        active = {count: ask.timing(_ACTIVE[count], epochs=epochs, parties=count) for count in paper.SHAMIR_ACTIVE}
        rows += [
            _row(
                f"{count} parties, active ({_ACTIVE[count]}), {_epochs(timing, epochs)}",
                timing,
                paper.SHAMIR_ACTIVE[count],
            )
            for count, timing in active.items()
        ]
        if epochs is None:
            curves.append(_curve("active: repn, and rep4 among four", active))
    dealt = {count: ask.timing("semi2k", parties=count) for count in PARTIES}
    rows += [
        _row(f"{count} parties and a dealer, passive (semi2k), {_epochs(timing, None)}", timing)
        for count, timing in dealt.items()
    ]
    curves.append(_curve("semi2k, with a dealer", dealt))
    columns = ("time", "rounds", "bytes sent by all", f"{PAPER}time", f"{PAPER}bytes")
    notes = (
        "The paper's schemes, shamir, repn and rep4 are for an honest majority without a dealer; the paper shares over "
        "a prime field, with 1000 epochs. Active schemes end a run in which a minority of parties deviates from the "
        "protocol; their checks are in time, rounds and bytes. semi2k withstands the corruption of all parties but "
        "one, and needs a dealer who colludes with nobody: the same question under other assumptions.",
        f"All parties ran on this one machine with {os.cpu_count()} cores: beyond that many parties they wait for one "
        "another's processors, which parties on machines of their own would not. The paper's parties had machines of "
        "their own, and a network between them.",
    )
    title = "Time and traffic by the number of computing parties"
    return table("table8", title, ask, columns, rows, notes, curves=curves, axes=("computing parties", "seconds"))


def _epochs(timing: Timing, asked: int | None) -> str:
    return f"{timing.epochs} epochs, as proven enough" if asked is None else f"{asked} epochs"


def _curve(name: str, measured: Mapping[int, Timing]) -> Curve:
    known = [(c, t.seconds.value) for c, t in measured.items() if t.seconds.value is not None]
    return Curve(name, tuple(float(c) for c, _ in known), tuple(float(v) for _, v in known))


def _row(label: str, timing: Timing, printed: tuple[float, float] | None = None) -> Row:
    return Row(label, (timing.seconds, timing.rounds, timing.bytes, *_printed(printed)))


def _printed(pair: tuple[float, float] | None) -> tuple[Figure, Figure]:
    """Return the paper's seconds and megabytes."""
    return (NOTHING, NOTHING) if pair is None else (paper_seconds(pair[0]), Figure(pair[1] * 1e6, "bytes"))
