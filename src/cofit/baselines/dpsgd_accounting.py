"""How much noise DP-SGD needs for an (epsilon, delta), one record replaced.

One step publishes the sum of the clipped gradients of a Poisson sample (every record with probability q, independently)
plus normal noise of sigma times the clipping length. For one record replaced it is dominated by the pair of

    (1 - q) N(0, sigma^2) + q N(-1, sigma^2)     and     (1 - q) N(0, sigma^2) + q N(1, sigma^2)

(proved in ``proofs.md``), and dominating pairs compose over adaptive steps (Zhu, Dong and Wang 2022, theorem 10). That
pair is what dp-accounting's privacy loss distribution computes for ``REPLACE_ONE``, rounded to the safe side
(Doroshenko et al. 2022). Its Renyi accountant knows Poisson sampling for added or removed records only; going from
there to a replaced record costs more.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.privacy_accountant import NeighboringRelation

from cofit.errors import parameter_error

_LARGEST_GRAIN = 1e-3
_GRAIN = 0.02  # of privacy loss, for one step; the rounding of all steps grows like the square root of their number
_PRECISION = 1 + 1e-3
_FIRST = 64.0
_SMALLEST, _LARGEST = 2.0**-4, 2.0**24


def delta_of(noise_multiplier: float, probability: float, steps: int, epsilon: float) -> float:
    """Return a delta such that so many steps are (epsilon, delta)-differentially private."""
    grain = min(_LARGEST_GRAIN, _GRAIN / math.sqrt(steps))
    step = privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=noise_multiplier,
        value_discretization_interval=grain,
        sampling_prob=probability,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    return float(step.self_compose(steps).get_delta_for_epsilon(epsilon))


@lru_cache(maxsize=256)
def noise_multiplier(epsilon: float, delta: float, probability: float, steps: int) -> float:
    """Return sigma, in units of the clipping length, that makes so many steps (epsilon, delta)-private.

    The smallest, up to a thousandth; what is returned was checked by ``delta_of``. From above, because small sigmas
    take long.
    """

    def enough(sigma: float) -> bool:
        return delta_of(sigma, probability, steps, epsilon) <= delta

    high = _FIRST
    while not enough(high):
        high *= 2
        if high > _LARGEST:
            raise parameter_error("epsilon", "DP-SGD", "larger, or with fewer epochs: no noise is enough", epsilon)
    low = high / 2
    while low >= _SMALLEST and enough(low):
        low, high = low / 2, low
    while high > low * _PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
