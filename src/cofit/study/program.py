"""A study whose parties run a program of their own: which one, on which inputs, and what it may open.

The program is a function of one ``Party`` (``cofit.run_local`` runs the same). The study names it, with the SHA-256 of
every source file; the code itself never travels: each party has it, and has read it, before it agrees. Inputs are
arrays of the owners with public shape, bound and format. Openings are all values that anybody ever sees, in order.

Objects of this module are made by ``parse_program.parse_program_study``. Nothing here is a secret, or reads a file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from cofit.arithmetic import INTEGER_RINGS, FixedPoint, Shape
from cofit.secret import InputFacts
from cofit.study.document import FORMAT, AnalystEntry, Compute, Participant, PartyEntry
from cofit.study.hashed import HashedStudy


@dataclass(frozen=True)
class DeclaredOpening:
    """One value that the program opens. reason: word for word what it says in ``party.open``. to: the computing parties
    that learn it, by rank."""

    reason: str
    shape: Shape
    to: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """What runs: ``module`` and ``function`` of it, and the SHA-256 of every file of its source, by its path from the
    folder of the program. openings: in the order in which the program makes them."""

    module: str
    function: str
    sources: tuple[tuple[str, str], ...]
    openings: tuple[DeclaredOpening, ...]

    @property
    def name(self) -> str:
        """As the study writes it."""
        return f"{self.module}:{self.function}"


@dataclass(frozen=True)
class ProgramInput:
    """An array of one owner. columns: of its table; empty: an array of that name in an .npz file."""

    name: str
    shape: Shape
    columns: tuple[str, ...]
    bound: float
    fraction_bits: int
    ring: str

    @property
    def facts(self) -> InputFacts:
        """What is public of it, as the parties compute with it."""
        return InputFacts(self.shape, FixedPoint(self.fraction_bits, INTEGER_RINGS[self.ring]), self.bound)


@dataclass(frozen=True)
class ProgramOwner(Participant):
    """A data owner, and what it brings."""

    inputs: tuple[ProgramInput, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the public facts, with the fingerprint in place of the certificate."""
        return {**super().to_dict(), "inputs": [asdict(one) for one in self.inputs]}


@dataclass(frozen=True)
class ProgramStudy(HashedStudy):
    """The whole agreement; has the interface ``agreement.Agreement``."""

    name: str
    program: Program
    compute: Compute
    parties: tuple[PartyEntry, ...]
    owners: tuple[ProgramOwner, ...]
    analysts: tuple[AnalystEntry, ...]
    dealer: PartyEntry | None = None
    common_rows = False
    clients = ()

    def canonical(self) -> str:
        """Return the resolved study as JSON with sorted keys and no spaces: equal studies, equal texts."""
        resolved = {
            "format": FORMAT,
            "name": self.name,
            "job": asdict(self.program),
            "compute": {name: value for name, value in vars(self.compute).items() if value is not None},
            "parties": [party.to_dict() for party in self.parties],
            "owners": [owner.to_dict() for owner in self.owners],
            "analysts": [analyst.to_dict() for analyst in self.analysts],
            "dealer": None if self.dealer is None else self.dealer.to_dict(),
        }
        return json.dumps(resolved, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def owner(self, name: str) -> ProgramOwner | None:
        """Return the owner of that name, or None."""
        return next((owner for owner in self.owners if owner.name == name), None)
