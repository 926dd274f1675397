"""The mechanisms, one file each, by name. Another one is one file, and one call of ``register_mechanism``."""

from __future__ import annotations

from cofit.errors import parameter_error
from cofit.privacy.mechanisms.gaussian import Gaussian
from cofit.privacy.mechanisms.knorm import KNorm
from cofit.privacy.mechanisms.laplace import Laplace
from cofit.privacy.mechanisms.mechanism import Mechanism, Wanted

MECHANISMS: dict[str, type[Mechanism]] = {}


def register_mechanism(kind: type[Mechanism]) -> None:
    """Let plans, studies and certificates name this mechanism. Its name must be new."""
    if not isinstance(kind, type) or not issubclass(kind, Mechanism):
        raise parameter_error("kind", "register_mechanism", "a subclass of Mechanism", kind)
    if kind.name in MECHANISMS:
        raise parameter_error("kind", "register_mechanism", "one with a new name", kind.name)
    MECHANISMS[kind.name] = kind


for _kind in (KNorm, Laplace, Gaussian):
    register_mechanism(_kind)


def mechanism_named(name: str) -> type[Mechanism]:
    """Return the mechanism of that name, or raise InvalidInputError."""
    if name not in MECHANISMS:
        raise parameter_error("mechanism", "a plan", f"one of {list(MECHANISMS)}, or None", name)
    return MECHANISMS[name]


def calibrate(name: str, wanted: Wanted) -> Mechanism:
    """Calibrate the mechanism of that name."""
    kind = mechanism_named(name)
    if not kind.pure and wanted.delta <= 0:
        raise parameter_error("delta", f"the {name} mechanism", "above 0 (for example 1e-6)", float(wanted.delta))
    return kind.calibrated(wanted)


__all__ = [
    "MECHANISMS",
    "Gaussian",
    "KNorm",
    "Laplace",
    "Mechanism",
    "Wanted",
    "calibrate",
    "mechanism_named",
    "register_mechanism",
]
