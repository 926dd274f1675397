"""Messages between parties: frames, the handshake, three meshes with one interface, and conversations.

``memory_meshes`` joins threads, ``connect_mesh`` joins processes and machines over mutual TLS 1.3 with pinned
certificates, and ``faulty_links`` makes either of them misbehave on purpose. A ``Reception`` answers at one port for
both the mesh and conversations, which ``converse`` begins: requests and answers of everybody who takes part. Behind a
reception the connections of a mesh may break: its lines outlive them (``resume_proof.md``).
"""

from __future__ import annotations

from cofit.transport.authentication import Peer
from cofit.transport.conversation import MAX_PAYLOAD_BYTES, Conversation, RequestRefusedError
from cofit.transport.converse import converse
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
from cofit.transport.listener import Acceptor, Listener, listen
from cofit.transport.measure import LineSpeed, measure_lines
from cofit.transport.memory_mesh import memory_meshes
from cofit.transport.mesh import Mesh
from cofit.transport.rates import TokenBuckets
from cofit.transport.reach import is_near
from cofit.transport.reception import Limits, Reception
from cofit.transport.refusals import Refused
from cofit.transport.strict_json import MAX_HEADER_BYTES
from cofit.transport.terms import Terms, check_name
from cofit.transport.tls import DEFAULT_SPIN
from cofit.transport.tls_mesh import connect_mesh

__all__ = [
    "DEFAULT_SPIN",
    "HEADER_BYTES",
    "MAX_FRAME_BYTES",
    "MAX_HEADER_BYTES",
    "MAX_PAYLOAD_BYTES",
    "PROTOCOL_VERSION",
    "Acceptor",
    "Conversation",
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
    "Limits",
    "LineSpeed",
    "Listener",
    "Mesh",
    "Peer",
    "Reception",
    "Refused",
    "Reorder",
    "RequestRefusedError",
    "Rewrite",
    "Terms",
    "TokenBuckets",
    "Truncate",
    "Wrap",
    "check_name",
    "connect_mesh",
    "converse",
    "faulty_links",
    "fingerprint",
    "generate_identity",
    "is_near",
    "listen",
    "measure_lines",
    "memory_meshes",
]
