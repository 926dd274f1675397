"""What a training run will cost: rounds, bytes and seconds, from the plan alone.

The party program itself runs, on a ``Meter``: shares without values, and the published costs of the plan's scheme. So
bytes are exact and rounds are counted, whatever the plan contains; tests compare both with runs.

Epochs of the paper's method are not run one by one (``recipes/minimiser/cost.py``).

**Seconds are an estimate** for the reference machine (2 cores with AVX2; ``benchmarks/README.md``), or for machines of
another ``pace``, where the parties share ``processors`` cores:

    local     at every party: multiply-adds of matrix products at the kernels' rate, and a constant for each operation
              in Python and for each round; and one for each byte that anybody sends (masks, truncation, copies), for
              each transfer and for each transform under encryption (two parties alone)
    latency   rounds times ``latency``; an owner's stream counts as one round, however many messages it has
    transfer  bytes of all together, over ``bandwidth``; or, where parties are far from each other, over what each of
              them can send (``line``), all at the same time

Where rows are in shards, seconds are those of one of two places:

    one machine      (``workers`` None) all processes of all parties share ``processors`` cores and ``bandwidth``, as
                     in a rehearsal: the work of all shards is added up, and the heads wait for the slowest of them
    W workers each   (``workers``) a party has W machines, and one for its head, with ``cores`` each and a line each:
                     the heads' part, and as many times that of the busiest shard as a worker has shards. Owners'
                     streams come over the heads' lines; what a head hands on to its own workers is not counted
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cofit.errors import parameter_error
from cofit.learn.base_plan import Plan
from cofit.learn.counted import Contributors, Counted, CountedRun, counted_run
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders
from cofit.learn.memory import Memory
from cofit.learn.recipes.descent.public_map import PublicMap
from cofit.learn.reference_machine import REFERENCE, Machines, Pace, Phase
from cofit.learn.weights import weight_facts
from cofit.secret import InputFacts
from cofit.secret.checkpoints import KeptState
from cofit.sharing import Spec

__all__ = ["LOCAL_LATENCY", "Contributors", "Forecast", "Phase", "forecast"]

LOCAL_LATENCY = 1e-4
"""Seconds from sending to receipt, between machines of one building: what estimates assume unless told otherwise."""
DEFAULT_CORES = 2
"""Of a worker: what estimates assume unless told otherwise."""
_SHARE_ROUNDS = 3  # that somebody waits for: setup, the owners' streams, receipts
_PARTS = ("epoch", "verify", "prepare")  # of other phases


@dataclass(frozen=True)
class Places:
    """Where a run is: the parameters of ``forecast``."""

    parties: int
    latency: float
    bandwidth: float
    processors: int
    line: float | None
    shards: int | None
    workers: int | None
    cores: int
    pace: Pace = REFERENCE

    def phases(self, counted: CountedRun) -> dict[str, Any]:
        """Return all phases with their seconds, by the names of ``Forecast``; also the whole of both kinds of
        sessions."""
        found: dict[str, Any] = {
            name: self.phase(one, _SHARE_ROUNDS if name == "share" else None) for name, one in counted.phases.items()
        }
        found["share"] += Phase(0, 0, self._placing(counted.memory.matrix))
        if self.shards is not None:
            whole = sum((one for name, one in counted.phases.items() if name not in _PARTS), Counted.nothing())
            session, head = self._session(), whole.head - counted.owners
            found["heads"] = Phase(head.rounds, head.bytes, session.seconds(head))
            found["shard"] = Phase(whole.shard.rounds, whole.shard.bytes, session.seconds(whole.shard))
        return found

    def phase(self, counted: Counted, waits: int | None = None) -> Phase:
        """Return a phase with its seconds. waits: rounds of the head that take a latency, where not all of them do."""
        if self.shards is None or self.workers is None:
            waited = counted.head.rounds if waits is None else waits
            seconds = self._machines(self.processors, self.shards or 1).seconds(
                counted.head + counted.shards, waited + counted.shard.rounds
            )
        else:
            session = self._session()
            seconds = session.seconds(counted.head, waits)
            seconds += -(-self.shards // self.workers) * session.seconds(counted.shard)
        return Phase(counted.rounds, counted.bytes, seconds)

    def _placing(self, matrix: int) -> float:
        """Seconds to write the shares of the data, of which each party, or each of its shards, has so many bytes."""
        if self.shards is None or self.workers is None:
            return self._machines(self.processors, self.shards or 1).placing(matrix)
        return -(-self.shards // self.workers) * self._session().placing(matrix)

    def _session(self) -> Machines:
        """Those of one session, of heads or of shards."""
        return self._machines(self.processors if self.workers is None else self.parties * self.cores, 1)

    def _machines(self, processors: int, processes: int) -> Machines:
        rate = self.bandwidth if self.line is None else self.parties * self.line
        return Machines(self.parties, self.latency, rate, processors, self.parties * processes, self.pace)


@dataclass(frozen=True)
class Forecast:
    """A training run, phase by phase.

    ``share``: the parties agree on seeds and receive the owners' data. ``check``: of rows and labels, with the coin for
    it. ``train``: up to the secret weights. ``noise``:
    drawn and added. ``release``: announced, stored and opened. ``epoch``: one of the epochs in ``train`` (the first may
    cost less). ``verify``: checks that the scheme puts off; ``prepare``: what two parties alone make before they use
    it, in stocks. The phases in which these are made have them, too. ``checkpoints``: all of them, where some are kept.

    Bytes are exact: what the counters of a run say over all members. Rounds are messages that wait for one another:
    what the party that waits most counts or, where parties wait in turn (``repn``, ``shamir`` from five parties on),
    more. Seconds are an estimate for the reference machine, with this ``latency`` (seconds a message), ``bandwidth``
    (bytes a second, of all members together) and so many ``processors``. ``spec``: the scheme, in the form that was
    counted. ``line``: bytes a second that each party can send; None: ``bandwidth`` says it all. ``memory``: what a
    party needs (``memory.py``).

    Where rows are in shards: rounds of a phase are those of the heads and of one shard, which wait for each other;
    bytes are those of all sessions. ``heads``: the heads' session, without the owners. ``shard``: the session
    of the shard that sends most, of all its members. ``memory`` is then that of the process of a shard, and
    ``head_memory`` that of a head. All three are None without shards.
    """

    share: Phase
    check: Phase
    train: Phase
    noise: Phase
    release: Phase
    epoch: Phase
    verify: Phase
    prepare: Phase
    spec: Spec
    memory: Memory
    counted: CountedRun = field(repr=False, compare=False)
    places: Places
    checkpoints: Phase | None = None
    heads: Phase | None = None
    shard: Phase | None = None
    head_memory: Memory | None = None

    @property
    def latency(self) -> float:
        """Seconds a message."""
        return self.places.latency

    @property
    def bandwidth(self) -> float:
        """Bytes a second, of all members together."""
        return self.places.bandwidth

    @property
    def processors(self) -> int:
        """The cores of all parties together."""
        return self.places.processors

    @property
    def pace(self) -> Pace:
        """Of the machines, against the reference machine."""
        return self.places.pace

    @property
    def line(self) -> float | None:
        """Bytes a second that each party, or each of its workers, can send."""
        return self.places.line

    @property
    def shard_multiply_adds(self) -> int | None:
        """How many multiply-adds of matrix products the busiest shard makes, at each party; None without shards."""
        if self.shard is None:
            return None
        tallies = [one.shard for name, one in self.counted.phases.items() if name not in _PARTS]
        return sum(tally.multiply_adds + tally.wide_multiply_adds for tally in tallies)

    @property
    def phases(self) -> dict[str, Phase]:
        """The phases in their order, by name; together they are the whole run."""
        found = {
            "share": self.share,
            "check": self.check,
            "train": self.train,
            "noise": self.noise,
            "release": self.release,
        }
        return found if self.checkpoints is None else {**found, "checkpoints": self.checkpoints}

    @property
    def total(self) -> Phase:
        """The whole run."""
        return sum(self.phases.values(), Phase(0, 0, 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        assumed: dict[str, Any]
        named = {
            **self.phases,
            "total": self.total,
            "epoch": self.epoch,
            "verify": self.verify,
            "prepare": self.prepare,
        }
        assumed = {"latency": self.latency, "bandwidth": self.bandwidth, "processors": self.processors}
        assumed |= {} if self.line is None else {"line": self.line}
        assumed |= {} if self.pace == REFERENCE else {"pace": asdict(self.pace)}
        spec = {name: getattr(self.spec, name) for name in ("name", "parties", "threshold", "route")}
        plain: dict[str, Any] = {name: dict(phase.__dict__) for name, phase in named.items()}
        return {**plain, "memory": self.memory.to_dict(), "assumed": assumed, "scheme": spec, **self._shards_to_dict()}

    def _shards_to_dict(self) -> dict[str, Any]:
        """Return what there is of shards: nothing where there are none."""
        if self.heads is None or self.shard is None or self.head_memory is None:
            return {}
        places = {name: getattr(self.places, name) for name in ("workers", "cores") if self.places.workers is not None}
        return {
            "shards": {
                "count": self.places.shards,
                **places,
                "heads": dict(vars(self.heads)),
                "shard": dict(vars(self.shard)),
                "shard_multiply_adds": self.shard_multiply_adds,
                "head_memory": self.head_memory.to_dict(),
            }
        }

    def seconds_at(self, latency: float, line: float | None = None) -> float:
        """Return the seconds of the whole run over other lines."""
        return self.at(latency, line).total.seconds

    def at(self, latency: float, line: float | None = None) -> Forecast:
        """Return the same run over other lines: this latency, and so many bytes a second of each party.

        It is the same work with other waits. line: None keeps the transfers as they are.
        """
        places = replace(self.places, latency=latency, line=self.line if line is None else line)
        return replace(self, **places.phases(self.counted), places=places)


def forecast(
    plan: Plan,
    *,
    owners: int | Contributors = 2,
    parties: int | None = None,
    latency: float = LOCAL_LATENCY,
    bandwidth: float = 1e9,
    processors: int = 2,
    line: float | None = None,
    kept: KeptState | None = None,
    noise: bool = True,
    workers: int | None = None,
    cores: int = DEFAULT_CORES,
    pace: Pace = REFERENCE,
) -> Forecast:
    """Return what a run of this plan costs. Rounds and bytes are counted; seconds estimate the reference machine.

    owners: how many, none of them a party, contribute equal parts of the rows (or columns; then the first has the
    labels), as far as there is a row (or a column) for each; or who contributes what.
    parties: how many compute; None takes the scheme's usual number.
    latency: seconds from the sending of a small message to its receipt. bandwidth: bytes a second, of all members
    together. processors: how many cores the parties have, all together. line: bytes a second that each party can send,
    instead of ``bandwidth``.
    kept: what the parties of a study keep at checkpoints, and when; None: nothing, as in a run on one machine.
    noise: False where weights that stay shared have none.
    workers, cores: where rows are in shards: how many machines each party has for them, beside that of its head, and
    how many cores each of these has; ``line`` is then that of each machine, and ``bandwidth`` that of each session.
    None: all processes are on one machine, and share ``processors`` cores.
    pace: of all machines, against the reference machine.
    """
    _check_positive("latency", latency, zero=True)
    _check_positive("bandwidth", bandwidth)
    _check_positive("processors", processors)
    if line is not None:
        _check_positive("line", line)
    shards = plan.facts.shards
    _check_workers(shards, workers, cores)
    given = owners if isinstance(owners, Contributors) else Contributors(*_inputs(plan, owners), {})
    given = replace(given, holders=_with_map(plan, given.holders))
    spec = plan.facts.spec(parties)
    counted = counted_run(plan, spec, given, kept, noise)
    places = Places(spec.parties, latency, bandwidth, processors, line, shards, workers, cores, pace)
    return Forecast(
        **places.phases(counted),
        spec=spec,
        memory=counted.memory,
        head_memory=counted.head_memory,
        counted=counted,
        places=places,
    )


def _inputs(plan: Plan, owners: int) -> tuple[dict[str, Mapping[str, InputFacts]], Holders]:
    """Return equal contributions of so many owners: rows with labels, or columns and all labels at the first."""
    formats, facts = plan.formats, plan.facts
    rows, cols = facts.rows, facts.input_cols + plan.own_columns
    vertical = facts.partition == "vertical"
    most = cols if vertical else rows
    if not isinstance(owners, int) or isinstance(owners, bool) or owners < 1:
        raise parameter_error("owners", "forecast", "an integer that is at least 1", owners)
    owners = min(owners, most)

    inputs: dict[str, Mapping[str, InputFacts]] = {}
    for i in range(owners):
        part = most // owners + (i < most % owners)
        own = {FEATURES: plan.features((rows, part) if vertical else (part, cols))}
        if not vertical or i == 0:
            own[LABELS] = plan.target.facts(rows if vertical else part, formats.ring)
            if plan.facts.weight_bound is not None:
                own[WEIGHTS] = weight_facts(rows if vertical else part, formats.ring)
        inputs[f"owner-{i}"] = own
    names = tuple(inputs)
    return inputs, Holders(names, names[:1] if vertical else names)


def _with_map(plan: Plan, holders: Holders) -> Holders:
    """Return holders with a map where the parties apply one: what it costs does not depend on its numbers."""
    facts = plan.facts
    if facts.reference is None or facts.reference_inputs is None or holders.reference is not None:
        return holders
    return replace(holders, reference=PublicMap.blank(facts.reference, facts.reference_inputs, facts.cols))


def _check_positive(name: str, value: object, *, zero: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value > 0 or (zero and value == 0)):
        raise parameter_error(name, "forecast", "a number that is 0 or more" if zero else "a number above 0", value)


def _check_workers(shards: int | None, workers: int | None, cores: int) -> None:
    for name, value in (("workers", workers), ("cores", cores)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise parameter_error(name, "forecast", "an integer that is at least 1", value)
    if workers is not None and shards is None:
        raise parameter_error("workers", "forecast", "left out (None) for a plan without shards", workers)
