"""Forms whose messages are large enough for NumPy to reuse the memory of a transposed array."""

from __future__ import annotations

import numpy as np

from cofit import Party, run_local
from cofit.sharing.bit_forms import Outer

ROWS, COUNT = (4, 67), 16_000  # 4 x 67 x 250 words: 536 kB


def test_a_large_form_is_that_of_its_operands() -> None:
    def program(party: Party) -> bool:
        boolean = party._scheme.boolean
        a, b = (boolean.random(rows, COUNT) for rows in ROWS)
        shared = (a, b, boolean.bilinear(a, b, Outer()))
        left, right, product = (boolean.open(each) for each in shared)
        assert left is not None and right is not None and product is not None
        return bool(np.array_equal((left[:, None] & right[None]).reshape(product.shape), product))

    assert all(run_local(program, owners={}, scheme="pair").results.values())
