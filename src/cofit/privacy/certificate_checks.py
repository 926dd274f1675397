"""What must be true of a certificate before it may be stated: of its fields, and of the numbers of its proof.

The account is rebuilt from the stated releases. What the run itself did cannot be seen in a certificate; what is
taken on trust is listed in docs/reference/certificate.md.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.certified import CertifiedDescent, CertifiedMinimiser, CertifiedRelease, Statement
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES
from cofit.privacy.release_names import (
    CENTRE,
    CLIPPED,
    INTERCEPT,
    LEVEL,
    MEAN,
    RADIUS,
    SHIFT,
    SPREAD,
    STEP,
    WEIGHTS,
    numbered,
)
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.privacy.zcdp import LARGEST_EPSILON, total_delta
from cofit.sampling.discrete_gaussian import LARGEST_SIGMA
from cofit.sampling.parameters import LARGEST_PRECISION
from cofit.sharing import SCHEMES, scheme_named
from cofit.transport import check_name

if TYPE_CHECKING:
    from cofit.privacy.certificate import Certificate

VERSION = 3
UNIT = "one record (row)"
NEIGHBOURS = "one record replaced; the number of records is public"
ROLES = ("owners", "parties", "analyst", "public")
_CHOICES: dict[str, tuple[object, ...]] = {
    "version": (VERSION,),
    "unit": (UNIT,),
    "neighbours": (NEIGHBOURS,),
    "recipe": ("best", "paper"),
    "partition": ("horizontal", "vertical"),
    "normalised_by": ("owners", "parties"),
}
_POSITIVE = ("epsilon", "noise_expected_norm", "n", "d")
_POSITIVE_OF_MINIMISER = ("noise_scale", "l2", "gradient_bound", "sensitivity_exact")
_NOT_NEGATIVE = ("delta", "check_delta", "sampler_distance", "epochs")
_HASH = "a SHA-256 in hexadecimal (a study's is null for a run without one)"
_MEAN_STEPS = 8  # by which the means of two equal rows may differ, as computed
_LEAST_STRETCHED = Fraction(4)  # rows are at most 1 from 0, as their mean is, and stretched by 2 or more
_NARROWEST_LENGTH = Fraction(31, 64)  # lengths are clamped to [1/64, 1/2]
_WIDEST_MEAN = 2 + Fraction(1, 1 << 10)  # values are from -1 to 1, in units of their bound
_ROUNDED_SUM, _ROUNDED_UP = 1e-12, 1 + 2.0**-19  # of floats, relatively
_TOLERANCE = 1 + Fraction(1, 1 << 40)  # floats beside fractions, and fractions that were rounded


def check_certificate(c: Certificate) -> None:
    """Raise InvalidInputError, which names the field, unless everything fits together."""
    _check_fields(c)
    _check_scheme(c)
    _check_owners(c)
    if c.minimiser is not None:
        _check_minimiser(c, c.minimiser)
        if c.proven:
            _check_proof_of_minimiser(c, c.minimiser)
    if c.descent is not None:
        _check_descent(c, c.descent)


def _check_fields(c: Certificate) -> None:
    for name, choices in _CHOICES.items():
        _require(c, name, getattr(c, name) in choices, f"one of {list(choices)}")
    _require(c, "mechanism", c.mechanism in MECHANISMS, f"one of {list(MECHANISMS)}")
    for name in _POSITIVE:
        _require(c, name, getattr(c, name) > 0, "positive")
    for name in _NOT_NEGATIVE:
        _require(c, name, getattr(c, name) >= 0, "at least 0")
    _require(c, "study", c.study is None or re.fullmatch(r"[0-9a-f]{64}", c.study) is not None, _HASH)
    _require(c, "plan_hash", re.fullmatch(r"[0-9a-f]{64}", c.plan_hash) is not None, _HASH)
    _require(c, "epsilon", c.epsilon <= LARGEST_EPSILON, f"at most {LARGEST_EPSILON}")
    _require(c, "delta_total", c.delta <= c.delta_total <= 1, "from delta to 1")
    pure = MECHANISMS[c.mechanism].pure
    _require(c, "delta", (c.delta == 0) == pure, "0 for a pure mechanism, and above 0 for gaussian")
    best = c.method == "descent" or (pure and c.recipe == "best")
    _require(c, "recipe", best or c.recipe == "paper", "'paper' where gaussian noise was added to the minimiser")
    _require(c, "recipe", c.method == "minimiser" or c.recipe == "best", "'best' for descent")
    _check_releases(c)
    _require(c, "created", _is_date(c.created), "an ISO 8601 date")
    _require(c, "warnings", c.proven or len(c.warnings) > 0, "the reason first, if the guarantee is not proven")
    for name, names in (("parties", c.parties), ("dealers", c.dealers), ("owners", tuple(c.owners))):
        for one in names:
            check_name(name, "a certificate", one)
    _require(c, "parties", len(set(c.parties)) == len(c.parties) > 0, "different names, at least one")
    apart = len(c.dealers) <= 1 and not set(c.dealers) & set(c.parties)
    _require(c, "dealers", apart, "empty, or one name that is none of the parties")
    roles = {*ROLES, *(["dealer"] if c.dealers else [])}
    _require(c, "learned", set(c.learned) == roles, f"a mapping with the keys {sorted(roles)}")
    for i, opening in enumerate(c.openings):
        path = f"openings[{i}]"
        _require_part(f"{path}.shape", min(opening.shape, default=1) >= 0, "of sizes from 0", opening.shape)
        known = set(opening.learned_by) <= set(c.parties)
        _require_part(f"{path}.learned_by", known, "names of computing parties", opening.learned_by)
    opened = sum(math.prod(opening.shape) for opening in c.openings)
    _require(c, "openings", opened <= c.released, f"of at most {c.released} numbers together, those that are released")


def _check_scheme(c: Certificate) -> None:
    """Raise unless the scheme is one of ours and has the properties that are stated, and parties for it."""
    _require(c, "scheme", c.scheme in SCHEMES, f"one of {sorted(SCHEMES)}")
    info = scheme_named(c.scheme).info
    _require(c, "parties", info.runs_with(len(c.parties)), f"{info.parties_in_words} with '{c.scheme}'")
    try:
        spec = c.spec
    except InvalidInputError as error:
        raise InvalidInputError(f"The facts of a certificate must be those of a run. {error}") from None
    stated = {
        "secret": spec.secret,
        "adversary": spec.adversary,
        "threshold": spec.corrupted,
        "soundness_bits": spec.soundness_bits,
        "statistical_bits": spec.statistical_bits,
    }
    for name, value in stated.items():
        _require(c, name, getattr(c, name) == value, f"{value!r}, as '{c.scheme}' has it")
    _require(c, "dealers", len(c.dealers) == int(spec.dealer), f"{int(spec.dealer)} with '{c.scheme}'")


def _check_owners(c: Certificate) -> None:
    """Raise unless the owners' rows are the records: added up where they hold rows, all of them where columns."""
    rows = {}
    for owner, shapes in c.owners.items():
        counts = {shape[0] if shape else None for shape in shapes.values()}
        one = counts.pop() if len(counts) == 1 else None
        _require_part(f"owners.{owner}", one is not None and one > 0, "inputs of the same rows, at least one", shapes)
        rows[owner] = one or 0
    must_be = f"the {c.n} records, {'together' if c.partition == 'horizontal' else 'each'}"
    told = sum(rows.values()) == c.n if c.partition == "horizontal" else bool(rows) and set(rows.values()) == {c.n}
    _require_part("owners", told, must_be, f"{sum(rows.values())} rows of {len(rows)} owners")


def _check_releases(c: Certificate) -> None:
    """Raise unless every release has noise of a known law, drawn by a sampler that is not perfect."""
    _require(c, "releases", len(c.releases) > 0, "at least one")
    for i, release in enumerate(c.releases):
        path = f"releases[{i}]"
        for name in ("dimension", "sensitivity", "scale"):
            _require_part(f"{path}.{name}", getattr(release, name) > 0, "positive", getattr(release, name))
        a_power = re.fullmatch(r"2\^(-(0|[1-9][0-9]{0,2})|0)", release.grid) is not None
        _require_part(f"{path}.grid", a_power, "a power of two such as '2^-13', and at most 1", release.grid)
        _require_part(f"{path}.noise", release.noise == c.mechanism, f"'{c.mechanism}'", release.noise)
        if not MECHANISMS[c.mechanism].pure:
            must_be = f"at most 2^{LARGEST_SIGMA.bit_length() - 1} steps of the grid, the largest that is sampled"
            _require_part(f"{path}.scale", release.scale <= LARGEST_SIGMA, must_be, release.scale)
        else:
            enough = release.sensitivity <= LARGEST_EPSILON * release.scale
            _require_part(f"{path}.scale", enough, f"at least sensitivity / {LARGEST_EPSILON}", release.scale)
        least = Fraction(release.dimension, 1 << LARGEST_PRECISION)
        must_be = f"from dimension / 2^{LARGEST_PRECISION} to 1: no sampler is perfect"
        distance = release.sampler_distance
        _require_part(f"{path}.sampler_distance", least <= distance <= 1, must_be, distance)
    distances = sum((release.sampler_distance for release in c.releases), Fraction(0))
    _require(c, "sampler_distance", c.sampler_distance == distances, "the sum over all releases")


# --- the minimiser ---------------------------------------------------------------------------------------


def _check_minimiser(c: Certificate, stated: CertifiedMinimiser) -> None:
    for name in _POSITIVE_OF_MINIMISER:
        _require_stated(stated, name, getattr(stated, name) > 0, "positive")
    _require_stated(stated, "sensitivity_kind", stated.sensitivity_kind in SENSITIVITIES, f"one of {SENSITIVITIES}")
    _require_stated(stated, "tau", stated.tau is None or stated.tau >= 0, "at least 0")
    for name, part in stated.tau_parts.items():
        _require_part(f"statement.tau_parts.{name}", part >= 0, "at least 0", part)
    _check_tau(stated)
    total, scale = stated.sensitivity_total, stated.noise_scale
    _require_stated(stated, "sensitivity_total", total >= stated.sensitivity_exact, "at least sensitivity_exact")
    name = MECHANISMS[c.mechanism].scale_name
    _require_stated(stated, "noise_scale_name", stated.noise_scale_name == name, name)
    one = c.releases[0]
    _require_stated(stated, "grid", stated.grid == one.grid, f"that of its release, '{one.grid}'")
    grid = _step(one.grid)
    same = (one.name, one.norm, one.dimension) == (WEIGHTS, "L2", c.d)
    same &= (one.sensitivity * grid, one.scale * grid) == (total, scale)
    _require(c, "releases", len(c.releases) == 1 and same, "the one release that the statement is about")
    _check_length(c, float(scale) * MECHANISMS[c.mechanism].deviation(c.d) * math.sqrt(c.d))


def _check_tau(stated: CertifiedMinimiser) -> None:
    """Raise unless tau is the sum of its parts, rounded up a little."""
    if stated.tau is None:
        return
    parts = math.fsum(stated.tau_parts.values())
    near = parts * (1 - _ROUNDED_SUM) <= stated.tau <= parts * _ROUNDED_UP
    _require_stated(stated, "tau", near, f"the sum of its parts, {parts:.12g}, rounded up by 2^-19 of it at most")


def _check_proof_of_minimiser(c: Certificate, stated: CertifiedMinimiser) -> None:
    """Raise unless the stated noise gives the stated guarantee for the stated sensitivity."""
    _require(c, "proven", stated.tau is not None, "false while tau is not bounded")
    total = stated.sensitivity_total
    exact = 2 * stated.gradient_bound / (c.n * stated.l2)
    enough = stated.sensitivity_exact * _TOLERANCE >= exact
    _require_stated(stated, "sensitivity_exact", enough, "at least 2 G / (n Lambda)")
    grid = _step(stated.grid)
    left = total * _TOLERANCE - stated.sensitivity_exact - 2 * Fraction(stated.tau or 0)
    truncated = 4 * c.d * grid**2 if MECHANISMS[c.mechanism].truncates else 0
    must_be = "at least sensitivity_exact + 2 tau, and + 2 sqrt(d) grid where weights are truncated to the grid first"
    _require_stated(stated, "sensitivity_total", left >= 0 and left**2 >= truncated, must_be)
    if not MECHANISMS[c.mechanism].pure:
        _check_account(c)
        return
    squared = MECHANISMS[c.mechanism].squared_epsilon(total, stated.noise_scale, c.d)
    sufficient = squared <= (c.epsilon * _TOLERANCE) ** 2
    _require_stated(stated, "noise_scale", sufficient, "large enough for epsilon and sensitivity_total")
    _require(c, "rule", c.rule == "pure", "pure")
    _require_delta(c, total_delta(0, c.sampler_distance, c.epsilon))


# --- descent ---------------------------------------------------------------------------------------------


def _check_descent(c: Certificate, descent: CertifiedDescent) -> None:
    """Raise unless the releases are those of the method, each as sensitive as stated, and all together private."""
    _require(c, "proven", c.proven, "true for descent: nothing of it is left unproven")
    _require(c, "epochs", c.epochs == descent.steps, "the number of steps")
    dense = "gaussian" if c.delta else "knorm"
    law = {"l2": (dense, "L2"), "l1": ("laplace", "L1")}.get(descent.norm)
    _require_part("statement.norm", law is not None, "'l1' or 'l2'", descent.norm)
    must_be = "gaussian in l2 (knorm where delta is 0), laplace in l1"
    _require(c, "mechanism", law is not None and c.mechanism == law[0], must_be)
    _require(c, "normalised_by", descent.norm == "l2" or c.normalised_by == "owners", "'owners' in l1")
    stated = [release.name for release in c.releases]
    extras = [*CLIPPED] if MEAN in stated else [name for name in (LEVEL, CENTRE) if name in stated]
    calibrated = sum(name.startswith(INTERCEPT) for name in stated)
    names = [*extras, *(numbered(STEP, t) for t in range(len(stated) - len(extras) - calibrated))]
    in_order = [*names, *(numbered(INTERCEPT, k) for k in range(calibrated))] == stated
    in_order &= descent.steps == len(names) - len(extras)
    must_be = (
        f"level and centre if there are any, or {', '.join(CLIPPED)}; 'step 1' to 'step {descent.steps}'; and those of "
        f"the intercept"
    )
    _require(c, "releases", in_order, must_be)
    _require(c, "releases", c.delta > 0 or not (extras or calibrated), "of steps alone where delta is 0")
    _require(c, "releases", not calibrated or descent.constant > 0, "none for an intercept where there is none")
    _check_numbers(c, descent, extras)
    for i, release in enumerate(c.releases):
        path = f"releases[{i}]"
        _require_part(f"{path}.norm", law is not None and release.norm == law[1], "that of the noise", release.norm)
        one_grid = release.name in (LEVEL, RADIUS) or release.grid == c.releases[-1].grid
        _require_part(f"{path}.grid", one_grid, "the same for all but level and radius", release.grid)
        wanted = 1 if release.name in (LEVEL, RADIUS) else c.d
        wanted = descent.outputs if release.name.startswith(INTERCEPT) else wanted
        wanted = _features(c, descent) if release.name in (CENTRE, MEAN, SHIFT, SPREAD) else wanted
        _require_part(f"{path}.dimension", release.dimension == wanted, str(wanted), release.dimension)
        least = _least_sensitivity(descent, release)
        enough = release.sensitivity * _TOLERANCE >= least
        _require_part(f"{path}.sensitivity", enough, f"at least {float(least):.6g} steps", release.sensitivity)
    _check_length(c, _noise_of_weights(c, descent))
    _check_account(c)


def _check_numbers(c: Certificate, descent: CertifiedDescent, extras: Sequence[str]) -> None:
    """Raise unless the numbers of a step can be those of a run: each at least what the method cannot do without."""
    for name in ("steps", "averaged", "step_size", "residual_bound"):
        _require_part(f"statement.{name}", getattr(descent, name) > 0, "positive", getattr(descent, name))
    _require_part("statement.averaged", descent.averaged <= descent.steps, "at most steps", descent.averaged)
    _require_part("statement.row_bound", 1 <= descent.row_bound <= 2, "from 1 to 2", descent.row_bound)
    _require_part("statement.constant", 0 <= descent.constant <= 1, "from 0 to 1", descent.constant)
    _require_part("statement.outputs", descent.outputs >= 1, "at least 1", descent.outputs)
    _require(c, "d", c.d % descent.outputs == 0, "as many for every column of weights")
    one = c.d == descent.outputs
    _require_part("statement.constant", not (descent.constant and one), "0 with one weight", descent.constant)
    factor, unit = descent.factor
    known = Fraction(1, 2) <= factor <= 1 and unit.numerator == 1 and unit.denominator & (unit.denominator - 1) == 0
    must_be = "step_size times a power of two, from 1/2 to 1, and a unit 2^-s for its rounding"
    _require_part("statement.residual_bound", known, must_be, descent.residual_bound)
    own = descent.others == 0 if descent.outputs == 1 else 0 < descent.others <= factor
    _require_part("statement.others", own, "0 with one column of weights, else above 0 and at most a", descent.others)
    by_parties = c.normalised_by == "parties"
    longest = root_up(Fraction(_features(c, descent)), ROOT_BITS) if by_parties else Fraction(int(CENTRE in extras))
    longest = _LEAST_STRETCHED if MEAN in extras else longest
    least = (longest + int(CENTRE in extras)) * unit
    if descent.outputs > 1:
        least *= root_up(Fraction(descent.outputs), ROOT_BITS)
    _require_part("statement.rounding", descent.rounding >= least, f"at least {float(least):.6g}", descent.rounding)
    width = descent.mean_width
    if LEVEL in extras or RADIUS in extras:
        _require(c, "normalised_by", by_parties or RADIUS in extras, "'parties' where there is a level")
        least, must_be = _MEAN_STEPS * _step(c.releases[0].grid), "above"
        if RADIUS in extras:
            least, must_be = _NARROWEST_LENGTH, "at least"
        _require_part(
            "statement.mean_width",
            (least < width or (RADIUS in extras and least == width)) and width <= _WIDEST_MEAN,
            f"{must_be} {float(least):.6g} and at most {float(_WIDEST_MEAN):.6g}",
            width,
        )
    else:
        _require_part("statement.mean_width", width == 0, "0 without a level or a radius", width)


def _features(c: Certificate, descent: CertifiedDescent) -> int:
    return c.d // descent.outputs - int(descent.constant > 0)


def _least_sensitivity(descent: CertifiedDescent, release: CertifiedRelease) -> Fraction:
    """Return how many steps of its grid one record can move a release, from the stated parts of the proof."""
    steps = 1 / _step(release.grid)
    if release.name in (LEVEL, RADIUS):
        return descent.mean_width * steps
    length = Fraction(1) if release.name in (CENTRE, MEAN, SHIFT) else descent.reach
    length = root_up(Fraction(1, 2), ROOT_BITS) if release.name == SPREAD else length
    length = descent.joint_bound if release.name.startswith(INTERCEPT) else length
    ones = Fraction(release.dimension) if descent.norm == "l1" else root_up(Fraction(release.dimension), ROOT_BITS)
    return 2 * length * steps + 2 * ones


def _noise_of_weights(c: Certificate, descent: CertifiedDescent) -> float:
    """Return the root mean square of the noise's length in the weights, if the gradients did not answer to it."""
    steps = [release for release in c.releases if release.name.startswith(STEP)]
    counts = [min(descent.averaged, descent.steps - t) / descent.averaged for t in range(descent.steps)]
    unit = float(_step(steps[0].grid) * descent.step_size / descent.factor[0])
    spread = MECHANISMS[c.mechanism].deviation(c.d)
    lengths = [unit * count * float(step.scale) for count, step in zip(counts, steps, strict=True)]
    return spread * math.sqrt(c.d) * math.hypot(*lengths)


# --- both ------------------------------------------------------------------------------------------------


def _check_length(c: Certificate, root_mean_square: float) -> None:
    must_be = f"from 7/10 of its root mean square, {root_mean_square:.6g}, to all of it"
    near = 0.7 * root_mean_square <= c.noise_expected_norm <= root_mean_square * (1 + 1e-9)
    _require(c, "noise_expected_norm", near, must_be)


def _check_account(c: Certificate) -> None:
    account = at_epsilon([release.event for release in c.releases], c.epsilon)
    _require(c, "rule", c.rule == account.rule, f"'{account.rule}', which proves the smallest delta")
    _require_delta(c, account.delta)


def _require_delta(c: Certificate, of_noise: Fraction) -> None:
    total = min(Fraction(1), of_noise + c.check_delta)
    _require(
        c,
        "delta_total",
        c.delta_total * _TOLERANCE >= total,
        f"at least {float(total)}, from noise, sampler and checks",
    )


def _step(grid: str) -> Fraction:
    return Fraction(2) ** int(grid.removeprefix("2^"))


def _require_part(path: str, holds: bool, must_be: str, got: object) -> None:
    if not holds:
        raise parameter_error(path, "a certificate", must_be, got)


def _require_stated(statement: Statement, name: str, holds: bool, must_be: str) -> None:
    _require_part(f"statement.{name}", holds, must_be, getattr(statement, name))


def _require(certificate: Certificate, name: str, holds: bool, must_be: str) -> None:
    if not holds:
        raise parameter_error(name, "a certificate", must_be, getattr(certificate, name))


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
