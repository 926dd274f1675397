"""Whole training runs under every scheme, in turns, so that a noisy machine slows all of them alike."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from cofit.benchmarks.train import TrainResult, measure_train
from cofit.errors import parameter_error
from cofit.learn.comparison import usual_parties
from cofit.sharing import scheme_named

BASE = "rep3"


@dataclass(frozen=True)
class SchemeResult:
    """Medians over the repetitions; ``ratio_total`` and ``ratio_train`` compare with ``rep3`` in the same turn.

    ``ratio_train`` is that of ``seconds_train_verified``: with the checks that a scheme puts off.
    """

    scheme: str
    parties: int
    epochs: int
    repetitions: int
    seconds_total: float
    seconds_train: float
    seconds_verify: float
    seconds_noise: float
    rounds: int
    bytes_total: int
    ratio_total: float
    ratio_train: float
    ratio_to_kernel: float


def measure_schemes(
    rows: int = 1713,
    cols: int = 1874,
    partition: str = "horizontal",
    epochs: int | str = "auto",
    threads: int = 2,
    repetitions: int = 3,
    parties: int | None = None,
) -> list[SchemeResult]:
    """Measure every scheme that keeps secrets, each once in a repetition.

    parties: only schemes that run with so many, and ``rep3``; None: all of them, each with as many as is usual.
    """
    if repetitions < 1:
        raise parameter_error("repetitions", "bench schemes", "at least 1", repetitions)
    counts: dict[str, int | None] = usual_parties()
    if parties is not None:
        counts = {BASE: None} | {name: parties for name in counts if scheme_named(name).info.runs_with(parties)}
    names = list(counts)
    turns: list[dict[str, TrainResult]] = []
    for _ in range(repetitions):
        turns.append(
            {
                name: measure_train(rows, cols, partition, name, epochs, threads=threads, repetitions=1, parties=count)
                for name, count in counts.items()
            }
        )

    def median(name: str, field: str, base: str | None = None) -> float:
        values = [
            float(getattr(turn[name], field) / (1 if base is None else getattr(turn[base], field))) for turn in turns
        ]
        return statistics.median(values)

    return [
        SchemeResult(
            scheme=name,
            parties=turns[0][name].parties,
            epochs=turns[0][name].epochs,
            repetitions=repetitions,
            seconds_total=median(name, "seconds_total"),
            seconds_train=median(name, "seconds_train"),
            seconds_verify=median(name, "seconds_verify"),
            seconds_noise=median(name, "seconds_noise"),
            rounds=turns[0][name].rounds,
            bytes_total=turns[0][name].bytes_total,
            ratio_total=median(name, "seconds_total", BASE),
            ratio_train=median(name, "seconds_train_verified", BASE),
            ratio_to_kernel=median(name, "ratio_to_kernel"),
        )
        for name in names
    ]
