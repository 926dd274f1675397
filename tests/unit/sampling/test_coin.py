from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from cofit import Party, SecretBits
from cofit.errors import InvalidInputError
from cofit.sampling.below import Comparison, below
from cofit.sampling.coin import coins, threshold
from cofit.sampling.parameters import constants, nearest
from unit.sampling.draws import SCHEMES, all_words, cost, known_bits, opened, refusal


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7])
def test_every_word_against_every_threshold(scheme: str, width: int) -> None:
    thresholds = range((1 << width) + 1)
    answers = opened(
        lambda party: below(all_words(party, width), width, [Comparison(0, t) for t in thresholds]), scheme
    )
    words = np.arange(1 << width)
    assert (answers == np.array([words < t for t in thresholds])).all()


@pytest.mark.parametrize("width", [33, 64, 65, 100])
def test_long_words_next_to_their_thresholds(width: int) -> None:
    rng = np.random.default_rng(width)
    thresholds = [int.from_bytes(rng.bytes(13), "big") % (1 << width) for _ in range(20)] + [1, (1 << width) - 1]
    words = sorted({min(max(t + step, 0), (1 << width) - 1) for t in thresholds for step in (-1, 0, 1)})
    planes = np.array([[w >> j & 1 for w in words] for j in range(width)], dtype=np.uint8)
    answers = opened(lambda party: below(known_bits(party, planes), width, [Comparison(0, t) for t in thresholds]))
    assert answers.tolist() == [[int(w < t) for w in words] for t in thresholds]


def test_every_comparison_reads_its_own_word() -> None:
    planes = np.array([[1], [0], [0], [1], [1], [1]], dtype=np.uint8)  # words 1, 2 and 3 of two bits
    questions = [Comparison(w, t) for t in range(5) for w in range(3)]
    answers = opened(lambda party: below(known_bits(party, planes), 2, questions))
    assert answers[:, 0].tolist() == [int(w + 1 < t) for w, t in questions]


@pytest.mark.parametrize("precision", [1, 3, 8])
def test_coins_come_up_for_exactly_their_share_of_all_words(precision: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def same_word_for_all(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        word = all_words(self, precision)
        return word.join(*[word] * (width // precision - 1))

    monkeypatch.setattr(Party, "random_secret_bits", same_word_for_all)
    probabilities = [Fraction(i, 12) for i in range(13)]
    bits = opened(lambda party: coins(party, probabilities, (1 << precision,), precision=precision))
    for p, ones in zip(probabilities, bits.sum(axis=1), strict=True):
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
    words = "whole number of words of 3 bits"
    assert words in str(refusal(lambda party: below(all_words(party, 4), 3, [Comparison(0, 1)])))
    assert "one of the 2 words" in str(refusal(lambda party: below(all_words(party, 4), 2, [Comparison(2, 1)])))
    assert "from 0 to 2^2" in str(refusal(lambda party: below(all_words(party, 4), 2, [Comparison(0, 5)])))


@pytest.mark.parametrize(("precision", "rounds"), [(64, 6), (32, 5), (8, 3)])
def test_cost_with_rep3_whatever_the_number_of_biases(precision: int, rounds: int) -> None:
    probabilities = [Fraction(i, 7) for i in range(1, 7)]
    spent = cost(lambda party: coins(party, probabilities, (640,), precision=precision))
    assert spent == (rounds, 3 * (2 * precision - 3) * len(probabilities) * 640 // 8)


def test_many_thresholds_of_one_word_share_their_work() -> None:
    rng = np.random.default_rng(1)
    questions = [Comparison(0, int(t)) for t in rng.integers(1, 1 << 62, 300)]
    rounds, sent = cost(lambda party: below(party.random_secret_bits((64,), 64), 64, questions))
    assert rounds == 6
    assert sent <= 3 * 8 * (4864 + 13 * 300)
