"""What everybody must know of a scheme before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from cofit.errors import parameter_error


@dataclass(frozen=True)
class SchemeInfo:
    """What a user, a certificate and a planner must know of a scheme."""

    name: str
    parties: tuple[int, int | None]  # fewest and most computing parties
    default_parties: int
    adversary: str
    threshold: str
    assumptions: str
    secret: bool = True
    dealer: bool = False  # whether a dealer hands out correlated randomness
    active: bool = False  # whether a corrupted party may do anything
    knows_inputs: bool = False  # whether a party that is an owner may keep its data as they are (``Scheme.known``)

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
