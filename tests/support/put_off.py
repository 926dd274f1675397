"""Cases of the fast suite that ``make test-all`` alone runs: each repeats, slowly, what a quicker one in it shows.

The fast suite has every operation with every scheme in Z_2^64, and in Z_2^128 with ``clear`` and ``rep3``; every kind
of lie and kill at least once; and the statistics that a release rests on. A case that is put off here must have such a
companion. What is long by nature is marked as slow where it stands.

Of the combinations of a test that is marked ``in_turn(k)`` the fast suite has every k-th: those in which the places of
all parameters, in the lists where they stand, add up to a multiple of k. So every parameter has all its values; and
where there are three of them, of two values or more, ``in_turn(2)`` still has any two values of any two parameters.
"""

from __future__ import annotations

import re

import pytest
from _pytest.mark import ParameterSet

_PATTERNS = (
    # the larger ring with the other schemes
    r"conformance/.*\[.*(rep4|shamir|semi2k|repn|pair).*Z_2\^128",
    r"unit/sharing/(semi2k|rep4|repn|shamir)/test_masks.*Z_2\^128",
    r"unit/sharing/repn/test_(noted|false_claims).*Z_2\^128-5",
    r"unit/learn/test_batches.*Z_2\^128",
    r"test_secure_evaluation_is_within_its_error.*(8\.0|3\.7)-scale1-Z_2\^128",
    # the prime field with more forms of one scheme, and with the longer of two fractions
    r"conformance/test_algebra.*\[(shamir/4|shamir/5/king|shamir/7|repn/5)-F_",
    r"conformance/test_functions.*F_\(2\^61-1\) with 26",
    # constants, two runs and recipes that others show
    r"test_shards.*test_every_scheme_releases_what_the_recipe_says.*(shamir/5|repn|rep4)",
    r"test_functions_keep_the_shape\[(pair|rep4|semi2k|shamir)",
    r"test_squares_of_the_high_part.*(semi2k|shamir|rep4)-Z_2\^64-9-70000",
    r"unit/learn/test_forecast_known.*pair.*vertical",
    r"descent/test_ranges.*test_every_value_is_within_its_proven_range\[(owners|clipped)",
    # masks: five parties of whom three show the same, a route, and places
    r"unit/sharing/repn/test_masks.*\[5-(truncation by one digit|product and truncation)",
    r"unit/sharing/repn/test_masks.*(OneMask|WithoutMasks)-.*-5\]",
    r"unit/sharing/rep4/test_masks_numbers.*(2-1-repeat|3-1-zero)",
    r"unit/sharing/shamir/test_masks\.py.*shamir/5/king-(top|signs|form)",
    r"unit/sharing/shamir/test_tables.*(GF|Z_2\^128).*\(7, 3\)",
    # pages and commands whose parts others have
    r"test_pages.*(consortium|choose-settings|run-experiments|verify-a-model|run-on-a-cluster)",
    r"test_pages.*(contribute-data|five-parties|train-a-model|first-model|run-as-processes)",
    r"test_report_in_browser.*(1200-dark|390|320)",
    r"test_bench_train.*late_checks_are_counted",
    r"test_bench_exchange.*rep3-3",
    r"e2e/test_baselines",
    r"test_half_a_terminal_is_none.*stdin",
    r"unit/roles/local/test_run.*test_a_process_that_dies\[exit",
    # studies, kills and lies at one more place
    r"study/test_schemes.*(smaller-threshold|three-parties)",
    r"e2e/study/test_best.*model\[rep3-horizontal",
    r"e2e/study/test_story.*weights_within_noise\[vertical",
    r"test_kill.*killed_at_any_point\[party-c",
    r"test_week.*(hostile_owner|hostile_leading)",
    r"test_repn_corners.*(any_piece_of_a_form|any_row|largest_sums)",
    r"test_lies_and_ranges.*test_nor_on_shares\[shamir",
    r"test_lying_owners.*(cannot_read_a_row\[(shamir/5|repn)|amplify_others\[rep4)",
    r"test_descent_sensitivity.*where_scores_have_truncated_weights\[(owners|calibrated)",
    r"test_precision_attack.*test_our_noise_does_not\[1\.0",
    # evidence about recipes and baselines, not about a guarantee of ours
    r"statistical/learn/(test_scalings|test_residuals|test_shrinkage.*(dense|few_columns|false_alarms))",
    r"statistical/baselines/",
    r"statistical/sampling/.*\[30",
)
_PUT_OFF = re.compile("|".join(_PATTERNS))


def put_off(item: pytest.Item) -> bool:
    """Return whether a case of a test is for ``make test-all`` alone."""
    mark = item.get_closest_marker("in_turn")
    return bool(_PUT_OFF.search(item.nodeid)) or (mark is not None and sum(_places(item)) % mark.args[0] != 0)


def _places(item: pytest.Item) -> list[int]:
    """Return where each parameter of a case stands in its list; those that are given together are one."""
    given, places = item.callspec, []  # type: ignore[attr-defined]
    of_fixtures = dict(given.indices)
    for mark in item.iter_markers("parametrize"):
        names, values = mark.args[0], list(mark.args[1])
        names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
        sets = [ParameterSet.extract_from(value, force_tuple=len(names) == 1).values for value in values]
        own = [given.params[name] for name in names]
        places.append(next(i for i, one in enumerate(sets) if all(a is b for a, b in zip(one, own, strict=True))))
        of_fixtures = {name: place for name, place in of_fixtures.items() if name not in names}
    return [*places, *of_fixtures.values()]
