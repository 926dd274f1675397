"""How a scheme is named: everything that members of a run must have in common of it, and what it protects against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cofit.errors import parameter_error

NO_CORRELATIONS = "none"
FROM_A_DEALER = "dealer"
FROM_EACH_OTHER = "parties"
DIRECT = "direct"
"""The route of products: every party sends to those who need it."""
KING = "king"
"""Through one party, which tells the others: twice the rounds, fewer bytes."""


@dataclass(frozen=True)
class Spec:
    """A scheme among a number of parties: what studies, handshakes and certificates name.

    ``threshold``: how many computing parties may be corrupted together; ``corrupted`` says it in words.
    ``correlations``: where randomness comes from that the parties cannot make alone: 'none', 'dealer', or 'parties' who
    make it together. ``route``: how
    the messages of products travel, 'direct' or 'king'. ``soundness_bits``: s, if a lie passes all checks of a study
    with probability at most 2^-s, whatever its author can compute; None where no check leaves that to chance.
    ``statistical_bits``: s, if values are wrong, or masks can be told from uniform ones whatever one can compute, with
    probability at most 2^-s in a session; None where neither happens.
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
    route: str = DIRECT
    soundness_bits: int | None = None
    statistical_bits: int | None = None

    @property
    def dealer(self) -> bool:
        """Whether a dealer hands out correlated randomness."""
        return self.correlations == FROM_A_DEALER

    @property
    def agreed(self) -> str:
        """What both ends of a connection compare, field by field (``transport.Terms``)."""
        common = f"{self.name}/{self.parties}/{self.threshold}/{self.correlations}"
        if self.soundness_bits is not None:
            return f"{common}/{self.route}/{self.soundness_bits}"
        return common if self.route == DIRECT else f"{common}/{self.route}"

    @property
    def protects(self) -> str:
        """Against what, and how surely, in words."""
        return self.adversary if self.soundness is None else f"{self.adversary}; a lie is missed with {self.soundness}"

    @property
    def soundness(self) -> str | None:
        """How likely it is that no check notices a lie, in words; None where nothing is left to chance."""
        return None if self.soundness_bits is None else soundness_in_words(self.soundness_bits)


@dataclass(frozen=True)
class SchemeInfo:
    """What a scheme is, for every number of parties that it runs with.

    ``most_corrupted``: the threshold, by the number of parties; ``least_corrupted``: the smallest one that may be
    chosen in its place, None where there is no choice. ``corrupted``: the threshold in words; in it and in
    ``assumptions`` {threshold} and {parties} stand for the numbers. ``routes``: of products, the usual one first.
    ``adversary`` begins with one word, then a colon: tables show the word alone. ``soundness_bits``,
    ``statistical_bits``: as in ``Spec``.
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
    least_corrupted: int | None = None
    routes: tuple[str, ...] = (DIRECT,)
    step: int = 1  # from one number of parties to the next
    soundness_bits: int | None = None
    statistical_bits: int | None = None
    limit: str | None = None  # why it runs with no other number of parties, where somebody may ask

    def spec(self, parties: int | None = None, threshold: int | None = None, route: str | None = None) -> Spec:
        """Return the scheme among this many parties; None: as many as usual, the most corrupted, the usual route.

        Raises InvalidInputError where a number or the route does not fit.
        """
        count = self.default_parties if parties is None else parties
        self.check_parties(count)
        threshold = self.most_corrupted(count) if threshold is None else threshold
        self.check_threshold(count, threshold)
        route = self.routes[0] if route is None else route
        if route not in self.routes:
            raise parameter_error("route", f"scheme '{self.name}'", _one_of(self.routes), route)
        return Spec(
            name=self.name,
            parties=count,
            threshold=threshold,
            correlations=self.correlations,
            adversary=self.adversary,
            corrupted=self.corrupted.format(threshold=threshold, parties=count),
            assumptions=self.assumptions.format(threshold=threshold, parties=count),
            secret=self.secret,
            active=self.active,
            route=route,
            soundness_bits=self.soundness_bits,
            statistical_bits=self.statistical_bits,
        )

    def thresholds(self, parties: int) -> range:
        """Return the thresholds that may be chosen among so many parties: the last one is the usual one."""
        most = self.most_corrupted(parties)
        return range(most if self.least_corrupted is None else self.least_corrupted, most + 1)

    def chosen_threshold(self, parties: int, threshold: int | None) -> int | None:
        """Return a threshold that somebody has chosen, after a look at it; None where it is the usual one."""
        chosen = self.spec(parties, threshold).threshold
        return None if chosen == self.most_corrupted(parties) else chosen

    @property
    def dealer(self) -> bool:
        """Whether a dealer hands out correlated randomness."""
        return self.correlations == FROM_A_DEALER

    @property
    def counts(self) -> range | None:
        """The numbers of computing parties that the scheme runs with; None: any from the fewest on."""
        fewest, most = self.parties
        return None if most is None else range(fewest, most + 1, self.step)

    @property
    def parties_in_words(self) -> str:
        """The same in words."""
        fewest, most = self.parties
        if fewest == most:
            return f"exactly {fewest}"
        if self.step > 1 and self.counts is not None:
            *numbers, last = self.counts
            return f"{', '.join(map(str, numbers))} or {last}"
        return f"{fewest} or more" if most is None else f"from {fewest} to {most}"

    def runs_with(self, count: int) -> bool:
        """Return whether the scheme runs with this many computing parties."""
        fewest, most = self.parties
        within = _whole(count) and fewest <= count <= (count if most is None else most)
        return within and (count - fewest) % self.step == 0

    def check_parties(self, count: int) -> None:
        """Raise InvalidInputError unless the scheme runs with this many computing parties."""
        if not self.runs_with(count):
            must_be = f"{self.parties_in_words} computing parties" + (f" ({self.limit})" if self.limit else "")
            raise parameter_error("parties", f"scheme '{self.name}'", must_be, count)

    def check_threshold(self, parties: int, threshold: int) -> None:
        """Raise InvalidInputError unless the scheme can be asked to withstand so many corrupted parties."""
        possible = self.thresholds(parties)
        if _whole(threshold) and threshold in possible:
            return
        most, among = possible[-1], f"among {parties} parties (how many of them may be corrupted together)"
        must_be = f"{most} {among}, or left out"
        if len(possible) > 1:
            must_be = f"from {possible[0]} to {most} {among}; left out, it is {most}"
        raise parameter_error("threshold", f"scheme '{self.name}'", must_be, threshold)

    def check_dealer(self, dealer: str | None) -> None:
        """Raise InvalidInputError unless there is a dealer exactly if the scheme has one."""
        if (dealer is not None) != self.dealer:
            allowed = "the name of a dealer" if self.dealer else "None: it has no dealer"
            raise parameter_error("dealer", f"scheme '{self.name}'", allowed, dealer)


def chance_in_words(bits: int) -> str:
    """Return how likely it is at most that encrypted products are wrong, or that their masks show something."""
    return f"probability at most 2^-{bits} in a session"


def soundness_in_words(bits: int) -> str:
    """Return how likely it is at most that no check of a session notices a lie."""
    return f"probability at most 2^-{bits} in a study"


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one_of(names: Sequence[str]) -> str:
    return f"'{names[0]}'" if len(names) == 1 else f"one of {', '.join(names)}"
