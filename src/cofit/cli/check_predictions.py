"""What ``cofit check`` says of private predictions: who is answered what, with which error, at which cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cofit.learn.inference.cost import query_cost, upload_bytes
from cofit.roles.jobs.answer_errors import divided, stated_error
from cofit.roles.jobs.training import Training
from cofit.study.served_statement import served_lines
from cofit.units import size

_ROWS = 100


@dataclass(frozen=True)
class QueryFacts:
    """Public facts. errors: how far an answer can be from the exact one, by kind, in the units of the label. divided:
    the client divides probabilities by their sum, and the error is that of each before. rounds, bytes: among the
    parties, for ``rows`` rows and the kind that is named first; upload: what the client sends to all of them."""

    said: tuple[str, ...]
    errors: dict[str, float]
    divided: bool
    kind: str
    rows: int
    rounds: int
    bytes: int
    upload: int
    batch_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return them in JSON's types."""
        return {**asdict(self), "said": list(self.said)}

    @property
    def lines(self) -> list[str]:
        """For people."""
        against = " of each class against the rest" if self.divided else ""
        errors = [
            f"{kind}{against if kind == 'probabilities' else ''} are within {error:.2g} of the exact ones"
            for kind, error in self.errors.items()
        ]
        cost = (
            f"a query of {self.rows:,} rows ({self.kind}): the client sends {size(self.upload)}, the parties "
            f"{size(self.bytes)} in {self.rounds} rounds; a query has at most {self.batch_rows:,} rows"
        )
        return [*self.said, *errors, cost]


def query_facts(job: Training) -> QueryFacts | None:
    """Return what there is to say; None where a study keeps and answers nothing."""
    predictions, study = job.questions, job.study
    if predictions is None:
        return None
    plan, kind = predictions.plan, study.release.answers[0]
    rows = min(_ROWS, plan.batch_rows)
    cost = query_cost(plan, job.spec, rows, kind)
    errors = {one: error for one in study.release.answers if (error := stated_error(study, plan, one)) is not None}
    several = divided(plan, "probabilities")
    upload = upload_bytes(plan, job.spec, rows, kind)
    return QueryFacts(
        served_lines(study), errors, several, kind, rows, cost.rounds, cost.bytes, upload, plan.batch_rows
    )
