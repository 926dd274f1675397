"""What one party holds says nothing about a draw: its own summands agree with the draw half of the time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import unpack
from cofit.sampling.coin import coins
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.uniform import uniform_words
from cofit.secret import SecretBits
from cofit.sharing import Share
from cofit.sharing.packed_bits import words_of
from cofit.sharing.rep3.party import Rep3
from statistical.sampling.checks import count_of
from support.chance import PValues, accept, reject

COUNT = 20_000


def words(party: Party) -> SecretBits:
    return uniform_words(party, (COUNT,), 3)


def fair_coins(party: Party) -> SecretBits:
    return coins(party, [Fraction(1, 2)], (COUNT,), precision=8)


def agreement_of_bits(party: Party) -> list[float]:
    p_values = []
    for bits in (words(party), fair_coins(party)):
        guess = unpack(BITS.add(*words_of(bits._share).parts), COUNT)
        p_values.append(count_of(guess == party.open(bits, reason="test"), 0.5))
    return p_values


def agreement_of_integers(party: Party) -> list[float]:
    draw = discrete_laplace(party, (COUNT,), 1000)
    first, second = draw._share.parts
    guess = (first + second).view(np.int64)
    value = party.open(draw, reason="test")
    return [count_of((guess ^ value) & 1 == 0, 0.5), count_of((guess < 0) == (value < 0), 0.5)]


def by_party() -> PValues:
    programs = {"bits": agreement_of_bits, "integers": agreement_of_integers}
    return {
        f"{name}: {what} {i}": p
        for what, program in programs.items()
        for name, ps in run_local(program).results.items()
        for i, p in enumerate(ps)
    }


def test_no_party_can_guess() -> None:
    accept(by_party())


def test_one_contribution_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Rep3._random_words

    def without_summand_0(self: Rep3, shape: Shape) -> Share:
        drawn = original(self, shape)
        parts = [
            np.zeros_like(part) if (self.rank + place) % 3 == 0 else part for place, part in enumerate(drawn.parts)
        ]
        return Share(drawn.ring, tuple(parts))

    monkeypatch.setattr(Rep3, "_random_words", without_summand_0)
    p_values = by_party()
    reject({name: p for name, p in p_values.items() if name == "party-b: bits 0"})
    accept({name: p for name, p in p_values.items() if name.startswith("party-a")})
