"""From a study document with a table [job] to a ``ProgramStudy``: as strict as ``parse``, with the same errors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from cofit.arithmetic import Z64, Shape
from cofit.errors import InvalidInputError
from cofit.learn.ring_choice import RINGS
from cofit.sharing import SCHEMES
from cofit.study.crosschecks import check_identities, check_parties
from cofit.study.document import FORMAT, AnalystEntry, Compute
from cofit.study.fields import Table, distinct, field_error
from cofit.study.participants import ROLE_FIELDS, parse_dealer, parse_parties, participant_name, participants
from cofit.study.program import DeclaredOpening, Program, ProgramInput, ProgramOwner, ProgramStudy

_DOCUMENT = ("format", "name", "job", "compute", "parties", "owners", "analysts", "dealer")
_OF_TRAINING = ("model", "privacy", "data")
_JOB = ("program", "sources", "openings")
_OPENING = ("reason", "shape", "to")
_OWNER = ("name", "certificate", "inputs")
_INPUT = ("name", "shape", "columns", "bound", "fraction_bits", "ring")
_COMPUTE = ("scheme", "threshold", "timeout", "connect_timeout")
_PROGRAM = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*):([A-Za-z_]\w*)", re.ASCII)
_INPUT_NAME = re.compile(r"[A-Za-z]\w{0,31}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LONGEST_TIMEOUT = 7 * 24 * 3600.0
_LONGEST_REASON = 500
_MOST_DIMENSIONS, _MOST_ELEMENTS = 8, 1 << 34
_FRACTION_BITS = 24


def parse_program_study(document: Mapping[str, Any], certificates: Mapping[str, str]) -> ProgramStudy:
    """Return the study of a program that ``document`` describes, or raise InvalidInputError.

    certificates: the certificate (PEM) for every text under ``certificate`` in the document.
    """
    for section in _OF_TRAINING:
        if section in document:
            must_be = "left out: a study with [job] runs a program of its own and trains no model"
            raise field_error(section, must_be, document[section])
    compute = document.get("compute")
    if isinstance(compute, Mapping) and "shards" in compute:
        must_be = "left out: a program runs in one process at every party, and only training divides rows among shards"
        raise field_error("compute.shards", must_be, compute["shards"])
    top = Table(document, "", _DOCUMENT)
    if top.raw("format", must_be=str(FORMAT)) != FORMAT or isinstance(top.raw("format"), bool):
        raise field_error("format", f"{FORMAT}, the only format that this release of cofit reads", top.raw("format"))
    parties = parse_parties(top.tables("parties", ROLE_FIELDS["parties"]), certificates)
    analysts = participants(top.tables("analysts", ROLE_FIELDS["analysts"]), certificates)
    owners = _owners(top.tables("owners", _OWNER), certificates)
    study = ProgramStudy(
        name=participant_name("name", top.raw("name", must_be="the name of the study")),
        program=_program(top.table("job", _JOB), [party.name for party in parties], [one.name for one in owners]),
        compute=_compute(top.table("compute", _COMPUTE)),
        parties=parties,
        owners=owners,
        analysts=tuple(AnalystEntry(*analyst) for analyst in analysts),
        dealer=parse_dealer(top, certificates),
    )
    check_parties(study)
    check_identities(study)
    return study


def _compute(table: Table) -> Compute:
    return Compute(
        scheme=table.text("scheme", choices=sorted(SCHEMES)),
        timeout=table.number("timeout", 60.0, 1.0, _LONGEST_TIMEOUT),
        connect_timeout=table.number("connect_timeout", 60.0, 1.0, _LONGEST_TIMEOUT),
        checkpoint_epochs=None,
        threshold=table.integer("threshold") if "threshold" in table else None,
    )


# --- the program -----------------------------------------------------------------------------------------


def _program(table: Table, parties: Sequence[str], owners: Sequence[str]) -> Program:
    text = table.text("program")
    found = _PROGRAM.fullmatch(text)
    if found is None:
        raise field_error(table.at("program"), "'module:function', as in 'hospitals:mean_age'", text)
    openings = tuple(_opening(one, parties, owners) for one in table.tables("openings", _OPENING))
    return Program(found[1], found[2], _sources(table, found[1]), openings)


def _sources(table: Table, module: str) -> tuple[tuple[str, str], ...]:
    """Return path and SHA-256 of every file, sorted; the module's own is among them."""
    path, raw = table.at("sources"), table.raw("sources", must_be="a table [job.sources]")
    if not isinstance(raw, Mapping) or not raw:
        raise field_error(path, "a table of files and their SHA-256; `cofit program-hash FILE` prints it", raw)
    for file, digest in raw.items():
        pure = PurePosixPath(file)
        plain = pure.suffix == ".py" and all(part.isidentifier() for part in pure.with_suffix("").parts)
        if not plain or str(pure) != file:
            must_be = "a file of Python source by its path from the program's folder, as in 'hospitals.py'"
            raise field_error(f"{path} (name)", must_be, file)
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            must_be = "64 hexadecimal digits, the SHA-256 of the file; `cofit program-hash FILE` prints it"
            raise field_error(f"{path}.'{file}'", must_be, digest)
        if f"{pure.with_suffix('')}/__init__.py" in raw:
            must_be = f"one file of a module: '{file}', or '{pure.with_suffix('')}/__init__.py', and not both"
            raise field_error(path, must_be, sorted(raw))
    own = module.replace(".", "/")
    if f"{own}.py" not in raw and f"{own}/__init__.py" not in raw:
        raise field_error(path, f"a table with '{own}.py', the file of the program", sorted(raw))
    return tuple(sorted(raw.items()))


def _opening(table: Table, parties: Sequence[str], owners: Sequence[str]) -> DeclaredOpening:
    reason = table.text("reason")
    if len(reason) > _LONGEST_REASON:
        raise field_error(table.at("reason"), f"a text of at most {_LONGEST_REASON} characters", reason)
    receivers = table.items("to", list(parties), of="names of computing parties")
    for i, name in enumerate(receivers):
        if name in parties:
            continue
        must_be = f"a computing party, one of {list(parties)}"
        if name in owners:
            must_be += (
                f". '{name}' is an owner only: make it a computing party too, under the same name and certificate, to "
                "open something to it alone"
            )
        raise field_error(f"{table.at('to')}[{i}]", must_be, name)
    distinct(receivers, lambda i: f"{table.at('to')}[{i}]", "party")
    if not receivers:
        raise field_error(table.at("to"), "at least one computing party, or left out: all of them", receivers)
    ordered = tuple(name for name in parties if name in receivers)
    return DeclaredOpening(reason, _shape(table), ordered)


def _shape(table: Table) -> Shape:
    sizes = table.items("shape", of="sizes, as in [3] or [100, 4]; [] for one number")
    for i, size in enumerate(sizes):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise field_error(f"{table.at('shape')}[{i}]", "a whole number that is at least 1", size)
    if len(sizes) > _MOST_DIMENSIONS or math.prod(sizes) > _MOST_ELEMENTS:
        must_be = f"at most {_MOST_DIMENSIONS} sizes, of at most {_MOST_ELEMENTS} numbers together"
        raise field_error(table.at("shape"), must_be, sizes)
    return tuple(sizes)


# --- owners ----------------------------------------------------------------------------------------------


def _owners(tables: Sequence[Table], certificates: Mapping[str, str]) -> tuple[ProgramOwner, ...]:
    named = participants(tables, certificates)
    return tuple(ProgramOwner(*who, _inputs(table)) for who, table in zip(named, tables, strict=True))


def _inputs(table: Table) -> tuple[ProgramInput, ...]:
    tables = table.tables("inputs", _INPUT)
    inputs = tuple(_input(one) for one in tables)
    distinct([one.name for one in inputs], lambda i: tables[i].at("name"), "name")
    rows = {one.shape[0] for one in inputs if one.columns}
    if len(rows) > 1:
        must_be = "the same in all inputs that are columns of this owner's table: it has one number of rows"
        raise field_error(f"{table.at('inputs')}[].shape[0]", must_be, sorted(rows))
    return inputs


def _input(table: Table) -> ProgramInput:
    name, shape = table.text("name"), _shape(table)
    if not _INPUT_NAME.fullmatch(name):
        must_be = "a letter, and then at most 31 letters, digits and underscores, as in 'blood_pressure'"
        raise field_error(table.at("name"), must_be, name)
    one = ProgramInput(
        name=name,
        shape=shape,
        columns=_columns(table, name, shape),
        bound=table.number("bound", least=0.0),
        fraction_bits=table.integer("fraction_bits", _FRACTION_BITS, 0, 1 << 10),
        ring=table.text("ring", Z64.name, choices=[ring.name for ring in RINGS]),
    )
    try:
        one.facts.format.limit(one.bound)
    except InvalidInputError as error:
        raise InvalidInputError(f"The input '{name}' at {table.path} cannot be encoded: {error}") from None
    return one


def _columns(table: Table, name: str, shape: Shape) -> tuple[str, ...]:
    """Return the columns of the owner's table; by default one of the input's name, where the shape is of one column."""
    if "columns" not in table:
        return (name,) if len(shape) == 1 else ()
    columns = table.items("columns", of="names of columns")
    for i, column in enumerate(columns):
        if not isinstance(column, str) or not column.strip() or not column.isprintable():
            raise field_error(f"{table.at('columns')}[{i}]", "the name of a column", column)
    distinct(columns, lambda i: f"{table.at('columns')}[{i}]", "column")
    fits = len(columns) == 1 if len(shape) == 1 else len(shape) == 2 and shape[1] == len(columns)
    if not fits:
        must_be = "one column where the shape is [rows], and as many as the shape says where it is [rows, columns]"
        raise field_error(table.at("columns"), must_be, columns)
    return tuple(columns)
