"""Forged certificates: numbers that promise more than the run gave. Every one is refused, with the field named.

The six kinds that a certificate of version 2 let pass are here one by one, each with everything changed along that the
forger can make fit. The search changes single numbers and pairs, anywhere in the certificate, such that the noise looks
larger, the sensitivity smaller, or the guarantee better.

What is consistent in itself, a whole certificate of another run, is no forgery that arithmetic can find: signatures and
the study refuse it (``test_forged_models``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.learn.rebuild import rebuilt_plan
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.certificate import Certificate
from cofit.sharing import scheme_named
from support.certified import CASES, certified

Forger = Callable[[], Certificate]
BASES = (
    *("clipped", "level and centre", "pure", "paper", "paper, gaussian", "paper, parties", "four classes"),
    *("numbers, weights", "counts", "weights of classes"),
)


def read(forge: Forger) -> str:
    """What refuses a forged certificate: its text is read as anybody would."""
    with pytest.raises(InvalidInputError, match="parameter of a certificate must be") as refused:
        rebuilt_plan(Certificate.from_json(forge().to_json()))
    return str(refused.value).split("'")[1]


# --- the six kinds ---------------------------------------------------------------------------------------


def test_no_secrecy_that_is_called_secret() -> None:
    def forge(**facts: Any) -> Certificate:
        return replace(certified("clipped"), scheme="clear", **facts)

    assert read(forge) == "secret"
    info = scheme_named("clear").info
    assert read(lambda: forge(adversary=info.adversary, threshold=info.spec().corrupted)) == "secret"
    assert read(lambda: replace(certified("clipped"), threshold="2 of 3 (honest minority)")) == "threshold"
    true = {"secret": info.secret, "adversary": info.adversary, "threshold": info.spec().corrupted}
    assert read(lambda: forge(**true)) in ("scheme", "assumptions[0]"), "the plan was another scheme's"


def test_a_tau_below_its_parts() -> None:
    base = certified("paper")
    stated = base.minimiser
    assert stated is not None and stated.tau is not None
    for tau, parts in (
        (stated.tau / 2, stated.tau_parts),
        (stated.tau / 2, {name: part / 2 for name, part in stated.tau_parts.items()}),
        (0.0, {}),
    ):
        forged = replace(stated, tau=tau, tau_parts=parts)
        assert read(lambda forged=forged: replace(base, statement=forged)).startswith("statement.tau")  # type: ignore[misc]


@pytest.mark.parametrize("case", ["paper", "clipped"])
def test_a_hundred_times_the_records_for_a_hundredth_of_the_noise(case: str) -> None:
    base, times = certified(case), 100
    with pytest.raises(InvalidInputError, match="'owners' parameter of a certificate must be the"):
        replace(base, n=base.n * times)
    owners = {
        name: {key: (shape[0] * times, *shape[1:]) for key, shape in shapes.items()}
        for name, shapes in base.owners.items()
    }
    assert read(lambda: replace(base, n=base.n * times, owners=owners)) in ("owners", "n")
    facts = {**base.facts, "rows": base.n * times}
    assert read(lambda: replace(base, n=base.n * times, owners=owners, facts=facts))


def test_a_gradient_bound_that_no_loss_has() -> None:
    base = certified("paper")
    stated = base.minimiser
    assert stated is not None

    def forge() -> Certificate:
        """A hundredth of the bound, of the sensitivity, of tau and of the noise: the proof's arithmetic is in order."""
        small = Fraction(1, 100)
        assert stated.tau is not None
        tau = stated.tau / 100
        one = base.releases[0]
        return replace(
            base,
            releases=(replace(one, sensitivity=one.sensitivity * small, scale=one.scale * small),),
            noise_expected_norm=base.noise_expected_norm / 100,
            statement=replace(
                stated,
                gradient_bound=stated.gradient_bound * small,
                sensitivity_exact=stated.sensitivity_exact * small,
                sensitivity_total=stated.sensitivity_total * small,
                noise_scale=stated.noise_scale * small,
                tau=tau,
                tau_parts={"all": tau},
            ),
        )

    Certificate.from_json(forge().to_json())  # the numbers alone do not tell
    assert read(forge) in ("releases[0].sensitivity", "noise_expected_norm", "statement.gradient_bound")


@pytest.mark.parametrize(
    ("case", "release", "share"),
    [("level and centre", "level", Fraction(1, 2)), ("clipped", "radius", 1 + Fraction(1, 1 << 14))],
)
def test_a_mean_width_that_the_plan_cannot_have(case: str, release: str, share: Fraction) -> None:
    base = certified(case)
    stated = base.descent
    assert stated is not None
    number = [one.name for one in base.releases].index(release)

    def forge() -> Certificate:
        one = base.releases[number]
        less = replace(one, sensitivity=one.sensitivity * share, scale=one.scale * share)
        releases = (*base.releases[:number], less, *base.releases[number + 1 :])
        return replace(base, releases=releases, statement=replace(stated, mean_width=stated.mean_width * share))

    Certificate.from_json(forge().to_json())  # the numbers alone do not tell
    assert read(forge) in (f"releases[{number}].sensitivity", "statement.mean_width")


@pytest.mark.parametrize("case", ["clipped", "paper, gaussian", "pure"])
def test_a_sampler_distance_of_another_precision(case: str) -> None:
    base = certified(case)

    def forge() -> Certificate:
        releases = tuple(replace(one, sampler_distance=one.sampler_distance / 2) for one in base.releases)
        return replace(base, releases=releases, sampler_distance=base.sampler_distance / 2)

    Certificate.from_json(forge().to_json())  # the numbers alone do not tell
    assert read(forge) in ("sampler_distance", "releases[0].sampler_distance")


# --- the search ------------------------------------------------------------------------------------------


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers of a certificate in JSON: floats, integers, fractions, and facts that are fractions."""
    if isinstance(value, dict) and set(value) == {"exact", "float"}:
        yield path
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from numbers(item, (*path, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from numbers(item, (*path, i))
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or (
        path[0] == "facts" and isinstance(value, str) and "/" in value
    ):
        yield path


def scaled(value: Any, factor: Fraction) -> Any:
    """A number of any kind times a factor, in the same spelling."""
    if isinstance(value, dict):
        exact = Fraction(value["exact"]) * factor
        return {"exact": f"{exact.numerator}/{exact.denominator}", "float": float(exact)}
    if isinstance(value, str):
        exact = Fraction(value) * factor
        return f"{exact.numerator}/{exact.denominator}"
    if isinstance(value, float):
        return value * float(factor)
    changed = round(value * factor)
    return changed if changed != value else value + (1 if factor > 1 else -1)


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def search(case: str, count: int, seed: int) -> tuple[int, list[str]]:
    """Try random changes of one number or of two; return how many changed anything, and those that were not refused."""
    rng = np.random.default_rng(seed)
    text = certified(case).to_json()
    paths = [path for path in numbers(json.loads(text)) if path != ("version",)]
    factors = [Fraction(1, 100), Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000), 1 - Fraction(1, 1 << 30)]
    factors += [1 / factor for factor in factors]
    tried, passed = 0, []
    while tried < count:
        chosen = [paths[i] for i in rng.choice(len(paths), size=int(rng.integers(1, 3)), replace=False)]
        document = json.loads(text)
        factor = factors[rng.integers(len(factors))]
        for number, path in enumerate(chosen):
            own = factor if number == 0 or rng.integers(2) else 1 / factor
            at(document, path[:-1])[path[-1]] = scaled(at(document, path), own)
        if document == json.loads(text):
            continue
        tried += 1
        try:
            rebuilt_plan(Certificate.from_json(json.dumps(document)))
        except InvalidInputError:
            continue
        passed.append(f"{chosen} times {factor}")
    return tried, passed


@pytest.mark.parametrize("case", BASES)
def test_no_change_of_one_number_or_two_passes(case: str) -> None:
    assert search(case, 20, seed=1) == (20, [])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES)
def test_no_change_of_one_number_or_two_passes_in_a_long_search(case: str) -> None:
    """Over 4,000 in all."""
    assert search(case, 220, seed=2) == (220, [])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", ["clipped", "level and centre", "paper", "paper, gaussian"])
def test_no_weaker_noise_passes_with_the_delta_that_it_really_gives(case: str) -> None:
    """Nor with an understated sensitivity, so that the account is in order."""
    base = certified(case)
    for share in (Fraction(1, 2), Fraction(99, 100), 1 - Fraction(1, 1 << 45)):
        for number in range(len(base.releases)):
            assert read(lambda n=number, s=share: weaker(base, n, s, Fraction(1)))  # type: ignore[misc]
            assert read(lambda n=number, s=share: weaker(base, n, s, s))  # type: ignore[misc]


def weaker(base: Certificate, number: int, noise: Fraction, sensitivity: Fraction) -> Certificate:
    one = base.releases[number]
    less = replace(one, scale=one.scale * noise, sensitivity=one.sensitivity * sensitivity)
    releases = (*base.releases[:number], less, *base.releases[number + 1 :])
    account = at_epsilon([release.event for release in releases], base.epsilon)
    return replace(base, releases=releases, rule=account.rule, delta_total=max(base.delta_total, account.delta))
