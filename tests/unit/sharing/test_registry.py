"""The schemes by name, and what each says of itself."""

from __future__ import annotations

import pytest

from cofit.errors import InvalidInputError
from cofit.sharing import SCHEMES, dealer_of, scheme_named


def test_every_scheme_is_found_by_its_name() -> None:
    for name, kind in SCHEMES.items():
        assert scheme_named(name) is kind
        assert kind.info.name == name


def test_names_that_there_are_not() -> None:
    with pytest.raises(InvalidInputError, match="one of clear, pair, rep3, rep4, repn, semi2k"):
        scheme_named("rep5")
    with pytest.raises(InvalidInputError, match="a dealer must be one of semi2k"):
        dealer_of("rep3")


def test_only_clear_keeps_nothing_secret() -> None:
    assert [name for name, kind in SCHEMES.items() if not kind.info.secret] == ["clear"]


def test_who_needs_a_dealer_has_one() -> None:
    assert [name for name, kind in SCHEMES.items() if kind.info.dealer] == ["semi2k"]
    assert dealer_of("semi2k") is not scheme_named("semi2k")
