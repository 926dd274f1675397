"""One party's share as bytes that can be stored, and what a store of them must do.

Layout, little-endian: 8 bytes that name the kind of record, the version (2 bytes), the length of the header (4 bytes),
the header (JSON), the body, and the SHA-256 of all that. The body of a share is its parts, element by element. The
checksum finds damage, not forgery: who can write a party's files can write its share.

A stored share is as secret as the share itself. It needs no seed of the session that made it, so that another session
with the same parties can import it.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from cofit.arithmetic import INTEGER_RINGS, FixedPoint
from cofit.errors import InvalidInputError, parameter_error
from cofit.secret.array import SecretArray
from cofit.sharing import Scheme, Share

_VERSION = 1
_PREFIX = struct.Struct("<8sHI")
_CHECKSUM_BYTES = hashlib.sha256().digest_size
_SHARE = b"cofitshr"
_FIELDS = ("scheme", "rank", "parties", "ring", "fraction_bits", "shape", "limit")
_CHOSEN = "threshold"
"""One more field, of schemes whose threshold can be chosen: with another one a share is another thing."""
_MOST_ELEMENTS, _MOST_DIMENSIONS = 1 << 48, 32


class ReleaseStore(Protocol):
    """Where one party keeps the one record of a release."""

    def load(self) -> bytes | None:
        """Return the record, or None if there is none."""

    def confirm(self) -> None:
        """Note, durably, that every party has saved: from now on the value may be opened."""

    def save(self, record: bytes) -> None:
        """Keep the record; it survives a crash once this returns. An existing, different record is never replaced:
        that raises ProtocolError.
        """


def pack(kind: bytes, header: Mapping[str, object], body: bytes) -> bytes:
    """Return a record of this kind."""
    text = json.dumps(header).encode()
    record = _PREFIX.pack(kind, _VERSION, len(text)) + text + body
    return record + hashlib.sha256(record).digest()


def unpack(kind: bytes, name: str, fields: tuple[str, ...], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return header and body of a record; ``name`` is what errors call it. Types inside the header are unchecked."""
    if len(data) < _PREFIX.size + _CHECKSUM_BYTES:
        raise parameter_error("length", name, f"at least {_PREFIX.size + _CHECKSUM_BYTES} bytes", len(data))
    found, version, header_bytes = _PREFIX.unpack_from(data)
    if found != kind:
        raise InvalidInputError(f"The 'kind' parameter of {name} must be {kind!r}: these bytes are something else.")
    if version != _VERSION:
        raise parameter_error("version", name, f"{_VERSION}, the one that this release reads", version)
    content, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if hashlib.sha256(content).digest() != checksum:
        raise InvalidInputError(
            f"The 'checksum' parameter of {name} must be that of its content: it was damaged or cut. Restore it."
        )
    end = _PREFIX.size + header_bytes
    try:
        header = json.loads(content[_PREFIX.size : end])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or set(header) != set(fields):
        raise InvalidInputError(f"The 'header' parameter of {name} must be a JSON object of {', '.join(fields)}.")
    return header, content[end:]


def encode_share(scheme: Scheme, value: SecretArray) -> bytes:
    """Return this party's share of a value, and the value's public facts, as bytes."""
    if not isinstance(value, SecretArray):
        raise parameter_error("value", "export_share", "a SecretArray", type(value).__name__)
    header = {
        **_of_scheme(scheme),
        "ring": value.format.ring.name,
        "fraction_bits": value.format.fraction_bits,
        "shape": list(value.shape),
        "limit": value.integer_limit,
    }
    return pack(_SHARE, header, b"".join(part.tobytes() for part in value._share.parts))


def decode_share(scheme: Scheme, data: bytes) -> SecretArray:
    """Return the value whose share ``encode_share`` stored at this party; raise InvalidInputError for anything else."""
    name = "a stored share"
    of_scheme = _of_scheme(scheme)
    header, body = unpack(_SHARE, name, (*_FIELDS, _CHOSEN) if _CHOSEN in of_scheme else _FIELDS, data)
    for field, ours in of_scheme.items():
        if header[field] != ours or isinstance(header[field], bool):
            raise parameter_error(field, name, f"{ours!r}, as in this run", header[field])
    if not isinstance(header["ring"], str) or header["ring"] not in INTEGER_RINGS:
        raise parameter_error("ring", name, f"one of {', '.join(INTEGER_RINGS)}", header["ring"])
    ring = INTEGER_RINGS[header["ring"]]
    if not _is_count(header["fraction_bits"], ring.value_bits):
        raise parameter_error("fraction_bits", name, f"an integer from 0 to {ring.value_bits}", header["fraction_bits"])
    format = FixedPoint(header["fraction_bits"], ring)
    if not _is_count(header["limit"], format.capacity):
        raise parameter_error("limit", name, f"an integer from 0 to {format.capacity}", header["limit"])
    shape = header["shape"]
    if not _is_shape(shape):
        raise parameter_error("shape", name, "a list of dimensions", shape)
    count = len(scheme.constant(ring, ring.zeros(())).parts)
    expected = count * math.prod(shape) * ring.element_bytes
    if len(body) != expected:
        raise parameter_error("body", name, f"{expected} bytes long", len(body))
    parts = np.frombuffer(body, ring.dtype).reshape(count, *shape).copy()
    if not ring.admits(parts):
        raise InvalidInputError(f"The 'body' parameter of {name} must hold elements of {ring.name}. Restore it.")
    return SecretArray(scheme, Share(ring, tuple(parts[i, ...] for i in range(count))), format, header["limit"])


def _of_scheme(scheme: Scheme) -> dict[str, str | int]:
    """Return what a share must have in common with the run that imports it."""
    found: dict[str, str | int] = {"scheme": scheme.info.name, "rank": scheme.rank, "parties": len(scheme.names)}
    return found if scheme.info.least_corrupted is None else {**found, _CHOSEN: scheme.spec.threshold}


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_shape(value: object) -> bool:
    """Whether NumPy can make an array of this shape; it counts empty dimensions as 1 when it looks for overflow."""
    if not isinstance(value, list) or len(value) > _MOST_DIMENSIONS:
        return False
    dimensions: list[int] = [n for n in value if _is_count(n, _MOST_ELEMENTS)]
    return len(dimensions) == len(value) and math.prod(n or 1 for n in dimensions) <= _MOST_ELEMENTS
