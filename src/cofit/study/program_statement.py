"""What a study of a program promises: the statement that begins its results, and what everybody learns.

One place makes the claim, before the run (``cofit check``, ``cofit contribute``) and after it (the signed results).
cofit proves nothing about the privacy of what a program computes, so the statement begins by saying that it is not
differentially private, whatever noise the program draws itself.
"""

from __future__ import annotations

from cofit.study.program import DeclaredOpening, ProgramStudy

NOT_PRIVATE = "Not differentially private"
PUBLIC_FACTS = "this study, and which of the others is connected when"
"""What everybody learns who takes part in a study, of any kind."""


def headline(study: ProgramStudy) -> str:
    """Return the statement."""
    count = len(study.program.openings)
    what = "the value listed below is" if count == 1 else f"the {count} values listed below are"
    return (
        f"{NOT_PRIVATE}: {what} opened as the program computes, and may tell anything about single records. No "
        "epsilon bounds it, and no budget covers it. Nothing else is opened."
    )


def opening_in_words(study: ProgramStudy, opening: DeclaredOpening) -> str:
    """Return what is opened, to whom, and why."""
    sizes = " x ".join(map(str, opening.shape))
    numbers = "1 number" if not opening.shape else f"{sizes} number{'' if opening.shape == (1,) else 's'}"
    everybody = len(opening.to) == len(study.parties)
    whom = "all computing parties and the analysts" if everybody else f"{', '.join(opening.to)} alone"
    return f"{numbers} to {whom}: {opening.reason}"


def assumptions(study: ProgramStudy) -> tuple[str, ...]:
    """Return what must hold so that nothing but the listed values is learned."""
    spec = study.spec
    if not spec.secret:
        return (f"NOTHING IS SECRET: the scheme '{spec.name}' is for testing only",)
    return (
        f"the computing parties keep to the assumptions of scheme '{spec.name}' ({spec.protects}; corrupted: "
        f"{spec.corrupted})",
        f"everybody has read the program '{study.program.name}', whose source the study fixes by its SHA-256",
    )


def learned_of_program(study: ProgramStudy) -> dict[str, tuple[str, ...]]:
    """Return what each role will learn."""
    everywhere = [one.reason for one in study.program.openings if len(one.to) == len(study.parties)]
    alone = [
        (name, one.reason) for one in study.program.openings if len(one.to) < len(study.parties) for name in one.to
    ]
    common = tuple(f"'{reason}'" for reason in everywhere)
    found = {
        "owners": ("its own data", PUBLIC_FACTS),
        "parties": (*common, *(f"{name} alone: '{reason}'" for name, reason in alone), PUBLIC_FACTS),
        "analysts": (*common, PUBLIC_FACTS),
        "network": ("who talks to whom, when, and how many bytes",),
    }
    if study.dealer is not None:
        found["dealer"] = (
            "of the data nothing: it gets no share and no message that depends on data",
            "with any one computing party together, everything: it must collude with none of them",
        )
    return found
