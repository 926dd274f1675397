"""Table 10: learners beside two classes, on data sets of their own."""

from __future__ import annotations

from cofit.experiments.learners.measured import OWNERS, PROBLEMS, LearnerAsk
from cofit.experiments.result import Row, TableResult
from cofit.experiments.settings import DELTA
from cofit.experiments.tables.common import settings_facts

EPSILONS = (0.5, 1.0, 3.0, 8.0)


def table10(ask: LearnerAsk) -> TableResult:
    """Every problem with its contenders at four epsilons, with two owners."""
    rows = [
        Row(
            f"{problem.name}: {contender.label}",
            tuple(ask.figure(problem, contender, epsilon) for epsilon in EPSILONS),
            contender.guaranteed,
        )
        for problem in PROBLEMS.values()
        for contender in problem.contenders
    ]
    about = "; ".join(f"{problem.name}: {problem.about}" for problem in PROBLEMS.values())
    return TableResult(
        name="table10",
        title="Learners beside two classes",
        data=f"scikit-learn's and made-up data sets, columns scaled by public bounds ({about})",
        columns=tuple(f"epsilon = {epsilon:g}" for epsilon in EPSILONS),
        rows=tuple(rows),
        notes=(
            f"Cross-validation; ± is the standard deviation over folds and draws of noise. {OWNERS} owners hold the "
            f"rows; delta is {DELTA:g}, but for objective perturbation and the functional mechanism, which need none. "
            f"cofit is its cleartext twin. Of classes the figure is the accuracy, of numbers R squared, of counts D "
            f"squared, the part of the Poisson deviance explained (below 0: worse than always naming the mean).",
            "One account for all classes: a record counts 1 in the sum of its own class and 1 / sqrt(K - 1) in those "
            "of the others, so that it moves all of them together by at most sqrt(2), however many classes there are.",
            "diffprivlib is not a dependency: the row repeats what its LogisticRegression does, with our own baseline, "
            "rows of length 1 with a constant, and a penalty (0.01) that was chosen on the same data in its favour. "
            "Its LinearRegression adds Laplace noise to the coefficients of the sum of squares, epsilon divided evenly "
            "among them; ours calibrates it to one record replaced, and raises small eigenvalues of the noisy matrix.",
        ),
        curves=(),
        axes=("epsilon", "figure"),
        facts=settings_facts(ask.settings),
    )
