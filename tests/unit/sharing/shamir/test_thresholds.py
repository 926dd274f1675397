"""A share of one threshold is no share of another: it is refused where shares are stored and imported again."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from cofit import FixedPoint, Party, run_local
from cofit.errors import InvalidInputError, PartyFailedError
from cofit.sharing import Scheme
from cofit.sharing.shamir.geometry import Geometry
from cofit.sharing.shamir.party import Shamir
from support.runs import run_scheme

VALUE = np.array([1.5, -2.0])


def stored(threshold: int | None) -> dict[str, bytes]:
    def program(party: Party) -> bytes:
        mine = VALUE if party.rank == 1 else None
        return party.export_share(party.share("party-b", mine, VALUE.shape, FixedPoint(24), 7.0))

    return dict(run_local(program, scheme="shamir", parties=5, threshold=threshold).results)


def imported(shares: dict[str, bytes], threshold: int | None) -> list[Any]:
    def program(party: Party) -> Any:
        return party.open(party.import_share(shares[party.name]), reason="test")

    return list(run_local(program, scheme="shamir", parties=5, threshold=threshold).results.values())


@pytest.mark.parametrize("threshold", [None, 1, 2])
def test_a_share_comes_back_in_a_run_of_the_same_threshold(threshold: int | None) -> None:
    for opened in imported(stored(threshold), threshold):
        np.testing.assert_array_equal(opened, VALUE)


@pytest.mark.parametrize(("made", "used"), [(1, 2), (2, 1)])
def test_a_share_of_another_threshold_is_refused(made: int, used: int) -> None:
    with pytest.raises(PartyFailedError) as info:
        imported(stored(made), used)
    errors = [error for error in info.value.failures.values() if isinstance(error, InvalidInputError)]
    assert errors
    assert all(f"'threshold' parameter of a stored share must be {used}" in str(error) for error in errors)


@pytest.mark.parametrize(("parties", "threshold"), [(5, 0), (4, 2), (3, 2), (5, 3), (5, -1)])
def test_no_geometry_is_without_secrecy_or_without_a_majority(parties: int, threshold: int) -> None:
    with pytest.raises(InvalidInputError, match="'threshold' parameter of a geometry"):
        Geometry(parties, threshold)
    if parties == 5:
        spec = dataclasses.replace(Shamir.info.spec(parties), threshold=threshold)
        with pytest.raises(InvalidInputError, match="'threshold' parameter of a geometry"):
            run_scheme(Shamir, _nothing, spec=spec)


def _nothing(s: Scheme) -> None:
    del s


def test_parties_that_order_the_names_differently_have_no_seed_in_common() -> None:
    """Ranks and contributions may agree: the names are in the seeds."""

    def program(s: Scheme) -> bytes:
        assert isinstance(s, Shamir)
        given = {0: bytes(32), 1: bytes(32)}
        names, first = s.names, s._stream("pair", given).draw(16).tobytes()
        s.names = (names[1], names[0], *names[2:])
        other = s._stream("pair", given).draw(16).tobytes()
        s.names = names
        assert first != other
        return first

    assert len(set(run_scheme(Shamir, program).results)) == 1
