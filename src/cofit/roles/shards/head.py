"""The head of a party whose rows are in shards on workers: it tells them what to compute, and adds up their sums.

Steps are gathered, and go to a worker with the next thing that the head wants from it: so a step of training is one
message to every worker and one back. Public facts, such as the plan, go once. Every worker takes steps in the same
order, and so do those of the other parties, because their heads run the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cofit.roles.shards.arrived import arrived
from cofit.roles.shards.session import HERE, Drop, Ref, Step
from cofit.roles.shards.shard import Shard, results
from cofit.secret import Party, SecretArray
from cofit.secret.shards import Shards, Split, shared
from cofit.transport import Counts


class _Kept(Split):
    """What workers keep under one number, for as long as this object lives."""

    __slots__ = ("number",)
    shards: ClusterShards

    def __init__(self, shards: ClusterShards, number: int, count: int) -> None:
        super().__init__(shards, (number,) * count)
        self.number = number

    def __del__(self) -> None:
        self.shards.drop(self.number)


class ClusterShards(Shards):
    """The shards of one party on workers. ``check``: called while it waits, and raises what ends the session."""

    def __init__(self, head: Party, shards: Sequence[Shard], check: Callable[[], None]) -> None:
        self._shards = tuple(shards)
        self._check = check
        self._steps: list[list[Step | Drop]] = [[] for _ in shards]
        self._facts: dict[int, tuple[object, Ref]] = {}
        self._last = HERE
        super().__init__(head, [HERE] * len(shards))

    def each(self, do: Callable[..., object], arguments: Sequence[Any]) -> Split:
        given = tuple(self._told(argument) for argument in arguments)
        number, label = self._next(), self.head._scheme._label
        for steps in self._steps:
            steps.append(Step(number, label, do, given))
        return _Kept(self, number, len(self._shards))

    def brought(self, pieces: Split) -> list[Any]:
        number = pieces.pieces[0]
        taken, self._steps = self._steps, [[] for _ in self._shards]
        asked = [shard.ask("run", steps, number) for shard, steps in zip(self._shards, taken, strict=True)]
        return list(map(arrived, results(asked, self._shards, self._check)))

    def sent(self, pieces: Sequence[SecretArray]) -> Split:
        number, label = self._next(), self.head._scheme._label
        for steps, piece in zip(self._steps, pieces, strict=True):
            steps.append(Step(number, label, _itself, (shared(piece),)))
        return _Kept(self, number, len(self._shards))

    def drop(self, number: int) -> None:
        """Let the workers keep it no longer."""
        for steps in self._steps:
            steps.append(Drop(number))

    def counts(self) -> list[tuple[Counts, float]]:
        """Return the traffic of every shard's session so far, and the processor seconds of its process: after all steps
        that it was to take until now.
        """
        taken, self._steps = self._steps, [[] for _ in self._shards]
        asked = [shard.ask("run", steps, None) for shard, steps in zip(self._shards, taken, strict=True)]
        results(asked, self._shards, self._check)
        return results([shard.ask("counts") for shard in self._shards], self._shards, self._check)

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _told(self, argument: Any) -> Any:
        """Return an argument as a worker gets it."""
        if isinstance(argument, Split):
            return Ref(argument.pieces[0])
        if isinstance(argument, SecretArray):
            return shared(argument)
        return self._told_once(argument) if _is_fact(argument) else argument

    def _told_once(self, fact: object) -> Ref:
        """Let every worker keep a public fact as long as the session; return what stands for it. It never changes."""
        if id(fact) not in self._facts:
            number = self._next()
            for steps in self._steps:
                steps.append(Step(number, self.head._scheme._label, _itself, (fact,)))
            self._facts[id(fact)] = fact, Ref(number)  # with the fact, so that nothing else gets its id
        return self._facts[id(fact)][1]


def _is_fact(value: Any) -> bool:
    parameters = getattr(value, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _itself(value: Any) -> Any:
    return value
