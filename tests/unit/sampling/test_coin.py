from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from cofit import Party, SecretBits
from cofit.errors import InvalidInputError
from cofit.sampling.coin import coins, threshold
from cofit.sampling.parameters import constants, nearest
from unit.sampling.draws import SCHEMES, all_words, cost, feed, opened, refusal


@pytest.mark.parametrize("precision", [1, 2, 3, 5, 7, 8])
def test_coins_come_up_for_exactly_their_share_of_all_words(precision: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def same_word_for_all(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        word = all_words(self, precision)
        return word.join(*[word] * (width // precision - 1))

    monkeypatch.setattr(Party, "random_secret_bits", same_word_for_all)
    probabilities = [Fraction(i, 12) for i in range(13)]
    bits = opened(lambda party: coins(party, probabilities, (1 << precision,), precision=precision))
    for p, ones in zip(probabilities, bits.sum(axis=1), strict=True):
        assert int(ones) == threshold(p, precision)
        assert abs(Fraction(int(ones), 1 << precision) - p) <= Fraction(1, 1 << (precision + 1))
    assert bits[0].sum() == 0
    assert bits[-1].sum() == 1 << precision


@pytest.mark.parametrize("scheme", SCHEMES)
def test_impossible_and_certain_coins(scheme: str) -> None:
    bits = opened(lambda party: coins(party, [0, 1, Fraction(0), Fraction(1), mpmath.mpf(1)], (100,)), scheme)
    assert (bits == np.array([0, 1, 0, 1, 1])[:, None]).all()


def test_thresholds_are_nearest_integers_of_the_exact_value() -> None:
    context = constants(200)
    p = 1 / context.mpf(3)
    assert threshold(p, 64) == round(Fraction(1, 3) * 2**64)
    assert threshold(Fraction(1, 3), 100) == round(Fraction(1, 3) * 2**100)
    assert threshold(context.exp(-64), 64) == 0
    assert threshold(context.exp(-44), 64) == int(mpmath.nint(mpmath.exp(-44) * 2**64))
    assert nearest(context.exp(-(10**30)), 64) == 0
    assert nearest(context.mpf(0.5), 1) == nearest(context.mpf(0.75), 1) - 1 == 1
    assert nearest(context.mpf(0), 64) == 0


def test_the_working_precision_of_others_is_left_alone() -> None:
    before = mpmath.mp.prec
    threshold(constants(64).mpf(1) / 3, 64)
    assert mpmath.mp.prec == before


@pytest.mark.parametrize(
    "p", [0.5, -1, 2, Fraction(3, 2), mpmath.inf, mpmath.nan, mpmath.mpf(-0.25), True, "1/2", None]
)
def test_probabilities_are_checked(p: Fraction) -> None:
    error = refusal(lambda party: coins(party, [Fraction(1, 2), p], (3,)))
    assert isinstance(error, InvalidInputError)
    assert "The 'probabilities' parameter of coins must be a Fraction, an mpmath number, or an integer" in str(error)


def test_other_parameters_are_checked() -> None:
    half = [Fraction(1, 2)]
    assert "at least one probability" in str(refusal(lambda party: coins(party, [], (3,))))
    assert "The 'precision' parameter" in str(refusal(lambda party: coins(party, half, (3,), precision=0)))
    assert "The 'precision' parameter" in str(refusal(lambda party: coins(party, half, (3,), precision=257)))
    assert "The 'shape' parameter" in str(refusal(lambda party: coins(party, half, (0,))))


@pytest.mark.parametrize(("precision", "rounds", "ands"), [(64, 7, 87), (32, 6, 43), (8, 3, 9), (1, 0, 0)])
def test_cost_with_rep3_whatever_the_number_of_biases(precision: int, rounds: int, ands: int) -> None:
    probabilities = [Fraction(i, 7) for i in range(2, 6)]
    spent = cost(lambda party: coins(party, probabilities, (640,), precision=precision))
    assert spent == (rounds, 3 * ands * len(probabilities) * 640 // 8)


def test_coins_without_a_choice_cost_nothing() -> None:
    assert cost(lambda party: coins(party, [0, 1], (64,))) == (0, 0)
    half = cost(lambda party: coins(party, [Fraction(1, 3)], (64,)))
    assert cost(lambda party: coins(party, [0, Fraction(1, 3), 1], (64,))) == half


def test_integers_take_two_rounds_and_three_elements_more() -> None:
    spent = cost(lambda party: party.to_arithmetic(coins(party, [Fraction(1, 3)], (64,))))
    assert spent == (7 + 2, 3 * 87 * 8 + 3 * 64 * 8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_coin_has_a_word_of_its_own(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word 0 has its first one at place 0, word 1 at place 1, and so on; the certain coins between them take none."""
    words = np.concatenate([(np.arange(8) < place).astype(np.uint8) for place in range(3)])
    feed(monkeypatch, np.repeat(words[:, None], 64, axis=1))
    biases = [Fraction(0b10100000, 256), 1, Fraction(0b10111111, 256), 0, Fraction(0b00100000, 256)]
    found = opened(lambda party: coins(party, biases, (64,), precision=8), scheme)
    assert found[:, 0].tolist() == [1, 1, 0, 0, 1]
    assert (found == found[:, :1]).all()
