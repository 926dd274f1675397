"""The job of running a program: the study says which function, on which inputs, and what it may open.

Everybody makes the same job from the study; parties and dealer add the function, which they have loaded and compared
with the study's hashes (``files.program_files``). The function gets a ``DeclaredParty``: every opening goes through the
session's ``release``, as the weights of a model do, and anything else is refused before a message is sent.

An error of the function ends the study: every session would run into it again, and a corrected program has another
hash. Its text is for the log of the party where it happened; the others are told that this party stopped, and no more.
"""

from __future__ import annotations

import hashlib
import json
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import CofitError, InvalidInputError, ProtocolError
from cofit.roles.files.ledger import Exposure
from cofit.roles.files.statements import Number, Statement, plain, sign_statement
from cofit.roles.jobs.job import AllowedOpening, Draw, ExposurePolicy, Outcome, Release, Work
from cofit.secret import InputFacts, Opening, Party
from cofit.secret.declared import DeclaredParty
from cofit.study.expected import party_ranks
from cofit.study.program import ProgramStudy
from cofit.study.program_statement import opening_in_words
from cofit.transport import Identity

_HASHED = "cofit program 1 "


class ProgramError(ProtocolError):
    """The program of a study raised an error of its own, which ends the study at this party."""


@dataclass(frozen=True)
class ProgramPolicy(ExposurePolicy):
    """What a study declares. No epsilon covers it: ledgers note what is opened, before the first opening."""

    study: ProgramStudy

    @property
    def openings(self) -> tuple[AllowedOpening, ...]:
        return tuple(AllowedOpening(one.reason, one.shape, one.to) for one in self.study.program.openings)

    def exposure(self, dataset: str) -> Exposure:
        study = self.study
        lines = tuple(opening_in_words(study, one) for one in study.program.openings)
        return Exposure(dataset, study.hash, study.name, lines)


class ProgramJob:
    """Implements ``Job``. function: the program; None at owners and analysts, who need no code."""

    name = "program"
    state = None
    replays = True
    questions = None
    memory = None
    shards = None
    head_memory = None

    def __init__(self, study: ProgramStudy, function: Callable[[Party], object] | None = None) -> None:
        self.study = study
        self.spec = study.spec
        self.hash = hashlib.sha256(f"{_HASHED}{study.hash}".encode()).hexdigest()
        self.inputs: Mapping[str, Mapping[str, InputFacts]] = {
            owner.name: {one.name: one.facts for one in owner.inputs} for owner in study.owners
        }
        self.ranks = party_ranks(study)
        self.policy = ProgramPolicy(study)
        self._function = function

    def run(self, work: Work, release: Release) -> Outcome:
        """Run the function; return what was opened to all, and what it returned."""
        opened: list[npt.NDArray[Any] | None] = []

        def released(draw: Draw) -> npt.NDArray[Any] | None:
            opened.append(release(draw))
            return opened[-1]

        party = DeclaredParty(work.party, self.policy.check, released)
        result = self._returned(party)
        if party.failure is not None:  # which the program has caught
            raise party.failure
        if work.party.deals:
            return Outcome(np.zeros(0))
        if work.keep is not None:
            values = [None if value is None else value.ravel().tolist() for value in opened]
            work.keep(json.dumps({"study": self.study.hash, "openings": values, "result": plain(result)}).encode())
        common = [
            value for value, everybody in zip(opened, self._to_all, strict=False) if everybody and value is not None
        ]
        flat = [number for value in common for number in value.ravel().tolist()]
        return Outcome(np.array(flat, dtype=object), result)

    def _returned(self, party: DeclaredParty) -> object:
        if self._function is None:
            raise InvalidInputError("This job was made without its program: nothing can be run.")
        try:
            return self._function(party)
        except Exception as error:
            if error is party.failure or not _of_program(error):
                raise
            where = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in self._files]
            at = f" at {where[-1].filename}, line {where[-1].lineno}" if where else ""
            raise ProgramError(
                f"The program raised {type(error).__name__}{at}: {error} Nothing more is opened. Correct the program, "
                "try it with cofit.run_local, and agree on a new study with its new hash."
            ) from None

    @property
    def _files(self) -> set[str]:
        code = getattr(self._function, "__code__", None)
        return set() if code is None else {code.co_filename}

    @property
    def _to_all(self) -> list[bool]:
        return [len(one.to) == len(self.study.parties) for one in self.study.program.openings]

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> bytes:
        """Return the statement: what all parties learned, and, if that is everything, what the function returned."""
        numbers: list[Number] = outcome.numbers.tolist()
        values: list[tuple[Number, ...] | None] = []
        for one, everybody in zip(self.study.program.openings, self._to_all, strict=True):
            count = math.prod(one.shape) if everybody else 0
            values.append(tuple(numbers[:count]) if everybody else None)
            numbers = numbers[count:]
        result = plain(outcome.result) if all(self._to_all) else None
        return Statement(self.study, tuple(values), result, created).to_json().encode()

    def numbers(self, published: bytes) -> tuple[float, ...]:
        """Return what was opened to all."""
        return tuple(number for value in self._statement(published).values for number in value or ())

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        """Return the whole statement, bound to the party."""
        return sign_statement(identity, self._statement(published))

    def progress(self, step: str, done: int, total: int) -> str:
        """Return the step, and how much of it is done."""
        return f"{step}: {done} of {total}" if total > 1 else step

    def seconds(self, latency: float, rate: float) -> Mapping[str, tuple[float, float]]:
        """Return nothing: how long a program of the participants' own takes is not known before it runs."""
        del latency, rate
        return {}

    def _statement(self, published: bytes) -> Statement:
        try:
            return Statement.from_json(self.study, published.decode())
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"A statement is not UTF-8 text: {error.reason}.") from None


def _of_program(error: Exception) -> bool:
    """Whether an error is the program's own, and would come again: not the network's, a stop, or a lack of memory."""
    return isinstance(error, InvalidInputError) or not isinstance(error, CofitError | MemoryError)
