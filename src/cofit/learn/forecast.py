"""What a training run will cost: rounds, bytes and seconds, from the plan alone.

The party program itself runs, on a ``Meter``: shares without values, and the published costs of the plan's scheme. So
bytes are exact and rounds are counted, whatever the plan contains; tests compare both with runs.

Epochs of the paper's method are not run one by one (``recipes/minimiser/cost.py``).

**Seconds are an estimate** for the reference machine (2 cores with AVX2; ``benchmarks/README.md``), where the parties
share ``processors`` cores:

    local     at every party: multiply-adds of matrix products at the kernels' rate, and a constant for each operation
              in Python and for each round; and one for each byte that anybody sends (masks, truncation, copies), for
              each transfer and for each transform under encryption (two parties alone)
    latency   rounds times ``latency``; an owner's stream counts as one round, however many messages it has
    transfer  bytes of all together, over ``bandwidth``; or, where parties are far from each other, over what each of
              them can send (``line``), all at the same time

The constants come from the processor time of runs of different shapes; a slow test holds them to a factor of 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from cofit.errors import parameter_error
from cofit.learn.base_plan import Plan
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders
from cofit.learn.memory import Memory, memory_of
from cofit.learn.private_training import private_training
from cofit.learn.recipes.descent.public_map import PublicMap
from cofit.learn.weights import weight_facts
from cofit.secret import InputFacts, Party
from cofit.secret.checkpoints import CHECKPOINT, KeptState, UnsavedCheckpoints
from cofit.sharing import Scheme, Spec, meter_of, scheme_of
from cofit.sharing.meter import Meter
from cofit.sharing.tally import Tally

LOCAL_LATENCY = 1e-4
"""Seconds from sending to receipt, between machines of one building: what estimates assume unless told otherwise."""
MULTIPLY_ADDS_PER_SECOND = 2.1e9  # Z_2^64: `cofit bench kernels`, less a third because cores share the memory
WIDE_MULTIPLY_ADDS_PER_SECOND = 4.3e8  # Z_2^128, likewise
SECONDS_PER_OPERATION = 1.5e-5
SECONDS_PER_ROUND = 3e-4
SECONDS_PER_BYTE = 2e-9
SECONDS_PER_TRANSFORM = 3e-5  # of 8192 coefficients: `cofit bench rlwe`
SECONDS_PER_TRANSFER = 4e-8  # at either end, hashes and all: `cofit bench kernels`
_RECEIPT_BYTES = 1  # from every party to every owner, when its contribution is complete
_TRAIN_LABELS = ("initial", "hold", "norm", "epoch", "intercept")
_CHECK_LABELS, _NOISE_LABEL = ("coin", "check"), "noise"
_SHARE_ROUNDS = 3  # that somebody waits for: setup, the owners' streams, receipts


@dataclass(frozen=True)
class Phase:
    """Rounds, payload bytes of owners and parties together, and estimated seconds."""

    rounds: int
    bytes: int
    seconds: float

    def __add__(self, other: Phase) -> Phase:
        return Phase(self.rounds + other.rounds, self.bytes + other.bytes, self.seconds + other.seconds)


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
    """

    share: Phase
    check: Phase
    train: Phase
    noise: Phase
    release: Phase
    epoch: Phase
    verify: Phase
    prepare: Phase
    latency: float
    bandwidth: float
    processors: int
    spec: Spec
    memory: Memory
    line: float | None = None
    checkpoints: Phase | None = None

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
        named = {
            **self.phases,
            "total": self.total,
            "epoch": self.epoch,
            "verify": self.verify,
            "prepare": self.prepare,
        }
        assumed = {"latency": self.latency, "bandwidth": self.bandwidth, "processors": self.processors}
        assumed |= {} if self.line is None else {"line": self.line}
        spec = {name: getattr(self.spec, name) for name in ("name", "parties", "threshold", "route")}
        plain: dict[str, Any] = {name: dict(phase.__dict__) for name, phase in named.items()}
        return {**plain, "memory": self.memory.to_dict(), "assumed": assumed, "scheme": spec}

    def seconds_at(self, latency: float, line: float | None = None) -> float:
        """Return the seconds of the whole run over other lines."""
        return self.at(latency, line).total.seconds

    def at(self, latency: float, line: float | None = None) -> Forecast:
        """Return the same run over other lines, about: this latency, and so many bytes a second of each party.

        It is the same work with other waits. line: None keeps the transfers as they are.
        """
        slower = 0.0 if line is None else self._seconds_a_byte(line) - self._seconds_a_byte(self.line)

        def there(phase: Phase, rounds: int | None = None) -> Phase:
            waits = (phase.rounds if rounds is None else rounds) * (latency - self.latency)
            return replace(phase, seconds=phase.seconds + waits + phase.bytes * slower)

        return replace(
            self,
            share=there(self.share, _SHARE_ROUNDS),
            check=there(self.check),
            train=there(self.train),
            noise=there(self.noise),
            release=there(self.release),
            epoch=there(self.epoch),
            verify=there(self.verify),
            prepare=there(self.prepare),
            checkpoints=None if self.checkpoints is None else there(self.checkpoints),
            latency=latency,
            line=self.line if line is None else line,
        )

    def _seconds_a_byte(self, line: float | None) -> float:
        return 1 / (self.bandwidth if line is None else self.spec.parties * line)


@dataclass(frozen=True)
class Contributors:
    """Who contributes what: the public facts of every owner's inputs. ``ranks``: of the owners that are parties."""

    inputs: Mapping[str, Mapping[str, InputFacts]]
    holders: Holders
    ranks: Mapping[str, int]


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
    """
    _check_positive("latency", latency, zero=True)
    _check_positive("bandwidth", bandwidth)
    _check_positive("processors", processors)
    if line is not None:
        _check_positive("line", line)
    given = owners if isinstance(owners, Contributors) else Contributors(*_inputs(plan, owners), {})
    inputs, holders = given.inputs, _with_map(plan, given.holders)
    spec = plan.facts.spec(parties)
    scheme = scheme_of(spec)
    machine = _Machine(spec.parties, latency, bandwidth if line is None else spec.parties * line, processors)

    meter = meter_of(scheme, spec)
    party = Party(meter, inputs)
    meter.setup()
    _collect(party, meter, scheme, given)
    shared = meter.tally
    costs = scheme.costs(spec)
    irregular = costs.late is not None or costs.in_stocks
    other = meter_of(scheme, spec)

    def again() -> Party:
        another = Party(other, inputs)
        _collect(another, other, scheme, given)
        return another

    # Where checks come late, or stocks are filled up, when that is due depends on all that was done before: no epoch is
    # left out.
    further, epoch = (Tally(), None) if irregular else plan.left_out(other, again, holders)
    counted = plan if irregular else plan.shortest
    checkpoints = None if kept is None else UnsavedCheckpoints(kept)
    private_training(party, counted, holders, {party.name: _NoStore()}, "forecast", checkpoints, noise)
    trained = sum((meter.tally_of(label) for label in _TRAIN_LABELS), Tally())
    perturbed = meter.tally_of(_NOISE_LABEL)
    checked = sum((meter.tally_of(label) for label in _CHECK_LABELS), Tally())
    storing = meter.tally_of(CHECKPOINT)
    rest = meter.tally - shared - trained - perturbed - checked - storing
    if kept is not None and counted.epochs < plan.epochs:
        storing += _further_checkpoints(other, kept, counted.epochs)
    if epoch is None:
        epoch = Tally(*(count // plan.epochs for count in astuple(meter.tally_of("epoch"))))
    receipts = Tally(bytes=_RECEIPT_BYTES * len(inputs) * machine.parties)
    return Forecast(
        share=machine.phase(shared + receipts, waits=_SHARE_ROUNDS),
        check=machine.phase(checked),
        train=machine.phase(trained + further),
        noise=machine.phase(perturbed),
        release=machine.phase(rest),
        epoch=machine.phase(epoch),
        verify=machine.phase(meter.verification_tally),
        prepare=machine.phase(meter.prepared_tally),
        latency=latency,
        bandwidth=bandwidth,
        processors=processors,
        spec=spec,
        memory=memory_of(plan, spec, meter.live.peak),
        line=line,
        checkpoints=None if kept is None else machine.phase(storing),
    )


def _further_checkpoints(meter: Meter, kept: KeptState, done: int) -> Tally:
    """Return what the checkpoints cost that are due after steps that were not run."""
    start = meter.tally
    for step in kept.due:
        if step > done:
            meter.refresh(meter.constant(kept.ring, kept.ring.zeros((kept.size(step),))))
    return meter.tally - start


def _collect(party: Party, meter: Meter, scheme: type[Scheme], given: Contributors) -> None:
    """Receive every owner's contribution; owners that are parties keep theirs, where the scheme lets them."""
    for owner, named in given.inputs.items():
        holder = given.ranks.get(owner) if scheme.info.knows_inputs else None
        for name, facts in named.items():
            ring = facts.format.ring
            if holder is None:
                party.take(owner, name, meter.receive_input(owner, ring, facts.shape))
            else:
                party.take(owner, name, meter.receive_known(ring, facts.shape, holder))


@dataclass(frozen=True)
class _Machine:
    parties: int
    latency: float
    bandwidth: float
    processors: int

    def phase(self, tally: Tally, waits: int | None = None) -> Phase:
        """Return a phase with its seconds. ``waits``: rounds that take a latency, where not all of them do."""
        kernels = tally.multiply_adds / MULTIPLY_ADDS_PER_SECOND
        kernels += tally.wide_multiply_adds / WIDE_MULTIPLY_ADDS_PER_SECOND
        steps = tally.operations * SECONDS_PER_OPERATION + tally.rounds * SECONDS_PER_ROUND
        local = self.parties * kernels / self.processors
        local += (self.parties * steps + tally.bytes * SECONDS_PER_BYTE) / min(self.processors, self.parties)
        prepared = tally.transforms * SECONDS_PER_TRANSFORM + tally.transfers * SECONDS_PER_TRANSFER
        local += prepared / min(self.processors, self.parties)
        waiting = (tally.rounds if waits is None else waits) * self.latency
        return Phase(tally.rounds, tally.bytes, local + waiting + tally.bytes / self.bandwidth)


class _NoStore:
    """There is nothing to keep."""

    def load(self) -> bytes | None:
        return None

    def confirm(self) -> None:
        pass

    def save(self, record: bytes) -> None:
        del record


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
