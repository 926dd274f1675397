"""Choosing between two secrets by a secret bit."""

from __future__ import annotations

from cofit.secret import SecretArray
from cofit.secret.array import Operand


def select(condition: SecretArray, if_one: SecretArray, if_zero: Operand) -> SecretArray:
    """Return if_one where ``condition`` is 1 and if_zero where it is 0: if_zero + condition (if_one - if_zero).

    ``condition`` holds integers 0 and 1 without fractional bits; anything else gives a mixture. Exact. One product
    without truncation: one round with ``rep3``.
    """
    return condition * (if_one - if_zero) + if_zero
