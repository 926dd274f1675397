"""Test vectors: the files are what the code gives; good ones are computed once more by hand, bad ones are refused."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cofit import errors
from cofit.arithmetic import Z64
from cofit.errors import InvalidInputError, TransportError
from cofit.learn.rebuild import rebuilt_plan
from cofit.privacy.certificate import Certificate
from cofit.secret import Party
from cofit.sharing import Scheme
from cofit.transport.channel import Channel
from cofit.transport.memory import Bell, MemoryLink, Pipe
from cofit.transport.terms import Refusal, judge_hello
from support import certificate_vectors, vectors
from support.runs import run_scheme


def read(name: str) -> Any:
    return json.loads((vectors.FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", vectors.FILES)
def test_the_files_are_what_the_code_gives(name: str) -> None:
    stored = (vectors.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert stored == vectors.text_of(name), "A format has changed: if that is meant, run `make vectors`."


def test_every_file_is_made_and_described() -> None:
    names = {path.stem for path in vectors.FOLDER.glob("*.json")}
    assert names == set(vectors.FILES)
    text = (vectors.FOLDER / "README.md").read_text()
    assert all(f"{name}.json" in text for name in names)


# --- frames ----------------------------------------------------------------------------------------------


def test_frames_by_hand() -> None:
    given = read("frames")
    names = b"7:party-b7:party-a"
    agreed = bytes.fromhex(given["session"]) + bytes.fromhex(given["study"])
    tag = hashlib.sha256(b"cofit channel" + agreed + names).digest()[:8]
    kinds = {"HELLO": 1, "REFUSE": 2, "DATA": 3, "ABORT": 4, "WAITING": 5}
    for one in given["frames"]:
        frame, kind = bytes.fromhex(one["frame"]), one["kind"]
        greeting = kind in ("HELLO", "REFUSE")
        sequence = {"HELLO": 0, "REFUSE": 1}.get(kind, one.get("sequence"))
        label = zlib.crc32(one["label"].encode()) if kind == "DATA" else 0
        payload = frame[given["header_bytes"] :]
        assert frame[:8] == b"cfit\0\1" + bytes([kinds[kind], 0])
        assert frame[8:12] == label.to_bytes(4)
        assert frame[12:20] == (bytes(8) if greeting else tag)
        assert frame[20:36] == sequence.to_bytes(8) + len(payload).to_bytes(8)
        assert payload == hand_made_payload(given, one, payload)


def hand_made_payload(given: dict[str, Any], one: dict[str, Any], payload: bytes) -> bytes:
    def text(value: str, size: int = 0) -> bytes:
        raw = value.encode()
        return bytes([len(raw)]) + raw.ljust(size, b"\0")

    if one["kind"] == "HELLO":
        names = b"".join(text(given[name], 64) for name in ("scheme", "sender", "addressee"))
        return bytes.fromhex(given["session"]) + bytes.fromhex(given["study"]) + names
    if one["kind"] == "REFUSE":
        return bytes([one["code"]])
    if one["kind"] == "DATA":
        return bytes(range(len(payload)))
    return text(one["culprit"]) + str(one.get("reason", "")).encode()


def awaiting(due: dict[str, Any]) -> tuple[Channel, MemoryLink, bytearray]:
    """The addressee's channel where the due frame is the next, and the sender's end."""
    bell = Bell()
    there, back = Pipe(bell, bell), Pipe(bell, bell)
    channel = Channel(MemoryLink(back, there), vectors.ADDRESSEE, vectors.SENDER, vectors.TERMS)
    channel._receive_turn = due["sequence"]
    target = bytearray(due["length"])
    channel.expect(due["label"], zlib.crc32(due["label"].encode()), memoryview(target))
    return channel, MemoryLink(there, back), target


def test_the_frame_that_is_due_is_taken() -> None:
    data = next(one for one in read("frames")["frames"] if one["kind"] == "DATA")
    channel, sender, target = awaiting(read("bad_frames")["due"])
    sender.queue((bytes.fromhex(data["frame"]),))
    assert sender.pump_send()
    assert channel.pump_receive()
    assert target == bytes(range(24))


@pytest.mark.parametrize("bad", read("bad_frames")["frames"], ids=lambda bad: bad["why"])
def test_bad_frames_are_refused(bad: dict[str, str]) -> None:
    channel, sender, target = awaiting(read("bad_frames")["due"])
    sender.queue((bytes.fromhex(bad["frame"]),))
    sender.pump_send()
    with pytest.raises(TransportError) as info:
        channel.pump_receive()
    assert type(info.value) is getattr(errors, bad["error"])
    assert not any(target)


@pytest.mark.parametrize("bad", read("bad_frames")["hellos"], ids=lambda bad: bad["why"])
def test_bad_hellos_are_refused(bad: dict[str, str]) -> None:
    refusal = judge_hello(bytes.fromhex(bad["payload"]), vectors.TERMS, vectors.ADDRESSEE, vectors.SENDER)
    assert refusal is Refusal[bad["refusal"]]


# --- shares ----------------------------------------------------------------------------------------------


def keystream(key: bytes, size: int) -> bytes:
    return Cipher(AES(key), CTR(bytes(16))).encryptor().update(bytes(size))


def numbers(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]


@pytest.mark.parametrize("case", read("shares")["cases"], ids=lambda c: f"{c['scheme']}-{c['parties']}-{c['ring']}")
def test_shares_by_hand(case: dict[str, Any]) -> None:
    width = {"Z_2^64": 8, "Z_2^128": 16}[case["ring"]]
    count, modulus = len(case["values"]), 1 << (8 * width)
    total = [0] * count
    holders: dict[int, tuple[int, ...]] = {}
    for component in case["components"]:
        kind, _, number = component["name"].partition("_")
        content = bytes.fromhex(component["content"])
        holders[int(number)] = tuple(component["ranks"])
        if kind == "seed":
            info = f"{case['scheme']} summand {number}".encode()
            assert content == HKDF(SHA256(), 32, None, info).derive(bytes.fromhex(read("shares")["seed"]))
            content = keystream(content, count * width)
        total = [(a + b) % modulus for a, b in zip(total, numbers(content, width), strict=True)]
    assert total == [int(value) % modulus for value in case["values"]]
    everybody = range(case["parties"])
    held = {
        "clear": {0: tuple(everybody)},
        "rep3": {j: tuple(sorted((j, (j - 1) % 3))) for j in range(3)},
        "rep4": {j: tuple(i for i in everybody if i != j) for j in range(4)},
        "repn": dict(enumerate(combinations(everybody, case["parties"] // 2 + 1))),
        "semi2k": {j: (j,) for j in everybody},
        "shamir": dict(enumerate(combinations(everybody, case["parties"] // 2 + 1))),
    }
    assert holders == held[case["scheme"]]
    for pair in case["common"]:
        assert digest(case["components"], *pair["ranks"]).hex() == pair["digest"]


SHAMIR = [case for case in read("shares")["cases"] if case["scheme"] == "shamir"]
Polynomial = list[int]


def times(a: Polynomial, b: Polynomial, modulus: int) -> Polynomial:
    """A product in Z_M[X]/(X^2 + X + 1) or Z_M[X]/(X^3 + X + 1), by the number of coefficients."""
    product = [sum(a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b)) for k in range(2 * len(a) - 1)]
    for top in reversed(range(len(a), len(product))):
        product[top - len(a)] -= product[top]
        product[top - len(a) + 1] -= product[top]
    return [c % modulus for c in product[: len(a)]]


def inverse(a: Polynomial, modulus: int) -> Polynomial:
    """a^(-1): modulo 2 all elements but 0 have the order 2^m - 1; then Newton's steps double the digits."""
    found = a
    for _ in range(2 ** len(a) - 3):
        found = times(found, a, 2)
    for _ in range(8):
        error = [-c for c in times(a, found, modulus)]
        error[0] += 2
        found = times(found, error, modulus)
    assert times(a, found, modulus) == [1] + [0] * (len(a) - 1)
    return found


@pytest.mark.parametrize("case", SHAMIR, ids=lambda c: f"{c['parties']}-{c['ring']}")
def test_polynomials_of_shamir_by_hand(case: dict[str, Any]) -> None:
    """A summand times the polynomial that is 1 at 0 and vanishes at the points of all who do not have it."""
    width = {"Z_2^64": 8, "Z_2^128": 16}[case["ring"]]
    count, modulus, degree = len(case["values"]), 1 << (8 * width), {3: 2, 5: 3}[case["parties"]]
    points = [[(rank + 1) >> i & 1 for i in range(degree)] for rank in range(case["parties"])]
    for share in case["shares"]:
        total = [[0] * degree for _ in range(count)]
        for component in case["components"]:
            factor = [1] + [0] * (degree - 1)
            for other in set(range(case["parties"])) - set(component["ranks"]):
                apart = [a - b for a, b in zip(points[other], points[share["rank"]], strict=True)]
                factor = times(factor, times(apart, inverse(points[other], modulus), modulus), modulus)
            if share["rank"] not in component["ranks"]:
                assert not any(factor)
                continue
            content = bytes.fromhex(component["content"])
            if component["name"].startswith("seed"):
                content = keystream(content, count * width)
            for i, value in enumerate(numbers(content, width)):
                total[i] = [(a + value * b) % modulus for a, b in zip(total[i], factor, strict=True)]
        held = [numbers(bytes.fromhex(part), width) for part in share["coefficients"]]
        assert [list(column) for column in zip(*held, strict=True)] == total


def digest(components: list[dict[str, Any]], first: int, second: int, changed: str = "") -> bytes:
    """What two parties compare; ``changed``: a component of which one got another first byte."""
    text = b""
    for component in components:
        if first in component["ranks"] and second in component["ranks"]:
            content = bytearray.fromhex(component["content"])
            content[0] ^= component["name"] == changed
            text += hashlib.sha256(content).digest()
    return hashlib.sha256(text).digest()


@pytest.mark.parametrize("case", read("bad_shares")["cases"], ids=lambda c: f"{c['scheme']}-{c['changed']}")
def test_parties_that_got_different_components_notice(case: dict[str, Any]) -> None:
    others = [rank for rank in range(case["parties"]) if rank != case["odd"]]
    differ = [
        rank
        for rank in others
        if digest(case["components"], case["odd"], rank)
        != digest(case["components"], case["odd"], rank, case["changed"])
    ]
    assert differ == case["notice"]
    assert differ, "somebody must notice"


# --- samplers --------------------------------------------------------------------------------------------


def columns(rows: list[str]) -> list[int]:
    """The rows as integers: bit e belongs to draw e."""
    return [int.from_bytes(bytes.fromhex(row), "little") for row in rows]


def coin(rows: list[int], bias: int, draw: int) -> int:
    place = next((p for p, row in enumerate(rows) if not row >> draw & 1), None)
    return 0 if place is None else bias >> (len(rows) - 1 - place) & 1


def test_coins_by_hand() -> None:
    given = read("samplers")["coins"]
    precision, rows = given["precision"], columns(given["bits"])
    for text, bias, draws in zip(given["probabilities"], given["thresholds"], given["draws"], strict=True):
        exact = Fraction(text) * 2**precision
        assert abs(bias - exact) <= Fraction(1, 2)
        if 0 < bias < 1 << precision:
            word, rows = rows[:precision], rows[precision:]
            assert draws == [coin(word, bias, draw) for draw in range(64)]
        else:
            assert set(draws) == {int(bias > 0)}
    assert not rows


def test_uniform_draws_by_hand() -> None:
    given = read("samplers")["uniform"]
    rows = columns(given["bits"])
    assert given["draws"] == [1 + sum((row >> draw & 1) << j for j, row in enumerate(rows)) for draw in range(64)]


@pytest.mark.parametrize("given", read("samplers")["tables"], ids=lambda g: f"{g['sampler']}-{g['parameter']}")
def test_draws_from_tables_by_hand(given: dict[str, Any]) -> None:
    index, precision, rows = given["index_bits"], given["precision"], columns(given["bits"])
    assert len(rows) == index + precision
    for draw in range(64):
        total = given["offset"]
        for i, table in enumerate(given["tables"]):
            place = 64 * i + draw
            slot = sum((row >> place & 1) << j for j, row in enumerate(rows[:index]))
            own = coin(rows[index:], int(table["own"][slot]), place)
            number = slot if own else table["alias"][slot]
            total += (number & ((1 << table["width"]) - 1)) << table["place"]
        assert total == given["draws"][draw]


@pytest.mark.parametrize("bad", read("bad_samplers")["cases"], ids=lambda b: f"{b['sampler']}-{b['parameter'][:9]}")
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    def program(s: Scheme) -> None:
        sampler = vectors.sampler_named(bad["sampler"])
        with pytest.raises(InvalidInputError, match=f"The '{bad['refused']}' parameter"):
            sampler(Party(s, {}), (1,), Fraction(bad["parameter"]), Z64, precision=bad["precision"])

    run_scheme("clear", program, parties=1)


# --- certificates ----------------------------------------------------------------------------------------


def exact_numbers(value: Any) -> Iterator[tuple[Fraction, float]]:
    """Every number of a document that is stated exactly, with the float beside it."""
    if isinstance(value, dict):
        if set(value) == {"exact", "float"}:
            yield Fraction(value["exact"]), value["float"]
        else:
            for inner in value.values():
                yield from exact_numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from exact_numbers(inner)


@pytest.mark.parametrize("case", read("certificates")["cases"], ids=lambda c: c["case"])
def test_certificates_by_hand(case: dict[str, Any]) -> None:
    document = case["certificate"]
    numbers = list(exact_numbers(document))
    assert len(numbers) > 5
    assert all(float(exact) == rounded for exact, rounded in numbers)
    rows = [shapes["features"][0] for shapes in document["owners"].values()]
    assert document["n"] == (sum(rows) if document["partition"] == "horizontal" else rows[0])
    epsilon, total = document["epsilon"]["float"], document["delta_total"]["float"]
    moved = [
        Fraction(release["sensitivity"]["exact"]) / Fraction(release["scale"]["exact"])
        for release in document["releases"]
    ]
    if document["rule"] == "pure":
        assert 0.999 * epsilon < float(sum(moved)) <= epsilon
    else:
        assert document["rule"] == "gdp"
        mu = math.sqrt(sum(one**2 for one in moved))
        delta = normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
        assert 0.99 * total < delta <= total


def normal(x: float) -> float:
    """The distribution function of the normal law."""
    return math.erfc(-x / math.sqrt(2)) / 2


@pytest.mark.parametrize("case", read("certificates")["cases"], ids=lambda c: c["case"])
def test_certificates_are_read_and_made_again(case: dict[str, Any]) -> None:
    text = json.dumps(case["certificate"])
    certificate = Certificate.from_json(text)
    assert json.loads(certificate.to_json()) == case["certificate"]
    plan = rebuilt_plan(certificate)
    assert plan is not None
    assert plan.hash == case["certificate"]["plan_hash"]


@pytest.mark.parametrize(
    "bad", read("bad_certificates")["cases"], ids=lambda b: f"{b['case']}: {'.'.join(map(str, b['place']))}"
)
def test_forged_certificates_are_refused(bad: dict[str, Any]) -> None:
    good = next(c["certificate"] for c in read("certificates")["cases"] if c["case"] == bad["case"])
    forged = certificate_vectors.changed(good, bad["place"], bad["value"])
    with pytest.raises(InvalidInputError, match="parameter of a certificate must be") as info:
        rebuilt_plan(Certificate.from_json(json.dumps(forged)))
    assert str(info.value).split("'")[1] == bad["refused"]


def test_every_forgery_is_there() -> None:
    assert len(read("bad_certificates")["cases"]) == len(certificate_vectors.FORGED)
