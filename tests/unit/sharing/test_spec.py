"""What names a scheme, in one frozen object: studies, handshakes and certificates say the same of it."""

from __future__ import annotations

import dataclasses

import pytest

from cofit.errors import InvalidInputError
from cofit.sharing import SCHEMES, Spec
from cofit.transport import Terms

AGREED = {"clear": "clear/3/0/none", "rep3": "rep3/3/1/none", "rep4": "rep4/4/1/none", "semi2k": "semi2k/2/1/dealer"}


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_a_spec_says_it_all_in_a_text_that_a_greeting_carries(scheme: str) -> None:
    spec = SCHEMES[scheme].info.spec()
    assert spec.agreed == AGREED[scheme]
    assert Terms(bytes(16), bytes(32), spec.agreed).scheme == spec.agreed
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.threshold = 2  # type: ignore[misc]


def test_threshold_follows_from_the_number_of_parties() -> None:
    specs = [SCHEMES["semi2k"].info.spec(parties) for parties in (2, 3, 7)]
    assert [(spec.parties, spec.threshold) for spec in specs] == [(2, 1), (3, 2), (7, 6)]
    assert {spec.corrupted for spec in specs} == {"all but one of n (dishonest majority), the dealer not among them"}
    assert SCHEMES["rep3"].info.spec().corrupted == "1 of 3 (honest majority)"


def test_a_scheme_withstands_fewer_than_all_parties() -> None:
    for scheme in SCHEMES.values():
        spec = scheme.info.spec()
        assert isinstance(spec, Spec)
        assert (0 < spec.threshold < spec.parties) == spec.secret
        assert spec.dealer == scheme.info.dealer == (spec.correlations == "dealer")


def test_a_wrong_number_of_parties_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'parties' parameter of scheme 'rep3' must be exactly 3"):
        SCHEMES["rep3"].info.spec(4)
