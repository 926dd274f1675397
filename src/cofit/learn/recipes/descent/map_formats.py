r"""Formats of rows that the parties map by a public reference: why no row is longer than 1 in effect, and what fits.

With the integers P and b of ``public_map``, ||P|| <= p and ||b|| <= q there, the parties compute of a row x
(``mapped_rows``), with err the error of ``inverse_square_root``, rho and f the floors, unit(t) = 2^-t:

    s      within err of 1 / max(||x - c 1||, rho)                  c off half of the row's mean by 2^-MEAN_BITS at most
    y      x P, within unit(data) a coordinate
    Q      ||y||^2, truncated to ``square`` bits;  T = s Q and then s T, each truncated to ``fine`` bits
    B      <y, b>, truncated to ``fine`` bits;  s B, truncated to ``fine`` bits
    S      s T - 2 s B + ||b||^2
    t      within err of 1 / sqrt(max(S, f^2));  u = s t, truncated to ``inverse_norm`` bits
    z      u y - t b

**The length of z.** ||s y - b||^2 = s^2 ||y||^2 - 2 s <y, b> + ||b||^2 for s and y as they are, whatever their own
errors. So S is off by roundings alone, with s <= steep = 1 / rho + err:

    e = steep^2 unit(square) + (3 steep + 4) unit(fine)

and ||z|| <= t sqrt(S + e) + ||y|| unit(inverse_norm) <= 1 + e / (2 f^2) + (||s y|| + q) err + N unit(inverse_norm): 1 +
eta. That holds for any y within its range: a wrong map costs accuracy and never privacy.

**Ranges.** ||x - c 1|| <= N0 = sqrt(d) (width + 4 unit(data)), so N = p N0 + sqrt(d) unit(data) bounds ||y||, and

    ||s y|| <= p (1 + N0 err + steep sqrt(d) 2^-(MEAN_BITS - 1)) + steep sqrt(d) unit(data)

because y is the map of x less half of its *exact* mean, which is within sqrt(d) 2^-(MEAN_BITS - 1) of x - c 1.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from cofit.learn.recipes.descent.formats import (
    FLOAT_SLACK,
    MEAN_BITS,
    DescentFormats,
    Layout,
    inner_bits,
    log2_up,
)
from cofit.learn.recipes.descent.public_map import (
    LARGEST_MATRIX,
    LARGEST_SHIFT,
    MAP_FLOOR,
    MATRIX_BITS,
    SHIFT_BITS,
    MapFormats,
)
from cofit.learn.ring_choice import SmallRingError
from cofit.privacy.safe_rounding import ROOT_BITS, root_up

_FEWEST_SQUARE_BITS = 12


def with_map(formats: DescentFormats, layout: Layout) -> DescentFormats:
    """Return the formats for rows that the parties map."""
    if layout.floor is None or layout.inputs is None:
        raise ValueError("Only rows that the parties scale are mapped by them.")
    root, unit = root_up(Fraction(layout.inputs), ROOT_BITS), Fraction(1, 1 << formats.data)
    error, steep = formats.inverse_error, 1 / layout.floor + formats.inverse_error
    longest = root * (layout.width + 4 * unit)
    scaled = LARGEST_MATRIX * (1 + longest * error + steep * root / (1 << (MEAN_BITS - 1))) + steep * root * unit
    square = formats.ring.value_bits - 1 - formats.inverse_norm - log2_up(scaled * formats.longest)
    square = min(2 * formats.data, square)
    if square < _FEWEST_SQUARE_BITS:
        raise SmallRingError(
            f"{layout.inputs} columns need more than {formats.ring.bits} bits to be mapped by a reference. Use fewer "
            f"columns, or a larger norm_floor.",
            f"rows of {layout.inputs} columns cannot be mapped in {formats.ring.name}; fewer columns would fit",
        )
    of_square = steep**2 / (1 << square) + (3 * steep + 4) / (1 << inner_bits(formats))
    eta = of_square / (2 * MAP_FLOOR**2) + (scaled + LARGEST_SHIFT) * error
    eta += formats.longest / (1 << formats.inverse_norm)
    mapped = MapFormats(longest, scaled, square)
    return replace(formats, eta=FLOAT_SLACK + eta, centre=LARGEST_SHIFT, mapped=mapped)


def apart_bound(formats: DescentFormats, mapped: MapFormats) -> Fraction:
    """Return a bound of S, computed as it is."""
    return mapped.scaled**2 + 2 * (mapped.scaled * formats.centre + 2) + formats.centre**2 + 3


def largest_of_mapped(formats: DescentFormats, mapped: MapFormats, layout: Layout) -> dict[str, Fraction]:
    """Return what bounds the quantities of the map, in units of their last places."""
    fine, data = inner_bits(formats), formats.data
    root = root_up(Fraction(layout.shared), ROOT_BITS)
    along = mapped.scaled * formats.centre + 2
    return {
        "a mapped row": (root * LARGEST_MATRIX + 1) * Fraction(2) ** (data + MATRIX_BITS),
        "the squared length of a mapped row": max(
            (formats.longest**2 + 1) * Fraction(2) ** (2 * data),
            (mapped.scaled * formats.longest + 1) * Fraction(2) ** (formats.inverse_norm + mapped.square),
        ),
        "a scaled row along the shift": max(
            formats.longest * formats.centre * Fraction(2) ** (data + SHIFT_BITS),
            along * Fraction(2) ** (formats.inverse_norm + fine),
        ),
        "the squared length of a scaled row": (mapped.scaled**2 + 1) * Fraction(2) ** (formats.inverse_norm + fine),
        "the squared length of a row less the shift": 2 * apart_bound(formats, mapped) * Fraction(2) ** fine,
    }
