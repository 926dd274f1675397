"""The binary frame: a fixed header of 36 bytes, then the payload.

=======  =====  =======================================================================================
offset   size   field (big endian)
=======  =====  =======================================================================================
0        4      magic ``b"cfit"``
4        2      protocol version (magic and version keep their place in every version)
6        1      kind
7        1      reserved, zero
8        4      label tag: CRC-32 of the label, so that parties at different program steps notice;
                in a MESSAGE the length of the JSON header with which its payload begins
12       8      channel tag: binds session, study, sender and addressee; zero in HELLO and REFUSE
20       8      sequence number, counted per direction from 0 (the HELLO)
28       8      payload length in bytes
=======  =====  =======================================================================================

The tags detect mistakes, not forgery: integrity on the wire is the duty of TLS, and what a corrupt party
may send is the duty of the sharing scheme.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from enum import IntEnum

MAGIC = b"cfit"
PROTOCOL_VERSION = 1
LINE_VERSION = 2
"""The version of a mesh whose frames travel over lines (``resume_proof.md``)."""
MAX_FRAME_BYTES = 1 << 30
MAX_CONTROL_BYTES = 1024
MAX_NAME_BYTES = 64
NO_TAG = bytes(8)

HEADER = struct.Struct("!4sHBBI8sQQ")
HEADER_BYTES = HEADER.size


class Kind(IntEnum):
    """What a frame carries."""

    HELLO = 1
    """The sender's terms and name; the first frame in each direction."""
    REFUSE = 2
    """The terms were refused, with a code."""
    DATA = 3
    """A protocol message."""
    ABORT = 4
    """The sender gave up, with the party it blames and the reason. The last frame."""
    WAITING = 5
    """The sender is alive, and waits itself for the named party."""
    MESSAGE = 6
    """A request or an answer of a conversation; the label tag is the length of its JSON header."""
    RESUME = 7
    """A process wants to go on with a line on a new connection (``resume_proof.md``)."""
    RESUMED = 8
    """The answer to it, and the last proof."""


def label_tag(label: str) -> int:
    """Return the tag of a protocol label."""
    return zlib.crc32(label.encode())


def channel_tag(session: bytes, study: bytes, sender: str, addressee: str) -> bytes:
    """Return the tag that every frame from ``sender`` to ``addressee`` carries in this session."""
    names = f"{len(sender)}:{sender}{len(addressee)}:{addressee}".encode()
    return hashlib.sha256(b"cofit channel" + session + study + names).digest()[:8]


def control_frame(kind: Kind, version: int, tag: bytes, sequence: int, payload: bytes) -> bytes:
    """Return a whole frame of a kind other than DATA and MESSAGE."""
    return HEADER.pack(MAGIC, version, kind, 0, 0, tag, sequence, len(payload)) + payload


def pack_blame(culprit: str, reason: str) -> bytes:
    """Return the payload of ABORT (culprit and reason) and of WAITING (no reason); what is too long is cut."""
    name = _cut(culprit, MAX_NAME_BYTES)
    return bytes([len(name)]) + name + _cut(reason, MAX_CONTROL_BYTES - 1 - len(name))


def unpack_blame(payload: bytes) -> tuple[str, str]:
    """Read culprit and reason from a payload of ABORT or WAITING.

    Raises ValueError unless the culprit is 1 to 64 bytes of printable text; in the reason, unprintable
    characters become '?'.
    """
    size = payload[0] if payload else 0
    raw = payload[1 : 1 + size]
    if not 0 < size <= MAX_NAME_BYTES or len(raw) < size:
        raise ValueError("a name of an impossible length")
    culprit = raw.decode()
    if not culprit.isprintable():
        raise ValueError("an unprintable name")
    reason = payload[1 + size :].decode(errors="replace")
    return culprit, "".join(c if c.isprintable() else "?" for c in reason)


def _cut(text: str, size: int) -> bytes:
    """Return at most ``size`` bytes of text, without half a character at the end."""
    return text.encode(errors="replace")[:size].decode(errors="ignore").encode()
