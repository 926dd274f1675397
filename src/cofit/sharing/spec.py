"""How a scheme is named: everything that members of a run must have in common of it, and what it protects against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cofit.errors import parameter_error

NO_CORRELATIONS = "none"
FROM_A_DEALER = "dealer"


@dataclass(frozen=True)
class Spec:
    """A scheme among a number of parties: what studies, handshakes and certificates name.

    ``threshold``: how many computing parties may be corrupted together; ``corrupted`` says it in words.
    ``correlations``: where randomness comes from that the parties cannot make alone, 'none' or 'dealer'.
    """

    name: str
    parties: int
    threshold: int
    correlations: str
    adversary: str
    corrupted: str
    assumptions: str
    secret: bool
    active: bool

    @property
    def dealer(self) -> bool:
        """Whether a dealer hands out correlated randomness."""
        return self.correlations == FROM_A_DEALER

    @property
    def agreed(self) -> str:
        """What both ends of a connection compare, field by field (``transport.Terms``)."""
        return f"{self.name}/{self.parties}/{self.threshold}/{self.correlations}"


@dataclass(frozen=True)
class SchemeInfo:
    """What a scheme is, for every number of parties that it runs with.

    ``most_corrupted``: the threshold, by the number of parties. ``corrupted``: the same in words, in which {threshold}
    and {parties} stand for the numbers. ``adversary`` begins with one word, then a colon: tables show the word alone.
    """

    name: str
    parties: tuple[int, int | None]  # fewest and most computing parties
    default_parties: int
    most_corrupted: Callable[[int], int]
    adversary: str
    corrupted: str
    assumptions: str
    correlations: str = NO_CORRELATIONS
    secret: bool = True
    active: bool = False  # whether a corrupted party may do anything
    knows_inputs: bool = False  # whether a party that is an owner may keep its data as they are (``Inputs.known``)

    def spec(self, parties: int | None = None) -> Spec:
        """Return the scheme among this many parties, by default as many as usual; refuse a number that does not fit."""
        count = self.default_parties if parties is None else parties
        self.check_parties(count)
        threshold = self.most_corrupted(count)
        return Spec(
            name=self.name,
            parties=count,
            threshold=threshold,
            correlations=self.correlations,
            adversary=self.adversary,
            corrupted=self.corrupted.format(threshold=threshold, parties=count),
            assumptions=self.assumptions,
            secret=self.secret,
            active=self.active,
        )

    @property
    def dealer(self) -> bool:
        """Whether a dealer hands out correlated randomness."""
        return self.correlations == FROM_A_DEALER

    def check_parties(self, count: int) -> None:
        """Raise InvalidInputError unless the scheme runs with this many computing parties."""
        fewest, most = self.parties
        if count < fewest or (most is not None and count > most):
            span = f"exactly {fewest}" if fewest == most else f"from {fewest} to {most or 'any number'}"
            raise parameter_error("parties", f"scheme '{self.name}'", f"{span} computing parties", count)

    def check_dealer(self, dealer: str | None) -> None:
        """Raise InvalidInputError unless there is a dealer exactly if the scheme has one."""
        if (dealer is not None) != self.dealer:
            allowed = "the name of a dealer" if self.dealer else "None: it has no dealer"
            raise parameter_error("dealer", f"scheme '{self.name}'", allowed, dealer)
