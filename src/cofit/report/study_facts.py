"""What the study of a model agreed on, for people: who took part, and which columns in which ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cofit.errors import InvalidInputError
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate
from cofit.study.document import Feature, Study, Value, value_text

GLOSSARY = (
    ("record", "one row of the data, usually one person. The guarantee is about one record."),
    (
        "differential privacy",
        "a bound on what a published result can reveal about any one record, whatever else is known.",
    ),
    (
        "epsilon",
        "how much a release may reveal about one record: smaller is more private. Epsilons of several releases add up.",
    ),
    ("delta", "a small probability that the bound by epsilon leaves out; far below one over the number of records."),
    ("noise", "random numbers that were added on purpose, so that the result hides every single record."),
    ("share", "a piece of a value, split so that a piece alone is a random number."),
    ("computing party", "a machine that computes on what the owners sent it."),
    ("weight", "the number by which the model multiplies a column; all weights together are the model."),
    ("release", "the one opening of the model: the noisy weights, and noisy means where records were centred."),
    ("round", "a step in which a party waits for a message of another one."),
    ("certificate", "the statement of what is proven, with every number and assumption it rests on."),
)
"""The words of the page, each in a sentence."""
DEALER = ("dealer", "a machine that hands out random numbers to the computing parties, and sees no data.")
ANALYST = ("analyst", "somebody whom the study lets fetch the released model from the computing parties.")


@dataclass(frozen=True)
class Column:
    """One feature in words."""

    name: str
    kind: str
    admitted: str
    missing: str


def check_study(study: Study, model: LinearModel | StudyModel) -> None:
    """Refuse a study that is not the model's."""
    if not isinstance(model, StudyModel):
        raise InvalidInputError(
            "The 'study' option of a report must be left out for a model that has no study, such as one of an "
            "estimator or of the demo."
        )
    if study.hash != model.study[1]:
        raise InvalidInputError(
            f"The 'study' option of a report must be the study of the model, '{model.study[0]}' with the hash "
            f"{model.study[1][:16]}. Got '{study.name}' with the hash {study.hash[:16]} instead."
        )


def participants(certificate: Certificate, analysts: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Return everybody who took part, with roles and public facts."""
    people: dict[str, tuple[list[str], list[str]]] = {}

    def add(name: str, role: str, fact: str) -> None:
        roles, facts = people.setdefault(name, ([], []))
        roles.append(role)
        facts.append(fact)

    for owner in sorted(certificate.owners):
        shapes = certificate.owners[owner]
        parts = [f"{name}: {' x '.join(f'{n:,}' for n in shapes[name]) or 'one number'}" for name in sorted(shapes)]
        add(owner, "data owner", "; ".join(parts) or "nothing")
    for party in certificate.parties:
        add(party, "computing party", "holds random shares" if certificate.secret else "holds the data, unprotected")
    for dealer in certificate.dealers:
        add(dealer, "dealer of randomness", "holds no data and no shares")
    for analyst in analysts:
        add(analyst, "analyst", "may fetch the released model")
    return [(name, " and ".join(roles), "; ".join(facts)) for name, (roles, facts) in people.items()]


def columns_in_words(features: Sequence[Feature]) -> list[Column]:
    """Return the features of a study as its owners agreed on them."""
    return [_column(feature) for feature in features]


def _column(feature: Feature) -> Column:
    missing = "refused" if feature.missing is None else f"counts as {_shown(feature.missing)}"
    if feature.type == "number":
        beyond = "values beyond are moved to the end" if feature.clip else "values beyond are refused"
        return Column(feature.name, "number", f"{feature.lower:g} to {feature.upper:g}; {beyond}", missing)
    if feature.type == "category":
        return Column(feature.name, "category", ", ".join(map(_shown, feature.values)), missing)
    return Column(feature.name, "yes or no", "no, yes", missing)


def _shown(value: Value | float) -> str:
    return f"{value:g}" if isinstance(value, float) else value_text(value)


def glossary(certificate: Certificate, analysts: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the words of a page about this model."""
    return sorted([*GLOSSARY, *([DEALER] if certificate.dealers else []), *([ANALYST] if analysts else [])])
