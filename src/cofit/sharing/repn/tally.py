"""What the checks of a program take, worked out from public shapes alone: rounds and bytes of ``check.py``.

It notes sizes where ``relations.py`` notes values, and checks when ``check.py`` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cofit.arithmetic import PowerOfTwoRing, Ring
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.bit_forms import BitForm, pieces
from cofit.sharing.costs import LateChecks, Sent
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.repn.bit_claims import POINTS, ROWS
from cofit.sharing.repn.check import NONCE_BYTES
from cofit.sharing.repn.geometry import Geometry
from cofit.sharing.repn.lifted import claim_bytes
from cofit.sharing.repn.relations import CHECKS, expanded, most_elements, most_form_bits
from cofit.sharing.shares import Share

_WORD = 8
_AND_ELEMENTS = 64 // ROWS


@dataclass
class Sizes:
    """What was noted: products by ring, the columns of matrices by ring, words of ANDs, bits of forms."""

    products: dict[Ring, int] = field(default_factory=dict)
    matrices: dict[Ring, list[int]] = field(default_factory=dict)
    words: int = 0
    forms: int = 0
    bits: bool = False

    @property
    def any(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.products or self.matrices or self.bits)


class RepnChecks(LateChecks):
    """The list of one party, as sizes."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._parts = len(geometry.held[0])
        self._sizes = Sizes()
        self._matrices: dict[tuple[Ring, object], int] = {}
        self._elements = 0
        self._pending = False

    # --- noting ------------------------------------------------------------------------------------------

    def told(self) -> None:
        self._pending = True

    def products(self, ring: Ring, count: int, terms: int = 1) -> None:
        if count:
            length = count * terms
            self._sizes.products[ring] = self._sizes.products.get(ring, 0) + length
            self._elements += max(count, length)

    def zeros(self, ring: Ring, count: int) -> None:
        if count and ring is BITS:
            self._sizes.bits = True
        elif count:
            self._sizes.products.setdefault(ring, 0)
        self._elements += count

    def matrix(self, a: Share, columns: int) -> None:
        rows, cols = (1, *a.shape)[-2:]
        if not rows * columns:
            return
        if len(a.shape) == 1 or expanded(a, rows, cols, columns):
            self.products(a.ring, rows * columns, cols)
        else:
            self._matrices[a.ring, a.placed.origin] = cols

    def ands(self, words: int) -> None:
        if words:
            self._sizes.words += words
            self._sizes.bits = True
            self._elements += _AND_ELEMENTS * words

    def form(self, form: BitForm, left: int, right: int, words: int) -> None:
        if form.rows(left, right) * words:
            length = form.lefts(left, right, words)
            self._sizes.forms += length
            self._sizes.bits = True
            self._elements += length

    def form_pieces(self, form: BitForm, left: int, right: int, words: int) -> list[slice]:
        return pieces(form, left, right, words, most_form_bits(self._parts))

    def grown(self) -> Sent:
        return self._checked(matrices=False) if self._elements >= most_elements(self._parts) else Sent(0, 0)

    def verify(self) -> Sent:
        if not (self._pending or self._sizes.any or self._matrices):
            return Sent(0, 0)
        return self._checked(matrices=True)

    # --- checking ----------------------------------------------------------------------------------------

    def _checked(self, matrices: bool) -> Sent:
        sizes = self._sizes
        if matrices:
            for (ring, _), cols in self._matrices.items():
                sizes.matrices.setdefault(ring, []).append(cols)
            self._matrices = {}
        self._sizes, self._elements, self._pending = Sizes(), 0, False
        n, t = self._geometry.parties, self._geometry.threshold
        links, told = n * (n - 1), n * t
        if not sizes.any:
            return Sent(1, links * DIGEST_BYTES)
        copies = n * math.comb(2 * t, t + 1) * (t + 1)
        lengths = _lengths(sizes)
        levels = max((length - 1).bit_length() for length in lengths)
        coin = links * (DIGEST_BYTES + NONCE_BYTES)
        size = links * (DIGEST_BYTES + 2 * DIGEST_BYTES) + (levels + 3) * coin + links * DIGEST_BYTES
        for ring in {*sizes.products, *sizes.matrices}:
            if isinstance(ring, PowerOfTwoRing):
                claims = CHECKS * (1 + CHECKS * len(sizes.matrices.get(ring, [])))
                size += claims * ((told + copies) * ring.element_bytes + links * claim_bytes(ring))
        size += links * DIGEST_BYTES + (told * (POINTS - 1) * _WORD if sizes.bits else 0)
        folds = sum((length - 1).bit_length() for length in lengths)
        size += (folds + len(lengths)) * told * 2 * _WORD + len(lengths) * copies * 3 * _WORD
        return Sent(9 + 2 * levels, size)


def _lengths(sizes: Sizes) -> list[int]:
    found = []
    integer = [ring for ring in {*sizes.products, *sizes.matrices} if isinstance(ring, PowerOfTwoRing)]
    if integer:
        terms = sum(sizes.products.get(ring, 0) for ring in integer)
        found.append(max(1, terms + CHECKS * sum(sum(sizes.matrices.get(ring, [])) for ring in integer)))
    if sizes.bits:
        found.append(64 * max(1, -(-sizes.words // ROWS)) + sizes.forms)
    found += [
        max(1, size)
        for ring, size in sizes.products.items()
        if not isinstance(ring, PowerOfTwoRing) and ring is not BITS
    ]
    return found
