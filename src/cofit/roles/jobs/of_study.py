"""Which job the parties of a study serve."""

from __future__ import annotations

from pathlib import Path

from cofit.errors import InvalidInputError
from cofit.roles.files.program_files import load_program, program_folder
from cofit.roles.files.studies import load_agreement
from cofit.roles.jobs.exact_training import ExactTraining
from cofit.roles.jobs.job import Job
from cofit.roles.jobs.program import ProgramJob
from cofit.roles.jobs.training import Training
from cofit.study.document import Study
from cofit.study.program import ProgramStudy


def served_job(path: Path, program: Path | None = None) -> Job:
    """Return the job of the study in a file, ready to be run by a party or a dealer.

    program: the folder with the source of the study's program, if it has one; None: beside the study, or installed.
    """
    study = load_agreement(path)
    if isinstance(study, ProgramStudy):
        folder = program_folder(study.program, path.parent) if program is None else program
        return ProgramJob(study, load_program(study.program, folder))
    if program is not None:
        raise InvalidInputError(f"--program is for studies that run a program; '{study.name}' trains a model.")
    return training_job(study)


def training_job(study: Study) -> Training:
    """Return the job of a study that trains a model, with noise or without."""
    return Training(study) if study.release.noise else ExactTraining(study)
