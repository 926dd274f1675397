"""What names a scheme, in one frozen object: studies, handshakes and certificates say the same of it."""

from __future__ import annotations

import dataclasses

import pytest

from cofit.errors import InvalidInputError
from cofit.sharing import SCHEMES, Spec
from cofit.transport import Terms, memory_meshes

AGREED = {
    "clear": "clear/3/0/none",
    "pair": "pair/2/1/parties",
    "rep3": "rep3/3/1/none",
    "rep4": "rep4/4/1/none",
    "repn": "repn/3/1/none/direct/40",
    "semi2k": "semi2k/2/1/dealer",
    "shamir": "shamir/3/1/none",
}


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


def test_soundness_is_said_wherever_it_is_not_left_to_computation_alone() -> None:
    stated = {name: scheme.info.spec().soundness_bits for name, scheme in SCHEMES.items()}
    assert {name: bits for name, bits in stated.items() if bits is not None} == {"repn": 40}
    five = SCHEMES["repn"].info.spec(5)
    assert (five.soundness_bits, five.agreed) == (40, "repn/5/2/none/direct/40")
    assert five.protects == f"{five.adversary}; a lie is missed with probability at most 2^-40 in a study"
    assert SCHEMES["rep4"].info.spec().protects == SCHEMES["rep4"].info.adversary


def test_numbers_of_parties() -> None:
    infos = {name: SCHEMES[name].info for name in ("rep3", "repn", "shamir", "semi2k")}
    counts = {name: info.counts for name, info in infos.items()}
    assert counts == {"rep3": range(3, 4), "repn": range(3, 8, 2), "shamir": range(3, 8), "semi2k": None}
    assert infos["repn"].parties_in_words == "3, 5 or 7"
    assert [count for count in range(10) if infos["repn"].runs_with(count)] == [3, 5, 7]


CHOICE = dataclasses.replace(
    SCHEMES["clear"].info,
    name="choice",
    parties=(3, 7),
    most_corrupted=lambda parties: (parties - 1) // 2,
    least_corrupted=1,
    corrupted="{threshold} of {parties}",
    routes=("direct", "king"),
)


def test_a_smaller_threshold_and_another_route_are_agreed_on() -> None:
    usual = CHOICE.spec(5)
    assert (usual.threshold, usual.route, usual.agreed) == (2, "direct", "choice/5/2/none")
    assert CHOICE.spec(5, 2, "direct") == usual
    assert CHOICE.spec(5, 1).corrupted == "1 of 5"
    assert CHOICE.spec(5, 1).agreed == "choice/5/1/none"
    assert CHOICE.spec(5, route="king").agreed == "choice/5/2/none/king"
    assert [CHOICE.chosen_threshold(5, t) for t in (None, 2, 1)] == [None, None, 1]


@pytest.mark.parametrize("threshold", [0, 3, -1, 1.0, True, "1"])
def test_a_threshold_that_the_scheme_cannot_have_is_refused(threshold: object) -> None:
    with pytest.raises(InvalidInputError, match="'threshold' parameter of scheme 'choice' must be from 1 to 2 among 5"):
        CHOICE.spec(5, threshold)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="'threshold' parameter of scheme 'semi2k' must be 2 among 3 parties"):
        SCHEMES["semi2k"].info.spec(3, 1)


def test_a_route_that_the_scheme_lacks_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'route' parameter of scheme 'rep3' must be 'direct'"):
        SCHEMES["rep3"].info.spec(route="king")
    with pytest.raises(InvalidInputError, match="'route' parameter of scheme 'choice' must be one of direct, king"):
        CHOICE.spec(route="queen")


def test_a_member_runs_the_form_that_it_is_given_and_no_other() -> None:
    names = ("a", "b", "c")
    mesh = memory_meshes(names[:1], Terms(bytes(16), bytes(32), "x"))["a"]
    clear = SCHEMES["clear"]
    assert clear(mesh, names).spec == clear.info.spec(3)
    for other in (clear.info.spec(4), SCHEMES["rep3"].info.spec()):
        with pytest.raises(InvalidInputError, match="'spec' parameter of a member must be one of scheme 'clear' among"):
            clear(mesh, names, spec=other)
