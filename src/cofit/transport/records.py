"""What a connection of a line carries: records of the stream, acknowledgements, beats (``resume_proof.md``).

=======  =====  =========================================================================================
offset   size   field (big endian)
=======  =====  =========================================================================================
0        1      kind
1        3      zero
4        4      length of what follows the header
8        8      BYTES, END: position in the stream; BEAT: age of the last news, in milliseconds
16       8      acknowledgement: the position up to which the sender has received the other stream
=======  =====  =========================================================================================
"""

from __future__ import annotations

import struct

RECORD = struct.Struct("!BxxxIQQ")
RECORD_BYTES = RECORD.size
MOST_RECORD_BYTES = 1 << 20
KEY_BYTES = 32

BYTES = 1
"""A part of the stream."""
ACK = 2
"""Nothing but the acknowledgement."""
BEAT = 3
"""The sender's process is alive."""
END = 4
"""The sender's program has ended, and its stream at this position."""
KEY = 5
"""The sender's half of the key; the first record on the first connection."""


class FaultyRecordError(Exception):
    """The peer sent a record that nobody who follows the protocol sends."""


def check_record(kind: int, length: int) -> None:
    """Raise FaultyRecordError if there is no such record, before anything is read or allocated for it."""
    allowed = {BYTES: range(1, MOST_RECORD_BYTES + 1), KEY: (KEY_BYTES,)}.get(kind, (0,))
    if not BYTES <= kind <= KEY or length not in allowed:
        raise FaultyRecordError(f"a record of kind {kind} with {length} bytes")
