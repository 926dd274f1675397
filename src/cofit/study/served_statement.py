"""What a study says of a model that its parties keep, or answer clients with: before it runs, and beside answers."""

from __future__ import annotations

from cofit.study.document import ClientEntry, Study
from cofit.study.program_statement import NOT_PRIVATE

__all__ = ["NOT_PRIVATE", "client_in_words", "exact_lines", "served_lines"]


def exact_lines(study: Study, weights: int) -> tuple[str, ...]:
    """Return what such a study exposes, a line each; the first one says that nothing covers it."""
    kinds = " and ".join(study.release.answers)
    clients = [f"'{client.name}' may be answered {kinds} of {client.rows:,} rows" for client in study.clients]
    return (
        f"{NOT_PRIVATE}: the weights of this model have no noise, and no epsilon covers what answers reveal of them",
        f"the {weights:,} weights stay as shares at the computing parties and are never opened",
        f"{weights:,} exact scores of rows of a client's choice are the model; so are a few more probabilities, and "
        f"classes approach it",
        *clients,
    )


def served_lines(study: Study) -> tuple[str, ...]:
    """Return what becomes of the weights, and who is answered what; nothing for a study that publishes them alone."""
    release = study.release
    lines = []
    if release.shared:
        lines.append(
            "the weights stay as shares at the computing parties, stored by each of them, and are never opened"
        )
    if release.shared and release.noise:
        lines.append(
            "they have the noise that the budget pays for, so that whatever is answered with them is post-processing: "
            "nothing more is charged"
        )
    if release.shared and not release.noise:
        lines.append("they have no noise: what answers reveal about them, no epsilon covers")
    return (*lines, *(f"client '{client.name}': {client_in_words(study, client)}" for client in study.clients))


def client_in_words(study: Study, client: ClientEntry) -> str:
    """Return what one client may ask."""
    kinds = " or ".join(study.release.answers)
    limit = "any number of rows" if client.rows is None else f"at most {client.rows:,} rows in all"
    return f"may be answered {kinds} of {limit}, which every party counts"
