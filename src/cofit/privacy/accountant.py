"""One accountant for all releases from the same data: many events, one (epsilon, delta).

Every event may be chosen with the results of those before; its public numbers (sensitivity over scale, dimension,
distances) are fixed beforehand. The delta for an epsilon is the smallest that these rules prove:

- ``gdp``: mu^2 of all events adds up (``gaussian_dp.py``): exact where all are Gaussian;
- ``zcdp``: rho of all events adds up (``zcdp.py``): for discrete Gaussian noise on a coarse grid;
- ``pure``: the epsilons of pure events add up, delta 0;
- ``pure + gdp``, ``pure + zcdp``: the pure events' epsilons are set aside, the rest is composed with what is left.

The distances of all samplers, and under ``gdp`` of discrete from rounded Gaussian noise, add up to one total variation
s, which enters once: delta + (1 + e^epsilon) s.

``split`` and ``sigma_for`` are the way back: shares of one budget, in mu^2, and the noise that a share pays for.

The argument, and why no privacy loss distributions are used, is in ``accountant_proof.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.events import Event
from cofit.privacy.gaussian_dp import LEAST_SIGMA, delta_of_mu, largest_mu
from cofit.privacy.safe_rounding import SIGMA_BITS, root_up, significant_up
from cofit.privacy.zcdp import LARGEST_EPSILON, checked_delta, checked_epsilon, delta_of, total_delta
from cofit.sampling.parameters import check_positive

KEPT = Fraction(1, 1024)  # the share of delta that ``split`` leaves to the distances
_MU_BITS = 64
_EPSILON_BITS = 32
_SMALLEST_EPSILON = Fraction(1, 1 << 40)
_GROWTH = 1 + Fraction(1, 64)


@dataclass(frozen=True)
class Contribution:
    """What one event adds: ``amount`` in the ``currency`` of the rule (epsilon, mu^2 or rho), and its distances."""

    name: str
    currency: str
    amount: Fraction
    distance: Fraction


@dataclass(frozen=True)
class Account:
    """All events together are (epsilon, delta)-DP, by ``rule``; delta includes the sum of all distances."""

    epsilon: Fraction
    delta: Fraction
    rule: str
    distance: Fraction
    contributions: tuple[Contribution, ...]


def at_epsilon(events: Sequence[Event], epsilon: Fraction | int) -> Account:
    """Return the account with the smallest proven delta for this epsilon; of equal ones a pure one."""
    events = _checked_events(events, "at_epsilon")
    epsilon = checked_epsilon(epsilon, "at_epsilon")
    accounts = [proof.account(epsilon) for proof in _proofs(events, epsilon)]
    return min(accounts, key=lambda account: (account.delta, not account.rule.startswith("pure")))


def at_delta(events: Sequence[Event], delta: Fraction) -> Account:
    """Return the account with the smallest proven epsilon (rounded up, at least 2^-40) for this delta.

    Without distances delta falls as epsilon grows, so no epsilon below the least one without them will do. With them,
    delta + (1 + e^epsilon) s falls first and then grows: from there on epsilon grows by 1/64 at a time.

    Raises InvalidInputError where no epsilon up to ``LARGEST_EPSILON`` is proven: too much was released, or the
    distances are too large for this delta.
    """
    events = _checked_events(events, "at_delta")
    delta = checked_delta(delta, "at_delta")
    sampled = min(Fraction(1), sum((event.sampler_distance for event in events), Fraction(0)))
    below = epsilon = _least_ideal(events, delta)
    while (best := at_epsilon(events, epsilon)).delta > delta:
        if epsilon == LARGEST_EPSILON or total_delta(0, sampled, epsilon) > delta:
            raise InvalidInputError(
                f"No epsilon up to {LARGEST_EPSILON} is proven for delta = {float(delta):g}. Release less, add more "
                f"noise, sample it with more precision, or allow a larger delta."
            )
        below, epsilon = epsilon, min(Fraction(LARGEST_EPSILON), significant_up(epsilon * _GROWTH, _EPSILON_BITS))
    while best.epsilon - below > best.epsilon / (1 << _EPSILON_BITS):
        middle = (below + best.epsilon) / 2
        if (smaller := at_epsilon(events, middle)).delta <= delta:
            best = smaller
        else:
            below = middle
    return best


def split(epsilon: Fraction | int, delta: Fraction, shares: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return mu^2 for every share of the budget (epsilon, delta); the shares are positive, and at most 1 together.

    1/1024 of delta is kept for the distances of samplers and rounding: ``at_epsilon`` says whether it suffices.
    """
    epsilon, delta = checked_epsilon(epsilon, "split"), checked_delta(delta, "split")
    if not shares or not all(isinstance(share, Fraction) and share > 0 for share in shares.values()):
        raise parameter_error("shares", "split", "positive Fractions, at least one", dict(shares))
    if sum(shares.values()) > 1:
        raise parameter_error("shares", "split", "at most 1 together", dict(shares))
    whole = largest_mu(epsilon, delta * (1 - KEPT)) ** 2
    return {name: share * whole for name, share in shares.items()}


def sigma_for(sensitivity: Fraction | int, mu_squared: Fraction) -> Fraction:
    """Return the sigma of discrete Gaussian noise, in steps of the grid, that this share of a budget pays for.

    The smallest with D^2 / (sigma^2 - 1/12) <= mu^2, rounded up to m 2^k with m of ``SIGMA_BITS`` bits; at least 2.
    """
    sensitivity = check_positive(sensitivity, "sensitivity", "sigma_for")
    mu_squared = check_positive(mu_squared, "mu_squared", "sigma_for")
    return max(Fraction(LEAST_SIGMA), root_up(sensitivity**2 / mu_squared + Fraction(1, 12), SIGMA_BITS))


# --- the rules -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Proof:
    """What one rule proves of the ideal events: delta without the distances."""

    rule: str
    delta: Fraction
    contributions: tuple[Contribution, ...]

    def account(self, epsilon: Fraction) -> Account:
        """Return it with the distances, for the same epsilon."""
        distance = min(Fraction(1), sum((part.distance for part in self.contributions), Fraction(0)))
        return Account(epsilon, total_delta(self.delta, distance, epsilon), self.rule, distance, self.contributions)


def _proofs(events: Sequence[Event], epsilon: Fraction) -> list[_Proof]:
    """Return what every rule proves for this epsilon; zcdp proves something of all events."""
    proofs = [_composed(events, epsilon, rule, aside) for rule in ("gdp", "zcdp") for aside in (False, True)]
    return [proof for proof in proofs if proof is not None]


def _composed(events: Sequence[Event], epsilon: Fraction, rule: str, aside: bool) -> _Proof | None:
    """Return what a rule proves, with the pure events set aside or not; None where it proves nothing."""
    parts = []
    left = epsilon
    total = Fraction(0)
    for event in events:
        distance = event.sampler_distance
        amount = event.epsilon if aside else None
        currency = "epsilon"
        if amount is not None:
            left -= amount
        else:
            currency, amount = ("mu^2", event.mu_squared) if rule == "gdp" else ("rho", event.rho)
            if amount is None:
                return None
            if rule == "gdp":
                distance += event.rounding_distance
            total += amount
        parts.append(Contribution(event.name, currency, amount, distance))
    if left < 0 or (left == 0 and total):
        return None
    delta = Fraction(0)
    if total:
        delta = delta_of_mu(root_up(total, _MU_BITS), left) if rule == "gdp" else delta_of(total, left)
    pure = ["pure"] if left < epsilon else []
    return _Proof(" + ".join([*pure, rule] if total else pure), delta, tuple(parts))


def _least_ideal(events: Sequence[Event], delta: Fraction) -> Fraction:
    """Return the least epsilon, rounded up, for which delta is proven of the ideal events; or the largest there is."""

    def proven(epsilon: Fraction) -> bool:
        return any(proof.delta <= delta for proof in _proofs(events, epsilon))

    high = Fraction(LARGEST_EPSILON)
    while high > _SMALLEST_EPSILON and proven(high / 2):
        high /= 2
    low = max(high / 2, _SMALLEST_EPSILON)
    while high - low > high / (1 << _EPSILON_BITS):
        middle = (low + high) / 2
        low, high = (low, middle) if proven(middle) else (middle, high)
    return high


def _checked_events(events: Sequence[Event], owner: str) -> tuple[Event, ...]:
    checked = tuple(events)
    if not checked or not all(isinstance(event, Event) for event in checked):
        raise parameter_error("events", owner, "events, at least one", events)
    names = [event.name for event in checked]
    if len(set(names)) < len(names):
        raise parameter_error("events", owner, "events with a name of their own each", names)
    return checked
