"""What follows from every resolved study: its scheme among the parties, and its hash."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from cofit.sharing import Spec, scheme_named

if TYPE_CHECKING:
    from cofit.study.document import Compute, PartyEntry


class HashedStudy:
    """The part that all kinds of studies have in common."""

    if TYPE_CHECKING:
        compute: Compute
        parties: tuple[PartyEntry, ...]

    @abstractmethod
    def canonical(self) -> str:
        """Return the resolved study as JSON with sorted keys and no spaces: equal studies, equal texts."""

    @cached_property
    def spec(self) -> Spec:
        """The scheme, among the computing parties that the study names. How products travel is in the plan."""
        return scheme_named(self.compute.scheme).info.spec(len(self.parties), self.compute.threshold)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of ``canonical()``, in hex: the name of the study."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()
