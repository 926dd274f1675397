"""The certificate of answers: which model, for whom, of how many rows, and what the answers reveal about the model.

It stands beside the predictions. Nothing in it depends on a row or on an answer.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from cofit.roles.client.served_model import ServedModel, client_named
from cofit.roles.jobs.answer_errors import divided, stated_error
from cofit.study.served_statement import NOT_PRIVATE

VERSION = 1
KIND = "cofit private predictions"


@dataclass(frozen=True)
class QueryStatement:
    """``headline`` says first whether differential privacy covers the answers. model: the SHA-256 of its certificate.
    counted: the rows that the parties have counted for this client, of ``limit``; None: not told, or no limit.
    error: how far a number can be from the exact one, at most; None for classes, and where that depends on the answers
    (probabilities of several classes)."""

    headline: str
    study: str
    study_hash: str
    model: str
    client: str
    rows: int
    answers: str
    error: float | None
    counted: int | None
    limit: int | None
    scheme: str
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, model: ServedModel, client: str, answers: str, rows: int, counted: int | None) -> QueryStatement:
        """Return the statement of answers to so many rows."""
        study, plan = model.study, model.plan
        spec, error = study.spec, stated_error(study, plan, answers)
        return cls(
            headline=_headline(model),
            study=study.name,
            study_hash=study.hash,
            model=model.digest,
            client=client,
            rows=rows,
            answers=answers,
            error=None if divided(plan, answers) else error,
            counted=counted,
            limit=client_named(study, client).rows,
            scheme=spec.name,
            assumptions=(
                f"computing parties, corrupted at most: {spec.corrupted}; {spec.protects}; {spec.assumptions}",
                "the client's mask was drawn at random, and used once",
            ),
            notes=_notes(model, answers),
        )

    def to_json(self) -> str:
        """Return it as JSON."""
        facts: dict[str, Any] = {"kind": KIND, "version": VERSION, **asdict(self)}
        return json.dumps(facts, indent=1, allow_nan=False) + "\n"

    def to_text(self) -> str:
        """Return it for people."""
        used = "" if self.counted is None else f" {self.counted:,} rows counted for '{self.client}' so far"
        limit = ", without a limit" if self.limit is None else f", of {self.limit:,} at most"
        lines = [self.headline, f"Study '{self.study}', {self.study_hash}; model {self.model}."]
        lines.append(f"{self.answers} of {self.rows:,} rows, for '{self.client}' alone.")
        lines.append(f"{used.strip() or 'Rows'}{limit}.")
        if self.error is not None:
            lines.append(f"Each is within {self.error:.2g} of the exact one, whatever the row is.")
        lines += [f"This holds if: {one}." for one in self.assumptions]
        return "\n".join([*lines, *self.notes]) + "\n"


def _headline(model: ServedModel) -> str:
    if model.certificate is None:
        weights = model.training.opened.count
        return (
            f"{NOT_PRIVATE}: the weights have no noise, and no epsilon covers what these answers reveal about them. "
            f"d + 1 = {weights:,} exact scores of rows of one's choice are the model."
        )
    return (
        "Post-processing of a differentially private model: nothing more is charged for these answers "
        f"(epsilon = {float(model.certificate.epsilon):g}, delta = {float(model.certificate.delta_total):.3g}, as its "
        "certificate says)."
    )


def _notes(model: ServedModel, answers: str) -> tuple[str, ...]:
    release = model.study.release
    notes = [
        "No computing party has seen a row or an answer; each knows who asked, when, and of how many rows.",
        "A row that breaks the rules of the study counts as one of zeros, and no party learns that it did.",
    ]
    if release.shared:
        notes.append("The weights are shares at the parties, and were never opened.")
    else:
        notes.append("The weights are published: only the rows and the answers are secret.")
    if release.shared and release.noise:
        notes.append("Weights are used as they were drawn: the shrinkage of published models needs to see them.")
    if answers == "classes":
        notes.append("A class is that of the computed score, which is within the plan's error of the exact one.")
    error = stated_error(model.study, model.plan, answers)
    if error is not None and divided(model.plan, answers):
        notes.append(
            f"The parties answer with the probability of each class against the rest, within {error:.2g} of the exact "
            f"one. The client has divided those of a row by their sum S, so that each is within "
            f"{(model.plan.served.outputs + 1) * error:.2g} / S."
        )
    return tuple(notes)
