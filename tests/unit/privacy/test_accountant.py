from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.privacy.accountant import KEPT, Account, at_delta, at_epsilon, sigma_for, split
from cofit.privacy.events import (
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    KNormEvent,
    LaplaceEvent,
    PureEvent,
    gaussian_event,
    laplace_event,
    sampled_gaussian_event,
)
from cofit.privacy.gaussian_dp import delta_of_mu, mu_of_pure, rounded_distance
from cofit.privacy.zcdp import delta_of, total_delta
from cofit.sampling.discrete_gaussian import tv_distance

GRID = 1 << 28
EXACT = Fraction(0)
DELTA = Fraction(1, 10**5)


def gaussian(mu: Fraction | float, name: str = "g", dimension: int = 1, distance: Fraction = EXACT) -> GaussianEvent:
    """A release with this mu, up to the twelfth, on a fine grid."""
    return GaussianEvent(name, Fraction(mu) * GRID, Fraction(GRID), dimension, distance)


def laplace(epsilon: Fraction, name: str = "l", distance: Fraction = EXACT) -> LaplaceEvent:
    return LaplaceEvent(name, epsilon, Fraction(1), 3, distance)


def many(event: Event, count: int) -> list[Event]:
    return [replace(event, name=f"{event.name} {k}") for k in range(count)]


def near(found: Fraction, expected: Fraction, relative: float = 1e-12) -> None:
    """At least what is expected, and hardly more."""
    assert expected <= found <= expected * (1 + Fraction(relative))


# --- what an event says of itself ------------------------------------------------------------------------


def test_the_numbers_of_the_events() -> None:
    wide = GaussianEvent("a", Fraction(3), Fraction(10), 7, Fraction(1, 2**50))
    near(wide.mu_squared, 9 / (100 - Fraction(1, 12)))
    near(wide.rho, Fraction(9, 200))
    near(wide.rounding_distance, 7 / (128 * (100 - Fraction(1, 12)) ** 2), 1e-6)
    assert wide.epsilon is None
    narrow = DiscreteGaussianEvent("b", Fraction(1), Fraction(1, 2), 2, EXACT)
    assert (narrow.mu_squared, narrow.rho, narrow.epsilon, narrow.rounding_distance) == (None, Fraction(2), None, EXACT)
    for kind in (KNormEvent, LaplaceEvent):
        pure = kind("c", Fraction(3), Fraction(10), 5, EXACT)
        assert (pure.epsilon, pure.rounding_distance) == (Fraction(3, 10), EXACT)
        near(pure.rho, Fraction(9, 200))
        near(pure.mu_squared, mu_of_pure(Fraction(3, 10)) ** 2)
    assert [kind.norm for kind in (GaussianEvent, DiscreteGaussianEvent, KNormEvent, LaplaceEvent)] == [
        "L2",
        "L2",
        "L2",
        "L1",
    ]


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("name", " "),
        ("name", 1),
        ("sensitivity", 1),
        ("sensitivity", Fraction(0)),
        ("sensitivity", Fraction(99, 100)),
        ("scale", 2.5),
        ("scale", Fraction(-1)),
        ("scale", Fraction(199, 100)),
        ("dimension", 0),
        ("dimension", True),
        ("sampler_distance", 0),
        ("sampler_distance", Fraction(3, 2)),
    ],
)
def test_an_event_refuses_what_is_not_exact_or_not_possible(field: str, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"The '{field}' parameter of GaussianEvent must be"):
        replace(gaussian(1), **{field: bad})


def test_weights_in_place_of_steps_are_refused() -> None:
    for sigma in (Fraction(1, 150), Fraction(5)):
        with pytest.raises(
            InvalidInputError, match=r"'sensitivity' parameter of .*GaussianEvent must be at least 1 step"
        ):
            gaussian_event("weights", Fraction(77, 10**5), sigma, 12, EXACT)


def test_a_sampled_event_has_the_distance_of_all_its_draws() -> None:
    for sigma, precision in ((Fraction(3, 2), 64), (Fraction(1 << 20), 64), (Fraction(1 << 20), 96)):
        event = sampled_gaussian_event("g", Fraction(3), sigma, 1874, precision=precision)
        near(event.sampler_distance, tv_distance(sigma, 1874, precision=precision), 1e-6)
        assert event == gaussian_event("g", Fraction(3), sigma, 1874, event.sampler_distance)
    assert sampled_gaussian_event("g", Fraction(3), Fraction(5), 10**30).sampler_distance == 1


def test_laplace_noise_for_a_euclidean_sensitivity_pays_for_all_coordinates() -> None:
    event = laplace_event("l", Fraction(1, 10), Fraction(2), 1875, Fraction(1, 2**50))
    assert event.sensitivity**2 >= Fraction(1875, 100)
    near(event.sensitivity**2, Fraction(1875, 100))
    assert laplace_event("l", Fraction(1), Fraction(1), 4, EXACT) == LaplaceEvent(
        "l", Fraction(2), Fraction(1), 4, EXACT
    )
    with pytest.raises(InvalidInputError, match="The 'dimension' parameter of laplace_event must be"):
        laplace_event("l", Fraction(1), Fraction(1), 0, EXACT)


def test_a_pure_event_without_a_law_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        PureEvent("p", Fraction(1), Fraction(1), 1, EXACT)  # type: ignore[abstract]


def test_events_are_frozen_and_hopeless_ones_refused() -> None:
    with pytest.raises(FrozenInstanceError):
        gaussian(1).scale = Fraction(1)  # type: ignore[misc]
    with pytest.raises(InvalidInputError, match="The 'scale' parameter of LaplaceEvent must be at least sensitivity"):
        laplace(Fraction(1025))


# --- composition -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 4, 9, 25])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)], ids=str)
def test_equal_gaussian_events_are_one_of_root_k(count: int, epsilon: Fraction) -> None:
    account = at_epsilon(many(gaussian(Fraction(1, 2)), count), epsilon)
    assert account.rule == "gdp"
    near(account.delta, delta_of_mu(Fraction(math.isqrt(count), 2), epsilon), 1e-9)
    assert sum(part.amount for part in account.contributions) == pytest.approx(count / 4)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_gaussian_events_agree_with_dp_accounting(epsilon: float) -> None:
    """Their distribution is rounded to the safe side: not below ours, and close."""
    scales = (1.5, 3.0, 7.0)
    theirs = pld.from_gaussian_mechanism(scales[0], value_discretization_interval=1e-4)
    for scale in scales[1:]:
        theirs = theirs.compose(pld.from_gaussian_mechanism(scale, value_discretization_interval=1e-4))
    events = [gaussian(Fraction(1) / Fraction(scale), str(scale)) for scale in scales]
    ours = at_epsilon(events, Fraction(epsilon))
    delta = theirs.get_delta_for_epsilon(epsilon)
    assert float(ours.delta) == pytest.approx(delta, rel=1e-3)
    assert float(ours.delta) <= delta
    assert float(at_delta(events, DELTA).epsilon) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_mixed_events_are_above_dp_accounting(epsilon: float) -> None:
    """The exact composition of Laplace and Gaussian noise is never above what is claimed, and not far below."""
    theirs = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4)
    theirs = theirs.compose(pld.from_laplace_mechanism(5.0, value_discretization_interval=1e-4).self_compose(4))
    events = [gaussian(Fraction(1, 2)), *many(laplace(Fraction(1, 5)), 4)]
    ours = float(at_epsilon(events, Fraction(epsilon)).delta)
    assert theirs.get_delta_for_epsilon(epsilon) <= ours <= 20 * theirs.get_delta_for_epsilon(epsilon)


def two_coordinates(sigma: Fraction, shifts: tuple[int, int], epsilon: Fraction) -> float:
    """The smallest delta of two discrete Gaussian releases at these shifts: all outcomes counted."""
    reach = math.ceil(10 * sigma) + max(shifts)
    inside = range(-reach, reach + 1)
    weight = {k: math.exp(-(k * k) / (2 * float(sigma) ** 2)) for k in range(-2 * reach, 2 * reach + 1)}
    factor, norm = math.exp(epsilon), sum(weight[k] for k in inside) ** 2
    gaps = (
        weight[x] * weight[y] - factor * weight[x - shifts[0]] * weight[y - shifts[1]] for x in inside for y in inside
    )
    return sum(gap for gap in gaps if gap > 0) / norm


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 2), Fraction(1)], ids=str)
@pytest.mark.parametrize("sigma", [Fraction(2), Fraction(5)], ids=str)
def test_the_exact_composition_on_a_coarse_grid_is_within_the_claim(sigma: Fraction, epsilon: Fraction) -> None:
    """Two integer releases, every outcome counted: the twelfth, the rounding and the sum of mu^2 at work."""
    exact = two_coordinates(sigma, (2, 1), epsilon)
    wide: list[Event] = [GaussianEvent(n, Fraction(d), sigma, 1, EXACT) for n, d in (("a", 2), ("b", 1))]
    narrow: list[Event] = [DiscreteGaussianEvent(n, Fraction(d), sigma, 1, EXACT) for n, d in (("a", 2), ("b", 1))]
    by_rule = {
        account.rule: float(account.delta) for account in (at_epsilon(wide, epsilon), at_epsilon(narrow, epsilon))
    }
    assert set(by_rule) == {"gdp", "zcdp"}
    assert exact <= by_rule["gdp"] < by_rule["zcdp"]


def test_discrete_gaussian_noise_that_is_not_wide_is_zcdp_for_all() -> None:
    events = [gaussian(Fraction(1, 4)), DiscreteGaussianEvent("narrow", Fraction(1), Fraction(3), 2, EXACT)]
    account = at_epsilon(events, 1)
    assert account.rule == "zcdp"
    near(account.delta, delta_of(Fraction(1, 32) + Fraction(1, 18), Fraction(1)), 1e-9)
    assert [part.currency for part in account.contributions] == ["rho", "rho"]


def test_pure_events_alone_add_up_or_compose_where_that_is_better() -> None:
    few = many(laplace(Fraction(1, 10)), 3)
    assert at_epsilon(few, Fraction(3, 10)) == Account(
        Fraction(3, 10), EXACT, "pure", EXACT, at_epsilon(few, Fraction(3, 10)).contributions
    )
    assert at_epsilon(few, Fraction(29, 100)).delta > 0
    sampled = [laplace(Fraction(k, 10), str(k), Fraction(k, 2**60)) for k in (1, 2, 3)]
    for epsilon in (Fraction(6, 10), Fraction(1)):
        account = at_epsilon(sampled, epsilon)
        assert (account.rule, account.distance) == ("pure", Fraction(6, 2**60))
        assert account.delta == total_delta(0, Fraction(6, 2**60), epsilon)
        assert float(account.delta) == pytest.approx((1 + math.exp(epsilon)) * 6 / 2**60)
    crowd = many(laplace(Fraction(1, 50)), 100)
    account = at_epsilon(crowd, 1)
    assert account.rule in ("gdp", "zcdp")
    assert account.delta <= min(
        delta_of(Fraction(100, 5000), Fraction(1)) * Fraction(1001, 1000),
        delta_of_mu(mu_of_pure(Fraction(1, 50)) * 10, 1),
    )
    assert account.delta > 0


def test_a_pure_event_is_set_aside_where_that_is_better() -> None:
    account = at_epsilon([gaussian(Fraction(1, 5)), laplace(Fraction(1, 10))], 1)
    assert account.rule == "pure + gdp"
    near(account.delta, delta_of_mu(Fraction(1, 5), Fraction(9, 10)), 1e-9)
    assert [part.currency for part in account.contributions] == ["mu^2", "epsilon"]
    narrow = at_epsilon([DiscreteGaussianEvent("n", Fraction(1), Fraction(5), 1, EXACT), laplace(Fraction(1, 10))], 1)
    assert narrow.rule == "pure + zcdp"
    near(narrow.delta, delta_of(Fraction(1, 50), Fraction(9, 10)), 1e-9)


def test_distances_add_up_and_enter_once() -> None:
    events = [gaussian(Fraction(1, 5), "a", 3, Fraction(1, 2**40)), laplace(Fraction(1, 10), "b", Fraction(1, 2**41))]
    account = at_epsilon(events, 1)
    rounding = 3 * rounded_distance(GRID)
    assert account.distance == Fraction(3, 2**41) + rounding
    near(account.delta, total_delta(delta_of_mu(Fraction(1, 5), Fraction(9, 10)), account.distance, 1), 1e-9)
    assert [part.distance for part in account.contributions] == [Fraction(1, 2**40) + rounding, Fraction(1, 2**41)]
    with mpmath.workprec(100):
        added = account.delta - delta_of_mu(Fraction(1, 5), Fraction(9, 10))
        assert added / account.distance >= 1 + math.e


def test_a_coarse_grid_in_many_dimensions_is_counted_as_zcdp() -> None:
    """The rounding distance of 10^9 coordinates at sigma = 32 is larger than what gdp gains."""
    event = GaussianEvent("a", Fraction(8), Fraction(32), 10**9, EXACT)
    assert at_epsilon([event], 1).rule == "zcdp"
    assert at_epsilon([replace(event, dimension=1)], 1).rule == "gdp"


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["g", "d", "l"]), st.fractions(Fraction(1, 50), 1)), min_size=1, max_size=5),
    st.fractions(Fraction(1, 20), 5),
    st.fractions(Fraction(1, 20), 5),
)
def test_more_releases_and_a_smaller_epsilon_never_lower_delta(
    kinds: list[tuple[str, Fraction]], e: Fraction, f: Fraction
) -> None:
    events: list[Event] = []
    for k, (kind, size) in enumerate(kinds):
        if kind == "d":
            events.append(DiscreteGaussianEvent(str(k), Fraction(1), 1 / size, 2, EXACT))
        else:
            events.append(gaussian(size, str(k)) if kind == "g" else laplace(size, str(k)))
    account = at_epsilon(events, min(e, f))
    slack = 1 + Fraction(1, 1 << 50)
    assert at_epsilon(events, max(e, f)).delta <= account.delta * slack
    assert at_epsilon(events[:-1] or events, min(e, f)).delta <= account.delta * slack
    assert at_epsilon(events[::-1], min(e, f)).delta == account.delta
    assert [part.name for part in account.contributions] == [event.name for event in events]


# --- the smallest epsilon --------------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(st.fractions(Fraction(1, 100), 2), st.integers(1, 12))
def test_epsilon_is_allowed_and_nearly_the_smallest(mu: Fraction, power: int) -> None:
    events, delta = [gaussian(mu, distance=Fraction(1, 2**90))], Fraction(1, 10**power)
    account = at_delta(events, delta)
    assert account == at_epsilon(events, account.epsilon)
    assert account.delta <= delta
    assert (
        account.epsilon <= Fraction(1, 2**39)
        or at_epsilon(events, account.epsilon * (1 - Fraction(1, 2**28))).delta > delta
    )


@pytest.mark.parametrize("mu", [Fraction(19, 10), Fraction(2), Fraction(11, 5), Fraction(5, 2)], ids=str)
def test_an_epsilon_between_two_powers_of_two_is_found(mu: Fraction) -> None:
    """(1 + e^epsilon) s grows: of 20 steps with 56 bits, delta is above 1e-5 at 8 and at 16."""
    sigma = Fraction(1 << 30)
    whole = mu**2 * sigma**2 / 20
    shift = Fraction(math.isqrt(math.ceil(whole)))
    events = many(sampled_gaussian_event("step", shift, sigma, 1875, precision=56), 20)
    assert all(at_epsilon(events, epsilon).delta > DELTA for epsilon in (8, 16))
    account = at_delta(events, DELTA)
    assert 8 < account.epsilon < 16
    assert account.delta <= DELTA < at_epsilon(events, account.epsilon * (1 - Fraction(1, 2**28))).delta


def test_epsilon_is_not_stated_below_its_least() -> None:
    assert at_delta([gaussian(Fraction(1, 10**6))], DELTA).epsilon == Fraction(1, 2**40)


def test_distances_that_no_delta_covers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="No epsilon up to 1024 is proven for delta = 1e-05"):
        at_delta([gaussian(1, distance=Fraction(1, 1000))], DELTA)


# --- shares ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(8)], ids=str)
def test_a_budget_that_is_split_and_spent_is_kept(epsilon: Fraction) -> None:
    steps = {f"step {k}": Fraction(93, 2000) for k in range(20)}
    shares = {"level": Fraction(2, 100), "centre": Fraction(5, 100), **steps}
    budget = split(epsilon, DELTA, shares)
    width = Fraction(1 << 24)
    events = [GaussianEvent(n, width, sigma_for(width, mu), 1874, Fraction(1, 2**60)) for n, mu in budget.items()]
    account = at_epsilon(events, epsilon)
    assert account.rule == "gdp"
    assert DELTA * (1 - KEPT) * Fraction(999, 1000) < account.delta <= DELTA
    for part, share in zip(account.contributions, shares.values(), strict=True):
        assert float(part.amount) == pytest.approx(float(share * sum(budget.values())), rel=1e-6)
    weaker = [replace(event, scale=event.scale * Fraction(999, 1000)) for event in events]
    assert at_epsilon(weaker, epsilon).delta > DELTA


@settings(deadline=None)
@given(st.fractions(Fraction(1, 100), 10**9), st.fractions(Fraction(1, 10**6), 4))
def test_sigma_pays_for_its_share_and_is_nearly_the_smallest(sensitivity: Fraction, mu_squared: Fraction) -> None:
    sigma = sigma_for(sensitivity, mu_squared)
    assert sensitivity**2 <= mu_squared * (sigma**2 - Fraction(1, 12))
    less = sigma * (1 - Fraction(1, 1 << 28))
    assert sigma == 2 or sensitivity**2 > mu_squared * (less**2 - Fraction(1, 12))


@pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": Fraction(0)}, {"a": Fraction(2, 3), "b": Fraction(1, 2)}])
def test_shares_that_are_no_shares_are_refused(shares: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="The 'shares' parameter of split must be"):
        split(1, DELTA, shares)


@pytest.mark.parametrize("events", [[], [1], [gaussian(1), gaussian(1)]], ids=["none", "no event", "same name"])
def test_events_that_are_none_are_refused(events: list[Any]) -> None:
    with pytest.raises(InvalidInputError, match="The 'events' parameter of at_epsilon must be events"):
        at_epsilon(events, 1)
    with pytest.raises(InvalidInputError, match="The 'events' parameter of at_delta must be events"):
        at_delta(events, DELTA)
