"""Choosing between two secrets by a secret bit."""

from __future__ import annotations

from cofit.secret import SecretArray


def select(condition: SecretArray, if_one: SecretArray, if_zero: SecretArray) -> SecretArray:
    """Return if_one where ``condition`` is 1 and if_zero where it is 0: if_zero + condition (if_one - if_zero).

    ``condition`` holds integers 0 and 1 without fractional bits; anything else gives a mixture. Exact. One product
    without truncation: one round with ``rep3``.
    """
    chosen = condition * (if_one - if_zero) + if_zero
    return chosen.with_integer_limit(max(if_one.integer_limit, if_zero.integer_limit))
