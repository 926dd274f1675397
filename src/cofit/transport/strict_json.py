"""JSON headers between parties that do not trust each other: one reading of every text, and small."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import NoReturn

from cofit.errors import parameter_error

MAX_HEADER_BYTES = 1 << 16
MAX_DEPTH = 16
"""How many objects and arrays may be inside each other, the outermost included."""
_MAX_DIGITS = 20

_STRUCTURE = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)


def encode_header(header: Mapping[str, object]) -> bytes:
    """Return the header as JSON; raise InvalidInputError unless ``decode_header`` would take it."""
    try:
        raw = json.dumps(dict(header), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        if len(raw) > MAX_HEADER_BYTES:
            raise ValueError(f"{len(raw)} bytes are too long")
        decode_header(raw)
    except (TypeError, ValueError, RecursionError) as error:
        raise parameter_error(
            "header",
            "Conversation.send",
            f"a JSON object of at most {MAX_HEADER_BYTES} bytes and {MAX_DEPTH} levels",
            f"one where {type(error).__name__} was found",
        ) from None
    return raw


def decode_header(raw: bytes) -> dict[str, object]:
    """Read one JSON object from strict UTF-8; raise ValueError (without the content) if it is anything else.

    Refused are duplicate keys, NaN and infinities (also as numbers too large for a double), integers of more than 20
    characters, lone surrogates, and more than 16 levels, which are counted before anything is parsed.
    """
    _check_depth(raw)
    text = raw.decode()
    value = json.loads(
        text, object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
    )
    if not isinstance(value, dict):
        raise ValueError("not an object")
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate has no UTF-8 form
    return value


def _check_depth(raw: bytes) -> None:
    depth = 0
    in_string = False
    for found in _STRUCTURE.finditer(raw):
        token = found.group()
        if token == b'"':
            in_string = not in_string
        elif not in_string and token in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError("too many levels")
        elif not in_string and token in b"]}":
            depth -= 1


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("an integer with too many digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number out of range")
    return value


def _constant(_: str) -> NoReturn:
    raise ValueError("not a number")
