"""How thoroughly experiments are run."""

from __future__ import annotations

from dataclasses import dataclass

from cofit.errors import parameter_error

DELTA = 1e-5


@dataclass(frozen=True)
class Settings:
    """draws: of noise, for each fold. repetitions: of timed runs, of which the median counts.

    seed: of folds, owners and baselines' noise; cofit's own noise has no seed. long_runs: also time the paper's 1000
    epochs, and run DP-SGD with its batches of one row.
    """

    folds: int = 5
    draws: int = 100
    repetitions: int = 3
    seed: int = 1
    long_runs: bool = True

    def __post_init__(self) -> None:
        for name, least, most in (("folds", 2, 1000), ("draws", 1, 10_000), ("repetitions", 1, 100)):
            value = getattr(self, name)
            if not least <= value <= most:
                raise parameter_error(name, "an experiment", f"from {least} to {most}", value)
        if not 0 <= self.seed < 1 << 32:
            raise parameter_error("seed", "an experiment", f"from 0 to {(1 << 32) - 1}", self.seed)


FULL = Settings()
QUICK = Settings(draws=5, repetitions=1, long_runs=False)
