"""Releases with what the accountant says of each: what a ledger keeps beside the one (epsilon, delta) of a study.

The releases are those that the certificate lists; their parts are those of the account that proves its delta
(``accountant.py``). As text it is JSON with exact fractions, and reading is as strict as that of a certificate.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.certified import CertifiedRelease
from cofit.privacy.strict_fields import decode, encode, json_object


@dataclass(frozen=True)
class AccountedRelease(CertifiedRelease):
    """A release as the certificate lists it, and its part of the account.

    amount: what it adds in its ``currency``, mu^2, rho or epsilon. distance: the total variation that it adds, of the
    sampler and, under mu^2, of its noise from rounded Gaussian noise.
    """

    currency: str
    amount: Fraction
    distance: Fraction


def accounted(releases: Sequence[CertifiedRelease], epsilon: Fraction) -> tuple[AccountedRelease, ...]:
    """Return the releases with their parts of the account that has the smallest proven delta for this epsilon."""
    parts = at_epsilon([release.event for release in releases], epsilon).contributions
    return tuple(
        AccountedRelease(**vars(release), currency=part.currency, amount=part.amount, distance=part.distance)
        for release, part in zip(releases, parts, strict=True)
    )


def releases_to_text(releases: Sequence[AccountedRelease]) -> str:
    """Return the releases as JSON, or raise InvalidInputError where ``releases_from_text`` would not give them back."""
    text = json.dumps(encode(list(releases)), sort_keys=True, separators=(",", ":"))
    if releases_from_text(text) != tuple(releases):
        raise parameter_error("releases", "releases_to_text", "AccountedReleases, at least one", releases)
    return text


def releases_from_text(text: str | bytes) -> tuple[AccountedRelease, ...]:
    """Read what ``releases_to_text`` wrote, or raise InvalidInputError that says what is wrong."""
    try:
        encoded = json.loads(text, object_pairs_hook=json_object)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise parameter_error("text", "releases_from_text", "a list of releases in JSON", str(error)) from None
    releases: tuple[AccountedRelease, ...] = decode(tuple[AccountedRelease, ...], encoded, "releases")
    names = [release.name for release in releases]
    if not names or len(set(names)) < len(names):
        raise parameter_error("releases", "releases_from_text", "at least one, with a name of its own each", names)
    for release in releases:
        if release.amount <= 0 or not 0 <= release.distance <= 1:
            must_be = "a positive amount, and a distance from 0 to 1"
            raise parameter_error(release.name, "releases_from_text", must_be, (release.amount, release.distance))
    return releases
