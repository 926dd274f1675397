"""A live reception in this process, and those who come to it."""

from __future__ import annotations

import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cofit.transport import Conversation, Identity, Limits, Peer, Reception, Terms, converse, listen
from cofit.transport.authentication import SERVICE_PROTOCOL
from cofit.transport.frames import HEADER, HEADER_BYTES, MAGIC, NO_TAG, Kind, channel_tag, control_frame
from cofit.transport.refusals import OnRefusal
from cofit.transport.terms import HELLO_BYTES, encode_hello, without_session
from unit.transport.cluster import NAMES, TERMS, identity

OWNERS = ("owner-a", "owner-b")
GENEROUS = Limits(peer_rate=1e6, peer_burst=10**6, address_rate=1e6, address_burst=10**6)


def echo(conversation: Conversation) -> None:
    """Answer every request with itself."""
    while True:
        conversation.send(*conversation.receive())


@contextmanager
def receiving(
    handler: Callable[[Conversation], None] = echo,
    *,
    limits: Limits = GENEROUS,
    timeout: float = 5.0,
    terms: Terms = TERMS,
    report: OnRefusal | None = None,
    name: str = "P0",
    who: Identity | None = None,
    others: Mapping[str, str] | None = None,
) -> Iterator[Reception]:
    """The reception of party ``name``, for the three parties, two owners and ``others``."""
    participants = {each: identity(each).certificate_pem for each in (*NAMES, *OWNERS)} | dict(others or {})
    with Reception(
        listen("127.0.0.1"),
        who or identity(name),
        participants,
        NAMES,
        terms,
        handler,
        timeout=timeout,
        limits=limits,
        on_refusal=report,
    ) as reception:
        yield reception


def at(reception: Reception, name: str = "P0", pinned: Identity | None = None) -> Peer:
    """Where and as whom to reach it."""
    return Peer(name, "127.0.0.1", reception.port, (pinned or identity(name)).certificate_pem)


def ask(
    reception: Reception, name: str = "owner-a", *, terms: Terms = TERMS, timeout: float = 5.0, patience: float = 5.0
) -> Conversation:
    """A conversation with the reception."""
    return converse(identity(name), at(reception), terms, timeout=timeout, connect_timeout=patience)


def answers(reception: Reception, name: str = "owner-b") -> bool:
    """Whether the service works for an honest participant."""
    with ask(reception, name) as conversation:
        return conversation.request({"still": "there"}, b"xyz") == ({"still": "there"}, bytearray(b"xyz"))


_contexts: dict[tuple[str, tuple[str, ...]], ssl.SSLContext] = {}


def raw_context(who: Identity | None, protocols: Sequence[str] = (SERVICE_PROTOCOL,)) -> ssl.SSLContext:
    """A TLS client that checks nothing and says what it is told to say."""
    key = (who.certificate_pem if who else "", tuple(protocols))
    if key not in _contexts:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if protocols:
            context.set_alpn_protocols(list(protocols))
        if who is not None:
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "who.pem"
                path.write_text(who.private_key_pem + who.certificate_pem)
                context.load_cert_chain(path)
        _contexts[key] = context
    return _contexts[key]


@contextmanager
def raw_tls(
    reception: Reception, who: Identity | None, protocols: Sequence[str] = (SERVICE_PROTOCOL,)
) -> Iterator[ssl.SSLSocket]:
    """A TLS connection by hand."""
    with (
        socket.create_connection(("127.0.0.1", reception.port), timeout=5.0) as connection,
        raw_context(who, protocols).wrap_socket(connection) as tls,
    ):
        yield tls


def hello(name: str = "owner-a", terms: Terms = TERMS) -> bytes:
    """The greeting of ``name`` at the reception of P0."""
    return control_frame(Kind.HELLO, terms.version, NO_TAG, 0, encode_hello(without_session(terms), name, "P0"))


def message(header: bytes, payload: bytes = b"", turn: int = 1, name: str = "owner-a") -> bytes:
    """A message of ``name`` to P0, valid unless the header is no JSON object."""
    tag = channel_tag(bytes(16), TERMS.study, name, "P0")
    size = len(header) + len(payload)
    return HEADER.pack(MAGIC, TERMS.version, Kind.MESSAGE, 0, len(header), tag, turn, size) + header + payload


def read_all(tls: ssl.SSLSocket) -> bytes:
    """Everything until the other end closes."""
    found = b""
    try:
        while piece := tls.recv(1 << 16):
            found += piece
    except (ssl.SSLError, ConnectionError):
        pass
    return found


def after_greeting(raw: bytes) -> bytes:
    """What came after the HELLO."""
    assert len(raw) >= HEADER_BYTES + HELLO_BYTES, raw
    return raw[HEADER_BYTES + HELLO_BYTES :]
