"""What every study has, whatever its parties compute: who takes part, how they compute, and a hash that names it all.

Party, dealer, owner and analyst know a study by this interface; ``document.Study`` (training) and
``program.ProgramStudy`` (a program of the participants' own) have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cofit.sharing import Spec
from cofit.study.document import AnalystEntry, ClientEntry, Compute, Participant, PartyEntry


class Agreement(Protocol):
    """The public agreement of everybody who takes part in a study."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def compute(self) -> Compute:
        """How the parties compute."""

    @property
    def parties(self) -> tuple[PartyEntry, ...]:
        """The computing parties, by rank."""

    @property
    def owners(self) -> Sequence[Participant]:
        """Those who bring data."""

    @property
    def analysts(self) -> tuple[AnalystEntry, ...]:
        """Those who may fetch what is released."""

    @property
    def clients(self) -> tuple[ClientEntry, ...]:
        """Those whom the parties answer about rows of their own."""

    @property
    def dealer(self) -> PartyEntry | None:
        """The dealer, where the scheme has one."""

    @property
    def common_rows(self) -> bool:
        """Whether all owners bring the same rows, in one order: then each states a digest of its row keys."""

    @property
    def spec(self) -> Spec:
        """The scheme, among the computing parties."""

    @property
    def hash(self) -> str:
        """The SHA-256, in hex, of the resolved study: its name on the network."""

    def canonical(self) -> str:
        """The resolved study as JSON with sorted keys and no spaces."""
