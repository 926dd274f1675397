"""Proven ranges of noisy descent: which bounds hold for every intermediate, and whether a ring holds them all.

**The radius.** ||w|| <= R always: T steps of n contributions and the samplers' largest noise, not a usual one, because
a score that wrapped would have an unbounded residual. |t| <= N R, |z| <= (1 + eta) R + beta |b|. Sums may wrap on the
way; what is truncated or compared never does.

**Every bound is an exact integer**, the one that the party program states for the same quantity or a larger one, held
against what a ``SecretArray`` admits: less than 2^(k-2) in a ring of k bits. Nothing is kept back beyond that: a
program that stated more would be refused when it runs, and forecasts run it.

**Weights that rows are multiplied by** have ``carried`` fractional bits: all that the weights have, unless the product
with a row, X w, would be too large for the ring; then as many as fit. They are truncated for scores alone. The weights
themselves, the sums of gradients and the grid of the noise keep all bits, so no sensitivity changes (``proof.md``,
point 5). A score moves by at most (1 + eta) sqrt(d) 2^-carried; where rows are clipped, by u ||x - m|| times as much as
sqrt(d) 2^-carried. That is at most about 2^-8 of half a margin: fewer bits are refused. The truncation of d numbers
costs 2 rounds a step with ``rep3``, and none where rows are clipped: weights are stretched and truncated there anyway.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from cofit.learn.facts import DEFAULT_NORM_FLOOR
from cofit.learn.losses.loss import STEP_BITS
from cofit.learn.recipes.descent.budget import CONSTANT_BITS
from cofit.learn.recipes.descent.clip import (
    LONGEST,
    RADIUS_SQUARED,
    SHORTEST,
    SQUARE_BITS,
    STRETCH_BITS,
    ClipFormats,
)
from cofit.learn.recipes.descent.clip_formats import (
    FINE_SCORE,
    fewest_carried,
    largest_length,
    score_bits,
    steepest,
)
from cofit.learn.recipes.descent.formats import MEAN_BITS, DescentFormats, Layout, inner_bits, log2_up, reach
from cofit.learn.recipes.descent.map_formats import largest_of_mapped
from cofit.learn.ring_choice import RINGS, SmallRingError
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.protocols.working import working_bits

_MOST_PRODUCT_BITS = 40
_FEWEST_PRODUCT_BITS = 4  # beyond those of the largest factor u
_FEWEST_CLIPPED_BITS = 16  # of stretched weights, however few the weights have
_LARGEST_ETA, _LARGEST_LAST_ETA = Fraction(1, 1 << 7), Fraction(1, 8)
"""A coarse inverse length costs as large a part of the noise: where a larger ring is left, it may be less than 1 %."""
_FACTOR_BITS = 17  # 1 / n, 1 / d and 1 / averaged have so many significant bits (``noisy``, ``rows``, ``descend``)


def with_radius(formats: DescentFormats, layout: Layout, radius: Fraction) -> DescentFormats:
    """Return the formats with R, the bits of t and of the weights that make it; refuse what does not fit.

    The most bits that fit, from those of the weights down to the fewest that keep a score fine.
    """
    finest = formats.weights if formats.clip is None else max(formats.weights, _FEWEST_CLIPPED_BITS)
    if formats.weights < 1 or finest > formats.weights + STRETCH_BITS:
        raise _coarse(formats, layout)
    root = root_up(Fraction(layout.features), ROOT_BITS)
    enough = FINE_SCORE + log2_up(root) if formats.clip is None else fewest_carried(formats, layout.features)
    fewest = min(finest, enough)
    for carried in range(finest, fewest - 1, -1):
        exact = formats.clip is None and carried == formats.weights
        error = Fraction(0) if exact else root / (1 << carried)
        done = _with_product(replace(formats, radius=radius, carried=carried, carried_error=error))
        worst, bits = _largest(done, layout)
        if bits <= _room(formats):
            break
    else:
        raise SmallRingError(
            f"{layout.rows} rows and {layout.features} columns need more than {formats.ring.bits} bits ({worst} could "
            f"overflow). Use fewer rows or columns.",
            f"{worst} takes {bits} bits, and {formats.ring.name} holds {_room(formats)}; {_helps(layout)} would fit",
        )
    if formats.clip is None:
        steep = log2_up(1 / (layout.floor or Fraction(1))) + log2_up(1 / formats.centred_floor)
    else:
        steep = working_bits(formats.ring) - formats.inverse_norm - 1
    largest_eta = _LARGEST_LAST_ETA if formats.ring is RINGS[-1] else _LARGEST_ETA
    if done.product < _FEWEST_PRODUCT_BITS + steep or formats.eta > largest_eta:
        raise _coarse(formats, layout)
    return done


def _coarse(formats: DescentFormats, layout: Layout) -> SmallRingError:
    return SmallRingError(
        f"With {layout.rows} rows and {layout.features} columns, {formats.ring.bits} bits leave the length of a row or "
        f"its score too coarse. Use fewer rows or columns, or a larger norm_floor.",
        f"the length of a row or its score would be too coarse in {formats.ring.name}; {_helps(layout)} would fit",
    )


def _helps(layout: Layout) -> str:
    unusual = layout.floor is not None and layout.floor < DEFAULT_NORM_FLOOR
    return "fewer rows or columns, or a larger norm_floor," if unusual else "fewer rows or columns"


def _with_product(formats: DescentFormats) -> DescentFormats:
    """Return the formats with the bits of t: as many as leave room for u t and v <M, w>, with a margin."""
    largest = formats.radius * (4 + formats.centre) / formats.centred_floor
    room = formats.ring.value_bits - 1 - formats.inverse_norm - log2_up(largest)
    return replace(formats, product=min(room, formats.data + formats.carried, _MOST_PRODUCT_BITS))


def _room(formats: DescentFormats) -> int:
    """Return how many bits an integer may have, without its sign."""
    return formats.ring.value_bits


def _largest(formats: DescentFormats, layout: Layout) -> tuple[str, int]:
    """Return the largest of all quantities, and how many bits it takes."""
    needed = largest_integers(formats, layout)
    worst = max(needed, key=lambda name: needed[name])
    return worst, needed[worst].bit_length()


def largest_integers(formats: DescentFormats, layout: Layout) -> dict[str, int]:
    """Return what no integer exceeds in magnitude that the party program truncates, compares or states a bound of."""
    found = _of_any(formats, layout)
    found |= _of_scaled(formats, layout) if formats.clip is None else _of_clipped(formats, formats.clip, layout)
    return {name: -(-bound.numerator // bound.denominator) for name, bound in found.items()}


def _at(bits: int, bound: Fraction | int) -> Fraction:
    """Return a bound in units of the last of so many fractional bits."""
    return Fraction(bound) * Fraction(2) ** bits


def _of_any(formats: DescentFormats, layout: Layout) -> dict[str, Fraction]:
    """Return the bounds of what any descent computes."""
    rows, residual, clip = layout.rows, formats.largest_residual, formats.residual
    summed = formats.weights if formats.clip is not None else formats.carried
    found = {
        "a score": _at(
            formats.argument + clip.slope_bits,
            2 * (clip.slope * (formats.argument_radius + clip.largest_target) + clip.edge) + 3,
        ),
        "the sum of the weights": _at(summed, layout.features * formats.carried_radius),
        "the sum of the last iterates": _at(
            formats.weights + (_FACTOR_BITS if formats.offset_radius else CONSTANT_BITS), formats.radius
        ),
        "a sum of residuals": _at(
            max(_residual_bits(formats) + CONSTANT_BITS + formats.importance, formats.grid), rows * residual
        ),
        "the intercept's offset": _at(formats.grid + formats.offset_exponent, 2 * formats.offset_radius),
    }
    if _unscaled(formats, layout):
        found["a score before its truncation"] = _at(formats.data + formats.carried, formats.argument_radius)
        found["a sum of gradients"] = _at(formats.data + formats.scaled, rows * reach(formats, layout))
    return found


def _residual_bits(formats: DescentFormats) -> int:
    """Return the fractional bits of an exact residual: a margin's, those of the slope and of the factor a."""
    return formats.argument + formats.residual.slope_bits + STEP_BITS


def _of_importance(formats: DescentFormats) -> Fraction:
    """Return what the truncation of a row's factor times its weight adds to it; 0 where there are no weights."""
    return Fraction(1, 1 << formats.inverse_norm) if formats.importance else Fraction(0)


def _unscaled(formats: DescentFormats, layout: Layout) -> bool:
    """Return whether rows have no factor: the owners have scaled them, and nothing is centred."""
    return layout.floor is None and not formats.centre and formats.clip is None


def _of_scaled(formats: DescentFormats, layout: Layout) -> dict[str, Fraction]:
    """Return the bounds for rows u (x - c) - v M."""
    if _unscaled(formats, layout):
        return {}
    rows, data, error = layout.rows, formats.data, formats.inverse_error
    unit, residual = Fraction(1, 1 << formats.scaled), formats.largest_residual
    tilt = 1 / formats.centred_floor + error if formats.centre else Fraction(0)
    scale = (1 / layout.floor + error if layout.floor else Fraction(1)) * (tilt or 1) + Fraction(1, 1 << data)
    scale += _of_importance(formats)
    offset = layout.width - 1 + Fraction(4, 1 << data) if layout.floor and not formats.mapped else Fraction(0)
    centred = formats.centre * (tilt * residual + unit)
    apart = tilt * (formats.centre * formats.carried_radius + 1) + formats.constant * formats.radius
    found = {
        "a product of a row with the weights": _at(data + formats.carried, formats.longest * formats.carried_radius),
        "a score before its truncation": _at(
            formats.inverse_norm + formats.product, max(formats.argument_radius, apart)
        ),
        "a residual times the factor of its row": _at(formats.inverse_norm + _residual_bits(formats), scale * residual),
        "a sum of gradients": _at(
            data + formats.scaled,
            rows * max(reach(formats, layout), offset * (scale * residual + unit) + centred),
        ),
    }
    if layout.floor:
        found |= {
            "the squared length of a row": _at(2 * data, 2 * formats.longest**2 + 1),
            "the mean of a row": _at(data + log2_up(Fraction(layout.shared)) + _FACTOR_BITS, 1),
            "the mean of all rows": _noisy_mean(max(MEAN_BITS, formats.grid), rows, layout.width),
        }
    if formats.centre:
        along = (1 + formats.eta) * formats.centre + 1
        fine = inner_bits(formats)
        square = formats.centre**2 + 2 * along + 1
        product = _at(formats.inverse_norm + fine, along) if layout.floor else Fraction(0)
        found |= {
            "the mean of all rows": _noisy_mean(formats.grid, rows, formats.centre),
            "a row along the centre": max(_at(2 * data, max(along, formats.longest * formats.centre)), product),
            "the weights along the centre": _at(data + formats.carried, formats.centre * formats.carried_radius),
            "the squared length of a centred row": _at(fine, 2 * square + 1),
            "the factor of a row": _at(2 * formats.inverse_norm, scale),
        }
    if formats.mapped is not None:
        found |= largest_of_mapped(formats, formats.mapped, layout)
    return found


def _of_clipped(formats: DescentFormats, clip: ClipFormats, layout: Layout) -> dict[str, Fraction]:
    """Return the bounds for rows u (t (x - m) - c)."""
    rows, cols, data = layout.rows, layout.features, formats.data
    exact, fine = data + formats.scaled, data + STRETCH_BITS
    root, unit = root_up(Fraction(cols), ROOT_BITS), Fraction(1, 1 << formats.scaled)
    first = clip.mean * (1 / SHORTEST + 1)
    aside = clip.moved * ((steepest(formats, cols) + _of_importance(formats)) * formats.largest_residual + unit)
    least = LONGEST**2 * RADIUS_SQUARED * cols
    score = score_bits(formats, cols)
    together = root if score.carried < formats.weights else Fraction(1)  # their sum is truncated with them
    means = clip.mean + clip.first_reach**2 + 2 * clip.moved
    return {
        "a product of a row with the weights": _at(
            data + formats.carried, 2 * formats.longest * formats.carried_radius
        ),
        "a score before its truncation": _at(score.scale + score.product, formats.argument_radius),
        "a residual times the factor of its row": _at(
            formats.inverse_norm + _residual_bits(formats),
            (steepest(formats, cols) + _of_importance(formats)) * formats.largest_residual,
        ),
        "a length": _at(2 * data + clip.first_bits, largest_length(clip)),
        "the stretched weights": _at(STRETCH_BITS + formats.weights, clip.stretch * together * formats.radius),
        "a sum of gradients": max(
            _at(exact + STRETCH_BITS, rows * max(Fraction(2), reach(formats, layout))), _at(exact, 6 * rows)
        ),
        "the mean times the inverse lengths": _at(exact, rows * max(first, aside)),
        "the spread of the rows": _at(2 * data + SQUARE_BITS, rows * (clip.first_reach**2 + Fraction(1, 1 << data))),
        "the squared length of a row": _at(2 * fine, 2 * formats.longest**2 + least + 1),
        "the mean of a row": _at(fine + _FACTOR_BITS, root * formats.longest + cols * clip.moved * clip.stretch),
        "the mean of all rows": _noisy_mean(max(formats.grid, clip.radius_grid), rows, means),
    }


def _noisy_mean(grid: int, rows: int, largest: Fraction) -> Fraction:
    """Return the bound of a noisy sum times 1 / n, before its truncation."""
    return _at(grid + log2_up(Fraction(rows)) + _FACTOR_BITS, largest)
