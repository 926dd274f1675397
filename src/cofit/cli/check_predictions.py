"""What ``cofit check`` says of private predictions: who is answered what, with which error, at which cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cofit.learn.inference.cost import query_cost, upload_bytes
from cofit.roles.jobs.training import Training
from cofit.study.served_statement import served_lines
from cofit.units import size

_ROWS = 100


@dataclass(frozen=True)
class QueryFacts:
    """Public facts. errors: how far an answer can be from the exact one, by kind. rounds, bytes: among the parties, for
    ``rows`` rows and the kind that is named first; upload: what the client sends to all of them."""

    said: tuple[str, ...]
    errors: dict[str, float]
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
        errors = [f"{kind} are within {error:.2g} of the exact ones" for kind, error in self.errors.items()]
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
    errors = {one: float(error) for one in study.release.answers if (error := plan.error(one)) is not None}
    upload = upload_bytes(plan, job.spec, rows, kind)
    return QueryFacts(served_lines(study), errors, kind, rows, cost.rounds, cost.bytes, upload, plan.batch_rows)
