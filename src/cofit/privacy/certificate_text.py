"""A certificate as plain text: every fact that the JSON has, in words for people who are no engineers.

Numbers have six digits here. The exact ones, by which a certificate is verified, are in the JSON.
"""

from __future__ import annotations

import decimal
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from cofit.privacy.certified import CertifiedDescent, CertifiedOpening, CertifiedRelease
from cofit.privacy.strict_fields import stated_parts
from cofit.sharing.spec import chance_in_words, soundness_in_words

if TYPE_CHECKING:
    from cofit.privacy.certificate import Certificate

WIDTH = 100
_WEAK_EPSILON, _WEAK_DELTA = 20, Fraction(1, 1000)
_LARGE = 10**15
_SMALL, _HUGE = Fraction(1, 10**300), 10**300  # what floats have room for
_SIX_DIGITS = decimal.Context(prec=6)
_FRACTION = re.compile(r"-?[0-9]{1,1000}/[1-9][0-9]{0,999}")
_IN_WORDS = {"soundness_bits": soundness_in_words, "statistical_bits": chance_in_words}
_NOTHING = object()
_UPWARDS = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING)

_WHATEVER_OTHERS = (
    "Your records are protected whatever the other owners put in: rows and labels are checked inside the computation, "
    "and what breaks the rules counts as nothing. Somebody whom another owner brings too is protected less, as with "
    "several records. Others can still make the model useless, or steer what it says."
)
_LAYOUT = """\
Warnings and assumptions
  The guarantee holds if the assumptions do.
  proven = The guarantee is proven
  warnings = Warnings
  assumptions = Assumptions

What the published model reveals
  This is about one study: all of its noisy releases together, each of which may depend on those
  before it. Every further study of the same data reveals more.
  Whoever has k records in the data is protected less: the factor is raised to the power k, and what
  is added to it grows as well.
  unit = What is protected
  neighbours = Compared are two sets of data with
  epsilon = Epsilon (the factor is e to this power)
  delta = Delta as asked for
  delta_total = Delta of the guarantee, with the imperfection of the noise's sampler and of the check
  check_delta = Of this, the probability that a row or label against the rules passes the check
  sampler_distance = Distance of the sampled noise from the ideal noise, in total variation
  rule = Rule by which all noisy releases were added up

Who learned what during the computation
  Owners hold the data, computing parties compute on it, the analyst asked for the model.
  learned = Learned by
  openings = Everything that was opened
  scheme = Secret sharing scheme
  secret = The scheme keeps the data secret from the computing parties
  adversary = Protects against
  threshold = Corrupted parties that it withstands
  soundness_bits = A lie of theirs that no check notices, which comes on top of delta
  statistical_bits = A wrong value, or a mask that shows something, in their encrypted products; on top of delta
  parties = Computing parties
  dealers = Dealer of randomness, trusted to collude with no computing party
  owners = Owners, and the public shapes of what they contributed

The model
  recipe = Recipe
  method = Method
  model = Model
  loss = Loss
  l2 = L2 penalty (Lambda)
  n = Records (n)
  d = Weights (d)
  partition = Partition of the data
  normalised_by = Records were scaled to length 1 or less by the
  solver = Solver
  epochs = Epochs

How far one record can move the model
  All lengths are Euclidean, in units of the weights.
  sensitivity_kind = Kind of the bound of the gradient
  gradient_bound = Bound of one record's gradient (G)
  sensitivity_exact = Distance that one record can move the exact minimiser, 2 G / (n Lambda)
  tau = Distance of the computed weights from the exact minimiser, at most (tau)
  tau_parts = Parts of tau
  sensitivity_total = Distance that the noise was calibrated to

How far one record can move a step
  In every step each record adds its row, times its clipped residual, to a sum that gets noise.
  descent = Numbers of a step

The noise
  Only what is listed above was opened. It is computed from the noisy releases below, and from
  nothing else of the data.
  mechanism = Mechanism
  noise_distribution = Distribution
  releases = Noisy releases, of which steps were not opened one by one (in steps of the grid)
  noise_scale_name = Name of its parameter
  noise_scale = Its parameter, in units of the weights
  noise_expected_norm = Expected length of the noise
  grid = Published weights are multiples of

Facts
  From these the whole plan follows, and from the plan every number above. Numbers are rounded in
  this text; the certificate in JSON, which the file of the model contains, has them exactly.
  facts = Public facts of the run

Origin
  version = Version of this format
  created = Created
  cofit_version = cofit
  software = Software
  study = Hash of the study
  plan_hash = Hash of the plan
"""


def headline_of(c: Certificate) -> str:
    """Return the first line: what is guaranteed, in words that need no dictionary; or that nothing is."""
    numbers = f"epsilon = {_decimal(c.epsilon)}, delta = {_decimal(c.delta_total)}"
    lines = []
    if not c.secret:
        lines.append(
            f"NO SECRECY: with '{c.scheme}' every computing party could read all of the data; for testing only."
        )
    if not c.proven:
        lines.append(
            f"NOT A PROVEN GUARANTEE: {c.warnings[0].rstrip('.')}. Noise was added with a protection in mind "
            f"({numbers}), but it is not proven that the published model gives it."
        )
    if not lines and _weak(c):
        lines.append(
            f"HARDLY ANY PROTECTION: with {numbers}, whoever sees the published model may learn nearly everything "
            f"about a single record."
        )
    elif not lines:
        lines.append(
            f"{_what(c)}: replacing your record by any "
            "other record changes the probability of any outcome by a factor of at most "
            f"{_factor(c.epsilon)}, plus at most {_decimal(c.delta_total)}, if the assumptions in its certificate hold "
            f"(differential privacy with {numbers}; one record replaced)."
        )
    return " ".join(lines)


def _what(c: Certificate) -> str:
    limits = "limits what can be learned about any single record"
    return f"The shared model {limits}, whatever it is asked" if c.shared_model else f"The published model {limits}"


def about_others(c: Certificate) -> str:
    """Return what other owners can and cannot do to a record; nothing where there is hardly a guarantee to speak of."""
    return _WHATEVER_OTHERS if c.secret and c.proven and not _weak(c) else ""


def _weak(c: Certificate) -> bool:
    return c.epsilon > _WEAK_EPSILON or c.delta_total > _WEAK_DELTA


def text_of(c: Certificate) -> str:
    """Return the certificate as plain text, at most 100 columns wide; what belongs to another method is left out."""
    lines = [*_wrapped(headline_of(c))]
    if others := about_others(c):
        lines += ["", *_wrapped(others)]
    for part in _LAYOUT.split("\n\n"):
        title, *entries = part.strip().splitlines()
        found = []
        for line in entries:
            name, _, label = line.strip().partition(" = ")
            if not label:
                found += _wrapped(name)
            elif (value := _value(c, name)) is not _NOTHING:
                found += _entry(label, value)
        if any(line.startswith("  ") for line in found):  # not only remarks
            lines += ["", title, "-" * len(title), *found]
    return "\n".join(lines) + "\n"


def _value(c: Certificate, name: str) -> object:
    """Return a field of the certificate, or of its statement; ``tau`` says even with None that it is not bounded."""
    value = getattr(c, name, getattr(c.statement, name, _NOTHING))
    if value is None:
        return {"tau": "NOT BOUNDED", "study": "none: a run without a study"}.get(name, _NOTHING)
    return _IN_WORDS[name](value) if name in _IN_WORDS and isinstance(value, int) else value


def _entry(label: str, value: object) -> Iterator[str]:
    """Yield the lines of one field: a value beside its label, several values below it."""
    if isinstance(value, CertifiedDescent):
        value = {field.name.replace("_", " "): getattr(value, field.name) for field in stated_parts(value)}
        del value["method"]  # which the text has beside the recipe
    if isinstance(value, Mapping):
        value = tuple(f"{name}: {_shown(value[name])}" for name in sorted(value))
    if isinstance(value, tuple) and value:
        yield from _wrapped(f"{label}:", "  ")
        for item in _together(value):
            yield from _wrapped(f"- {_shown(item)}", "    ")
    else:
        yield from _wrapped(f"{label}: {_shown(value)}", "  ")


def _together(items: tuple[object, ...]) -> Iterator[object]:
    """Yield items; neighbouring releases that differ in their name alone become one, of several names."""
    alike = groupby(items, lambda item: replace(item, name="any") if isinstance(item, CertifiedRelease) else item)
    for _, group in alike:
        first, *others = group
        if isinstance(first, CertifiedRelease) and others:
            yield replace(first, name=f"{first.name} to {_name(others[-1])}, each")
        else:
            yield from (first, *others)


def _name(item: object) -> str:
    return item.name if isinstance(item, CertifiedRelease) else ""


def _shown(value: object) -> str:
    if isinstance(value, Fraction):
        return _rounded(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and _FRACTION.fullmatch(value):  # a fact
        return _rounded(Fraction(value))
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, CertifiedOpening):
        learners = ", ".join(value.learned_by) or "nobody"
        return f"opening {value.number}: {value.reason} (shape {_shape(value.shape)}; learned by {learners})"
    if isinstance(value, CertifiedRelease):
        facts = [f"{name.replace('_', ' ')} {_shown(item)}" for name, item in vars(value).items() if name != "name"]
        return f"{value.name}: {'; '.join(facts)}"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} ({_part(value[name])})" for name in sorted(value)) or "nothing"
    if isinstance(value, tuple):
        return "; ".join(value) or "none"
    return "none" if value is None else str(value)


def _rounded(number: Fraction) -> str:
    """Return at most six significant digits; all of a whole number."""
    if number.denominator == 1 and abs(number) < _LARGE:
        return str(number.numerator)
    if _SMALL < abs(number) < _HUGE:
        return f"{float(number):.6g}"
    return str(_SIX_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))).lower()


def _part(value: object) -> str:
    return _shape(value) if isinstance(value, tuple) else str(value)


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "one number"


def _wrapped(text: str, indent: str = "") -> list[str]:
    hanging = indent + "  " if indent else ""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)


def _decimal(number: Fraction) -> str:
    """Return the number with three significant digits, rounded up."""
    return str(_UPWARDS.divide(Decimal(number.numerator), Decimal(number.denominator))).lower()


def _factor(epsilon: Fraction) -> str:
    """Return e^epsilon with three significant digits, rounded up."""
    precise = decimal.Context(prec=40, rounding=decimal.ROUND_CEILING)
    exponent = precise.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return str(_UPWARDS.plus(precise.exp(exponent))).lower()
