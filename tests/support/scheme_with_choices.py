"""A scheme with a choice of parties, threshold and route, for tests of everything around schemes. It keeps no secret.

What its products would cost depends on the route, so that plans have a reason to choose; forecasts of it count that,
runs of it send nothing for products.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cofit.sharing import SCHEMES
from cofit.sharing.clear.party import Clear
from cofit.sharing.costs import Cost, Costs
from cofit.sharing.spec import DIRECT, KING, Spec

NAME = "choices"


class WithChoices(Clear):
    """The cleartext twin under another name."""

    info = replace(
        Clear.info,
        name=NAME,
        parties=(3, 7),
        most_corrupted=lambda parties: (parties - 1) // 2,
        least_corrupted=1,
        corrupted="{threshold} of {parties} (honest majority)",
        routes=(DIRECT, KING),
    )

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """One round and n (n - 1) elements; or twice the rounds and 2 (n - 1) elements."""
        others = spec.parties - 1
        product = Cost(1, spec.parties * others) if spec.route == DIRECT else Cost(2, 2 * others)
        return replace(super().costs(spec), product=product, truncated_product=product)


@pytest.fixture
def with_choices(monkeypatch: pytest.MonkeyPatch) -> type[WithChoices]:
    """Register the scheme for one test."""
    monkeypatch.setitem(SCHEMES, NAME, WithChoices)
    return WithChoices
