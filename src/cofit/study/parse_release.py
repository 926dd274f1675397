"""From [release] and [[clients]] of a study document to what becomes of the trained weights, and who is answered.

Without either the weights are opened, as they were before there were such tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from cofit.learn.losses import kinds, loss_named
from cofit.study.document import ANSWERS, ClientEntry, Data, Model, Privacy, ReleaseTerms
from cofit.study.fields import Table, distinct, field_error
from cofit.study.participants import ROLE_FIELDS, participants

_RELEASE = ("model", "noise", "answers")
_NO_PRIVACY = "left out: release.noise is false, so nothing is differentially private and no budget is spent"
WITHOUT_NOISE = Privacy(epsilon=1.0, delta=0.0, mechanism="laplace", sensitivity="tight", budget_shares=())
"""What a plan without noise is made with: formats and epochs follow from it, and no claim."""


def parse_release(top: Table, model: Model, data: Data) -> ReleaseTerms:
    """Return what becomes of the weights; ``clients`` of the document are needed, or refused, by it."""
    if "release" not in top:
        return ReleaseTerms(answers=_possible(model, data) if "clients" in top else ())
    table = top.table("release", _RELEASE)
    kept = table.text("model", "open", choices=("open", "shared"))
    noise = table.boolean("noise", True)
    if not noise and (kept != "shared" or model.recipe != "paper"):
        must_be = "true unless release.model is 'shared' and model.recipe is 'paper': weights without noise never open"
        raise field_error(table.at("noise"), must_be, noise)
    if not noise:
        top.absent(["privacy"], _NO_PRIVACY)
    if "clients" not in top:
        if kept == "shared":
            raise field_error("clients", "stated: with release.model = 'shared' nobody else can use the model", None)
        table.absent(["answers"], "the study has no clients")
        return ReleaseTerms(kept, noise)
    return ReleaseTerms(kept, noise, _answers(table, model, data, noise))


def parse_clients(top: Table, certificates: Mapping[str, str], release: ReleaseTerms) -> tuple[ClientEntry, ...]:
    """Return the clients; each has a limit of rows where there is no noise."""
    if "clients" not in top:
        return ()
    tables = top.tables("clients", ROLE_FIELDS["clients"])
    named = participants(tables, certificates)
    found = []
    for who, table in zip(named, tables, strict=True):
        if not release.noise and "rows" not in table:
            must_be = (
                "stated, because release.noise is false: of how many rows this client is answered at most, in all. As "
                "many scores as there are weights are the model"
            )
            raise field_error(table.at("rows"), must_be, None)
        found.append(ClientEntry(*who, table.integer("rows") if "rows" in table else None))
    return tuple(found)


def _answers(table: Table, model: Model, data: Data, noise: bool) -> tuple[str, ...]:
    possible = _possible(model, data)
    must_be = f"one of {list(possible)}, or a list of them"
    if "answers" not in table:
        if not noise:
            raise field_error(table.at("answers"), f"{must_be}; state it, because release.noise is false", None)
        return possible
    given = table.raw("answers")
    asked = [given] if isinstance(given, str) else given
    if not isinstance(asked, list | tuple) or not asked:
        raise field_error(table.at("answers"), must_be, given)
    for kind in asked:
        if kind in ANSWERS and kind not in possible:
            raise field_error(table.at("answers"), f"{must_be}: {_why_not(kind, model, data)}", given)
        if kind not in possible:
            raise field_error(table.at("answers"), must_be, given)
    distinct(asked, lambda i: f"{table.at('answers')}[{i}]", "kind")
    return tuple(kind for kind in ANSWERS if kind in asked)


def _possible(model: Model, data: Data) -> tuple[str, ...]:
    """Return what the parties can answer with such a model."""
    return tuple(kind for kind in ANSWERS if not _why_not(kind, model, data))


def _why_not(kind: str, model: Model, data: Data) -> str:
    """Return why there are no answers of this kind, or nothing."""
    if kind == "scores":
        return ""
    if data.label_range is not None:
        return f"the label of a model of kind '{model.kind}' is a number, and its scores are the predictions"
    if kind == "probabilities" and not loss_named(kinds()[model.kind]).sigmoidal:
        return f"a model of kind '{model.kind}' has none that the parties can compute"
    return ""
