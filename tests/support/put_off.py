"""Cases of the fast suite that ``make test-all`` alone runs: each repeats, slowly, what a quicker one in it shows.

The fast suite has every operation with every scheme in Z_2^64, and in Z_2^128 with ``clear`` and ``rep3``; every kind
of lie and kill at least once; and the statistics that a release rests on. A case that is put off here must have such a
companion. What is long by nature is marked as slow where it stands.
"""

from __future__ import annotations

import re

_PATTERNS = (
    # the larger ring with the other schemes
    r"conformance/.*\[.*(rep4|shamir|semi2k|repn|pair).*Z_2\^128",
    r"unit/sharing/(semi2k|rep4|repn|shamir)/test_masks.*Z_2\^128",
    r"unit/learn/test_batches.*Z_2\^128",
    # constants, two runs and recipes that others show
    r"test_what_a_party_receives_and_holds_is_uniform.*-(1|-1)\]",
    r"test_two_runs_share_nothing\[pair",
    r"test_every_scheme_releases_what_the_recipe_says.*(shamir/5|repn|rep4)",
    r"unit/learn/test_forecast_known.*pair.*vertical",
    # pages whose commands other pages have
    r"test_pages.*(consortium|choose-settings|run-experiments|verify-a-model)",
    r"test_pages.*(contribute-data|five-parties|train-a-model)",
    r"test_report_in_browser.*(1200-dark|390|320)",
    # studies, kills and lies at one more place
    r"study/test_schemes.*(smaller-threshold|three-parties)",
    r"test_kill.*killed_at_any_point\[party-c",
    r"test_week.*(hostile_owner|hostile_leading)",
    r"test_repn_corners.*(any_piece_of_a_form|any_row|largest_sums)",
    r"test_bench_train.*late_checks_are_counted",
    # evidence about recipes and baselines, not about a guarantee of ours
    r"statistical/learn/(test_scalings|test_residuals|test_shrinkage.*(dense|few_columns|false_alarms))",
    r"statistical/baselines/",
    r"statistical/sampling/.*\[30",
)
PUT_OFF = re.compile("|".join(_PATTERNS))
