"""Runs of repn that keep what was noted, sharings without messages, and what they are in the clear."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import Scheme, Share
from cofit.sharing.group_streams import Group
from cofit.sharing.repn.geometry import geometry_of
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import Noted, Parts
from support.runs import run_scheme

Run = Callable[[Repn], Any]


class Keeping(Repn):
    """Keeps all that it checks, in ``kept``."""

    def _check(self, noted: Noted) -> None:
        vars(self).setdefault("kept", []).append(noted)
        super()._check(noted)


def run(program: Run, parties: int = 3, kind: type[Repn] = Repn) -> list[Any]:
    """Run a program; return what each party returns."""

    def own(s: Scheme) -> Any:
        assert isinstance(s, Repn)
        return program(s)

    return run_scheme(kind, own, parties=parties).results


def noted_by(program: Run, parties: int) -> list[list[Noted]]:
    """Run a program; return what each party noted, check by check."""

    def own(p: Repn) -> list[Noted]:
        program(p)
        p.verify()
        return list(vars(p).get("kept", []))

    return run(own, parties, Keeping)


def shared(p: Repn, ring: Ring, values: RingArray, salt: int = 0) -> Share:
    """A sharing of a value, made without any message."""
    return Share(ring, tuple(summands(p.geometry.parties, ring, values, salt)[group] for group in p._own_groups))


def summands(parties: int, ring: Ring, values: RingArray, salt: int = 0) -> dict[Group, RingArray]:
    groups = geometry_of(parties).groups
    found = {g: drawn(ring, values.shape, f"{salt} {g}") for g in groups[1:]}
    return {groups[0]: ring.signed_sum([values], list(found.values())), **found}


def drawn(ring: Ring, shape: Shape, of: str) -> RingArray:
    """Something that looks random, and is always the same."""
    return Generator(hashlib.sha256(of.encode()).digest()).ring(ring, shape)


def plain(ring: Ring, parts_of: Sequence[Parts], parties: int) -> RingArray:
    """The value of a sharing: the parts of every party, which must agree, added up."""
    found: dict[Group, RingArray] = {}
    for held, parts in zip(geometry_of(parties).held, parts_of, strict=True):
        for group, part in zip(held, parts, strict=True):
            assert np.array_equal(found.setdefault(group, part), part), "parties have different summands"
    return ring.signed_sum([np.ascontiguousarray(part) for part in found.values()])


def untrue(notes: Sequence[Noted]) -> Mapping[str, int]:
    """What is wrong in the clear, of what all parties noted for one check, by kind; and how much there was."""
    n = len(notes)
    wrong = {"all": 0, "products": 0, "matrices": 0, "bits": 0, "zeros": 0}

    def value(ring: Ring, of: Callable[[Noted], Parts]) -> RingArray:
        return plain(ring, [of(noted) for noted in notes], n)

    for ring, items in notes[0].products.items():
        for i, item in enumerate(items):
            z = value(ring, lambda o, i=i, r=ring: o.products[r][i].z)  # type: ignore[misc]
            want = ring.zeros(z.shape)
            if item.x is not None:
                x, y = (value(ring, lambda o, i=i, r=ring, k=k: getattr(o.products[r][i], k)) for k in "xy")  # type: ignore[misc]
                want = ring.sum(ring.mul(x, y).reshape(-1, item.terms), 1)
            wrong["products" if item.x is not None else "zeros"] += int((z != want).sum())
            wrong["all"] += z.size
    for ring, matrices in notes[0].matrices.items():
        for i, matrix in enumerate(matrices):
            whole = value(ring, lambda o, i=i, r=ring: _rows(o.matrices[r][i].placed))  # type: ignore[misc]
            for e in range(len(matrix.vectors)):
                w = value(ring, lambda o, i=i, e=e, r=ring: o.matrices[r][i].vectors[e])  # type: ignore[misc]
                z = value(ring, lambda o, i=i, e=e, r=ring: o.matrices[r][i].results[e])  # type: ignore[misc]
                wrong["matrices"] += int((ring.matmul(whole, w) != z).sum())
                wrong["all"] += z.size
    for i, bits in enumerate(notes[0].bits):
        a, b, z = (value(BITS, lambda o, i=i, k=k: getattr(o.bits[i], k)) for k in "abz")  # type: ignore[misc]
        wrong["bits"] += int(((a & b if bits.form is None else bits.form.apply(a, b)) != z).sum())
        wrong["all"] += z.size
    for i in range(len(notes[0].zero_bits)):
        wrong["zeros"] += int(value(BITS, lambda o, i=i: o.zero_bits[i]).astype(bool).sum())  # type: ignore[misc]
    return wrong


def _rows(placed: Any) -> Parts:
    """The parts of a matrix, wherever they are: its rows, one by one."""
    rows = placed.shape[0]
    found = [placed.row_sums((np.arange(rows) == row).astype(np.uint64)) for row in range(rows)]
    return tuple(np.stack([one[part][0] for one in found]) for part in range(len(found[0])))
