"""What must be true of a certificate before it may be stated: of its fields, and of the numbers of its proof.

The account is made again from the stated releases. What the run itself did cannot be seen in a certificate.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.errors import parameter_error
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.certified import CertifiedDescent, CertifiedRelease
from cofit.privacy.events import Event, LaplaceEvent, gaussian_event
from cofit.privacy.safe_rounding import root_up
from cofit.privacy.zcdp import LARGEST_EPSILON, total_delta
from cofit.sampling.discrete_gaussian import LARGEST_SIGMA

if TYPE_CHECKING:
    from cofit.privacy.certificate import Certificate

VERSION = 2
UNIT = "one record (row)"
NEIGHBOURS = "one record replaced; the number of records is public"
ROLES = ("owners", "parties", "analyst", "public")
SCALE_NAMES = {"knorm": "beta", "laplace": "scale", "gaussian": "sigma"}
METHODS = ("minimiser", "descent")
MINIMISER_FIELDS = (
    "l2", "solver", "gradient_bound", "sensitivity_kind", "sensitivity_exact", "sensitivity_total", "noise_scale",
    "noise_scale_name", "grid",
)  # fmt: skip
"""Fields that are there for the minimiser and null for descent; ``tau`` is null for descent too."""
LEVEL, CENTRE, STEP = "level", "centre", "step"
_CHOICES: dict[str, tuple[object, ...]] = {
    "version": (VERSION,),
    "unit": (UNIT,),
    "neighbours": (NEIGHBOURS,),
    "recipe": ("best", "paper"),
    "method": METHODS,
    "mechanism": tuple(SCALE_NAMES),
    "partition": ("horizontal", "vertical"),
    "sensitivity_kind": ("tight", "paper", None),
    "normalised_by": ("owners", "parties"),
}
_POSITIVE = ("epsilon", "noise_expected_norm", "n", "d")
_POSITIVE_IF_STATED = ("noise_scale", "l2", "gradient_bound", "sensitivity_exact")
_NOT_NEGATIVE = ("delta", "sampler_distance", "tau", "epochs")
_ROOT_BITS = 40
_TOLERANCE = 1 + Fraction(1, 1 << 40)  # floats beside fractions, and fractions that were rounded


def check_certificate(c: Certificate) -> None:
    """Raise InvalidInputError, which names the field, unless everything fits together."""
    _check_fields(c)
    if c.method == "minimiser":
        _check_minimiser(c)
        if c.proven:
            _check_proof_of_minimiser(c)
    else:
        _check_descent(c)


def _check_fields(c: Certificate) -> None:
    for name, choices in _CHOICES.items():
        _require(c, name, getattr(c, name) in choices, f"one of {list(choices)}")
    for name in _POSITIVE:
        _require(c, name, getattr(c, name) > 0, "positive")
    for name in _POSITIVE_IF_STATED:
        _require(c, name, getattr(c, name) is None or getattr(c, name) > 0, "positive")
    for name in MINIMISER_FIELDS:
        stated = getattr(c, name) is not None
        must_be = "stated for the minimiser, and null for descent"
        _require(c, name, stated == (c.method == "minimiser"), must_be)
    _require(c, "descent", (c.descent is not None) == (c.method == "descent"), "stated for descent, and null otherwise")
    _require(c, "releases", len(c.releases) > 0, "at least one")
    for name in _NOT_NEGATIVE:
        _require(c, name, getattr(c, name) is None or getattr(c, name) >= 0, "at least 0")
    _require(c, "epsilon", c.epsilon <= LARGEST_EPSILON, f"at most {LARGEST_EPSILON}")
    _require(c, "delta_total", c.delta <= c.delta_total <= 1, "from delta to 1")
    _require(c, "sampler_distance", c.sampler_distance <= 1, "at most 1")
    distances = sum((release.sampler_distance for release in c.releases), Fraction(0))
    _require(c, "sampler_distance", c.sampler_distance == distances, "the sum over all releases")
    _require(c, "created", _is_date(c.created), "an ISO 8601 date")
    _require(c, "warnings", c.proven or len(c.warnings) > 0, "the reason first, if the guarantee is not proven")
    _require(c, "parties", len(set(c.parties)) == len(c.parties) > 0, "different names, at least one")
    apart = len(c.dealers) <= 1 and not set(c.dealers) & set(c.parties)
    _require(c, "dealers", apart, "empty, or one name that is none of the parties")
    roles = {*ROLES, *(["dealer"] if c.dealers else [])}
    _require(c, "learned", set(c.learned) == roles, f"a mapping with the keys {sorted(roles)}")


# --- the minimiser ---------------------------------------------------------------------------------------


def _check_minimiser(c: Certificate) -> None:
    total, exact, scale = _stated(c.sensitivity_total), _stated(c.sensitivity_exact), _stated(c.noise_scale)
    _require(c, "sensitivity_total", total >= exact, "at least sensitivity_exact")
    _require(c, "noise_scale_name", c.noise_scale_name == SCALE_NAMES[c.mechanism], SCALE_NAMES[c.mechanism])
    a_power = re.fullmatch(r"2\^(-[0-9]{1,4}|0)", c.grid or "") is not None
    _require(c, "grid", a_power, "a power of two such as '2^-13', and at most 1")
    grid = _step(c.grid or "")
    if c.mechanism == "gaussian":
        must_be = f"at most 2^{LARGEST_SIGMA.bit_length() - 1} steps of the grid, the largest that is sampled"
        _require(c, "noise_scale", scale <= LARGEST_SIGMA * grid, must_be)
    one = c.releases[0]
    same = (one.noise, one.norm, one.dimension, one.grid) == (c.mechanism, "L2", c.d, c.grid)
    same &= (one.sensitivity * grid, one.scale * grid) == (total, scale)
    _require(c, "releases", len(c.releases) == 1 and same, "the one release that the other fields state")


def _check_proof_of_minimiser(c: Certificate) -> None:
    """Raise unless the stated noise gives the stated guarantee for the stated sensitivity."""
    _require(c, "proven", c.tau is not None, "false while tau is not bounded")
    stated, total = _stated(c.sensitivity_exact), _stated(c.sensitivity_total)
    exact = 2 * _stated(c.gradient_bound) / (c.n * _stated(c.l2))
    _require(c, "sensitivity_exact", stated * _TOLERANCE >= exact, "at least 2 G / (n Lambda)")
    grid = _step(c.grid or "")
    left = total * _TOLERANCE - stated - 2 * Fraction(c.tau or 0)
    truncated = 0 if c.mechanism == "knorm" else 4 * c.d * grid**2  # knorm: rounded after the noise
    must_be = "at least sensitivity_exact + 2 tau, and + 2 sqrt(d) grid where weights are truncated to the grid first"
    _require(c, "sensitivity_total", left >= 0 and left**2 >= truncated, must_be)
    if c.mechanism == "gaussian":
        _check_account(c, [_event(c.releases[0])])
        return
    squared = (total / _stated(c.noise_scale)) ** 2 * (c.d if c.mechanism == "laplace" else 1)
    sufficient = squared <= (c.epsilon * _TOLERANCE) ** 2
    _require(c, "noise_scale", sufficient, "large enough for epsilon and sensitivity_total")
    _require(c, "rule", c.rule == "pure", "pure")
    _require_delta(c, total_delta(0, c.sampler_distance, c.epsilon))


# --- descent ---------------------------------------------------------------------------------------------


def _check_descent(c: Certificate) -> None:
    """Raise unless the releases are those of the method, each as sensitive as stated, and all together private."""
    descent = c.descent
    if descent is None:
        raise parameter_error("descent", "a certificate", "stated for descent", None)
    _require(c, "proven", c.proven, "true for descent: nothing of it is left unproven")
    _require(c, "tau", c.tau is None and not c.tau_parts, "null, with no parts, for descent")
    _require(c, "epochs", c.epochs == descent.steps, "the number of steps")
    for name in ("steps", "averaged", "step_size", "residual_bound", "row_bound"):
        _require_part(f"descent.{name}", getattr(descent, name) > 0, "positive", getattr(descent, name))
    for name in ("rounding", "constant", "mean_width"):
        _require_part(f"descent.{name}", getattr(descent, name) >= 0, "at least 0", getattr(descent, name))
    _require_part("descent.averaged", descent.averaged <= descent.steps, "at most steps", descent.averaged)
    _require_part("descent.row_bound", descent.row_bound >= 1, "at least 1", descent.row_bound)
    law = {"l2": ("gaussian", "L2"), "l1": ("laplace", "L1")}.get(descent.norm)
    _require_part("descent.norm", law is not None, "'l1' or 'l2'", descent.norm)
    _require(c, "mechanism", law is not None and c.mechanism == law[0], "gaussian in L2, laplace in L1")
    names = [release.name for release in c.releases]
    extras = [name for name in (LEVEL, CENTRE) if name in names]
    wanted = [*extras, *(f"{STEP} {t + 1}" for t in range(descent.steps))]
    _require(c, "releases", names == wanted, f"{wanted}, in this order")
    for release in c.releases:
        path = f"releases.{release.name}"
        same = (release.noise, release.norm) == law
        _require_part(f"{path}.noise", same, "that of the mechanism", (release.noise, release.norm))
        _require_part(
            f"{path}.grid", re.fullmatch(r"2\^-[0-9]{1,3}", release.grid) is not None, "as '2^-13'", release.grid
        )
        least = _least_sensitivity(c, descent, release)
        enough = release.sensitivity > 0 and release.sensitivity * _TOLERANCE >= least
        _require_part(f"{path}.sensitivity", enough, f"at least {float(least):.6g} steps", release.sensitivity)
    _check_account(c, [_event(release) for release in c.releases])


def _least_sensitivity(c: Certificate, descent: CertifiedDescent, release: CertifiedRelease) -> Fraction:
    """Return how many steps of its grid one record can move a release, from the stated parts of the proof."""
    steps = 1 / _step(release.grid)
    wanted = {LEVEL: (1,), CENTRE: (c.d - 1, c.d)}.get(release.name, (c.d,))
    _require_part(f"releases.{release.name}.dimension", release.dimension in wanted, str(wanted), release.dimension)
    if release.name == LEVEL:
        _require_part("descent.mean_width", descent.mean_width > 0, "positive with a level", descent.mean_width)
        return descent.mean_width * steps
    length = Fraction(1) if release.name == CENTRE else descent.reach
    ones = Fraction(release.dimension) if descent.norm == "l1" else root_up(Fraction(release.dimension), _ROOT_BITS)
    return 2 * length * steps + 2 * ones


# --- both ------------------------------------------------------------------------------------------------


def _event(release: CertifiedRelease) -> Event:
    kind = LaplaceEvent if release.noise == "laplace" else gaussian_event
    return kind(release.name, release.sensitivity, release.scale, release.dimension, release.sampler_distance)


def _check_account(c: Certificate, events: Sequence[Event]) -> None:
    for event in events:
        most = LARGEST_SIGMA if c.mechanism == "gaussian" else event.scale
        _require_part(f"releases.{event.name}.scale", event.scale <= most, "one that can be sampled", event.scale)
    account = at_epsilon(events, c.epsilon)
    _require(c, "rule", c.rule == account.rule, f"'{account.rule}', which proves the smallest delta")
    _require_delta(c, account.delta)


def _require_delta(c: Certificate, total: Fraction) -> None:
    _require(c, "delta_total", c.delta_total * _TOLERANCE >= total, f"at least {float(total)}, from noise and sampler")


def _stated(value: Fraction | None) -> Fraction:
    return Fraction(0) if value is None else value  # ``_check_fields`` has refused None already


def _step(grid: str) -> Fraction:
    return Fraction(2) ** int(grid.removeprefix("2^"))


def _require_part(path: str, holds: bool, must_be: str, got: object) -> None:
    if not holds:
        raise parameter_error(path, "a certificate", must_be, got)


def _require(certificate: Certificate, name: str, holds: bool, must_be: str) -> None:
    if not holds:
        raise parameter_error(name, "a certificate", must_be, getattr(certificate, name))


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
