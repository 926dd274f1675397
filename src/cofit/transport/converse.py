"""Beginning a conversation with somebody's reception."""

from __future__ import annotations

from cofit.errors import parameter_error
from cofit.transport.attempt import Own
from cofit.transport.authentication import SERVICE_PROTOCOL, Peer
from cofit.transport.conversation import Conversation
from cofit.transport.identity import Identity
from cofit.transport.terms import Terms, without_session
from cofit.transport.tls import PollWaiter
from cofit.transport.tls_mesh import Connector


def converse(
    identity: Identity, peer: Peer, terms: Terms, *, timeout: float = 60.0, connect_timeout: float = 30.0
) -> Conversation:
    """Connect to the reception of ``peer`` and greet it; return the conversation, to be used in a ``with`` block.

    We dial until it answers. ``timeout``: how many seconds one message may take. The session in ``terms`` does not
    count: a conversation belongs to a study, not to a session.

    Raises CertificateError or another HandshakeError if one end refuses the other, such as StudyMismatchError, or
    PeerSilentError if the peer is not there after ``connect_timeout`` seconds.
    """
    for name, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
        if not value > 0:
            raise parameter_error(name, "converse", "a positive number of seconds", value)
    own = Own(identity, without_session(terms), protocol=SERVICE_PROTOCOL)
    link = Connector(own, None, [peer], [], connect_timeout).links()[peer.name]
    return Conversation(link, identity.name, peer.name, own.terms, PollWaiter(), timeout=timeout)
