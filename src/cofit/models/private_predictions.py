"""Private predictions from Python: a table goes to the parties of a study as shares, and only the caller reads answers.

found = cofit.predict_private("study.toml", "clinic.key", patients, answers="probabilities")
found.values, found.statement.headline
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.models.decisions import one_of_several
from cofit.models.raw_tables import raw_table
from cofit.privacy.certificate import Certificate
from cofit.roles.client.ask import AskProgress, ask_privately
from cofit.roles.client.journal import Journal
from cofit.roles.client.statement import QueryStatement
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.studies import load_study
from cofit.study.document import Study
from cofit.study.encode import encoded_rows
from cofit.transport import Identity

Told = Callable[[AskProgress], None]


@dataclass(frozen=True)
class PrivatePredictions:
    """The answers about the rows of a table, in their order.

    values: classes; or probabilities of the second class, or scores, shape (n,); of several classes one for each, shape
    (n, classes); where the label is a number, predictions in its units. statement: what was answered, how
    exactly, and what that reveals about the model. certificate: of the model, as all parties have signed it; None where
    the model has no noise, and so no certificate.
    """

    values: npt.NDArray[Any]
    statement: QueryStatement
    certificate: Certificate | None = None


def predict_private(
    study: str | Path,
    key: str | Path,
    data: Any,
    *,
    answers: str | None = None,
    name: str | None = None,
    state: str | Path | None = None,
    progress: Told | None = None,
) -> PrivatePredictions:
    """Ask the parties of a study about the rows of a table, which no party sees, for answers that no party sees.

    study: its file. key: the private key of one of its clients. data: a table with the study's features (pandas,
    polars, Arrow), or the path of one. answers: "scores", "probabilities" or "classes", as far as the study allows;
    None takes the first that it does. name: the client, as the study calls it. state: a private directory by which a
    call that was interrupted goes on, and is not counted twice; it is deleted when all answers are there. None: an
    interrupted call starts over. progress: called as answers come in.

    Raises InvalidInputError where the table or the question does not fit the study, RequestRefusedError where a party
    refuses (a client beyond its limit), TransportError where one cannot be reached, ProtocolError where their answers
    differ, and StateError where they could not answer.
    """
    loaded = load_study(study)
    identity = load_identity_for(loaded, Path(key), name)
    table = raw_table(data, loaded.data.features, loaded.data.label, loaded.data.label_values)
    folder = None if state is None else Path(state)
    found = ask_about_table(loaded, identity, table, answers, folder, progress)
    if folder is not None:
        forget_asked(folder)
    return found


def ask_about_table(
    study: Study,
    identity: Identity,
    table: pa.Table,
    answers: str | None = None,
    state: Path | None = None,
    progress: Told | None = None,
) -> PrivatePredictions:
    """The same for what is loaded; ``state`` stays (``forget_asked``)."""
    rows = encoded_rows(study.data.features, study.weight_names, table)
    found = ask_privately(study, identity, rows, answers, state, progress)
    values: npt.NDArray[Any] = found.values
    if found.statement.answers == "classes":
        values = np.asarray(study.data.label_values)[values[:, 0].astype(np.intp)]
    elif values.shape[1] == 1:
        values = values[:, 0]
    elif found.statement.answers == "probabilities":
        values = one_of_several(values.clip(0, 1))
    return PrivatePredictions(values, found.statement, found.certificate)


def forget_asked(state: Path) -> None:
    """Delete what is kept of a question whose answers are where they belong."""
    Journal(state, {}).delete()
