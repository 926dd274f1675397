"""What must fit together in a study beyond its single fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cofit.errors import InvalidInputError
from cofit.learn.division import check_division
from cofit.sharing import scheme_named
from cofit.study.agreement import Agreement
from cofit.study.document import Data, OwnerEntry, Participant, Study
from cofit.study.fields import OWNER, field_error

_SHOWN = 5


def check_owners(data: Data, owners: Sequence[OwnerEntry], *, stated: bool) -> Data:
    """Return ``data`` with its number of rows, or refuse owners whose parts do not make up the whole.

    Horizontal: the owners' rows sum up to ``data.rows`` (if ``stated``). Vertical: every feature has exactly one owner,
    exactly one owner has the label, and nobody comes empty-handed.
    """
    if data.partition == "horizontal":
        total = sum(owner.rows for owner in owners)
        if stated and total != data.rows:
            raise field_error("data.rows", f"the sum of the owners' rows, {total}, or left out", data.rows)
        return replace(data, rows=total)
    holder: dict[str, str] = {}
    for i, owner in enumerate(owners):
        for name in owner.columns:
            if name in holder:
                must_be = f"free of '{name}', which '{holder[name]}' already holds: every feature has one owner"
                raise field_error(f"owners[{i}].columns", must_be, list(owner.columns))
            holder[name] = owner.name
        if not owner.columns and not owner.holds_label:
            must_be = "at least one feature, for an owner without the label; or leave the owner out"
            raise field_error(f"owners[{i}].columns", must_be, [])
    if orphans := [feature.name for feature in data.features if feature.name not in holder]:
        shown = ", ".join(orphans[:_SHOWN]) + (f" and {len(orphans) - _SHOWN} more" if len(orphans) > _SHOWN else "")
        raise InvalidInputError(
            f"In a vertical study every feature has exactly one owner. Nobody holds: {shown}. Add them to the "
            f"'columns' of an owner, or remove them from data.features."
        )
    holders = [owner.name for owner in owners if owner.holds_label]
    if len(holders) != 1:
        raise field_error("owners[].holds_label", "true for exactly one owner in a vertical study", holders)
    return data


def check_reference(study: Study) -> None:
    """Refuse a reference map that is not of this study's columns and records."""
    reference = study.data.reference
    if reference is None:
        return
    cols = sum(feature.width for feature in study.data.features)
    if reference.inputs != cols:
        raise field_error("data.reference", f"a map of the study's {cols} encoded columns", reference.inputs)
    if reference.records != study.data.rows:
        raise field_error("data.reference", f"a map for the study's {study.data.rows} records", reference.records)
    if study.data.partition == "vertical":
        _ = reference.public  # what parties could not prove the ranges of is refused here


def check_shards(study: Study) -> None:
    """Refuse more shards than some owner has rows: every shard has some rows of every owner."""
    shards = study.compute.shards
    if shards is not None:
        check_division(shards, {owner.name: owner.rows for owner in study.owners}, OWNER, "compute.shards")


def check_parties(study: Agreement) -> None:
    """Raise unless the scheme runs with as many computing parties as the study names, and has its dealer."""
    dealer = study.dealer
    info, count = scheme_named(study.compute.scheme).info, len(study.parties)
    try:
        info.check_parties(count)
    except InvalidInputError as error:
        raise InvalidInputError(f"[[parties]] and compute.scheme do not fit together: {error}") from None
    try:
        spec = study.spec
    except InvalidInputError as error:
        raise InvalidInputError(f"[[parties]] and compute.threshold do not fit together: {error}") from None
    if spec.dealer and dealer is None:
        must_be = (
            f"a table with name, certificate and address: scheme '{spec.name}' needs a dealer (two parties without "
            "one: scheme 'pair')"
        )
        raise field_error("dealer", must_be, None)
    if dealer is None:
        return
    if not spec.dealer:
        raise field_error("dealer", f"left out: scheme '{spec.name}' has no dealer", dealer.name)
    for i, party in enumerate(study.parties):
        if dealer.name == party.name:
            must_be = f"somebody else than parties[{i}]: a dealer that is a computing party could read all data"
            raise field_error("dealer.name", must_be, dealer.name)
        if (dealer.host.lower(), dealer.port) == (party.host.lower(), party.port):
            raise field_error(
                "dealer.address", f"another address than parties[{i}].address", f"{dealer.host}:{dealer.port}"
            )


def check_identities(study: Agreement) -> None:
    """Raise unless every name stands for one certificate and every certificate for one name, in all roles together."""
    roles: dict[str, Sequence[Participant]] = {
        "parties": study.parties,
        "owners": study.owners,
        "analysts": study.analysts,
        "clients": study.clients,
        "dealer": () if study.dealer is None else (study.dealer,),
    }
    by_name: dict[str, tuple[str, str]] = {}
    by_print: dict[str, tuple[str, str]] = {}
    for role, entries in roles.items():
        for i, entry in enumerate(entries):
            path = "dealer.certificate" if role == "dealer" else f"{role}[{i}].certificate"
            known, where = by_name.setdefault(entry.name, (entry.fingerprint, path))
            if known != entry.fingerprint:
                must_be = f"the same as {where}, because both are named '{entry.name}'; or use another name"
                raise field_error(path, must_be, entry.fingerprint)
            name, where = by_print.setdefault(entry.fingerprint, (entry.name, path))
            if name != entry.name:
                must_be = f"another certificate than {where}, which is that of '{name}': everybody has their own key"
                raise field_error(path, must_be, entry.fingerprint)
