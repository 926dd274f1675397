"""A job: what the parties of a study compute together, on which inputs, and what of it they may open.

Party, dealer, owner and ledger know a job by this interface alone. A job follows from public facts, so that everybody
who takes part makes the same one; its ``hash`` is compared before a share is touched.

    owners      encode what ``inputs`` says, charge their ledgers what ``policy`` says, and share it
    parties     run ``value`` on the stored shares, store what it returns, and open that, once (``steps.release``)
    the dealer  runs ``value`` too, without values
    analysts    get what ``publish`` made of the opened numbers, signed by every party

Who writes a job answers for its privacy: what ``value`` returns must be covered by what the policy charges. The party
does the rest, and no code of a job has a part in it: one value is drawn, every party charges its ledger and stores it,
and only the stored one is opened, of that shape, to those, for that reason (``party.guard``). A program that opens
anything itself is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray, Shape
from cofit.errors import ProtocolError
from cofit.privacy.accounted import AccountedRelease
from cofit.secret import InputFacts, Opening, Party, SecretArray
from cofit.secret.checkpoints import Checkpoints, KeptState
from cofit.sharing import Spec
from cofit.study.document import Study
from cofit.transport import Identity

if TYPE_CHECKING:
    from cofit.study.encode import EncodedTable

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReleasePolicy:
    """What may be opened, to whom, and what every ledger is charged before.

    One value of this shape, once: a repetition opens the same stored shares again. ``reason`` is what the audit log
    says. (epsilon, delta) is the account of all noisy ``releases`` together.
    """

    reason: str
    shape: Shape
    learned_by: tuple[str, ...]
    epsilon: Fraction
    delta: Fraction
    releases: tuple[AccountedRelease, ...]

    def check(self, opening: Opening) -> None:
        """Raise ProtocolError unless this is the opening that the policy allows."""
        asked = opening.reason, opening.shape, opening.learned_by
        if opening.number != 1 or asked != (self.reason, self.shape, self.learned_by):
            raise ProtocolError(
                f"The job wants to open a value of shape {opening.shape} to {', '.join(opening.learned_by)} "
                f"({opening.reason!r}, opening {opening.number}). Its policy allows one opening, of shape {self.shape} "
                f"to {', '.join(self.learned_by)} ({self.reason!r}). Nothing was opened."
            )


@dataclass(frozen=True)
class Work:
    """What a session gives a job.

    checkpoints: None where the job keeps no state. coin: returns the study's common coin, the same in each session; a
    dealer, which holds nothing that could be checked by it, takes part in the toss.
    """

    party: Party
    checkpoints: Checkpoints | None
    coin: Callable[[], bytes]


class Job(Protocol):
    """One job of one study. See the module for who calls what."""

    @property
    def study(self) -> Study:
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
    def policy(self) -> ReleasePolicy:
        """What may be released."""

    @property
    def state(self) -> KeptState | None:
        """What is kept while it runs; None: it starts over after an interruption."""

    def encode(self, name: str, facts: InputFacts, table: EncodedTable) -> RingArray | None:
        """Return one input of an owner, in the format of ``facts``; None if its table has no such."""

    def value(self, work: Work) -> SecretArray:
        """The party program: return what is to be released, noise included. Called if no party has stored one."""

    def in_units(self, opened: npt.NDArray[Any]) -> Reals:
        """Return the opened value as the numbers that ``publish`` takes."""

    def publish(self, opened: Reals, openings: Sequence[Opening], created: str) -> bytes:
        """Return what analysts get: the numbers, with what they mean and guarantee."""

    def numbers(self, published: bytes) -> tuple[float, ...]:
        """Return the numbers in what ``publish`` made; raise InvalidInputError if it is of another study, or damaged.

        A later session opens the same numbers again: a party that published others knows that something is wrong.
        """

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        """Return what a party signs of it: bytes that begin with ``files.signatures.TAG``."""

    def progress(self, step: str, done: int, total: int) -> str:
        """Return in words how far a step of the program is."""
