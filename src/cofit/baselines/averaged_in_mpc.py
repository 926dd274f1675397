"""The real protocol of ``Pathak`` and ``Jayaraman``: local models are secret-shared, summed, perturbed, opened once.

Every owner trains in the clear on its own rows and secret-shares its weights among the computing parties. They add the
m models (no communication), draw noise that nobody knows, and open the noisy *sum*, once. Dividing it by m, in public,
gives the noisy average exactly; so the average has no rounding of its own.

Sensitivity of the sum: one record moves one model, by 2 G / (n_(1) Lambda) and twice the tolerance of the training;
each encoded model is within sqrt(d) 2^-(f+1) of the trained one (rounding to nearest, f fractional bits), so the
encoded one moves by sqrt(d) 2^-f more. What the mechanism's own grid adds, it counts itself. Noise that spends epsilon
on the sum spends epsilon on the average: the one is a public multiple of the other. The guarantee is (epsilon,
``mechanism.total_delta``): the noise is sampled with finitely many bits.

Who learns what: everybody the noisy average; a computing party nothing else. The owners are trusted to contribute what
they trained: a model of another length than 2 G / (n_j Lambda) allows is not noticed unless a coordinate breaks the
public bound. Every call is a release of its own: k calls on the same data cost k times epsilon.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.baselines.averaged import Averaged
from cofit.baselines.method import Part, Reals
from cofit.errors import InvalidInputError, ProtocolError
from cofit.privacy.mechanisms import Mechanism, Wanted, calibrate
from cofit.privacy.mechanisms.mechanism import square_root_up
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.member import Contribution
from cofit.roles.local.run import LocalRun, party_names, run_local
from cofit.secret import Party, SecretArray
from cofit.secret.release import release_once
from cofit.secret.stored import ReleaseStore
from cofit.sharing import scheme_named

REASON = "the noisy sum of the owners' models: the one release of this run"
FORMAT = FixedPoint(32)
_WEIGHTS = "weights"


@dataclass(frozen=True)
class AveragedRun:
    """The noisy average, the mechanism that perturbed the *sum* of the models, and the run's public facts."""

    weights: Reals
    mechanism: Mechanism
    run: LocalRun[Reals]


def average_in_mpc(
    method: Averaged, parts: Sequence[Part], scheme: str = "rep3", *, processes: bool = False, timeout: float = 60.0
) -> AveragedRun:
    """Run the protocol on this machine, one owner for each part: threads, or processes over TLS."""
    sizes = [len(part.labels) for part in parts]
    dimension = parts[0].features.shape[1] if parts else 0
    if any(part.features.shape[1] != dimension for part in parts):
        raise InvalidInputError("All owners must have the same columns.")
    if any(part.unseen for part in parts):
        raise InvalidInputError("Noise inside the computation is for all columns: give parts without unseen ones.")
    mechanism = sum_mechanism(method, sizes, dimension)
    bound = float(_radius(method, sizes))
    owners = {
        f"owner-{j}": {_WEIGHTS: Contribution(model, bound, FORMAT)} for j, model in enumerate(method.models(parts))
    }
    parties = party_names(scheme_named(scheme).info.default_parties)
    stores = {name: MemoryStore() for name in parties}
    run = run_local(
        partial(noisy_sum, owners=tuple(owners), mechanism=mechanism, stores=stores, key=secrets.token_hex(16)),
        scheme=scheme,
        parties=parties,
        owners=owners,
        processes=processes,
        timeout=timeout,
    )
    opened = list(run.results.values())
    if any(not np.array_equal(other, opened[0]) for other in opened[1:]):
        raise ProtocolError("The parties opened different weights. Do not use any of them; please report this.")
    return AveragedRun(opened[0] / len(parts), mechanism, run)


def noisy_sum(
    party: Party, owners: Sequence[str], mechanism: Mechanism, stores: Mapping[str, ReleaseStore], key: str
) -> Reals:
    """The party program: add the owners' models, perturb, and open once. Returns the noisy sum, in the clear.

    Rounds: those of the mechanism and of ``release_once``.
    """

    def draw() -> SecretArray:
        total = party.input(owners[0], _WEIGHTS)
        for owner in owners[1:]:
            total = total + party.input(owner, _WEIGHTS)
        with party.label("noise"):
            return mechanism.perturb(party, total)

    store = None if party.deals else stores[party.name]
    return np.asarray(release_once(party, draw, store, reason=REASON, key=key), dtype=np.float64)


def sum_mechanism(method: Averaged, sizes: Sequence[int], dimension: int) -> Mechanism:
    """Calibrate the noise on the sum of the encoded models, from public facts alone."""
    budget = method.budget(len(sizes))
    encoding = square_root_up(Fraction(dimension)) / (1 << FORMAT.fraction_bits)
    wanted = Wanted(
        dimension=dimension,
        sensitivity=Fraction(method.local(sizes).sensitivity) + encoding,
        epsilon=Fraction(budget.epsilon),
        delta=Fraction(budget.delta),
        weights=FORMAT,
        radius=len(sizes) * (_radius(method, sizes) + encoding),
    )
    return calibrate(budget.mechanism, wanted)


def _radius(method: Averaged, sizes: Sequence[int]) -> Fraction:
    """No trained model is longer than G / Lambda and the tolerance; a little more, for rows from rounding."""
    facts = method.local(sizes)
    return (Fraction(facts.gradient) / Fraction(facts.l2) + Fraction(facts.tolerance)) * Fraction(1001, 1000)
