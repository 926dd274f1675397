"""What the certificate means for people, in words. Everything here follows from fields of the certificate alone."""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cofit.learn.usefulness import about, rows_needed, shown
from cofit.privacy.certificate import Certificate
from cofit.sharing.spec import FROM_EACH_OTHER

NOT_PROTECTED = (
    "Whether what the owners put in is true. Records that break the agreed rules count as nothing, and harm nobody's "
    "privacy; untrue ones that keep to them can spoil the model.",
    "Public facts: who took part, when, how many rows and columns each owner has, the columns' names, the classes.",
    "Anything computed from the data outside this release: an accuracy on real rows, a second training, a penalty that "
    "was chosen by trying it on the data. Each is a release of its own.",
    "What holds for people in general. If the model shows that smokers fall ill, that is learned about every smoker, "
    "in the data or not.",
    "Whoever has several records in the data is protected less, and so are relatives whose records depend on theirs.",
    "Availability: one computing party that stops can stop a run.",
)


_UPWARDS = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING)
LARGE_EPSILON = 5
"""Above it the page calls a proven guarantee weak, as one with delta >= 1/n; from 20 on the certificate itself does."""


@dataclass(frozen=True)
class Verdict:
    """``tone``: 'good', 'weak' or 'bad'. ``label``: a few words."""

    tone: str
    label: str


def verdict(certificate: Certificate) -> Verdict:
    """Return how the headline is to be taken."""
    problems = [] if certificate.secret else ["No secrecy: for testing only"]
    problems += [] if certificate.proven else ["Not a proven guarantee"]
    if not problems and certificate.headline.startswith("HARDLY ANY"):
        problems = ["Hardly any protection"]
    if problems:
        return Verdict("bad", ". ".join(problems))
    doubts = ["weak"] if certificate.epsilon > LARGE_EPSILON or _delta_is_large(certificate) else []
    doubts += ["an assumption is not met"] if certificate.unmet else []
    if doubts:
        return Verdict("weak", f"Proven, but {', and '.join(doubts)}")
    return Verdict("good", "Proven, under the assumptions below")


def weights_of_records(certificate: Certificate, classes: Sequence[object]) -> str | None:
    """Return how much records count, where not all count alike."""
    bound, of_classes = (certificate.facts.get(name) for name in ("weight_bound", "class_weights"))
    if isinstance(bound, str):
        return (
            f"each record counts by a weight of its own, from 0 to {float(Fraction(bound)):g}, checked on shares; the "
            f"noise, and so the guarantee, is that of the largest weight"
        )
    if isinstance(of_classes, Mapping):
        parts = [
            f"{float(Fraction(str(part))):.3g} for \N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"
            for name, part in zip(classes, of_classes.values(), strict=True)
        ]
        return f"a record counts by its class, by public numbers: {', '.join(parts)}"
    return None


def explanation(certificate: Certificate) -> list[str]:
    """Return the privacy statement in plain sentences."""
    epsilon, delta = float(certificate.epsilon), float(certificate.delta_total)
    if not certificate.proven:
        return [
            "Noise was added to the weights before they were opened, but it is not proven that it is enough. Do not "
            "publish this model as differentially private.",
        ]
    beyond = (
        f", and by {_up(delta)} (delta) beyond that, which includes that computers draw imperfect noise"
        if delta
        else ""
    )
    sentences = [
        f"Take any person with one record in the data. Had that record been replaced by any other, the probability of "
        f"any outcome would have changed by a factor of at most {_up(_exp(epsilon))}{beyond}.",
        f"What that means for an attacker who knows every other record, and beforehand finds two versions of the last "
        f"one equally likely: after seeing the published model, the attacker names the right one with probability "
        f"{guess(epsilon, delta)} at most (50% is guessing).",
    ]
    if not certificate.secret:
        sentences.insert(
            0,
            "The noise is about those who see the published model and nothing else. Every computing party could read "
            "all of the data: against them there is no protection.",
        )
    if certificate.epsilon > LARGE_EPSILON:
        sentences.append(f"This is a weak bound: with epsilon above {LARGE_EPSILON} little is excluded.")
    if _delta_is_large(certificate):
        sentences.append(
            f"This is a weak bound: delta times the {certificate.n:,} records is 1 or more. Even a release that "
            f"published one of the records, drawn at random, would satisfy such a delta. It should be far below "
            f"1 / {certificate.n:,}."
        )
    sentences.append(
        "Every further release from the same data adds to this: the epsilons, and the deltas, of all releases add up."
    )
    return sentences


def _delta_is_large(certificate: Certificate) -> bool:
    """Whether publishing a random record would be within delta: with n records it reveals each with probability 1/n."""
    return certificate.delta_total * certificate.n >= 1


def who_could_read_everything(certificate: Certificate) -> list[str]:
    """Return which groups could together reconstruct the data, from the stated threshold."""
    if not certificate.secret:
        return ["Every computing party, alone. This scheme keeps nothing secret and is for testing only."]
    enough, count = certificate.spec.threshold + 1, certificate.spec.parties
    if enough == count:
        groups = ["Both computing parties together." if count == 2 else f"All {count} computing parties together."]
    else:
        groups = [f"Any {enough} of the {count} computing parties, if they put together what they hold."]
    for dealer in certificate.dealers:
        groups.append(f"The dealer ('{dealer}'), together with any one computing party.")
    return groups


def scheme_in_words(certificate: Certificate) -> list[str]:
    """Return what was done to keep the data from the computing parties."""
    if not certificate.secret:
        return ["The data were not hidden from the computing parties. Use this scheme for tests only."]
    sentences = [
        "Every owner split its values into random shares. A share alone is a random number and says nothing. "
        + (
            "The computing parties trained on the shares, with noise that none of them knows in every step, and opened "
            "the result, once."
            if certificate.method == "descent"
            else "The computing parties trained on the shares, drew noise that none of them knows, added it, and "
            "opened the noisy weights, once."
        ),
    ]
    if certificate.dealers:
        sentences.append(
            f"The dealer, {certificate.dealers[0]}, handed out random numbers that the parties need. It received no "
            f"data, and no message that depends on data. It is trusted to collude with no computing party."
        )
    if certificate.spec.correlations == FROM_EACH_OTHER:
        sentences.append(
            "The two parties made all random numbers that they need between them, by oblivious transfer and by "
            "homomorphic encryption: no third party took part. Whoever breaks the encryption reads the data; the "
            "assumptions of the certificate name it."
        )
    soundness = certificate.spec.soundness
    if soundness is not None:
        sentences.append(
            "A party that deviates from the protocol is noticed before anything is opened or stored, and the run ends. "
            f"No check notices it with {soundness}."
        )
    elif certificate.spec.active:
        sentences.append(
            "A party that deviates from the protocol is noticed before anything is computed from what it sent, and the "
            "run ends."
        )
    else:
        sentences.append(
            "This holds against parties that look at everything they see, but follow the protocol. A party that "
            "deviates from it could spoil the result, and perhaps learn from it."
        )
    both = sorted(set(certificate.owners) & set(certificate.parties))
    if both:
        sentences.append(
            f"Owners that are computing parties too: {', '.join(both)}. Each of course knows its own data."
        )
    return sentences


def guess(epsilon: float, delta: float) -> str:
    """Return the attacker's best chance of telling two equally likely data sets apart, rounded up, in percent.

    (epsilon, delta) allows true and false positive rates with t <= e^epsilon f + delta and, for the other answer,
    1 - f <= e^epsilon (1 - t) + delta; (t + 1 - f) / 2 is largest where both are equalities: 1 - (1 - delta) /
    (1 + e^epsilon).
    """
    best = 1 - (1 - delta) / (1 + _exp(epsilon))
    return f"{min(math.ceil(1000 * best), 1000) / 10:.1f}%"


def _exp(epsilon: float) -> float:
    return math.exp(epsilon) if epsilon < 700 else math.inf


def _up(number: float) -> str:
    """Return three significant digits, rounded up."""
    if number == math.inf:
        return "more than 1e300"
    return f"{float(_UPWARDS.create_decimal_from_float(number)):,.3g}"


def rows_for_use(c: Certificate) -> str | None:
    """Return how many records make a useful model of so many columns at this epsilon, about; None: nobody knows."""
    if c.minimiser is not None:
        return shown(about(c.n * c.noise_expected_norm * float(c.minimiser.l2 / c.minimiser.gradient_bound)))
    if c.descent is None or c.descent.norm != "l2":
        return None
    averaged, steps = c.descent.averaged, c.descent.steps
    counts = sum(min(averaged, steps - t) / averaged for t in range(steps))
    outputs, own = c.descent.outputs, 1 / c.descent.outputs
    counted = own + (1 - own) * float(c.descent.others / c.descent.factor[0])
    strength = float(c.descent.step_size) * c.n * counts * counted * math.sqrt(c.d) / c.noise_expected_norm
    return shown(rows_needed(c.n, c.d // outputs - int(c.descent.constant > 0), strength))
