"""A job: what the parties of a study compute together, on which inputs, and what of it they may open.

Party, dealer, owner and ledger know a job by this interface alone. A job follows from public facts, so that everybody
who takes part makes the same one; its ``hash`` is compared before a share is touched.

    owners      encode what ``inputs`` says, charge their ledgers what ``policy`` says, and share it
    parties     run ``run`` on the stored shares, as often as sessions fail; only what ``policy`` allows is ever opened
    the dealer  runs ``run`` too, without values
    analysts    get what ``publish`` made of the opened numbers, signed by every party

Who writes a job answers for its privacy: what is opened must be covered by what the policy charges. The party holds it
to the policy: one opening, of that shape, to those, for that reason, after every party has stored the value and charged
its ledger (``party.guard``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray, Shape
from cofit.errors import ProtocolError
from cofit.privacy.accounted import AccountedRelease
from cofit.secret import InputFacts, Opening, Party
from cofit.secret.checkpoints import Checkpoints, KeptState
from cofit.secret.stored import ReleaseStore
from cofit.study.document import Study
from cofit.study.encode import EncodedTable
from cofit.transport import Identity

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
    """What a session gives a job. At a dealer there are no ``store`` and no ``coin``.

    store: the record of the release; saving there charges this party's ledger. checkpoints: None where the job keeps no
    state. coin: returns the study's common coin, the same in each session. key: public text that names the release.
    """

    party: Party
    store: ReleaseStore | None
    checkpoints: Checkpoints | None
    coin: Callable[[], bytes] | None
    key: str


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
    def inputs(self) -> Mapping[str, Mapping[str, InputFacts]]:
        """The contributions that it takes: of every owner, by name."""

    @property
    def policy(self) -> ReleasePolicy:
        """What may be released."""

    @property
    def state(self) -> KeptState | None:
        """What is kept while it runs; None: it begins again after an interruption."""

    def encode(self, name: str, facts: InputFacts, table: EncodedTable) -> RingArray | None:
        """Return one input of an owner, in the format of ``facts``; None if its table has no such."""

    def run(self, work: Work) -> Reals:
        """The party program: compute, store, open; return the opened numbers (nothing at a dealer)."""

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
