"""Where the parties of ``semi2k`` have their correlated randomness from, by the name in the scheme's spec."""

from __future__ import annotations

from collections.abc import Callable

from cofit.sharing.correlations import Correlations
from cofit.sharing.semi2k.from_dealer import Exchange, FromDealer
from cofit.sharing.spec import FROM_A_DEALER

SOURCES: dict[str, Callable[[Exchange, int, int], Correlations]] = {FROM_A_DEALER: FromDealer}
"""Given how to exchange arrays, our rank and the number of parties."""
