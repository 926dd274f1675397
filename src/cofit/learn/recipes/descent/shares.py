"""Shares of the privacy budget that users choose themselves, in the place of the recipe's.

A share is of mu^2, the currency in which Gaussian releases add up: the variance of a release's noise is inverse to it.
The steps have what is left. Shares change how accurate the model is, never the guarantee: whatever they are, the
account of all releases must come to the epsilon and delta that were asked for. (As any setting, shares that were chosen
by looking at the private data would be a release of their own.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from cofit.errors import parameter_error
from cofit.learn.checked import OWNER, real
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL

SHARED = (LEVEL, CENTRE, INTERCEPT)
LEAST = Fraction(1, 10_000)
"""Of this a share is a multiple: four decimals, as people write them, so that a plan can be found again."""
MOST_TOGETHER = Fraction(9, 10)
_ROUNDING = Fraction(1, 10_000)  # a float, also of 32 bits, is that close to what was written
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
        must_be = "left out (None): shares can be set only with recipe='best' and a delta above 0"
        raise parameter_error(_NAME, OWNER, must_be, dict(given))
    shares = {}
    for name in [name for name in SHARED if name in given]:
        must_be = (
            f"a number from 0 (no such release) to {float(MOST_TOGETHER)}, with at most four decimals, for '{name}'"
        )
        shares[name] = _decimal(real(_NAME, given[name], must_be, _has_four_decimals))
    check_together(shares)
    if INTERCEPT in shares and bool(shares[INTERCEPT]) != calibrate:
        must_be = "with an 'intercept' above 0 if calibrate_intercept is True, and without one if it is False"
        raise parameter_error(_NAME, OWNER, must_be, dict(given))
    return tuple(shares.items())


def _decimal(number: float | Fraction) -> Fraction:
    return round(Fraction(number) / LEAST) * LEAST


def _has_four_decimals(number: float | Fraction) -> bool:
    exact = _decimal(number)
    return 0 <= exact <= MOST_TOGETHER and abs(Fraction(number) - exact) <= LEAST * _ROUNDING


def check_together(shares: Mapping[str, Fraction], chosen: Collection[str] = SHARED) -> None:
    """Refuse shares, chosen ones and others that the recipe adds, that leave the steps with too little."""
    if sum(shares.values()) > MOST_TOGETHER:
        others = [name for name in shares if name not in chosen]
        own = f", with the recipe's own of {others}, for which you may choose 0" if others else ""
        must_be = f"at most {float(MOST_TOGETHER)} together{own}: the steps have what is left, and need it"
        raise parameter_error(_NAME, OWNER, must_be, {name: float(share) for name, share in shares.items()})


def refuse_level(shares: Shares, normalised_by: str) -> None:
    """Refuse a level where the owners scale the rows: the parties cannot take an offset from them then."""
    if normalised_by == "owners" and dict(shares).get(LEVEL):
        must_be = (
            "without a 'level' where the owners scale the rows. Declare ranges (feature_bound), and leave "
            "normalised_by to the plan or set it to 'parties'"
        )
        raise parameter_error(_NAME, OWNER, must_be, {name: float(share) for name, share in shares})


def refuse_clipped(shares: Shares) -> None:
    """Refuse a level and a centre where rows are clipped: these have a mean and a spread instead."""
    if chosen := [name for name, _ in shares if name in (LEVEL, CENTRE)]:
        must_be = f"without {' and '.join(map(repr, chosen))} where rows are clipped (clip_rows): those have neither"
        raise parameter_error(_NAME, OWNER, must_be, {name: float(share) for name, share in shares})
