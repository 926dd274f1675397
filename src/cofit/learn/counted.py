"""What a training run sends and computes, counted: its program runs on meters, phase by phase, with or without shards.

Epochs of the paper's method are not run one by one (``recipes/minimiser/cost.py``). Shards with as many rows of every
owner are counted once (``secret/metered_shards.py``), so that many of them take no longer than a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field

from cofit.learn.base_plan import Plan
from cofit.learn.division import DELEGATION_BYTES, SHARDS, check_shards, divided_rows, facts_of_shard
from cofit.learn.inputs import LABELS, Holders
from cofit.learn.memory import Memory, head_memory_of, memory_of
from cofit.learn.private_training import private_training
from cofit.secret import InputFacts, Party
from cofit.secret.checkpoints import CHECKPOINT, KeptState, UnsavedCheckpoints
from cofit.secret.metered_shards import MeteredShards
from cofit.sharing import Spec, meter_of, scheme_of
from cofit.sharing.meter import Meter
from cofit.sharing.tally import Tally

TRAIN_LABELS = ("initial", "hold", "norm", "epoch", "intercept")
_CHECK_LABELS, _NOISE_LABEL = ("coin", "check"), "noise"
_RECEIPT_BYTES = 1  # from every party to every owner, when its contribution is complete


@dataclass(frozen=True)
class Contributors:
    """Who contributes what: the public facts of every owner's inputs. ``ranks``: of the owners that are parties."""

    inputs: Mapping[str, Mapping[str, InputFacts]]
    holders: Holders
    ranks: Mapping[str, int]


@dataclass(frozen=True)
class Counted:
    """A phase. ``head``: of the only session, or of that of the heads. ``shard``: of that of the shard that sends most;
    ``shards``: of the sessions of all shards together."""

    head: Tally
    shard: Tally = field(default=Tally())
    shards: Tally = field(default=Tally())

    @property
    def rounds(self) -> int:
        """What a party waits for: its head, and the slowest of its shards."""
        return self.head.rounds + self.shard.rounds

    @property
    def bytes(self) -> int:
        """What all members send, in all sessions."""
        return self.head.bytes + self.shards.bytes

    @classmethod
    def nothing(cls) -> Counted:
        """Of no phase."""
        return cls(Tally())

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.head + other.head, self.shard + other.shard, self.shards + other.shards)


@dataclass(frozen=True)
class CountedRun:
    """A run. ``phases``: by the names of ``Forecast``. ``memory``: of a party, or of the process of a shard;
    ``head_memory``: of a head. ``owners``: what they send, and are sent, which is part of the first phase."""

    phases: Mapping[str, Counted]
    memory: Memory
    owners: Tally
    head_memory: Memory | None = None


def counted_run(plan: Plan, spec: Spec, given: Contributors, kept: KeptState | None, noise: bool) -> CountedRun:
    """Return what a run of this plan sends and computes."""
    if plan.facts.shards is not None:
        return _in_shards(plan, spec, given, kept, noise, check_shards(plan.facts.shards, given.inputs, "a forecast"))
    scheme = scheme_of(spec)
    meter = meter_of(scheme, spec)
    party = Party(meter, given.inputs)
    meter.setup()
    begun = meter.tally
    _collect(party, meter, spec, given)
    shared, received = meter.tally, _receipts(spec, given) + meter.tally - begun
    costs = scheme.costs(spec)
    irregular = costs.late is not None or costs.in_stocks
    other = meter_of(scheme, spec)

    def again() -> Party:
        another = Party(other, given.inputs)
        _collect(another, other, spec, given)
        return another

    # Where checks come late, or stocks are filled up, when that is due depends on all that was done before: no epoch is
    # left out.
    further, epoch = (Tally(), None) if irregular else plan.left_out(other, again, given.holders)
    counted = plan if irregular else plan.shortest
    _train(party, counted, given.holders, kept, noise)
    found = _by_phase(meter, shared, plan.epochs)
    found["train"] += further
    found["share"] += _receipts(spec, given)
    if kept is not None and counted.epochs < plan.epochs:
        found["checkpoints"] += _further_checkpoints(other, kept, counted.epochs)
    if epoch is not None:
        found["epoch"] = epoch
    phases = {name: Counted(tally) for name, tally in found.items() if name != "checkpoints" or kept is not None}
    return CountedRun(phases, memory_of(plan, spec, meter.live.peak), received)


def _in_shards(
    plan: Plan, spec: Spec, given: Contributors, kept: KeptState | None, noise: bool, shards: int
) -> CountedRun:
    """The same with the rows in shards. Owners contribute as always: a party gives its shards what they need of it."""
    places = divided_rows(given.inputs, shards)
    sizes = [tuple(part.stop - part.start for part in place.values()) for place in places]
    counts = Counter(sizes)
    kinds = {size: _shard(spec, given, places[sizes.index(size)], shards + 1) for size in counts}
    entrance, meter = (meter_of(scheme_of(spec), spec) for _ in range(2))
    meter.sessions = shards + 1
    _collect(Party(entrance, given.inputs), entrance, spec, given)
    meter.setup()
    head = Party(meter, {})
    head.announce(SHARDS, bytes(shards * DELEGATION_BYTES))
    begun = meter.tally
    number = {size: k for k, size in enumerate(kinds)}
    MeteredShards(head, [kind.party for kind in kinds.values()], [number[size] for size in sizes])
    _train(head, plan, given.holders, kept, noise)
    found = _by_phase(meter, begun, plan.epochs)
    owners = entrance.tally + _receipts(spec, given)
    found["share"] += owners
    by_kind = {size: kind.phases(plan.epochs) for size, kind in kinds.items()}
    busiest = max(kinds, key=lambda size: (kinds[size].meter.tally.bytes, kinds[size].meter.tally.rounds))
    phases = {}
    for name, tally in found.items():
        if name == "checkpoints" and kept is None:
            continue
        together = sum((by_kind[size][name] * count for size, count in counts.items()), Tally())
        phases[name] = Counted(tally, by_kind[busiest][name], together)
    memories = [memory_of(plan, spec, kind.meter.live.peak, _rows(kind.party, given)) for kind in kinds.values()]
    largest = max(memories, key=lambda memory: memory.in_memory)
    return CountedRun(phases, largest, owners, head_memory_of(plan, spec, meter.live.peak))


@dataclass(frozen=True)
class _Shard:
    """A kind of shard. ``received``: what a meter counted for its inputs, which are their party's; ``begun``: when the
    session has begun."""

    meter: Meter
    party: Party
    received: Tally
    begun: Tally

    def phases(self, epochs: int) -> dict[str, Tally]:
        """Return what its session took."""
        found = _by_phase(self.meter, self.begun, epochs)
        found["share"] -= self.received
        return found


def _shard(spec: Spec, given: Contributors, place: Mapping[str, slice], sessions: int) -> _Shard:
    meter, inputs = meter_of(scheme_of(spec), spec), facts_of_shard(given.inputs, place)
    meter.sessions = sessions
    party = Party(meter, inputs)
    _collect(party, meter, spec, Contributors(inputs, given.holders, given.ranks))
    received = meter.tally
    meter.setup()
    return _Shard(meter, party, received, meter.tally)


def _rows(party: Party, given: Contributors) -> int:
    """Return how many rows of the joint data a shard has."""
    return sum(party.facts(owner, LABELS).shape[0] for owner in given.holders.labels)


def _train(party: Party, plan: Plan, holders: Holders, kept: KeptState | None, noise: bool) -> None:
    checkpoints = None if kept is None else UnsavedCheckpoints(kept)
    private_training(party, plan, holders, {party.name: NoStore()}, "forecast", checkpoints, noise)


def _by_phase(meter: Meter, shared: Tally, epochs: int) -> dict[str, Tally]:
    """Return what a meter counted, by phase. shared: what it had counted when the program began."""
    trained = sum((meter.tally_of(label) for label in TRAIN_LABELS), Tally())
    perturbed = meter.tally_of(_NOISE_LABEL)
    checked = sum((meter.tally_of(label) for label in _CHECK_LABELS), Tally())
    storing = meter.tally_of(CHECKPOINT)
    return {
        "share": shared,
        "check": checked,
        "train": trained,
        "noise": perturbed,
        "release": meter.tally - shared - trained - perturbed - checked - storing,
        "checkpoints": storing,
        "epoch": Tally(*(count // epochs for count in astuple(meter.tally_of("epoch")))),
        "verify": meter.verification_tally,
        "prepare": meter.prepared_tally,
    }


def _receipts(spec: Spec, given: Contributors) -> Tally:
    return Tally(bytes=_RECEIPT_BYTES * len(given.inputs) * spec.parties)


def _further_checkpoints(meter: Meter, kept: KeptState, done: int) -> Tally:
    """Return what the checkpoints cost that are due after steps that were not run."""
    start = meter.tally
    for step in kept.due:
        if step > done:
            meter.refresh(meter.constant(kept.ring, kept.ring.zeros((kept.size(step),))))
    return meter.tally - start


def _collect(party: Party, meter: Meter, spec: Spec, given: Contributors) -> None:
    """Receive every owner's contribution; owners that are parties keep theirs, where the scheme lets them."""
    for owner, named in given.inputs.items():
        holder = given.ranks.get(owner) if scheme_of(spec).info.knows_inputs else None
        for name, facts in named.items():
            ring = facts.format.ring
            if holder is None:
                party.take(owner, name, meter.receive_input(owner, ring, facts.shape))
            else:
                party.take(owner, name, meter.receive_known(ring, facts.shape, holder))


class NoStore:
    """There is nothing to keep."""

    def load(self) -> bytes | None:
        """Find nothing."""
        return None

    def confirm(self) -> None:
        """Do nothing."""

    def save(self, record: bytes) -> None:
        """Keep nothing."""
        del record
