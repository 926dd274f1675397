"""Test vectors: what another implementation must reproduce, and what it must refuse (``tests/vectors/README.md``).

``python -m support.vectors`` (``make vectors``) writes the files again. All of it follows from constants, so that a
difference is a change of a format or of a law.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from cofit.arithmetic import Z64, Z128, FixedPoint, Generator, PowerOfTwoRing
from cofit.sampling import discrete_gaussian, discrete_laplace, geometric
from cofit.sampling.coin import coins, threshold
from cofit.sampling.sums import TableSum
from cofit.sampling.uniform import uniform
from cofit.secret import Party, SecretArray
from cofit.sharing import BitShare, scheme_named
from cofit.sharing.boolean import Boolean
from cofit.sharing.inputs import common_digests
from cofit.sharing.packed_bits import PackedBoolean
from cofit.sharing.shamir.inputs import GroupInputs
from cofit.transport.frames import HEADER_BYTES, Kind, channel_tag, control_frame, label_tag, pack_blame
from cofit.transport.terms import Terms, encode_hello
from support.certificate_vectors import Document, bad_certificates, certificates
from support.line_vectors import bad_lines, lines
from support.runs import run_scheme

FOLDER = Path(__file__).parents[1] / "vectors"

# --- frames ----------------------------------------------------------------------------------------------

TERMS = Terms(bytes(range(16)), bytes(range(100, 132)), "rep3")
SENDER, ADDRESSEE = "party-b", "party-a"
LABEL, SEQUENCE, PAYLOAD = "train/matmul", 7, bytes(range(24))
_HEADER = struct.Struct("!4sHBBI8sQQ")


def data_frame(**changed: Any) -> bytes:
    """Return the DATA frame that is due, or one of which a field is something else."""
    fields: dict[str, Any] = {
        "magic": b"cfit",
        "version": TERMS.version,
        "kind": Kind.DATA,
        "reserved": 0,
        "label": label_tag(LABEL),
        "channel": channel_tag(TERMS.session, TERMS.study, SENDER, ADDRESSEE),
        "sequence": SEQUENCE,
        "length": len(PAYLOAD),
    } | changed
    return _HEADER.pack(*fields.values()) + PAYLOAD[: fields["length"]]


def frames() -> Document:
    """Return frames of all kinds."""
    tag = channel_tag(TERMS.session, TERMS.study, SENDER, ADDRESSEE)
    hello = encode_hello(TERMS, SENDER, ADDRESSEE)
    given: list[tuple[str, bytes, dict[str, Any]]] = [
        ("HELLO", control_frame(Kind.HELLO, 1, bytes(8), 0, hello), {}),
        ("REFUSE", control_frame(Kind.REFUSE, 1, bytes(8), 1, b"\x03"), {"code": 3}),
        ("DATA", data_frame(), {"label": LABEL, "sequence": SEQUENCE}),
        ("DATA", data_frame(length=0), {"label": LABEL, "sequence": SEQUENCE}),
        (
            "ABORT",
            control_frame(Kind.ABORT, 1, tag, 8, pack_blame("party-c", "It is silent.")),
            {"culprit": "party-c", "reason": "It is silent.", "sequence": 8},
        ),
        ("WAITING", control_frame(Kind.WAITING, 1, tag, 9, pack_blame("Zoë", "")), {"culprit": "Zoë", "sequence": 9}),
    ]
    frames = [{"kind": kind, "frame": frame.hex(), **facts} for kind, frame, facts in given]
    return {**_agreed(), "frames": frames}


def bad_frames() -> Document:
    """Return frames that must be refused where the DATA frame of ``frames`` is due, with the error."""
    huge = (1 << 64) - 1
    given = {
        "another magic": (data_frame(magic=b"cfit"[::-1]), "FrameError"),
        "another version": (data_frame(version=2), "VersionMismatchError"),
        "reserved byte set": (data_frame(reserved=1), "FrameError"),
        "unknown kind": (data_frame(kind=99), "FrameError"),
        "a conversation's kind": (data_frame(kind=Kind.MESSAGE), "FrameError"),
        "another label": (data_frame(label=label_tag("train/mul")), "SequenceError"),
        "another direction": (
            data_frame(channel=channel_tag(TERMS.session, TERMS.study, ADDRESSEE, SENDER)),
            "FrameError",
        ),
        "another session": (data_frame(channel=channel_tag(bytes(16), TERMS.study, SENDER, ADDRESSEE)), "FrameError"),
        "the frame before": (data_frame(sequence=SEQUENCE - 1), "SequenceError"),
        "the frame after": (data_frame(sequence=SEQUENCE + 1), "SequenceError"),
        "one byte less": (data_frame(length=len(PAYLOAD) - 1), "FrameError"),
        "more than can be": (data_frame(length=huge), "OversizedFrameError"),
        "a long notice": (data_frame(kind=Kind.ABORT, label=0, length=1025), "OversizedFrameError"),
        "a notice without a name": (data_frame(kind=Kind.WAITING, label=0, length=0), "FrameError"),
    }
    hello = encode_hello(TERMS, SENDER, ADDRESSEE)
    hellos = {
        "another session": (encode_hello(Terms(bytes(16), TERMS.study, "rep3"), SENDER, ADDRESSEE), "SESSION"),
        "another study": (encode_hello(Terms(TERMS.session, bytes(32), "rep3"), SENDER, ADDRESSEE), "STUDY"),
        "another scheme": (encode_hello(Terms(TERMS.session, TERMS.study, "rep4"), SENDER, ADDRESSEE), "SCHEME"),
        "another sender": (encode_hello(TERMS, "party-c", ADDRESSEE), "NAME"),
        "another addressee": (encode_hello(TERMS, SENDER, "party-c"), "NAME"),
        "a text of no length": (hello[:48] + b"\0" + hello[49:], "MALFORMED"),
        "padding that is not zero": (hello[:-1] + b"\1", "MALFORMED"),
        "text that is not UTF-8": (hello[:49] + b"\xff" + hello[50:], "MALFORMED"),
    }
    return {
        **_agreed(),
        "due": {"label": LABEL, "sequence": SEQUENCE, "length": len(PAYLOAD)},
        "frames": [{"why": why, "frame": frame.hex(), "error": error} for why, (frame, error) in given.items()],
        "hellos": [{"why": why, "payload": hello.hex(), "refusal": code} for why, (hello, code) in hellos.items()],
    }


def _agreed() -> Document:
    return {
        "session": TERMS.session.hex(),
        "study": TERMS.study.hex(),
        "scheme": TERMS.scheme,
        "sender": SENDER,
        "addressee": ADDRESSEE,
        "header_bytes": HEADER_BYTES,
    }


# --- shares ----------------------------------------------------------------------------------------------

SEED = bytes(range(32))
VALUES = [0, 1, -1, 2**62 - 1, -(2**62), 1234567890123456789]
SHARED = [
    *(("clear", 3), ("rep3", 3), ("rep4", 4), ("semi2k", 2), ("semi2k", 3), ("shamir", 3), ("shamir", 5)),
    *(("repn", 3), ("repn", 5)),
]


def shares() -> Document:
    """Return what an owner sends to whom."""
    return {"seed": SEED.hex(), "cases": [_shared(*case, ring) for case in SHARED for ring in (Z64, Z128)]}


def _shared(scheme: str, parties: int, ring: PowerOfTwoRing) -> Document:
    values = ring.from_int(np.array(VALUES, dtype=object).reshape(2, 3))
    inputs = scheme_named(scheme).inputs(scheme_named(scheme).info.spec(parties))
    components = [
        {
            "name": component.facts.name,
            "ranks": list(component.facts.ranks),
            "content": b"".join(map(bytes, component.content())).hex(),
        }
        for component in inputs.components(ring, values, SEED)
    ]
    return {
        "scheme": scheme,
        "parties": parties,
        "ring": ring.name,
        "shape": [2, 3],
        "values": [str(value) for value in VALUES],
        "components": components,
        "common": [
            {"ranks": [i, j], "digest": digest.hex()}
            for i in range(parties)
            for j, digest in digests(scheme, parties, ring, components, i).items()
            if i < j
        ],
        **({"shares": _polynomials(inputs, ring, components)} if isinstance(inputs, GroupInputs) else {}),
    }


def _polynomials(inputs: GroupInputs, ring: PowerOfTwoRing, components: list[Document]) -> list[Document]:
    """Return what every party makes of its components: the coefficients of its share."""
    made = []
    for rank in range(inputs.geometry.parties):
        received = {c["name"]: memoryview(bytes.fromhex(c["content"])) for c in components if rank in c["ranks"]}
        share = inputs.assemble(ring, (2, 3), rank, received).expand()
        made.append({"rank": rank, "coefficients": [part.tobytes().hex() for part in share.parts]})
    return made


def digests(
    scheme: str, parties: int, ring: PowerOfTwoRing, components: list[Document], rank: int, changed: str = ""
) -> dict[int, bytes]:
    """Return what a party compares with each other one; ``changed``: a component of which it got another first bit."""
    layout = scheme_named(scheme).inputs(scheme_named(scheme).info.spec(parties)).layout(ring, (2, 3))
    received = {}
    for component in components:
        content = bytearray.fromhex(component["content"])
        content[0] ^= component["name"] == changed
        if rank in component["ranks"]:
            received[component["name"]] = memoryview(content)
    return common_digests(layout, received, rank)


def bad_shares() -> Document:
    """Return what an owner must not send: a component that is not the same for all who get it."""
    cases = []
    for scheme, parties in (("rep3", 3), ("rep4", 4), ("shamir", 3), ("shamir", 5), ("repn", 3)):
        components = _shared(scheme, parties, Z64)["components"]
        for component in components:
            odd = component["ranks"][0]
            right = digests(scheme, parties, Z64, components, odd)
            wrong = digests(scheme, parties, Z64, components, odd, component["name"])
            cases.append(
                {
                    "scheme": scheme,
                    "parties": parties,
                    "ring": Z64.name,
                    "components": components,
                    "changed": component["name"],
                    "odd": odd,
                    "notice": sorted(rank for rank in right if right[rank] != wrong[rank]),
                }
            )
    return {"cases": cases}


# --- samplers --------------------------------------------------------------------------------------------

LAWS: list[tuple[str, Fraction, int]] = [
    ("geometric", Fraction(5, 2), 16),
    ("geometric", Fraction(1, 3), 64),
    ("discrete_laplace", Fraction(5, 2), 16),
    ("discrete_laplace", Fraction(1000, 7), 12),
    ("discrete_gaussian", Fraction(3), 16),
    ("discrete_gaussian", Fraction(1, 2), 64),
    ("discrete_gaussian", Fraction(300), 16),
]
BIASES = [Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(1, 1000), Fraction(1)]
DRAWS = 64


def samplers() -> Document:
    """Return draws: the law, the random bits, what comes out."""
    return {"coins": _coins(), "uniform": _uniform(), "tables": [_drawn(*law) for law in LAWS]}


def _coins() -> Document:
    precision = 16
    bits, drawn = _recorded(
        lambda party: party.open(party.to_arithmetic(coins(party, BIASES, (DRAWS,), precision=precision)), reason="x")
    )
    return {
        "precision": precision,
        "probabilities": list(map(str, BIASES)),
        "thresholds": [threshold(p, precision) for p in BIASES],
        "bits": bits,
        "draws": [[int(v) for v in row] for row in np.asarray(drawn).reshape(len(BIASES), DRAWS)],
    }


def _uniform() -> Document:
    format = FixedPoint(20)
    bits, drawn = _recorded(lambda party: party.open(uniform(party, (DRAWS,), format), reason="x"))
    return {"fraction_bits": 20, "bits": bits, "draws": [int(v * 2**20) for v in drawn]}


def _drawn(name: str, parameter: Fraction, precision: int) -> Document:
    sampler = sampler_named(name)
    law = table_sum(name, parameter, precision)
    bits, drawn = _recorded(
        lambda party: party.open(sampler(party, (DRAWS,), parameter, precision=precision), reason="x")
    )
    return {
        "sampler": name,
        "parameter": str(parameter),
        "precision": precision,
        "index_bits": law.tables[0].index_bits,
        "offset": law.offset,
        "tables": [
            {"place": place, "width": width, "own": list(map(str, table.own)), "alias": list(table.alias)}
            for table, place, width in zip(law.tables, law.places, law.widths, strict=True)
        ],
        "bits": bits,
        "draws": [int(v) for v in drawn],
    }


def bad_samplers() -> Document:
    """Return parameters that must be refused."""
    given = [
        ("geometric", "0", 64, "t"),
        ("geometric", "-1/2", 64, "t"),
        ("geometric", str(1 << 60), 64, "t"),
        ("geometric", "1", 0, "precision"),
        ("discrete_laplace", "0", 64, "t"),
        ("discrete_laplace", str(1 << 60), 64, "t"),
        ("discrete_gaussian", "0", 64, "sigma"),
        ("discrete_gaussian", "-3", 64, "sigma"),
        ("discrete_gaussian", str(1 << 70), 64, "sigma"),
        ("discrete_gaussian", "3", -1, "precision"),
    ]
    names = ("sampler", "parameter", "precision", "refused")
    return {"ring": Z64.name, "cases": [dict(zip(names, one, strict=True)) for one in given]}


def sampler_named(name: str) -> Callable[..., SecretArray]:
    """Return the function."""
    return {
        "geometric": geometric.geometric,
        "discrete_laplace": discrete_laplace.discrete_laplace,
        "discrete_gaussian": discrete_gaussian.discrete_gaussian,
    }[name]


def table_sum(name: str, parameter: Fraction, precision: int) -> TableSum:
    """Return the tables of a law."""
    if name == "discrete_gaussian":
        return discrete_gaussian._table_sum(parameter**2, precision)
    if name == "discrete_laplace":
        return discrete_laplace._table_sum(parameter, precision)
    return geometric._table_sum(parameter, precision)


def _recorded(program: Callable[[Party], Any]) -> tuple[list[str], Any]:
    """Run a program in the clear with bits of a fixed stream; return them, row by row in hexadecimal, and its result.

    Bit e of a row, the bit of element e, is bit e mod 8 of byte e div 8.
    """
    stream = Generator(SEED)
    asked: list[list[str]] = []

    def random(self: Boolean, rows: int, count: int) -> BitShare:
        size = -(-count // 8)
        drawn = np.frombuffer(stream.draw(rows * size).tobytes(), np.uint8).reshape(rows, size)
        bits = np.unpackbits(drawn, axis=1, bitorder="little")[:, :count]
        asked.append([row.tobytes().hex() for row in np.packbits(bits, axis=1, bitorder="little")])
        return self.constant(np.ascontiguousarray(bits))

    with mock.patch.object(PackedBoolean, "random", random):
        (result,) = run_scheme("clear", lambda s: program(Party(s, {})), parties=1).results
    return [row for rows in asked for row in rows], result


# --- files -----------------------------------------------------------------------------------------------

FILES: dict[str, Callable[[], Document]] = {
    "frames": frames,
    "bad_frames": bad_frames,
    "lines": lambda: lines(TERMS),
    "bad_lines": bad_lines,
    "shares": shares,
    "bad_shares": bad_shares,
    "samplers": samplers,
    "bad_samplers": bad_samplers,
    "certificates": certificates,
    "bad_certificates": bad_certificates,
}


def text_of(name: str) -> str:
    """Return what a file must hold."""
    text = json.dumps({"version": 1, **FILES[name]()}, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda plain: " ".join(plain[0].split()), text) + "\n"


if __name__ == "__main__":
    for name in FILES:
        (FOLDER / f"{name}.json").write_text(text_of(name), encoding="utf-8")
