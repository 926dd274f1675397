"""What must hold at honest parties after a study in which somebody lied, and where in a study a message belongs."""

from __future__ import annotations

from collections.abc import Mapping

from adversary.study.repn_bench import Bench, Ending
from cofit.errors import CofitError, ProtocolError
from cofit.sharing.repn.party import Repn
from cofit.transport.measure import LABEL

PHASES = ("setup", "check", "epoch", "noise", "release", "open")


def phase(label: str) -> str:
    """Where in the study a message belongs: in which step, or in which step of a check."""
    *outer, last = label.split("/")
    if "verify" in outer:
        return f"verify/{last}"
    first = label.partition("/")[0]
    return first if first in (*PHASES, LABEL) else "refresh" if last == "refresh" else "agreement"


def problem(bench: Bench, honest: Mapping[str, Ending], label: str, kind: type[Repn] = Repn) -> str:
    """What is wrong with what is left at honest parties, after something was changed under this label."""
    right = bench.honest_of(kind)
    for name, end in honest.items():
        if end.error is None:
            if (end.phase, end.published, end.signed) != ("released", right.published, True):
                return f"'{name}' has another release than the honest one"
            continue
        if not isinstance(end.error, CofitError):
            return f"'{name}' broke down: {end.error!r}"
        if end.published is not None or end.signed or "released" in end.events:
            return f"'{name}' has stopped and published"
        if isinstance(end.error, ProtocolError) and (end.phase != "failed" or "check failed" not in end.events):
            return f"a check failed at '{name}', which is in phase '{end.phase}'"
    if label != "open" and len({end.error is None for end in honest.values()}) > 1:
        return "one honest party has a release and one has none"
    try:
        stored = {name: end.stored for name, end in honest.items() if end.stored is not None}
        if len(stored) == len(honest) and bench.shared(stored) != right.stored:
            return "another value was stored for the release"
        for file in {file for end in honest.values() for file in end.checkpoints}:
            kept = {name: end.checkpoints[file] for name, end in honest.items() if file in end.checkpoints}
            if len(kept) == len(honest) and bench.shared(kept) != right.checkpoints[file]:
                return f"another value was kept in checkpoint {file}"
    except AssertionError as error:
        return str(error)
    return ""
