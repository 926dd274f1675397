"""Parties, threshold and route on the command line and of estimators: what fits is used, what does not is named."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cofit import LogisticRegression
from cofit.cli.main import cli
from cofit.cli.scheme_options import check_form
from cofit.errors import InvalidInputError
from cofit.sharing import SCHEMES

NAME = "shamir"
SMALL = ["--rows", "300", "--cols", "5"]


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert isinstance(result.exception, InvalidInputError), result.output  # for which `cofit` exits with 2
    return str(result.exception)


def plan_of(*arguments: str) -> Any:
    result = CliRunner().invoke(cli, ["plan", *SMALL, "--json", *arguments], catch_exceptions=False)
    return json.loads(result.output)


@pytest.mark.parametrize("command", [["demo", "--out", "nowhere"], ["plan", *SMALL], ["bench", "train"]])
@pytest.mark.parametrize(
    ("form", "told"),
    [
        (["--parties", "4"], "The 'parties' parameter of scheme 'rep3' must be exactly 3 computing parties. Got 4 "
         "instead. Leave out --parties, or take a scheme that runs with 4: --scheme "),
        (["--scheme", "semi2k", "--parties", "1"], "must be 2 or more computing parties. Got 1 instead. Choose "
         "--parties 2 or more."),
        (["--threshold", "2"], "The 'threshold' parameter of scheme 'rep3' must be 1 among 3 parties"),
        (["--scheme", "semi2k", "--parties", "3", "--threshold", "0"], "must be 2 among 3 parties"),
    ],
)  # fmt: skip
def test_a_form_that_a_scheme_lacks_is_refused_with_the_remedy(command: list[str], form: list[str], told: str) -> None:
    assert told in refused(*command, *form)


def test_a_plan_among_more_parties_is_another_forecast_and_the_same_plan() -> None:
    two, three = plan_of("--scheme", "semi2k"), plan_of("--scheme", "semi2k", "--parties", "3")
    assert two["hash"] == three["hash"]
    assert two["forecast"]["total"]["bytes"] < three["forecast"]["total"]["bytes"]
    assert three["forecast"]["scheme"] == {"name": "semi2k", "parties": 3, "threshold": 2, "route": "direct"}


def test_the_latency_of_a_plan_chooses_the_route() -> None:
    near, far = (plan_of("--scheme", NAME, "--parties", "5", "--latency", latency) for latency in ("1e-6", "0.1"))
    assert (near["forecast"]["scheme"]["route"], far["forecast"]["scheme"]["route"]) == ("king", "direct")
    assert far["hash"] == plan_of("--scheme", NAME, "--parties", "7")["hash"] != near["hash"]
    chosen = plan_of("--scheme", NAME, "--parties", "7", "--threshold", "2")
    assert (chosen["threshold"], chosen["forecast"]["scheme"]["threshold"]) == (2, 2)
    assert plan_of("--scheme", NAME, "--parties", "7", "--threshold", "3")["hash"] == far["hash"]


def test_every_form_that_there_is_can_be_asked_for() -> None:
    assert check_form(NAME, 7, 1, "king").agreed == f"{NAME}/7/1/none/king"
    with pytest.raises(
        InvalidInputError, match=r"must be from 3 to 7 .* Choose --parties from 3 to 7, or take a scheme"
    ):
        check_form(NAME, 8, None)


def test_schemes_as_json() -> None:
    told = json.loads(CliRunner().invoke(cli, ["schemes", *SMALL, "--json"], catch_exceptions=False).output)
    assert {one["scheme"] for one in told["schemes"]} == set(SCHEMES)
    by_name = {one["scheme"]: one for one in told["schemes"]}
    assert by_name["rep3"]["parties"] == {"fewest": 3, "most": 3, "all": [3], "usual": 3, "shown": 3}
    assert by_name["semi2k"]["parties"]["all"] is None
    assert (by_name["rep3"]["threshold"], by_name["rep4"]["active"], by_name["semi2k"]["dealer"]) == (1, True, True)
    assert {one["scheme"] for one in told["costs"]} == {name for name, s in SCHEMES.items() if s.info.secret}


def test_schemes_say_how_surely_lies_are_noticed() -> None:
    told = json.loads(CliRunner().invoke(cli, ["schemes", *SMALL, "--json", "--parties", "5"]).output)
    repn = next(one for one in told["schemes"] if one["scheme"] == "repn")
    assert (repn["parties"]["all"], repn["threshold"], repn["active"]) == ([3, 5, 7], 2, True)
    assert (
        repn["soundness_bits"] == next(one for one in told["costs"] if one["scheme"] == "repn")["soundness_bits"] == 40
    )
    assert {one["soundness_bits"] for one in told["schemes"] if one["scheme"] != "repn"} == {None}
    shown = CliRunner().invoke(cli, ["schemes", *SMALL, "--parties", "5"]).output
    assert shown.count("probability at most 2^-40 in a study") == 1


def test_schemes_for_a_number_of_parties() -> None:
    told = json.loads(CliRunner().invoke(cli, ["schemes", *SMALL, "--json", "--parties", "4"]).output)
    names = {name for name, scheme in SCHEMES.items() if scheme.info.runs_with(4)}
    assert {one["scheme"] for one in told["schemes"]} == names
    assert "rep3" not in names
    assert {(one["scheme"], one["parties"]) for one in told["costs"]} == {(name, 4) for name in names - {"clear"}}


def test_no_dealer_is_another_way_to_say_two_parties_alone() -> None:
    alone = plan_of("--scheme", "pair")
    assert plan_of("--scheme", "semi2k", "--dealer", "none") == plan_of("--scheme", "pair", "--dealer", "none") == alone
    assert alone["forecast"]["scheme"]["name"] == "pair"
    for scheme in ("rep3", "shamir"):
        result = CliRunner().invoke(cli, ["plan", *SMALL, "--scheme", scheme, "--dealer", "none"])
        assert result.exit_code == 2
        assert f"goes with --scheme semi2k only: scheme '{scheme}' has no dealer. Leave it out" in " ".join(
            result.output.replace("│", " ").split()
        )
    result = CliRunner().invoke(cli, ["plan", *SMALL, "--scheme", "semi2k", "--dealer", "somebody"])
    assert result.exit_code == 2
    assert "is not" in result.output


def test_two_parties_alone_say_what_they_leave_to_chance() -> None:
    told = json.loads(CliRunner().invoke(cli, ["schemes", *SMALL, "--json", "--parties", "2"]).output)
    bits = {one["scheme"]: one["statistical_bits"] for one in told["schemes"]}
    assert bits["pair"] == 40
    assert {scheme for scheme, one in bits.items() if one is not None} == {"pair"}


def test_an_estimator_trains_among_so_many_parties() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = (x[:, 0] > 0).astype(int)
    model = LogisticRegression(scheme=NAME, parties=5, threshold=1, feature_bound=4.0, epsilon=5.0)
    model.fit([(x[:100].clip(-4, 4), y[:100]), (x[100:].clip(-4, 4), y[100:])])
    spec = model.certificate_.spec
    assert (spec.parties, spec.threshold, model.certificate_.threshold) == (5, 1, "1 of 5 (honest majority)")
    assert len(model.certificate_.parties) == 5
    with pytest.raises(InvalidInputError, match="'threshold' parameter of scheme 'shamir' must be from 1 to 2 among 5"):
        LogisticRegression(scheme=NAME, parties=5, threshold=3).fit([(x, y)])
    with pytest.raises(InvalidInputError, match="'parties' parameter of scheme 'rep3' must be exactly 3"):
        LogisticRegression(parties=5).fit([(x, y)])
