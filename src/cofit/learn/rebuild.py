"""A certificate rebuilt from its own facts, and compared field by field.

The facts give the plan, the plan gives every number, text and list of the certificate; what is left are the facts of
the run: names, the owners' shapes (which must make up the rows and columns), when it was created, what was opened, and
warnings beside the plan's. So a number that was changed alone, or two that fit each other, are found by name. Facts
that were changed with all that follows from them are a certificate of another run: signatures and the study tell.

Plans belong to a release of the software. What another release wrote may differ without being wrong: then nothing is
claimed (None), and whoever asks must say so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.certify import certify
from cofit.learn.plan import Plan, plan_training
from cofit.learn.stated_facts import facts_from_stated
from cofit.privacy.certificate import Certificate, CertifiedOpening
from cofit.privacy.strict_fields import encode
from cofit.secret import Opening

_OF_THE_SOFTWARE = ("cofit_version", "software")
_LAST = "plan_hash"  # which another fact changes too, and tells less


def rebuilt_plan(certificate: Certificate) -> Plan | None:
    """Return the plan of a certificate, every field of which follows from it, or raise InvalidInputError.

    None where this release of cofit makes another certificate of these facts than the release that wrote it.
    Planning takes a tenth of a second at most; the answer for the same certificate is kept.
    """
    return _rebuilt(_Stated(certificate.to_json(), certificate))


@dataclass(frozen=True)
class _Stated:
    """A certificate as a key of the kept answers: its text stands for it."""

    text: str
    certificate: Certificate = field(compare=False)


@lru_cache(maxsize=64)
def _rebuilt(key: _Stated) -> Plan | None:
    stated = key.certificate
    try:
        plan = plan_training(facts_from_stated(stated.facts))
        _compare(stated, plan)
    except InvalidInputError:
        if stated.cofit_version != version("cofit"):
            return None
        raise
    return plan


def of_another_release(certificate: Certificate) -> str:
    """Return what to say of a certificate that this release cannot make again."""
    return (
        f"The certificate was written by cofit {certificate.cofit_version}; this is cofit {version('cofit')}, which "
        f"plans such a run in another way. Its numbers fit together, but they were not derived again: for that, use "
        f"cofit {certificate.cofit_version}."
    )


def _compare(stated: Certificate, plan: Plan) -> None:
    """Raise InvalidInputError, which names the field, unless the plan and the run give this certificate."""
    again = certify(
        plan,
        parties=stated.parties,
        dealer=stated.dealers[0] if stated.dealers else None,
        owners=stated.owners,
        openings=tuple(Opening(o.number, o.reason, "arithmetic", o.shape, o.learned_by) for o in stated.openings),
        created=stated.created,
        warnings=stated.warnings[len(plan.warnings) :],
        study=stated.study,
    )
    compare_certificates(stated, again, "which follows from its facts")
    expected = CertifiedOpening(1, plan.release_reason, (plan.released,), stated.parties)
    if stated.openings not in ((), (expected,))[: 2 if plan.released else 1]:  # none: before the run
        must_be = f"one opening of {plan.released} numbers to all parties, '{expected.reason}'"
        raise parameter_error("openings", "a certificate", must_be, stated.openings)


def compare_certificates(stated: Certificate, again: Certificate, why: str) -> None:
    """Raise InvalidInputError with the first field that differs; the software may. why: what the other one rests on."""
    names = [one.name for one in fields(stated) if one.name not in (*_OF_THE_SOFTWARE, _LAST)]
    for name in (*names, _LAST):
        _compare_field(name, encode(getattr(stated, name)), encode(getattr(again, name)), why)


def _compare_field(path: str, stated: Any, again: Any, why: str) -> None:
    """Raise with the path of the first part that differs."""
    if stated == again and type(stated) is type(again):
        return
    if isinstance(stated, dict) and isinstance(again, dict) and "exact" not in stated and set(stated) == set(again):
        for name in stated:
            _compare_field(f"{path}.{name}", stated[name], again[name], why)
    elif isinstance(stated, list) and isinstance(again, list) and len(stated) == len(again):
        for i, (one, other) in enumerate(zip(stated, again, strict=True)):
            _compare_field(f"{path}[{i}]", one, other, why)
    else:
        raise parameter_error(path, "a certificate", f"{again!r}, {why}", stated)
