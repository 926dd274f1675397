"""A job: what the parties of a study compute together, on which inputs, and what of it they may open.

Party, dealer, owner and ledger know a job by this interface alone. A job follows from public facts, so that everybody
who takes part makes the same one; its ``hash`` is compared before a share is touched.

    owners      encode what ``inputs`` says, charge their ledgers what ``policy`` says, and share it
    parties     ``run`` it on the stored shares; what it hands to ``release`` is stored and opened, once (``steps``)
    the dealer  runs it too, without values
    analysts    get what ``publish`` made of the opened numbers, signed by every party

Who writes a job answers for its privacy: what it releases must be covered by what the policy charges. The party does
the rest, and no code of a job has a part in it: a value is drawn, every party charges its ledger and stores it, and
only the stored one is opened, of that shape, to those, for that reason (``party.guard``). A program that opens anything
itself is stopped. Most jobs release one value: ``OneRelease``. One that releases several lists them in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Shape
from cofit.errors import ProtocolError
from cofit.learn.memory import Memory
from cofit.privacy.accounted import AccountedRelease
from cofit.roles.files.ledger import Exposure, Ledger, PrivacyCost
from cofit.secret import InputFacts, Opening, Party, SecretArray
from cofit.secret.checkpoints import Checkpoints, KeptState
from cofit.secret.stored import ReleaseStore
from cofit.sharing import Spec
from cofit.sharing.inputs import Values
from cofit.study.agreement import Agreement
from cofit.study.expected import party_ranks
from cofit.transport import Identity

if TYPE_CHECKING:
    from cofit.study.encode import EncodedTable

Reals = npt.NDArray[np.float64]
Draw: TypeAlias = Callable[[], SecretArray]
Release: TypeAlias = Callable[[Draw], npt.NDArray[Any] | None]
"""Stores and opens the next value that the policy lists; None where it is not learned, as at a dealer (``steps``)."""


@dataclass(frozen=True)
class AllowedOpening:
    """One value that may be opened: its shape, who learns it (by rank), and the reason, which the audit log says.

    kept: so many more elements come before it in the vector that is drawn: stored with it, and never opened. Where the
    shape is (0,), nothing is opened at all.
    """

    reason: str
    shape: Shape
    learned_by: tuple[str, ...]
    kept: int = 0

    @property
    def drawn(self) -> Shape:
        """The shape of what is drawn and stored."""
        return (self.kept + self.shape[0],) if self.kept else self.shape

    def __str__(self) -> str:
        return f"of shape {self.shape} to {', '.join(self.learned_by)} ({self.reason!r})"


class Policy(ABC):
    """What may be opened, in this order, and what every ledger is charged before the first."""

    @property
    @abstractmethod
    def openings(self) -> tuple[AllowedOpening, ...]:
        """All openings, each once: a repetition opens the same stored shares again."""

    @abstractmethod
    def charge(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] = ()) -> bool:
        """Charge a run of the study to a data set, durably; False if it was charged before.

        parties: their incarnations, none in a party's own ledger.
        """

    @abstractmethod
    def due(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] | None = None) -> bool:
        """Whether a run by these parties (None: any) was not charged yet; raise where it may not be; charge nothing."""

    @property
    @abstractmethod
    def charged(self) -> Mapping[str, float]:
        """What is charged, for the audit log."""

    def allowed(self, number: int) -> AllowedOpening:
        """Return the opening of that number, from 1; ProtocolError where there is none."""
        if not 1 <= number <= len(self.openings):
            raise ProtocolError(
                f"The job wants to make opening {number}, and its policy allows {len(self.openings)}. Nothing was "
                "opened."
            )
        return self.openings[number - 1]

    def check(self, opening: Opening) -> None:
        """Raise ProtocolError unless this is the opening that the policy allows."""
        asked = AllowedOpening(opening.reason, opening.shape, opening.learned_by)
        known = self.openings[opening.number - 1 : opening.number]
        if [replace(one, kept=0) for one in known] == [asked]:
            return
        allows = f"one opening, {self.openings[0]}" if len(self.openings) == 1 else f"{len(self.openings)} openings"
        if len(self.openings) > 1 and known:
            allows += f", and this one {known[0]}"
        raise ProtocolError(
            f"The job wants to open a value {asked} as opening {opening.number}. Its policy allows {allows}. Nothing "
            "was opened."
        )


@dataclass(frozen=True)
class ReleasePolicy(Policy):
    """The policy of one noisy value, of which the first ``kept`` elements are not opened. (epsilon, delta) is the
    account of all noisy ``releases`` together."""

    reason: str
    shape: Shape
    learned_by: tuple[str, ...]
    epsilon: Fraction
    delta: Fraction
    releases: tuple[AccountedRelease, ...]
    kept: int = 0

    @property
    def openings(self) -> tuple[AllowedOpening, ...]:
        return (AllowedOpening(self.reason, self.shape, self.learned_by, self.kept),)

    def charge(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] = ()) -> bool:
        return ledger.charge(self.cost(dataset, study), parties)

    def due(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] | None = None) -> bool:
        return ledger.check(self.cost(dataset, study), parties)

    def cost(self, dataset: str, study: Agreement) -> PrivacyCost:
        """What the ledger is charged for one run."""
        return PrivacyCost(dataset, study.hash, study.name, self.epsilon, self.delta, self.releases)

    @property
    def charged(self) -> Mapping[str, float]:
        return {"epsilon": float(self.epsilon), "delta": float(self.delta)}


class ExposurePolicy(Policy):
    """The policy of what no epsilon covers: ledgers note what is opened, before the first opening."""

    @abstractmethod
    def exposure(self, dataset: str) -> Exposure:
        """What the ledger lists for one run."""

    def charge(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] = ()) -> bool:
        return ledger.expose(self.exposure(dataset), parties)

    def due(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] | None = None) -> bool:
        return not ledger.noted(self.exposure(dataset), parties)

    @property
    def charged(self) -> Mapping[str, float]:
        return {}


@dataclass(frozen=True)
class Work:
    """What a session gives a job.

    checkpoints: None where the job keeps no state. coin: returns the study's common coin, the same in each session; a
    dealer, which holds nothing that could be checked by it, takes part in the toss. keep: stores what this party alone
    has of the result, durably; None at a dealer. spread: brings the rows of the inputs to the shards of the party,
    where it has some; to be called before the inputs are used.
    """

    party: Party
    checkpoints: Checkpoints | None
    coin: Callable[[], bytes]
    keep: Callable[[bytes], None] | None = None
    spread: Callable[[Party], None] | None = None


@dataclass(frozen=True)
class Outcome:
    """What a session brings to a party: the numbers that were opened to all, and what its program returned."""

    numbers: npt.NDArray[Any]
    result: object = None


class Job(Protocol):
    """One job of one study. See the module for who calls what."""

    @property
    def study(self) -> Agreement:
        """The study whose job it is."""

    @property
    def name(self) -> str:
        """What it is called in logs and answers: one word."""

    @property
    def hash(self) -> str:
        """The SHA-256, in hex, of everything that all parties must have in common to compute the same."""

    @property
    def spec(self) -> Spec:
        """The scheme of the study, in the form in which the parties run it."""

    @property
    def inputs(self) -> Mapping[str, Mapping[str, InputFacts]]:
        """The contributions that it takes: of every owner, by name."""

    @property
    def ranks(self) -> Mapping[str, int]:
        """Of those who bring inputs and are parties: these may hold their own as they are."""

    @property
    def policy(self) -> Policy:
        """What may be released."""

    @property
    def replays(self) -> bool:
        """Whether its program, and so the data, are needed again where what it opens first is stored."""

    @property
    def state(self) -> KeptState | None:
        """What is kept while it runs, and when; None: it starts over after an interruption."""

    def run(self, work: Work, release: Release) -> Outcome:
        """The party program. All that it opens goes through ``release``, in the order of the policy."""

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> bytes:
        """Return what analysts get: the numbers, with what they mean and guarantee."""

    def numbers(self, published: bytes) -> tuple[float, ...]:
        """Return the numbers in what ``publish`` made; raise InvalidInputError if it is of another study, or damaged.

        A later session opens the same numbers again: a party that published others knows that something is wrong.
        """

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        """Return what a party signs of it: bytes that begin with ``files.signatures.TAG``."""

    def progress(self, step: str, done: int, total: int) -> str:
        """Return in words how far a step of the program is."""

    @property
    def questions(self) -> Questions | None:
        """What its parties answer to clients once it is done; None: nothing."""

    @property
    def memory(self) -> Memory | None:
        """What a party needs of memory, or the process of a shard where it has some; None: it is not known, and all
        shares are in memory."""

    @property
    def shards(self) -> int | None:
        """Among how many the rows of a party are divided; None: it is one process."""

    @property
    def head_memory(self) -> Memory | None:
        """What the head of a party needs of memory where it has shards; None: it has none."""

    def seconds(self, latency: float, rate: float) -> Mapping[str, tuple[float, float]]:
        """Return about how long each step of the program takes over lines with this latency (seconds) and rate (bytes
        a second that each party can send): before it tells of any progress, and from then on. Nothing, where the job
        cannot tell. It may take its time to say so.
        """


@dataclass(frozen=True)
class Question:
    """What a client asks: its query, of random id (32 hexadecimal digits), how many rows it shares, and for what."""

    query: str
    client: str
    rows: int
    answers: str


class QueryJob(Job, Protocol):
    """The job of answering one question; what it opens is under the client's own mask."""

    @property
    def question(self) -> Question:
        """The question."""

    @property
    def limit(self) -> int | None:
        """Of how many rows the client is answered in all; None: of any number."""


class Questions(Protocol):
    """Makes the jobs that answer clients, from the shares or the numbers that a job has left at its parties."""

    def asked(self, question: Question, kept: Kept | None = None) -> QueryJob:
        """Return the job of a question, or raise InvalidInputError where the study does not allow it.

        kept: what this party has of the job that ran before; None at clients and dealers.
        """


class Kept(Protocol):
    """What one party keeps of a job that is done."""

    def store(self) -> ReleaseStore:
        """Where its stored release is."""

    def published(self) -> bytes:
        """What it has published."""


class TableJob(Job, Protocol):
    """A job whose inputs are made of the owners' encoded tables."""

    def encode(self, name: str, facts: InputFacts, table: EncodedTable) -> Values | None:
        """Return one input of an owner, in the format of ``facts``; None if its table has no such."""


class OneRelease(ABC):
    """A job that computes one value and releases it to all parties: the part of ``Job`` that all such share."""

    study: Agreement
    replays = False
    questions: Questions | None = None
    memory: Memory | None = None
    shards: int | None = None
    head_memory: Memory | None = None

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """Those of owners that are parties."""
        return party_ranks(self.study)

    @abstractmethod
    def value(self, work: Work) -> SecretArray:
        """The party program: return what is to be released, noise included. Called if no party has stored one."""

    @abstractmethod
    def in_units(self, opened: npt.NDArray[Any]) -> Reals:
        """Return the opened value as the numbers that ``publish`` takes."""

    def run(self, work: Work, release: Release) -> Outcome:
        """Compute and release the value."""
        opened = release(lambda: self.value(work))
        return Outcome(np.zeros(0) if opened is None else self.in_units(opened))
