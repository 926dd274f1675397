"""Who takes part: names, certificates, addresses.

From the tables [[parties]], [dealer], [[owners]], [[analysts]] and [[clients]].
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence

from cofit.errors import InvalidInputError
from cofit.study.document import Data, OwnerEntry, PartyEntry
from cofit.study.fields import Table, distinct, field_error, suggestion
from cofit.transport import check_name, fingerprint

ROLE_FIELDS = {
    "parties": ("name", "certificate", "address"),
    "dealer": ("name", "certificate", "address"),
    "owners": ("name", "certificate", "rows", "columns", "holds_label"),
    "analysts": ("name", "certificate"),
    "clients": ("name", "certificate", "rows"),
}
CERTIFICATE_LINE, PRIVATE_LINE = "-----BEGIN CERTIFICATE-----", "PRIVATE KEY-----"
"""What tells a certificate from a private key, in PEM form."""
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*\.?")
_ADDRESS = (
    "an address 'host:port' with a port from 1 to 65535, as in 'party-a.example.org:7100' or '[2001:db8::1]:7100'"
)


def participant_name(path: str, name: str) -> str:
    """Return a name that can stand in greetings and in file names, or raise."""
    try:
        check_name("name", "the study", name)
    except InvalidInputError:
        raise field_error(path, "printable text of 1 to 64 bytes", name) from None
    if re.search(r"[/\\:=]", name) or name[0] in ".-" or name != name.strip():
        must_be = "free of / \\ : = and of spaces around it, and must not begin with . or - (files are named after it)"
        raise field_error(path, must_be, name)
    return name


def participants(tables: Sequence[Table], certificates: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return name, certificate and fingerprint of each; names are distinct."""
    found = []
    for table in tables:
        name = participant_name(table.at("name"), table.raw("name", must_be="a name"))
        source = table.text("certificate")
        if source not in certificates:
            raise field_error(table.at("certificate"), "a certificate that was read", source)
        if PRIVATE_LINE in certificates[source]:
            likely = f"{source.removesuffix('.key')}.pem"
            must_be = (
                f"a certificate, probably '{likely}'. This file has a private key, which nobody else may see: if "
                "anybody got it with the study, its participant makes a new key"
            )
            raise field_error(table.at("certificate"), must_be, source)
        try:
            print_ = fingerprint(certificates[source])
        except InvalidInputError:
            must_be = "the name of a file with one X.509 certificate in PEM form, as `cofit keygen` writes it"
            raise field_error(table.at("certificate"), must_be, source) from None
        found.append((name, certificates[source], print_))
    distinct([name for name, _, _ in found], lambda i: tables[i].at("name"), "name")
    return found


def parse_parties(tables: Sequence[Table], certificates: Mapping[str, str]) -> tuple[PartyEntry, ...]:
    """Return the computing parties in the order of their ranks; addresses are distinct."""
    addresses = [_address(table) for table in tables]
    distinct([(host.lower(), port) for host, port in addresses], lambda i: tables[i].at("address"), "address")
    named = participants(tables, certificates)
    return tuple(PartyEntry(*who, *where) for who, where in zip(named, addresses, strict=True))


def parse_dealer(top: Table, certificates: Mapping[str, str]) -> PartyEntry | None:
    """Return the dealer of a document, if it has one."""
    if "dealer" not in top:
        return None
    (dealer,) = parse_parties([top.table("dealer", ROLE_FIELDS["dealer"])], certificates)
    return dealer


def parse_owners(tables: Sequence[Table], certificates: Mapping[str, str], data: Data) -> tuple[OwnerEntry, ...]:
    """Return the owners; in a horizontal study each has all features and the label."""
    named = participants(tables, certificates)
    if data.partition == "horizontal":
        every = tuple(feature.name for feature in data.features)
        for table in tables:
            table.absent(["columns", "holds_label"], "in a horizontal study every owner has all features and the label")
        return tuple(
            OwnerEntry(*who, table.integer("rows"), every, True) for who, table in zip(named, tables, strict=True)
        )
    for table in tables:
        table.absent(["rows"], "in a vertical study all owners have the same rows; say how many in data.rows")
    return tuple(
        OwnerEntry(*who, data.rows, _columns(table, data), table.boolean("holds_label", False))
        for who, table in zip(named, tables, strict=True)
    )


def _columns(table: Table, data: Data) -> tuple[str, ...]:
    """Return the features of one owner in the study's order; 'w*' stands for all whose names begin with w."""
    order = {feature.name: i for i, feature in enumerate(data.features)}
    wanted: list[str] = []
    for i, name in enumerate(table.items("columns", of="names of features")):
        path = f"{table.at('columns')}[{i}]"
        if not isinstance(name, str):
            raise field_error(path, "the name of a feature", name)
        family = [known for known in order if known.startswith(name[:-1])] if name.endswith("*") else []
        if name not in order and not family:
            raise field_error(path, f"the name of a feature in data.features{suggestion(name, order)}", name)
        wanted += [name] if name in order else family
    distinct(wanted, lambda i: table.at("columns"), "feature")
    return tuple(sorted(wanted, key=order.__getitem__))


def _address(table: Table) -> tuple[str, int]:
    path, text = table.at("address"), table.raw("address", must_be=_ADDRESS)
    found = re.fullmatch(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>[0-9]{1,5})", str(text))
    if not isinstance(text, str) or found is None or not 1 <= int(found["port"]) <= 65535:
        raise field_error(path, _ADDRESS, text)
    host = found["six"] or found["host"]
    try:
        if found["six"]:
            ipaddress.IPv6Address(host)
        elif re.fullmatch(r"[0-9.]+", host):
            ipaddress.IPv4Address(host)
        elif not _HOST_NAME.fullmatch(host):
            raise ValueError
    except ValueError:
        raise field_error(path, _ADDRESS, text) from None
    return host, int(found["port"])
