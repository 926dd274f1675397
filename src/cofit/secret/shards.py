"""Rows in several places: what is done to them there, and the sums in which they meet.

A party whose data are more than one machine should hold divides the *rows* among shards. Shard k of every party form a
session of their own: other connections, other seeds. A program for all rows is then of two kinds of steps:

- what treats every row on its own runs in each shard, for the rows it has: ``each``;
- what joins rows is a sum over them. Every shard has the sum of its rows, as a share or as what its scheme has before a
  truncation (``Scheme.partial_sum``). A party adds up those of its shards, and goes on with the other parties in the
  session that they have beside those of the shards, the one of the *heads*: ``total`` and ``added``.

So one program serves both: where a party has no shards, ``each`` is a call, and the others return what they are given.
In the place of a value of many rows a program then has a ``Split``, whose pieces are where the shards are; it may only
be handed on. What the heads' session has is small, and is sent to the shards of a party as it is: a share is of no
session, as randomness is.

**Who sees what.** A shard is a machine of its own party, and sees no more than the party would without it. To the
others a party's shards and head are one: each of their messages is masked from the seeds of its own session, so that
the view of a coalition is the joint one of independent sessions, on shares that were there before, and no draw is used
twice. Sums of partial sums are made inside a party. What is sent of them is masked in the heads' session as it would be
in the only one. Nothing is opened before all sessions have made their checks (``Party.verify``).

**What whoever makes the sessions must see to** (``roles/shards`` does):

- the session ids of shards follow from that of the heads and from the place and number of shards, so that shard k meets
  shards k alone; the number is agreed on;
- the coin of the check of rows is drawn when the contributions of *all* shards are fixed at all parties, and bound to
  them;
- a checkpoint says how rows were divided: verdicts are kept in the order of the shards, and another division would give
  them to other rows;
- a scheme whose soundness is counted by sessions (``repn``) counts those of all shards, and one that leaves something
  to chance (``pair``) divides that among all of them (``Scheme.sessions``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cofit.arithmetic import FixedPoint
from cofit.secret.array import SecretArray
from cofit.secret.conversions import concatenate
from cofit.secret.sums import AddedSum, Sum
from cofit.sharing import Share

if TYPE_CHECKING:
    from cofit.secret.party import Party

R = TypeVar("R")


class Shared(NamedTuple):
    """A value without its session: our share of it, and what is public."""

    share: Share
    format: FixedPoint
    limit: int

    def at(self, party: Party) -> SecretArray:
        """Return the value in the session of this party."""
        return SecretArray(party._scheme, self.share, self.format, self.limit)


class Split:
    """Stands for a value of which every shard has its own piece: of its rows."""

    __slots__ = ("pieces", "shards")

    def __init__(self, shards: Shards, pieces: Sequence[Any]) -> None:
        """pieces: by shard; what they are, only ``shards`` knows."""
        self.shards, self.pieces = shards, tuple(pieces)

    def __repr__(self) -> str:
        return f"<Split among {len(self.pieces)} shards>"


class Shards(ABC):
    """The shards of one party. ``head``: the party itself; ``parties``: itself in the session of each shard."""

    def __init__(self, head: Party, parties: Sequence[Any]) -> None:
        """From now on the head has its rows in these shards. parties: the pieces of ``parties``."""
        self.head, self.parties = head, Split(self, parties)
        head._shards = self

    @abstractmethod
    def each(self, do: Callable[..., object], arguments: Sequence[Any]) -> Split:
        """Run a function in every shard, with the pieces of what is split, and with ``Shared.at`` of secret arrays."""

    @abstractmethod
    def brought(self, pieces: Split) -> list[Any]:
        """Return what is public or ``Shared``, or a list of sums, from every shard, in order."""

    @abstractmethod
    def sent(self, pieces: Sequence[SecretArray]) -> Split:
        """Give each shard its own piece."""


def with_rows(party: Party) -> Party:
    """Return the party where it has the rows of its data: itself, or what stands for it in its shards."""
    place: Any = party if party._shards is None else party._shards.parties
    return place  # type: ignore[no-any-return]


def each(do: Callable[..., R], *arguments: Any) -> R:
    """Return do(*arguments). Where some of these are split, a ``Split`` that stands for it: of what every shard has."""
    split = next((one for one in arguments if isinstance(one, Split)), None)
    if split is None:
        return do(*arguments)
    done: Any = split.shards.each(do, arguments)  # it stands for what it is made of
    return done  # type: ignore[no-any-return]


def added(wanted: Sequence[Sum]) -> Sequence[Sum | AddedSum]:
    """Return sums over all rows, from those over the rows of every shard; still to be computed by ``sums``."""
    if not isinstance(wanted, Split):
        return wanted
    shards = wanted.shards
    by_shard = shards.brought(shards.each(_partial_sums, (wanted,)))
    return [AddedSum(shards.head._scheme, parts) for parts in zip(*by_shard, strict=True)]


def total(value: SecretArray) -> SecretArray:
    """Return the sum of the values that shards have, each that of its rows."""
    if not isinstance(value, Split):
        return value
    first, *others = _at_head(value)
    for other in others:
        first = first + other
    return first


def joined(value: SecretArray) -> SecretArray:
    """Return the rows of all shards, one after the other."""
    return concatenate(_at_head(value)) if isinstance(value, Split) else value


def divided(value: SecretArray, like: SecretArray) -> SecretArray:
    """Return the inverse of ``joined``, in the shards of ``like``, which has as many rows."""
    if not isinstance(like, Split):
        return value
    pieces, start = [], 0
    for rows in like.shards.brought(like.shards.each(len, (like,))):
        pieces.append(value[start : start + rows])
        start += rows
    split: Any = like.shards.sent(pieces)
    return split


def _at_head(value: Split) -> list[SecretArray]:
    shards = value.shards
    return [piece.at(shards.head) for piece in shards.brought(shards.each(shared, (value,)))]


def shared(value: SecretArray) -> Shared:
    """Return a value without its session."""
    return Shared(value._share, value.format, value.integer_limit)


def _partial_sums(wanted: Sequence[Sum]) -> list[Any]:
    return [one.partial() for one in wanted]
