"""Folding, without any network: all parties' parts in one place."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from cofit.arithmetic import Generator
from cofit.arithmetic.integers import Words
from cofit.sharing.repn.fields import BinaryField, Field, PrimeField
from cofit.sharing.repn.folding import InnerProduct
from cofit.sharing.repn.geometry import geometry_of

FIELDS: list[Field] = [PrimeField((1 << 61) - 1), BinaryField()]
EVERY = pytest.mark.parametrize("field", FIELDS, ids=["prime", "binary"])


def stream(of: str) -> Generator:
    return Generator(hashlib.sha256(of.encode()).digest())


def elements(field: Field, count: int, of: str) -> Words:
    source = stream(of)
    return np.asarray([field.draw(source) for _ in range(count)], np.uint64)


class Everybody:
    """All parties' instances of one inner product; what is dealt gets into the first group's part."""

    def __init__(self, field: Field, length: int, error: int, parties: int = 5) -> None:
        self.field, self.geometry = field, geometry_of(parties)
        groups = self.geometry.groups
        xs, ys = ({g: elements(field, length, f"{side} {g}") for g in groups} for side in "xy")
        self.x, self.y = (self._total(side) for side in (xs, ys))
        claims = {g: int(elements(field, 1, f"claim {g}")[0]) for g in groups}
        claims[groups[0]] = field.sub(
            field.add(self._inner(self.x, self.y), error), field.add(0, *(claims[g] for g in groups[1:]))
        )
        self.all = [
            InnerProduct(
                field, [xs[g].copy() for g in held], [ys[g].copy() for g in held], [claims[g] for g in held], m
            )
            for held, m in zip(self.geometry.held, self.geometry.pairs, strict=True)
        ]

    def _total(self, parts: dict[tuple[int, ...], Words]) -> list[int]:
        return [self.field.add(0, *map(int, column)) for column in zip(*parts.values(), strict=True)]

    def _inner(self, a: list[int], b: list[int]) -> int:
        return self.field.add(0, *(self.field.mul(p, q) for p, q in zip(a, b, strict=True)))

    def dealt(self, summands: list[Words], lie: int = 0) -> list[list[Words]]:
        """The sum of what all deal, as parts: the first group has it, the others 0."""
        total = np.asarray(
            [self.field.add(lie, *map(int, column)) for column in zip(*summands, strict=True)], np.uint64
        )
        none = np.zeros(len(total), np.uint64)
        return [[total if g == self.geometry.openers else none for g in held] for held in self.geometry.held]

    def fold(self, coin: str, lie: int = 0) -> None:
        parts = self.dealt([one.summands() for one in self.all], lie)
        for one, own in zip(self.all, parts, strict=True):
            one.fold(self.field.draw(stream(coin)), own)

    def last(self, coin: str, lie: int = 0) -> tuple[int, int, int]:
        """What is opened in the end."""
        groups = self.geometry.groups
        masks = {g: elements(self.field, 2, f"mask {coin} {g}") for g in groups}
        own = [np.stack([masks[g] for g in held], axis=1) for held in self.geometry.held]
        parts = self.dealt([one.masked_summands(m) for one, m in zip(self.all, own, strict=True)], lie)
        r = self.field.draw(stream(coin))
        rows: dict[tuple[int, ...], Words] = {}
        for held, one, m, part in zip(self.geometry.held, self.all, own, parts, strict=True):
            rows.update(zip(held, one.opening(r, m, part).T, strict=True))
        x, y, z = (self.field.add(0, *(int(row[i]) for row in rows.values())) for i in range(3))
        return x, y, z

    def accepted(self, lies: tuple[int, ...] = (), salt: str = "") -> bool:
        step = 0
        while self.all[0].length > 1:
            self.fold(f"coin {salt} {step}", lies[step] if step < len(lies) else 0)
            step += 1
        x, y, z = self.last(f"last {salt}", lies[step] if step < len(lies) else 0)
        return self.field.mul(x, y) == z


@EVERY
@pytest.mark.parametrize("parties", [3, 5])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 6, 7, 8, 13, 33])
def test_a_right_claim_passes_and_a_wrong_one_does_not(field: Field, length: int, parties: int) -> None:
    assert Everybody(field, length, 0, parties).accepted()
    for error in (1, 2, 1 << 60):
        assert not Everybody(field, length, error, parties).accepted()


@EVERY
def test_what_is_dealt_wrongly_on_the_way_is_found(field: Field) -> None:
    for step in range(5):
        assert not Everybody(field, 13, 0).accepted((0,) * step + (7,))


@EVERY
def test_a_wrong_claim_is_not_saved_by_what_is_dealt_later(field: Field) -> None:
    """Unless the coin is known: then h(0) is chosen so that h(r) is right."""
    for lies in ((1,), (0, 1), (5, 5, 5, 5), (0, 0, 0, 0, 1)):
        assert not Everybody(field, 13, 1).accepted(lies)


def test_who_knows_a_coin_can_save_a_wrong_claim() -> None:
    """With h(0) and the leading coefficient off by d each, h(r) is off by d (1 - 3 r + r^2) + r e, if c is by e."""
    field = PrimeField((1 << 61) - 1)
    p = field.prime
    r = field.draw(stream("coin  0"))
    wrong = 1
    d = -r * wrong * pow(1 - 3 * r + r * r, -1, p) % p
    assert Everybody(field, 13, wrong).accepted((d,))
    assert not Everybody(field, 13, wrong).accepted((d,), "another")


@EVERY
def test_what_is_opened_differs_from_run_to_run(field: Field) -> None:
    seen = [Everybody(field, 1, 0).last(f"run {i}") for i in range(20)]
    assert len({x for x, _, _ in seen}) == len({y for _, y, _ in seen}) == 20
    everybody = Everybody(field, 1, 0)
    assert all(x != everybody.x[0] and y != everybody.y[0] for x, y, _ in seen)
