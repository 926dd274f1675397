r"""Rows mapped by a public reference on shares: where owners hold columns, and nobody sees a row (``public_map``).

    s = 1 / max(||x - c 1||, rho),    y = x P,    z = t (s y - b),    t = 1 / max(||s y - b||, f)

z is never formed: the steps take it as u y - v b with u = s t and v = t, as rows that are centred (``rows``). Formats,
ranges, and why ||z|| <= 1 + eta: ``map_formats``. Privacy: reference_proof.md.

**Who learns what**: nobody anything; nothing is opened but under a mask. **The product x P is local**: P is public.
What costs is the truncation of y, n k elements, once; then y is held for the steps in the place of x. With ``rep3``: 2
rounds a batch for y, and a few products of n numbers with two inverse roots, as for rows that are centred.

**Before the verdict** y, its square and its product with b may be any integer of the ring where a row failed the check;
nothing is compared, and nothing joins them to other rows, before S is multiplied by the verdict.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cofit.errors import InvalidInputError
from cofit.learn.batches import in_batches
from cofit.learn.recipes.descent.formats import inner_bits
from cofit.learn.recipes.descent.map_formats import apart_bound
from cofit.learn.recipes.descent.public_map import (
    LARGEST_MATRIX,
    MAP_FLOOR,
    MATRIX_BITS,
    SHIFT_BITS,
    PublicMap,
)
from cofit.learn.recipes.descent.rows import Rows, inverse_lengths, inverse_roots, means
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.secret import Party, SecretArray

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_HELD_A_VALUE = 4  # shared elements, for every mapped value, while it is truncated


def checked_map(plan: DescentPlan, given: PublicMap | None) -> PublicMap:
    """Return the map that the plan names, or refuse another one."""
    wanted = (plan.layout.shared, plan.layout.features)
    if given is None or given.hash != plan.facts.reference or given.matrix.shape != wanted:
        raise InvalidInputError(
            f"The parties must hold the reference map {plan.facts.reference}, of {wanted[0]} columns to {wanted[1]}. "
            f"Got {given!r} instead."
        )
    return given


def mapped_rows(party: Party, x: SecretArray, passed: SecretArray, plan: DescentPlan, *, public: PublicMap) -> Rows:
    """Return the rows as the steps see them. x: as it was shared; passed: the verdicts; public: ``checked_map``."""
    formats, fine = plan.formats, inner_bits(plan.formats)
    mapped = formats.mapped
    if mapped is None:
        raise ValueError("This plan maps no rows.")
    _, scale = inverse_lengths(x, means(x).ldexp(-1), passed, plan, mapped.longest)
    y = party.hold(_mapped(x, plan, public), plan.epochs, owned=True)
    squares = y.inner(y, mapped.square, proven_bound=formats.longest**2 + 1)
    lengths = scale.multiply(squares, fine, proven_bound=mapped.scaled * formats.longest + 1)
    lengths = scale.multiply(lengths, fine, proven_bound=mapped.scaled**2 + 1)
    exact = (y @ public.shift).ldexp(-SHIFT_BITS)
    along = _bounded(exact, formats.longest * formats.centre).truncate(fine)
    along = scale.multiply(along, fine, proven_bound=mapped.scaled * formats.centre + 2)
    square = Fraction(round(public.squared_shift * (1 << fine)), 1 << fine)
    apart = _bounded(lengths - along * 2 + square, apart_bound(formats, mapped))
    tilt = inverse_roots(apart * passed, None, MAP_FLOOR, formats.of(formats.inverse_norm), x.size)
    centre = party.constant(np.ldexp(public.shift.astype(np.float64), -SHIFT_BITS), formats.of(formats.data))
    return Rows(
        y,
        formats,
        scale=scale.multiply(tilt, formats.inverse_norm),
        tilt=tilt,
        centre=_bounded(centre, formats.centre),
    )


def _mapped(x: SecretArray, plan: DescentPlan, public: PublicMap) -> SecretArray:
    """Return x P with ``data`` fractional bits."""
    formats, columns = plan.formats, plan.layout.features
    largest = root_up(Fraction(plan.layout.shared), ROOT_BITS) * LARGEST_MATRIX

    def of(part: SecretArray) -> SecretArray:
        exact = part.matmul(public.matrix, proven_bound=(largest + 1) * (1 << MATRIX_BITS)).ldexp(-MATRIX_BITS)
        return _bounded(exact, largest + 1).truncate(formats.data)

    return in_batches(of, [x], _HELD_A_VALUE * columns, x.size)


def _bounded(value: SecretArray, bound: Fraction) -> SecretArray:
    """Return a value with the bound that is proven for every map, so that no map costs more or less than another."""
    limit = value.format.limit(bound)
    return value.loosened(max(limit, value.integer_limit)).with_integer_limit(limit)
