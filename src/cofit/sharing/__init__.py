"""Secret sharing: one small interface, one package a scheme."""

from cofit.sharing.registry import SCHEMES, dealer_of, meter_of, recorded_demand, scheme_named, scheme_of
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, Component, ComponentFacts, DealtShare, Share
from cofit.sharing.spec import SchemeInfo, Spec

__all__ = [
    "SCHEMES",
    "BitShare",
    "Component",
    "ComponentFacts",
    "DealtShare",
    "Scheme",
    "SchemeInfo",
    "Share",
    "Spec",
    "dealer_of",
    "meter_of",
    "recorded_demand",
    "scheme_named",
    "scheme_of",
]
