"""Releases as a ledger keeps them: their parts of the account, and texts that come back or are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from cofit.errors import InvalidInputError
from cofit.privacy.accounted import AccountedRelease, accounted, releases_from_text, releases_to_text
from support.certified import certified

BASE = certified("clipped")
RELEASES = accounted(BASE.releases, BASE.epsilon)


def test_every_release_has_its_part_of_the_account() -> None:
    assert [release.name for release in RELEASES] == [release.name for release in BASE.releases]
    assert {release.currency for release in RELEASES} == {"mu^2"}
    for release in RELEASES:
        exact = (release.sensitivity / release.scale) ** 2
        assert exact <= release.amount <= exact * (1 + Fraction(1, 1 << 30)), "rounded up, and by little"
        assert release.sampler_distance < release.distance < Fraction(1, 1000)


@pytest.mark.parametrize("distance", [Fraction(0), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize("amount", [Fraction(1, 10**30), Fraction(5)])
def test_they_come_back_as_they_were(amount: Fraction, distance: Fraction) -> None:
    kept = (RELEASES[0], replace(RELEASES[1], amount=amount, distance=distance))
    assert releases_from_text(releases_to_text(kept)) == kept


@pytest.mark.parametrize(
    "changed",
    [
        {"amount": Fraction(0)},
        {"amount": Fraction(-1)},
        {"distance": Fraction(-1, 10**9)},
        {"distance": Fraction(10**9 + 1, 10**9)},
    ],
    ids=str,
)
def test_amounts_and_distances_that_cannot_be(changed: dict[str, Fraction]) -> None:
    wrong: AccountedRelease = replace(RELEASES[0], **changed)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="a positive amount, and a distance from 0 to 1"):
        releases_to_text([wrong])


def test_names_are_different_and_there_is_one() -> None:
    for wrong in ([], [RELEASES[0], RELEASES[0]]):
        with pytest.raises(InvalidInputError, match="at least one, with a name of its own each"):
            releases_to_text(wrong)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "[" * 100_000, '[{"name": "a", "name": "b"}]'])
def test_what_is_no_list_of_releases(text: str) -> None:
    with pytest.raises(InvalidInputError):
        releases_from_text(text)
