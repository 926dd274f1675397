"""Vertical studies: the owners bring their rows in the same order without telling the parties who the rows are.

Every owner hashes each row key with a secret that the owners share and the parties do not have:

    h = HMAC-SHA-256(secret, "cofit row key 1" || 0 || study hash || 0 || row key in UTF-8)

and sorts its rows by h. Owners with equal sets of keys thereby have equal orders. The study's hash makes hashes of one
study useless in another.

Who learns what:
- From ``set_digest`` (enough where the study says unmatched = "refuse"), whoever compares the digests learns whether
  all owners have the same set of rows, and nothing else, unless they hold the secret and can guess the whole set.
- From the hashes themselves (needed for "drop", and to count what does not match) somebody **without** the secret
  learns how many rows each owner has and how many any owners have in common; the hashes look random to them.
- Somebody **with** the secret, so every owner, learns for each row key that they can think of whether another owner has
  it. Hashing hides no key that can be guessed. A computing party that is also an owner has the secret.
- The order of the shared rows tells the parties nothing: to them it is a random permutation.

The secret must be random (32 bytes or more), the same at all owners, and must not reach a computing party.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error
from cofit.study.problems import MOST_SHOWN, TableError, shown

SECRET_BYTES = 32
HASH_BYTES = 32
_DOMAIN = b"cofit row key 1"


@dataclass(frozen=True)
class Comparison:
    """How many rows two owners have in common, and how many only one of them has."""

    common: int
    only_first: int
    only_second: int


def key_hashes(secret: bytes, study_hash: str, keys: Sequence[str]) -> list[bytes]:
    """Return the keyed hash of every row key, in the order of the keys, which must be distinct."""
    if not isinstance(secret, bytes) or len(secret) < SECRET_BYTES:
        got = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__
        raise parameter_error("secret", "key_hashes", f"at least {SECRET_BYTES} random bytes", got)
    if len(set(keys)) != len(keys):
        raise InvalidInputError("Row keys must be distinct; two rows with one key cannot be matched.")
    prefix = _DOMAIN + b"\0" + study_hash.encode() + b"\0"
    return [hmac.digest(secret, prefix + key.encode(), "sha256") for key in keys]


def row_order(hashes: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Return the indices of the rows in the common order: that of their hashes."""
    return np.array(sorted(range(len(hashes)), key=hashes.__getitem__), dtype=np.int64)


def set_digest(hashes: Sequence[bytes]) -> bytes:
    """Return 32 bytes that are equal for two owners exactly if their sets of row keys are."""
    return hashlib.sha256(b"".join(sorted(hashes))).digest()


def compare(first: Sequence[bytes], second: Sequence[bytes]) -> Comparison:
    """Compare the hashes of two owners."""
    ours, theirs = set(first), set(second)
    common = len(ours & theirs)
    return Comparison(common, len(ours) - common, len(theirs) - common)


def aligned_rows(
    keys: Sequence[str],
    hashes: Sequence[bytes],
    others: Mapping[str, Sequence[bytes]],
    *,
    unmatched: str,
    rows: int,
) -> npt.NDArray[np.int64]:
    """Return which of our rows to share, in the common order, given the hashes of all other owners.

    keys, hashes: our own, in the order of our table. unmatched: 'refuse' raises TableError as soon as any owner has a
    row that another lacks; 'drop' keeps the rows that all owners have. rows: how many must remain, as the study says.
    The error names our own keys that are missing elsewhere, and how many of the others' rows we lack: it is for our
    own terminal.
    """
    if unmatched not in ("refuse", "drop"):
        raise parameter_error("unmatched", "aligned_rows", "'refuse' or 'drop'", unmatched)
    common = set(hashes)
    told = []
    for owner, theirs in others.items():
        result = compare(hashes, theirs)
        if result.only_first or result.only_second:
            known = set(theirs)
            lacking = [shown(key) for key, h in zip(keys, hashes, strict=True) if h not in known]
            listed = ", ".join(lacking[:MOST_SHOWN]) + (", ..." if len(lacking) > MOST_SHOWN else "")
            told.append(
                f"\n  - '{owner}': {result.common} rows in common; it lacks {result.only_first} of our rows"
                f"{f' ({listed})' if lacking else ''}; we lack {result.only_second} of its rows"
            )
        common.intersection_update(theirs)
    if told and unmatched == "refuse":
        raise TableError(
            "The owners do not have the same rows. Bring the missing rows, remove those that others lack, or agree on "
            'unmatched = "drop" in [data]:' + "".join(told)
        )
    order = row_order(hashes)
    kept = order[[hashes[i] in common for i in order.tolist()]] if len(order) else order
    if len(kept) != rows:
        raise TableError(
            f"All owners together have {len(kept)} rows in common, and the study says {rows}. Agree on "
            f"rows = {len(kept)} in [data], which makes a new study, or bring the missing rows." + "".join(told)
        )
    return kept
