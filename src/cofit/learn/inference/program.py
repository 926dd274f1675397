"""Answers to a client on secret rows: the party program of a query. Formats, ranges and errors: ``plan``.

    check       of the client's rows; a row that fails is as one of zeros, and nobody learns that it did
    scores      <z, w> + b, truncated exactly; with published weights the products are local
    answers     the scores, their sigmoid, or the place of the class: of several that of the largest score, the first of
                those where several are

Nothing is opened here. Rounds with ``rep3``, for two classes: 20 or so for the check, 2 for the truncation of the
weights, 2 for the scores, 1 for the verdicts; 8 more for classes, about 60 for probabilities.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from cofit.learn.batches import in_batches
from cofit.learn.checked_rows import row_verdicts
from cofit.learn.inference.plan import InferencePlan
from cofit.learn.inference.served import PublicWeights
from cofit.protocols.clamp import clamp
from cofit.protocols.comparison import is_negative
from cofit.protocols.select import select
from cofit.protocols.sigmoid import sigmoid
from cofit.protocols.working import tighten
from cofit.secret import Party, SecretArray, concatenate

_CONSTANT_BITS = 8
_TEMPORARIES = 24
"""Shared elements that a sigmoid holds at once for every score, about."""


def secret_answers(
    party: Party,
    plan: InferencePlan,
    kind: str,
    rows: SecretArray,
    weights: SecretArray | PublicWeights,
    coin: bytes,
) -> SecretArray:
    """Return one vector of integers: the answers in units of their last place, those of a row side by side.

    weights: all drawn numbers that are part of scores, or published ones. coin: drawn when the rows were fixed.
    """
    passed = row_verdicts(party, rows, plan.check(len(rows), rows.summands), coin)
    party.progress("score", 0, 1)
    with party.label("score"):
        if isinstance(weights, PublicWeights):
            scores = _with_public(plan, rows, weights, passed)
        else:
            scores = _with_shared(plan, rows, weights, passed)
        answers = _answers(plan, kind, _with_limit(scores, scores.format.limit(plan.largest_score)))
    party.progress("score", 1, 1)
    return answers.ldexp(answers.format.fraction_bits).reshape(-1)


def _with_public(plan: InferencePlan, rows: SecretArray, public: PublicWeights, passed: SecretArray) -> SecretArray:
    """With integers in units of 2^-B as factors, so that the products are exact and local, and one truncation."""
    unit = 1 << plan.weight_bits
    weights = np.rint(public.weights * unit).astype(np.int64)
    exact = rows.matmul(weights, proven_bound=plan.largest_product * unit).ldexp(-plan.weight_bits)
    return exact.truncate(plan.score_bits) * passed.reshape(-1, 1) + public.intercepts.reshape(1, -1)


def _with_shared(plan: InferencePlan, rows: SecretArray, drawn: SecretArray, passed: SecretArray) -> SecretArray:
    served, outputs = plan.served, plan.served.outputs
    table = _weights(plan, drawn[: served.weights]).reshape(-1, outputs)
    scores = rows.matmul(table[: served.columns], plan.score_bits, proven_bound=plan.largest_product)
    scores = scores * passed.reshape(-1, 1)
    if not served.largest_intercept:
        return scores
    return scores + _intercepts(plan, table, drawn).reshape(1, outputs)


def _weights(plan: InferencePlan, drawn: SecretArray) -> SecretArray:
    """Return the weights with ``weight_bits`` fractional bits, in the ring of the rows."""
    served = plan.served
    exact = drawn.ldexp(-plan.exponent)
    if plan.factor_bits:
        exact = (exact * plan.factor).ldexp(-plan.factor_bits)
    weights = exact.truncate(plan.weight_bits) if plan.truncates else exact.widen(plan.weight_bits)
    weights = tighten(weights, served.largest + plan.rounding)
    return weights if weights.format.ring is plan.ring else weights.narrow(plan.ring)


def _intercepts(plan: InferencePlan, table: SecretArray, drawn: SecretArray) -> SecretArray:
    """Return what is added to the scores, one number an output."""
    served, parts = plan.served, []
    if served.constant:
        scaled = table[served.columns] * int(served.constant * (1 << _CONSTANT_BITS))
        parts.append(_with_bits(scaled.ldexp(-_CONSTANT_BITS), plan.score_bits))
    if served.offset_bits is not None:
        offset = tighten(drawn[served.weights :].ldexp(-served.offset_bits), served.offset)
        offset = _with_bits(offset, plan.score_bits)
        parts.append(offset if offset.format.ring is plan.ring else offset.narrow(plan.ring))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _with_bits(value: SecretArray, bits: int) -> SecretArray:
    return value.truncate(bits) if value.format.fraction_bits > bits else value.widen(bits)


def _answers(plan: InferencePlan, kind: str, scores: SecretArray) -> SecretArray:
    if kind == "classes":
        return _classes(scores)
    if kind == "probabilities":
        margins = scores * plan.served.margins
        return in_batches(sigmoid, [margins.reshape(-1)], _TEMPORARIES, margins.size)
    if plan.ranged:
        return clamp(scores, Fraction(-1), Fraction(1))
    return scores


def _classes(scores: SecretArray) -> SecretArray:
    """Return the place of the class: 1 where the one score is above 0; of several the first with the largest score.

    A tournament of ceil(log2 K) levels: neighbours are compared, and the larger goes on with its place; the left one
    where both are equal.
    """
    if scores.shape[1] == 1:
        return is_negative(-scores[:, 0])
    rows, best = scores.shape[0], scores.T
    zeros = (scores[:, 0] * 0).ldexp(scores.format.fraction_bits)
    places = concatenate([(zeros + k).reshape(1, rows) for k in range(scores.shape[1])])
    for _ in range(math.ceil(math.log2(scores.shape[1]))):
        half = len(best) // 2
        left, right = best[0 : 2 * half : 2], best[1 : 2 * half : 2]
        larger = is_negative(left - right)
        place = select(larger, places[1 : 2 * half : 2], places[0 : 2 * half : 2])
        winner = select(larger, right, left)
        if len(best) % 2:
            winner, place = concatenate([winner, best[-1:]]), concatenate([place, places[-1:]])
        best, places = winner, place
    return places[0]


def blank_weights(party: Party, plan: InferencePlan) -> SecretArray:
    """Return zeros in the place of the shares: at a dealer, and where the program only runs to be counted."""
    zeros = party.constant(np.zeros(plan.served.count), plan.served.drawn)
    return bounded(plan, zeros)


def bounded(plan: InferencePlan, drawn: SecretArray) -> SecretArray:
    """Return drawn numbers with the bound that all members of a run go by, whatever was stored with them."""
    limit = plan.served.integer_limit
    if plan.served.offset_bits is not None:
        most = plan.served.offset * (1 << plan.served.offset_bits)
        limit = max(limit, -(-most.numerator // most.denominator))
    return _with_limit(drawn, limit)


def _with_limit(value: SecretArray, limit: int) -> SecretArray:
    """Return a value with this very limit, which was proven: costs follow from limits, and all members must agree."""
    return value.with_integer_limit(limit) if value.integer_limit > limit else value.loosened(limit)
