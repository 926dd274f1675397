"""What a party keeps for products shows nothing of it: no Delta, no choice, no mask, no value."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.sharing.pair.crossing import (
    ChosenBits,
    ChosenNumbers,
    ChosenValues,
    SentBits,
    SentNumbers,
    SentValues,
)
from cofit.sharing.pair.held import Ahead, MaskedProduct
from cofit.sharing.pair.transfers import Choosing, Sending

SECRET = 987654321
WORDS = np.full(1, SECRET, np.uint64)
ROWS = np.full((64, 2), SECRET, np.uint64)
KEPT = (
    Sending(ROWS, 0, np.full(2, SECRET, np.uint64)),
    Choosing(ROWS, 0, WORDS),
    SentBits(WORDS, WORDS),
    ChosenBits(WORDS, WORDS),
    SentValues(Z64, WORDS, WORDS),
    ChosenValues(Z64, WORDS, WORDS, WORDS),
    SentNumbers(Z64, WORDS, WORDS),
    ChosenNumbers(Z64, WORDS, WORDS, WORDS),
    MaskedProduct(WORDS, WORDS),
)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: type(kept).__name__)
def test_no_secret_is_shown(kept: object) -> None:
    ahead = Ahead.of(1)
    for shown in (repr(kept), str(kept), f"{[kept]}", repr(ahead)):
        assert str(SECRET) not in shown


def test_nor_what_was_made_ahead() -> None:
    ahead = Ahead.of(1)
    ahead.made[0].append(MaskedProduct(WORDS, WORDS))
    assert str(SECRET) not in repr(ahead)
