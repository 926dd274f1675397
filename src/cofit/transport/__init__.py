"""Messages between parties: frames, the handshake, and three meshes with one interface.

``memory_meshes`` joins threads, ``connect_mesh`` joins processes and machines over mutual TLS 1.3 with pinned
certificates, and ``faulty_links`` makes either of them misbehave on purpose.
"""

from __future__ import annotations

from cofit.transport.attempt import Peer
from cofit.transport.counters import Counts, LabelCounts
from cofit.transport.faulty import (
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    Fault,
    FaultPlan,
    FaultyLink,
    Reorder,
    Rewrite,
    Truncate,
    faulty_links,
)
from cofit.transport.frames import HEADER_BYTES, MAX_FRAME_BYTES, PROTOCOL_VERSION
from cofit.transport.identity import Identity, fingerprint, generate_identity
from cofit.transport.link import Wrap
from cofit.transport.memory_mesh import memory_meshes
from cofit.transport.mesh import Mesh
from cofit.transport.terms import Terms, check_name
from cofit.transport.tls import DEFAULT_SPIN
from cofit.transport.tls_mesh import Listener, connect_mesh, listen

__all__ = [
    "DEFAULT_SPIN",
    "HEADER_BYTES",
    "MAX_FRAME_BYTES",
    "PROTOCOL_VERSION",
    "Corrupt",
    "Counts",
    "Delay",
    "Drop",
    "Duplicate",
    "Fault",
    "FaultPlan",
    "FaultyLink",
    "Identity",
    "LabelCounts",
    "Listener",
    "Mesh",
    "Peer",
    "Reorder",
    "Rewrite",
    "Terms",
    "Truncate",
    "Wrap",
    "check_name",
    "connect_mesh",
    "faulty_links",
    "fingerprint",
    "generate_identity",
    "listen",
    "memory_meshes",
]
