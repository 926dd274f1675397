"""Shares of the privacy budget that users choose themselves, in the place of the recipe's.

A share is of mu^2, the currency in which Gaussian releases add up: the variance of a release's noise is inverse to it.
The steps have what is left. Shares change how accurate the model is, never the guarantee: whatever they are, the
account of all releases must come to the epsilon and delta that were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from cofit.errors import parameter_error
from cofit.learn.checked import OWNER, real

SHARED = ("level", "centre", "intercept")
LEAST = Fraction(1, 10_000)
MOST_TOGETHER = Fraction(9, 10)
_NAME = "budget_shares"
Shares = tuple[tuple[str, Fraction], ...]


def checked_shares(given: object, *, possible: bool, calibrate: bool) -> Shares:
    """Return the shares that were chosen, in the order of ``SHARED``; a release with the share 0 is not made.

    A share is the decimal number that was written, not the nearest binary one: 0.05 is 1/20.

    possible: whether noise is Gaussian and in every step. calibrate: whether the intercept is calibrated.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not given or not set(given) <= set(SHARED):
        must_be = f"shares by name, of {list(SHARED)}, as in {{'level': 0.02}}; or None for the recipe's own"
        raise parameter_error(_NAME, OWNER, must_be, given)
    if not possible:
        must_be = "None, but with recipe='best' and delta > 0: there is one kind of release otherwise"
        raise parameter_error(_NAME, OWNER, must_be, dict(given))
    shares = {}
    for name in [name for name in SHARED if name in given]:
        must_be = f"0 for '{name}' (no such release), or a number from {float(LEAST)} to {float(MOST_TOGETHER)}"
        number = real(_NAME, given[name], must_be, lambda v: v == 0 or LEAST <= v <= MOST_TOGETHER)
        shares[name] = Fraction(str(float(number)))
    if sum(shares.values()) > MOST_TOGETHER:
        must_be = f"at most {float(MOST_TOGETHER)} together: the steps have what is left, and need it"
        raise parameter_error(_NAME, OWNER, must_be, dict(given))
    if "intercept" in shares and bool(shares["intercept"]) != calibrate:
        must_be = "with an 'intercept' above 0 if calibrate_intercept is True, and without one if it is False"
        raise parameter_error(_NAME, OWNER, must_be, dict(given))
    return tuple(shares.items())


def refuse_level(shares: Shares, normalised_by: str) -> None:
    """Refuse a level where the owners scale the rows: the parties cannot take an offset from them then."""
    if normalised_by == "owners" and dict(shares).get("level"):
        must_be = (
            "without a 'level' where the owners scale the rows. Declare ranges (feature_bound), and leave "
            "normalised_by to the plan or set it to 'parties'"
        )
        raise parameter_error(_NAME, OWNER, must_be, {name: float(share) for name, share in shares})
