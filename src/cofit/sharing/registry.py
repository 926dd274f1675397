"""The schemes there are. A new one is one new package and one new line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cofit.errors import parameter_error
from cofit.sharing.clear.party import Clear
from cofit.sharing.correlations import Demand
from cofit.sharing.demand import Recorder
from cofit.sharing.meter import Meter
from cofit.sharing.pair.meter import PairMeter
from cofit.sharing.pair.party import Pair
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.rep4.party import Rep4
from cofit.sharing.repn.party import Repn
from cofit.sharing.scheme import Scheme
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.semi2k.party import Semi2k
from cofit.sharing.semi2k.recording import Semi2kRecording
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.spec import Spec


class Sides(NamedTuple):
    """The sides of a scheme: a party's; a dealer's, if it has one; one without values that records a demand; and one
    that counts.
    """

    party: type[Scheme]
    dealer: type[Scheme] | None = None
    recording: Callable[[Recorder, Spec], Scheme] | None = None
    meter: type[Meter] = Meter


_SIDES = (
    Sides(Clear),
    Sides(Rep3),
    Sides(Rep4),
    Sides(Semi2k, Semi2kDealer, Semi2kRecording),
    Sides(Shamir),
    Sides(Repn),
    Sides(Pair, meter=PairMeter),
)
SCHEMES: dict[str, type[Scheme]] = {sides.party.info.name: sides.party for sides in _SIDES}


def scheme_named(name: str) -> type[Scheme]:
    """Return the scheme of that name."""
    if name not in SCHEMES:
        raise parameter_error("scheme", "cofit", f"one of {', '.join(sorted(SCHEMES))}", name)
    return SCHEMES[name]


def scheme_of(spec: Spec) -> type[Scheme]:
    """Return the scheme that a spec is of."""
    return scheme_named(spec.name)


def dealer_of(name: str) -> type[Scheme]:
    """Return the dealer's side of the scheme of that name."""
    dealers = {sides.party.info.name: sides.dealer for sides in _SIDES if sides.dealer is not None}
    if name not in dealers:
        raise parameter_error("scheme", "a dealer", f"one of {', '.join(sorted(dealers))}", name)
    return dealers[name]


def meter_of(scheme: type[Scheme], spec: Spec | None = None) -> Meter:
    """Return a meter that counts what a program costs with a scheme; spec: in which form, None for the usual one."""
    kind = next((sides.meter for sides in _SIDES if sides.party is scheme), Meter)
    return kind(scheme, spec)


def recorded_demand(spec: Spec, program: Callable[[Scheme], object]) -> Demand:
    """Return what a program asks of the source of correlations of a scheme; nothing without one.

    The program runs without values and messages, as it does at a meter. ``Scheme.prepare`` takes the result.
    """
    recorder = Recorder()
    recording = next(sides.recording for sides in _SIDES if sides.party is scheme_of(spec))
    if recording is not None:
        program(recording(recorder, spec))
    return recorder.demand
