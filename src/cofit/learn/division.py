"""Which rows of the joint data belong to which shard: public, and the same at all parties.

Every owner's rows are divided evenly, in their order: shard k has the k-th part of the rows of each owner. Owners of
columns have the same records, so that shard k has all columns of the k-th part of the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cofit.errors import parameter_error
from cofit.learn.batches import even_parts
from cofit.learn.checked import OWNER
from cofit.secret import InputFacts

Inputs = Mapping[str, Mapping[str, InputFacts]]
MOST_SHARDS = 4096
"""Each has a mesh of its own, and heads tell each other of all of them."""
SHARDS = "shards"
"""The message in which heads tell each other of their shards, once a session."""
DELEGATION_BYTES = 4096
"""What they tell of each: the longest certificate, signature and host name fit."""


def check_shards(shards: object, inputs: Inputs | None = None, owner: str = "a study") -> int:
    """Return a number of shards, or raise InvalidInputError where it is none, or some owner has fewer rows."""
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise parameter_error("shards", owner, f"an integer from 1 to {MOST_SHARDS}", shards)
    check_division(shards, {name: _rows(named) for name, named in (inputs or {}).items()}, owner)
    return shards


def check_division(shards: int, rows: Mapping[str, int], owner: str, name: str = "shards") -> None:
    """Raise InvalidInputError where some owner has fewer rows than there are shards. name: of the parameter."""
    least = min(rows, key=rows.__getitem__, default=None)
    if least is not None and rows[least] < shards:
        must_be = f"at most {rows[least]}, the rows of '{least}': every shard has rows of every owner"
        raise parameter_error(name, owner, must_be, shards)


def check_divisible(shards: int | None, rows: int, *, divisible: bool) -> None:
    """Raise InvalidInputError where a training cannot have so many shards; None: it has none."""
    if shards is None:
        return
    if not divisible:
        must_be = (
            "left out (None) unless recipe='best' and delta > 0 (for example 1e-6), or with steps of K-norm noise "
            "(pure_steps): only noisy descent divides rows "
            "among shards, and every other training runs in one process for each party"
        )
        raise parameter_error("shards", OWNER, must_be, shards)
    if shards > rows:
        raise parameter_error("shards", OWNER, f"at most {rows}, the number of rows", shards)


def divided_rows(inputs: Inputs, shards: int) -> tuple[dict[str, slice], ...]:
    """Return, for every shard, its rows of every owner."""
    parts = {owner: even_parts(_rows(named), shards) for owner, named in inputs.items()}
    return tuple({owner: slice(*part[k]) for owner, part in parts.items()} for k in range(shards))


def facts_of_shard(inputs: Inputs, rows: Mapping[str, slice]) -> dict[str, dict[str, InputFacts]]:
    """Return the facts of what a shard has of every input."""
    return {
        owner: {
            name: replace(facts, shape=(rows[owner].stop - rows[owner].start, *facts.shape[1:]))
            for name, facts in named.items()
        }
        for owner, named in inputs.items()
    }


def _rows(named: Mapping[str, InputFacts]) -> int:
    (rows,) = {facts.shape[0] for facts in named.values()}
    return rows
