"""A mechanism perturbs one release, or says that it perturbs many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cofit import Party, SecretArray, run_local
from cofit.errors import PartyFailedError
from support.training import planned

MECHANISMS = {"knorm": 0.0, "laplace": 0.0, "gaussian": 1e-6}
Perturb = Callable[[Party, SecretArray], SecretArray]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("shape", "one"), [((4,), True), ((2, 4), False), ((3,), None), ((4, 2), None), ((1, 1, 4), None)]
)
def test_rows_are_refused_where_one_release_is_meant_and_the_other_way_round(
    mechanism: str, shape: tuple[int, ...], one: bool | None
) -> None:
    plan = planned(50, 4, mechanism=mechanism, delta=MECHANISMS[mechanism], fit_intercept=False)
    format = plan.formats.of(plan.formats.weights)

    def run(perturb: Perturb) -> tuple[int, ...]:
        def program(party: Party) -> tuple[int, ...]:
            return perturb(party, party.constant(np.zeros(shape), format)).shape

        return next(iter(run_local(program, scheme="clear", parties=1).results.values()))

    for perturb, fits in ((plan.mechanism.perturb, one is True), (plan.mechanism.perturb_each, one is False)):
        if fits:
            assert run(perturb) == shape
        else:
            with pytest.raises(PartyFailedError, match="of shape"):
                run(perturb)
