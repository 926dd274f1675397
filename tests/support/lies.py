"""Owners who put in whatever integers they like, and what the parties' check says of each record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, RingArray
from cofit.learn.base_plan import Plan
from cofit.learn.checked_rows import Checked, verdicts
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders, gathered
from cofit.learn.weights import weight_facts
from cofit.roles.local.member import Contribution
from cofit.roles.local.run import run_local
from cofit.secret import Party, SecretArray
from support.schemes import local

Integers = npt.NDArray[Any]
COIN = bytes(range(7, 39))


class Raw(np.ndarray[Any, Any]):
    """Integers of the ring, to be shared as they are."""


def raw(values: npt.ArrayLike) -> Raw:
    return np.asarray(values, dtype=object).view(Raw)


@contextmanager
def lying() -> Iterator[None]:
    """Owners inside share ``Raw`` integers without looking at them."""
    honest = FixedPoint.encode

    def encode(self: FixedPoint, values: npt.ArrayLike, bound: Any = None) -> RingArray:
        if isinstance(values, Raw):
            half = 1 << (self.ring.bits - 1)
            return self.ring.from_int((np.asarray(values, dtype=object) + half) % (2 * half) - half)
        return honest(self, values, bound)

    with mock.patch.object(FixedPoint, "encode", encode):
        yield


def contributions(
    plan: Plan, blocks: Sequence[Integers], labels: Sequence[Integers], weights: Sequence[Integers] = ()
) -> tuple[dict[str, Mapping[str, Contribution]], Holders]:
    """Each owner's integers as contributions: blocks of rows with their labels, or of columns with all labels first.

    Integers of 64 bits are taken for honest ones, and shared by the owners' software.
    """
    formats = plan.formats

    def shared(values: Integers, bits: int) -> npt.NDArray[Any]:
        return raw(values) if values.dtype == object else np.ldexp(values.astype(np.float64), -bits)

    given: dict[str, dict[str, Contribution]] = {}
    for i, block in enumerate(blocks):
        given[f"owner-{i}"] = {FEATURES: Contribution(shared(block, formats.data), 1.0, formats.of(formats.data))}
        if i < len(labels):
            format = plan.target.format(formats.ring)
            given[f"owner-{i}"][LABELS] = Contribution(shared(labels[i], format.fraction_bits), 1.0, format)
        if i < len(weights):
            format = weight_facts(len(weights[i]), formats.ring).format
            given[f"owner-{i}"][WEIGHTS] = Contribution(shared(weights[i], format.fraction_bits), 1.0, format)
    return dict(given), Holders(tuple(given), tuple(given)[: len(labels)])


def verdicts_on(
    plan: Plan,
    blocks: Sequence[Integers],
    labels: Sequence[Integers],
    scheme: str,
    coin: bytes = COIN,
    weights: Sequence[Integers] = (),
) -> npt.NDArray[np.int64]:
    """What the check says of each record: opened, for the test."""
    given, holders = contributions(plan, blocks, labels, weights)

    def program(party: Party) -> npt.NDArray[Any]:
        x, y = gathered(party, plan, holders, plan.constant)
        passed = verdicts(party, plan, holders, x, y, coin)
        return np.asarray(party.open(passed, reason="a test of the check"))

    with lying():
        run = run_local(program, **local("clear/1" if scheme == "clear" else scheme), owners=given, timeout=120)
    return np.asarray(next(iter(run.results.values()))).astype(np.int64)


def all_pass(
    party: Party, plan: Plan, holders: Holders, features: SecretArray, labels: SecretArray, coin: bytes
) -> SecretArray:
    """In the place of ``verdicts``: every record passes, whatever it is."""
    del plan, holders, features, coin
    return party.constant(np.ones(len(labels), np.int64), FixedPoint(0, labels.format.ring))


def all_checked(
    party: Party, plan: Plan, holders: Holders, features: SecretArray, labels: SecretArray, coin: bytes
) -> Checked:
    """In the place of ``checked``: the same, and no length is known."""
    return Checked(all_pass(party, plan, holders, features, labels, coin), None)
