"""A whole training run, from connected processes to the release, against scikit-learn and against the bare kernels."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.benchmarks.apart import PREPARE, VERIFY, bytes_apart, time_apart
from cofit.benchmarks.kernel_calls import InterleavedKernels
from cofit.benchmarks.warm import warm_memory
from cofit.errors import parameter_error
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.inputs import FEATURES, LABELS, Holders
from cofit.learn.plan import Plan, plan_training
from cofit.learn.private_training import private_training
from cofit.roles import Contribution, LocalRun, run_local
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.progress import PROGRAM, SHARE, START
from cofit.roles.local.run import party_names
from cofit.secret import Party
from cofit.secret.stored import ReleaseStore
from cofit.sharing import Spec, scheme_of
from cofit.transport import Counts, LabelCounts

Reals = npt.NDArray[np.float64]
_TRAIN, _CHECK, _NOISE, _KERNEL = "train", "check", "noise", "kernel"
_DENSITY = 0.05
_HELD_BESIDE = 1.5
_FITS = 3
_SKLEARN_TOLERANCE = 1e-6


@dataclass(frozen=True)
class TrainResult:
    """What ``cofit bench train`` prints. Times are medians over the repetitions, and so are ratios within each.

    ``seconds_total``: from connected processes to the released weights (sharing, check, training, noise, release), at
    the party of rank 0. ``seconds_verify``: of that, in checks that the scheme puts off, which are in none of the other
    steps; ``seconds_prepare``: likewise, in making what two parties alone use later, such as transfers and masks;
    ``seconds_train_verified``: ``seconds_train`` and all of them, also those of rows and noise, because what was
    put off is checked together. ``seconds_per_step``: ``seconds_train_verified`` over the epochs. ``bytes_total``:
    payload sent by parties, dealer and owners; ``bytes_check``, ``bytes_noise``: of that, for the check of rows, and to
    draw and add the noise; ``bytes_verify``, ``bytes_prepare``: of that, for checks that were put off and to prepare,
    in whatever step. ``rounds``: of a party.
    ``peak_memory_bytes``: the largest party's peak resident memory above that of a party which connects and does
    nothing; ``peak_memory_ratio``: over the bytes of all parts of its share of X.
    """

    scheme: str
    parties: int
    threshold: int
    route: str
    partition: str
    rows: int
    cols: int
    owners: int
    threads: int
    repetitions: int
    ring: str
    mechanism: str
    epochs: int
    seconds_total: float
    seconds_start: float
    seconds_share: float
    seconds_check: float
    seconds_train: float
    seconds_verify: float
    seconds_train_verified: float
    seconds_per_step: float
    seconds_noise: float
    seconds_prepare: float
    rounds: int
    bytes_total: int
    bytes_check: int
    bytes_noise: int
    bytes_verify: int
    bytes_prepare: int
    sklearn_seconds: float
    ratio_to_sklearn: float
    kernel_seconds: float
    ratio_to_kernel: float
    peak_memory_bytes: int
    peak_memory_ratio: float


@dataclass(frozen=True)
class _Measured:
    """What a party brings back beside its result."""

    kernel_seconds: float
    traffic: LabelCounts
    share_bytes: int


def measure_train(
    rows: int = 1713,
    cols: int = 1874,
    partition: str = "horizontal",
    scheme: str = "rep3",
    epochs: int | str = "auto",
    l2: float = 1.0,
    mechanism: str | None = None,
    delta: float = 0.0,
    owners: int = 2,
    threads: int = 2,
    repetitions: int = 3,
    recipe: str = "paper",
    parties: int | None = None,
    threshold: int | None = None,
    route: str | None = None,
) -> TrainResult:
    """Train on sparse Boolean data that are made up from a seed, with every member a process of its own, over TLS.

    Memory is touched before each run (``warm.py``).
    """
    form: dict[str, Any] = {"scheme": scheme, "threshold": threshold, "route": route}
    if recipe == "best":  # epochs, penalty and noise are its own
        facts = training_facts(
            rows, cols, partition=partition, **form, delta=delta or None, feature_bound=1.0, feature_lower=0.0
        )
    else:
        facts = training_facts(
            rows,
            cols,
            recipe=recipe,
            partition=partition,
            **form,
            delta=delta,
            epochs=epochs,
            l2=l2,
            mechanism=mechanism,
        )
    most = rows if partition == "horizontal" else cols
    if owners > most:
        raise parameter_error("owners", "bench train", f"at most {most}, so that everybody holds something", owners)
    facts = facts.among(parties)
    plan, spec = plan_training(facts), facts.spec(parties)
    features, labels = sparse_boolean_data(rows, cols)
    at_rest = run_local(_idle, scheme=scheme, parties=spec.parties, processes=True, threads=threads)
    idle = max(at_rest.peak_memory.values())
    results = [_once(plan, spec, features, labels, owners, threads, repetitions, idle) for _ in range(repetitions)]
    return TrainResult(
        **{
            field.name: statistics.median(values) if isinstance(values[0], float) else values[0]
            for field in fields(TrainResult)
            if (values := [getattr(result, field.name) for result in results])
        }
    )


def sparse_boolean_data(rows: int, cols: int) -> tuple[Reals, npt.NDArray[np.int64]]:
    """Return features 0 and 1, one in 20 of them 1, and labels that a hidden linear rule gives nine times in ten."""
    rng = np.random.default_rng(1)
    features = (rng.random((rows, cols)) < _DENSITY).astype(np.float64)
    scores = features @ rng.standard_normal(cols)
    labels = (scores > np.median(scores)) ^ (rng.random(rows) < 0.1)
    return features, labels.astype(np.int64)


def _once(
    plan: Plan,
    spec: Spec,
    features: Reals,
    labels: npt.NDArray[np.int64],
    owners: int,
    threads: int,
    repetitions: int,
    idle: int,
) -> TrainResult:
    facts = plan.facts
    given = contributions(plan, features, labels, owners)
    warm_memory(_memory_of(plan, spec))
    run = _train(plan, spec, given, threads)
    measured = list(run.results.values())
    seconds = run.seconds
    verify = seconds.get(VERIFY, 0.0)
    train = seconds[_TRAIN] + verify
    total = seconds[SHARE] + seconds[PROGRAM] - seconds[_KERNEL]
    kernel = max(m.kernel_seconds for m in measured)
    sklearn = _sklearn_seconds(plan, features, labels)
    memory = max(run.peak_memory[name] for name in run.results) - idle
    by_others = sum(c.total.bytes_sent for name, c in run.traffic.items() if name not in run.results)
    return TrainResult(
        scheme=spec.name,
        parties=spec.parties,
        threshold=spec.threshold,
        route=spec.route,
        partition=facts.partition,
        rows=facts.rows,
        cols=facts.cols,
        owners=owners,
        threads=threads,
        repetitions=repetitions,
        ring=plan.formats.ring.name,
        mechanism=plan.mechanism_name,
        epochs=plan.epochs,
        seconds_total=total,
        seconds_start=seconds[START],
        seconds_share=seconds[SHARE],
        seconds_check=seconds[_CHECK],
        seconds_train=seconds[_TRAIN],
        seconds_verify=verify,
        seconds_train_verified=train,
        seconds_per_step=train / plan.epochs,
        seconds_noise=seconds[_NOISE],
        seconds_prepare=seconds.get(PREPARE, 0.0),
        rounds=max(m.traffic.rounds for m in measured),
        bytes_total=by_others + sum(m.traffic.bytes_sent for m in measured),
        bytes_check=sent_under(run.traffic.values(), _CHECK, "coin"),
        bytes_noise=sent_under(run.traffic.values(), _NOISE),
        bytes_verify=sum(bytes_apart(counts, VERIFY) for counts in run.traffic.values()),
        bytes_prepare=sum(bytes_apart(counts, PREPARE) for counts in run.traffic.values()),
        sklearn_seconds=sklearn,
        ratio_to_sklearn=total / sklearn,
        kernel_seconds=kernel,
        ratio_to_kernel=train / kernel,
        peak_memory_bytes=memory,
        peak_memory_ratio=memory / measured[0].share_bytes,
    )


def sent_under(members: Iterable[Counts], *labels: str) -> int:
    """Return what all members sent under labels that begin with one of these."""
    return sum(
        count.bytes_sent for counts in members for label, count in counts.items() if label.split("/")[0] in labels
    )


def contributions(
    plan: Plan, features: Reals, labels: npt.NDArray[np.int64], owners: int
) -> dict[str, dict[str, Contribution]]:
    """Every owner has an equal part of the rows with their labels; or of the columns, and the first has the labels."""
    formats, by_columns = plan.formats, plan.facts.partition == "vertical"
    blocks = np.array_split(features, owners, axis=int(by_columns))
    answers = [labels] if by_columns else np.array_split(labels, owners)
    shared: dict[str, dict[str, Contribution]] = {}
    for i, block in enumerate(blocks):
        values = prepared_features(plan, block)
        shared[f"owner-{i + 1}"] = {FEATURES: Contribution(values, 1.0, formats.of(formats.data))}
        if i < len(answers):
            shared[f"owner-{i + 1}"][LABELS] = Contribution(
                answers[i], plan.target.bound, plan.target.format(formats.ring)
            )
    return shared


def _train(
    plan: Plan, spec: Spec, owners: Mapping[str, Mapping[str, Contribution]], threads: int
) -> LocalRun[_Measured]:
    names = party_names(spec.parties)
    holders = Holders(tuple(owners), tuple(name for name, named in owners.items() if LABELS in named))
    stores: dict[str, ReleaseStore] = {name: MemoryStore() for name in names}
    program = partial(_program, plan=plan, holders=holders, stores=stores)
    return run_local(
        program,
        scheme=spec.name,
        parties=names,
        threshold=spec.threshold,
        route=spec.route,
        owners=owners,
        processes=True,
        threads=threads,
        timeout=600.0,
    )


def _memory_of(plan: Plan, spec: Spec) -> int:
    """About what all parties together take: their shares of X, and half as much again."""
    shares = spec.parties * scheme_of(spec).costs(spec).product_terms
    size = plan.facts.rows * plan.cols * plan.formats.ring.element_bytes
    return int(_HELD_BESIDE * shares * size)


def _program(party: Party, plan: Plan, holders: Holders, stores: Mapping[str, ReleaseStore]) -> _Measured:
    """Expand X as training does; train and release, with the bare kernel calls between, on a clock of their own."""
    time_apart(party)
    party.progress(_TRAIN, 0, plan.epochs)
    by_columns = plan.facts.partition == "vertical"
    pairs = [(owner, FEATURES) for owner in holders.features]
    with party.label("hold"):  # training asks for the same array, and gets it
        x = party.joined(pairs, int(by_columns), constant=plan.constant, held=plan.epochs)
    size = x.size * x.format.ring.element_bytes * party._scheme._part_count
    kernels = InterleavedKernels(party, x, plan.epochs, _TRAIN, _KERNEL)
    del x  # training drops it before the noise is drawn
    private_training(party, plan, holders, stores, key="benchmark")
    return _Measured(kernels.seconds, kernels.without_barriers(party._scheme.mesh.counts.total), size)


def _idle(party: Party) -> None:
    """What a party costs that only connects."""


def _sklearn_seconds(plan: Plan, features: Reals, labels: npt.NDArray[np.int64]) -> float:
    """The median seconds of scikit-learn's fit in the clear: of the same objective on the same normalised rows, or with
    its own penalty on rows of length 1 where descent has no objective.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - a second to import, in every party otherwise

    rows = plan.comparable_rows(features)
    strength = 1.0 if plan.penalty is None else 1 / (plan.facts.rows * float(plan.penalty))
    times = []
    for _ in range(_FITS):
        start = time.perf_counter()
        LogisticRegression(C=strength, tol=_SKLEARN_TOLERANCE, fit_intercept=False, max_iter=1000).fit(rows, labels)
        times.append(time.perf_counter() - start)
    return statistics.median(times)
