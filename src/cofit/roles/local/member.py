"""What each member of a run does once it is connected: a computing party, a dealer, or an owner."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, Shape
from cofit.arithmetic.fixed import as_bound
from cofit.arithmetic.prg import fresh_seed
from cofit.arithmetic.row_blocks import RowBlocks, encoded_blocks
from cofit.errors import InvalidInputError, parameter_error
from cofit.roles.files.share_files import engine_on
from cofit.roles.local.progress import SHARE, START, Listener, Reporter, silent
from cofit.secret import InputFacts, Opening, Party
from cofit.sharing import Scheme, Spec, dealer_of, scheme_of
from cofit.sharing.inputs import Values, send_components
from cofit.transport import Counts, Mesh, Terms, check_name

R = TypeVar("R")
_RECEIPT = "receipt"
_LONGEST_TIMEOUT = 1e6
_DEFAULT_FORMAT = FixedPoint(24)


@dataclass(frozen=True, repr=False)
class Contribution:
    """An owner's array for a run: its values (never shown), its format and its public bound.

    ``bound`` is part of the public agreement and must not be computed from the data.
    """

    values: npt.ArrayLike | RowBlocks
    bound: float
    format: FixedPoint = _DEFAULT_FORMAT

    def __post_init__(self) -> None:
        if not isinstance(self.format, FixedPoint):
            raise parameter_error("format", "Contribution", "a FixedPoint", self.format)
        as_bound(self.bound, "Contribution")
        self.format.limit(self.bound)

    def __repr__(self) -> str:
        return f"<Contribution shape={self.shape}, {self.format}, bound {self.bound:g}>"

    @property
    def shape(self) -> Shape:
        """The shape of the values."""
        if isinstance(self.values, RowBlocks):
            return self.values.shape
        try:
            return np.shape(self.values)
        except ValueError:
            raise InvalidInputError("The values of a Contribution must form an array: all rows equally long.") from None

    def facts(self) -> InputFacts:
        """Return what is public of it."""
        return InputFacts(self.shape, self.format, self.bound)

    def encoded(self) -> Values:
        """Return the values as elements of the ring; of ``RowBlocks``, as they are asked for."""
        if isinstance(self.values, RowBlocks):
            return encoded_blocks(self.values, self.format, self.bound)
        return self.format.encode(self.values, self.bound)


@dataclass(frozen=True)
class Agenda:
    """The public agreement of one run: scheme, computing parties by rank, the facts of every owner's inputs, and the
    dealer where the scheme has one. ``disk``: a directory for matrices of shares; None: they are in memory.
    """

    spec: Spec
    parties: tuple[str, ...]
    inputs: Mapping[str, Mapping[str, InputFacts]]
    terms: Terms
    timeout: float
    dealer: str | None = None
    disk: Path | None = None

    def __post_init__(self) -> None:
        if self.spec.parties != len(self.parties):
            raise parameter_error("parties", "run_local", f"{self.spec.parties} names", list(self.parties))
        scheme_of(self.spec).info.check_dealer(self.dealer)
        members = self.members
        for name in members:
            check_name("name", "run_local", name)
        if len(set(members)) != len(members):
            raise InvalidInputError(f"All members of a run must have different names; got {list(members)}.")
        if not isinstance(self.timeout, int | float) or not 0 < self.timeout <= _LONGEST_TIMEOUT:
            allowed = f"a number of seconds, above 0 and at most {_LONGEST_TIMEOUT:g}"
            raise parameter_error("timeout", "run_local", allowed, self.timeout)

    @property
    def members(self) -> tuple[str, ...]:
        """Everybody, parties first."""
        return (*self.parties, *self._dealers, *self.inputs)

    @property
    def _dealers(self) -> tuple[str, ...]:
        return () if self.dealer is None else (self.dealer,)

    def links(self) -> list[tuple[str, str]]:
        """Who is connected to whom: all pairs of parties; the dealer and every owner with every party."""
        among_parties = [(a, b) for i, a in enumerate(self.parties) for b in self.parties[i + 1 :]]
        others = (*self._dealers, *self.inputs)
        return among_parties + [(party, other) for other in others for party in self.parties]


@dataclass(frozen=True)
class Outcome(Generic[R]):
    """What a member brings back: a party its program's result, its exact traffic and what it opened.

    ``seconds`` are those of a party's steps; ``peak_memory`` (bytes) and ``processor_seconds`` are those of a member's
    own process.
    """

    result: R | None
    traffic: Counts
    openings: tuple[Opening, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int | None = None
    processor_seconds: float | None = None


Job: TypeAlias = "Callable[[Mesh], Outcome[Any]] | ReportingParty"
"""What a member does with its mesh."""
Outcomes: TypeAlias = dict[str, "Outcome[Any] | BaseException"]
"""What came of each member."""


def run_party(
    mesh: Mesh, agenda: Agenda, program: Callable[[Party], R], reporter: Reporter | None = None
) -> Outcome[R]:
    """Run a party program: agree on seeds, collect the contributions, compute.

    ``reporter`` times these steps and hears of the program's own; by default nobody is told.
    """
    reporter = reporter or Reporter(time.monotonic(), silent)
    with engine_on(agenda.disk) as engine:
        scheme = scheme_of(agenda.spec)(mesh, agenda.parties, agenda.dealer, agenda.spec)
        scheme.engine = engine or scheme.engine
        return _run_program(scheme, agenda, program, reporter)


def _run_program(scheme: Scheme, agenda: Agenda, program: Callable[[Party], R], reporter: Reporter) -> Outcome[R]:
    mesh = scheme.mesh
    scheme.setup()
    reporter.report(START, 1, 1)
    inputs = sum(map(len, agenda.inputs.values()))
    reporter.report(SHARE, 0, inputs)
    party = Party(scheme, agenda.inputs, report=reporter.report)
    party.collect()
    mesh.exchange(_RECEIPT, dict.fromkeys(agenda.inputs, b"\x01"), {})
    reporter.report(SHARE, inputs, inputs)
    with reporter.program():
        result = program(party)
        scheme.verify()
    return Outcome(result, mesh.counts, party.audit.openings, reporter.seconds)


def run_dealer(mesh: Mesh, agenda: Agenda, program: Callable[[Party], object]) -> Outcome[None]:
    """Run the party program without values: its steps say what to deal."""
    scheme = dealer_of(agenda.spec.name)(mesh, agenda.parties, agenda.dealer, agenda.spec)
    scheme.setup()
    party = Party(scheme, agenda.inputs)
    party.collect()
    program(party)
    return Outcome(None, mesh.counts, ())


@dataclass(frozen=True)
class ReportingParty:
    """The job of the party of rank 0, the only one that anybody listens to.

    ``began`` is when the run was launched, on the clock ``time.monotonic``.
    """

    agenda: Agenda
    program: Callable[[Party], Any]
    began: float

    def run(self, mesh: Mesh, listener: Listener) -> Outcome[Any]:
        """Run the program; tell the listener how far it is."""
        return run_party(mesh, self.agenda, self.program, Reporter(self.began, listener))


def run_owner(mesh: Mesh, agenda: Agenda, contributions: Mapping[str, Contribution]) -> Outcome[None]:
    """Encode, share and send an owner's contributions; return when every party has received all of them."""
    inputs = scheme_of(agenda.spec).inputs(agenda.spec)
    for name, contribution in contributions.items():
        format = contribution.format
        try:
            encoded = contribution.encoded()
        except InvalidInputError as error:
            raise type(error)(f"Input '{name}' of '{mesh.name}': {error}") from None
        send_components(mesh, "input", agenda.parties, inputs.components(format.ring, encoded, fresh_seed()))
    receipts = {party: bytearray(1) for party in agenda.parties}
    mesh.exchange(_RECEIPT, {}, receipts)
    return Outcome(None, mesh.counts, ())
