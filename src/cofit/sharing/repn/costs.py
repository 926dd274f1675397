"""What the operations of ``repn`` cost, as ``party.py`` says it."""

from __future__ import annotations

import functools
import math

from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.blank import blank_bits
from cofit.sharing.carry_save import levels
from cofit.sharing.costs import BitCosts, Cost, Costs, Noted
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.meter import Meter
from cofit.sharing.numbers import added
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.repn.geometry import Geometry, geometry_of
from cofit.sharing.repn.tally import RepnChecks
from cofit.sharing.repn.truncation import low_width, top_width
from cofit.sharing.repn.wraps import CARRY_BITS
from cofit.sharing.shares import PlacedBits


@functools.cache
def _addition(numbers: int, width: int) -> tuple[int, int]:
    """Return rounds, and ANDs for each element, of adding digits of the maskers and what the openers see."""
    meter = Meter(Rep3)
    terms = [PlacedBits(0, blank_bits(width, 64)) for _ in range(numbers)]
    added(meter.boolean, [*terms, PlacedBits(0, blank_bits(width + CARRY_BITS, 64))], width + CARRY_BITS)
    return meter.tally.rounds, meter.tally.ands // 64


def _rows(geometry: Geometry, width: int) -> list[int]:
    """Return, by masker, the binary digits of the sum of the digits of its groups."""
    counts = [sum(geometry.masker_of(g) == m for g in geometry.masking) for m in geometry.maskers]
    return [(count * ((1 << width) - 1)).bit_length() for count in counts]


def costs_of(parties: int) -> Costs:
    """Return the table of ``party.py``, for programs that count."""
    geometry = geometry_of(parties)
    n, t, groups = parties, geometry.threshold, len(geometry.groups)
    links, told, known, opened = n * (n - 1), n * t, (t + 1) * t, 2 * t * (t + 1)
    parts = math.comb(2 * t, t)
    product, copies = Cost(1, told), Cost(1, math.comb(2 * t, t + 1) * (t + 1))
    xor_rounds = max(1, t - 1)

    def carried(families: int, width: int) -> tuple[int, int, int, Noted]:
        """Rounds, elements, words for 64 elements, and notes, of the carries of ``_carries``."""
        rounds, ands = _addition(t, width)
        rows = CARRY_BITS * families
        elements = (t - 1) * rows * told + rows * known
        words = ands * families * told + rows * opened
        notes = Noted(products=(t - 1) * rows + rows, words=ands * families, zero_words=rows)
        return rounds + xor_rounds + 1, elements, words, notes

    top, low = top_width(groups - 1), low_width(groups - 1)
    if t == 1:
        truncation = Cost(2, opened + 6 * t + known, notes=Noted(products=3 + 1 + 2, inner=4, zeros=2))
        unmasked = Cost(2, known, notes=Noted(products=1))
    else:
        rounds, elements, words, notes = carried(2, top)
        rows = [CARRY_BITS * 2 + a + b for a, b in zip(_rows(geometry, top), _rows(geometry, low), strict=True)]
        truncation = Cost(
            1 + rounds,
            opened + t * max(rows) * t + elements,
            packed=words,
            notes=notes.plus(Noted(products=sum(rows), zeros=2 * t)),
        )
        rounds, elements, words, notes = carried(1, top_width(t))
        unmasked = Cost(1 + rounds, elements, packed=words, notes=notes)
    dealers = sum(math.comb(2 * t - i, t) - 1 for i in range(t + 1))  # additions of summands that one party knows
    return Costs(
        setup_rounds=2,
        setup_bytes=SEED_BYTES * (links + groups * (t + 1) * t) + links * DIGEST_BYTES,
        compared=Cost(1, 0, links * DIGEST_BYTES),
        echo=Cost(1, 0, links * DIGEST_BYTES),
        input=Cost(1, t),
        open=copies,
        product=product,
        bits=BitCosts(input=Cost(1, t), open=copies, product=product),
        refresh=Cost(1, known, notes=Noted(zeros=1)),
        truncated_product=truncation,
        truncation=truncation,
        bit_to_ring=Cost(
            2 + xor_rounds, t * t + (t - 1) * told + known, notes=Noted(products=t + (t - 1) + 1, zero_words=1)
        ),
        bit_words=opened,
        carry_signals=Cost(1 + levels(t + 1) + 1, dealers * t + t * told, notes=Noted(words=dealers + t)),
        product_terms=parts,
        inner_terms=max(sum(mask.bit_count() for mask in masks) for masks in geometry.pairs),
        public_terms=parts,
        unmasked=unmasked,
        unmasked_words=opened,
        number_masks=t,
        mask_digits=Cost(1, t * t, notes=Noted(products=t)),
        mask_bits=CARRY_BITS if t > 1 else 0,
        late=functools.partial(RepnChecks, geometry),
        summands=groups,
    )
