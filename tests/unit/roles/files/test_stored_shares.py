"""Stored shares: they come back in another run, and everything else is refused by the name of its field."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
import pytest

from cofit import Z128, FixedPoint, Party, SecretArray, run_local
from cofit.arithmetic import F61
from cofit.errors import InvalidInputError, PartyFailedError

SCHEMES = pytest.mark.parametrize("scheme", ["rep3", "clear"])
FORMATS = [FixedPoint(24), FixedPoint(0), FixedPoint(100, Z128), FixedPoint(24, F61)]
SHAPES = [(), (3,), (2, 0), (2, 3, 2)]


def exported(value: Any, scheme: str = "rep3", format: FixedPoint = FORMATS[0], bound: float = 7.0) -> dict[str, bytes]:
    """Every party's stored share of a value that party-b held."""

    def program(party: Party) -> bytes:
        mine = value if party.name == "party-b" else None
        return party.export_share(party.share("party-b", mine, np.shape(value), format, bound))

    return dict(run_local(program, scheme=scheme).results)


def rewritten(data: bytes, **fields: object) -> bytes:
    """The same record with other header fields, and a checksum that fits."""
    kind, version, length = struct.unpack_from("<8sHI", data)
    header = json.loads(data[14 : 14 + length]) | fields
    text = json.dumps({name: v for name, v in header.items() if v is not ...}).encode()
    content = struct.pack("<8sHI", kind, version, len(text)) + text + data[14 + length : -32]
    return content + hashlib.sha256(content).digest()


def sealed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


def refusal(data: bytes, scheme: str = "rep3", parties: int = 3) -> str:
    """Import at the party of rank 1 alone, and return what it says."""

    def program(party: Party) -> None:
        if party.rank == 1:
            party.import_share(data)

    with pytest.raises(PartyFailedError) as info:
        run_local(program, scheme=scheme, parties=parties)
    error = info.value.failures["party-b"]
    assert isinstance(error, InvalidInputError)
    return str(error)


@SCHEMES
@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_share_comes_back_in_another_run(scheme: str, format: FixedPoint, shape: tuple[int, ...]) -> None:
    value = np.random.default_rng(1).integers(-7, 8, shape) * (1.0 if format.fraction_bits else 1)
    stored = exported(value, scheme, format)

    def program(party: Party) -> tuple[Any, ...]:
        back = party.import_share(stored[party.name])
        assert isinstance(back, SecretArray)
        doubled = party.open(back + back, reason="test")
        return party.open(back, reason="test"), doubled, back.format, back.integer_limit

    for opened, doubled, found, limit in run_local(program, scheme=scheme).results.values():
        assert opened.shape == shape
        assert (opened == value).all()
        assert (doubled == 2 * value).all()
        assert (found, limit) == (format, 7 << format.fraction_bits)


def test_a_view_is_stored_as_what_it_shows() -> None:
    def program(party: Party) -> Any:
        x = party.constant(np.arange(6.0).reshape(2, 3), FixedPoint(24))
        return party.open(party.import_share(party.export_share(x.T[1:])), reason="test")

    assert (run_local(program).results["party-a"] == np.arange(6.0).reshape(2, 3).T[1:]).all()


def test_one_record_of_rep3_says_nothing_of_the_value() -> None:
    """Of two fixed values, no party's record holds the encoding, and two records of one value share no element."""
    first, second = exported([1.0, 2.0]), exported([1.0, 2.0])
    for name in ("party-a", "party-b", "party-c"):
        bodies = [set(np.frombuffer(stored[name][-64:-32], "<u8").tolist()) - {0} for stored in (first, second)]
        assert not bodies[0] & bodies[1]
        assert not (bodies[0] | bodies[1]) & {1 << 24, 2 << 24}


def test_facts_are_readable_and_little_endian() -> None:
    data = exported([1.0], "clear")["party-b"]
    kind, version, length = struct.unpack_from("<8sHI", data)
    assert (kind, version) == (b"cofitshr", 1)
    assert json.loads(data[14 : 14 + length]) == {
        "scheme": "clear", "rank": 1, "parties": 3, "ring": "Z_2^64", "fraction_bits": 24, "shape": [1],
        "limit": 7 << 24,
    }  # fmt: skip
    assert data[14 + length : -32] == (1 << 24).to_bytes(8, "little")


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shares() -> dict[str, bytes]:
    return exported([1.0, 2.0])


def test_other_rank_scheme_and_number_of_parties(shares: dict[str, bytes]) -> None:
    assert "'rank' parameter of a stored share must be 1" in refusal(shares["party-a"])
    assert "'scheme' parameter of a stored share must be 'clear'" in refusal(shares["party-b"], "clear")
    clear = exported([1.0], "clear")["party-b"]
    assert "'parties' parameter of a stored share must be 2" in refusal(clear, "clear", parties=2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scheme", None),
        ("rank", True),
        ("rank", "1"),
        ("parties", [3]),
        ("ring", "Z_2^32"),
        ("ring", ["Z_2^64"]),
        ("fraction_bits", 63),
        ("fraction_bits", -1),
        ("fraction_bits", 24.0),
        ("limit", 1 << 62),
        ("limit", -1),
        ("limit", "7"),
        ("shape", 2),
        ("shape", [-2]),
        ("shape", [2.0]),
        ("shape", [True, 2]),
        ("shape", [0, 1 << 47, 1 << 47]),
        ("shape", [1] * 64),
    ],
    ids=str,
)
def test_fields_out_of_their_domain(shares: dict[str, bytes], field: str, value: object) -> None:
    assert f"'{field}' parameter of a stored share" in refusal(rewritten(shares["party-b"], **{field: value}))


@pytest.mark.parametrize("shape", [[3], [1], [0], [1 << 40], []], ids=str)
def test_shapes_that_do_not_fit_the_body(shares: dict[str, bytes], shape: list[int]) -> None:
    assert "'body' parameter" in refusal(rewritten(shares["party-b"], shape=shape))


def test_headers_that_are_none(shares: dict[str, bytes]) -> None:
    good = shares["party-b"]
    assert "'header' parameter" in refusal(rewritten(good, limit=...))
    assert "'header' parameter" in refusal(rewritten(good, extra=1))
    for text in (b"", b"[]", b"{", b"[" * 50_000, b"1" * 50_000, b"\xff"):
        assert "'header' parameter" in refusal(sealed(struct.pack("<8sHI", b"cofitshr", 1, len(text)) + text))
    assert "'header' parameter" in refusal(sealed(struct.pack("<8sHI", b"cofitshr", 1, 1 << 31) + b"{}"))


def test_other_kinds_and_versions(shares: dict[str, bytes]) -> None:
    good = shares["party-b"]
    assert "'kind' parameter" in refusal(b"somebody" + good[8:])
    assert "'version' parameter of a stored share must be 1" in refusal(good[:8] + b"\x02" + good[9:])
    assert "'kind' parameter" in refusal(bytes(500))


def test_damage_and_truncation_anywhere(shares: dict[str, bytes]) -> None:
    good = shares["party-b"]

    def program(party: Party) -> int:
        if party.rank != 1:
            return 0
        refused = 0
        for length in range(len(good)):
            with pytest.raises(InvalidInputError, match=r"'(length|checksum)' parameter"):
                party.import_share(good[:length])
            damaged = bytearray(good)
            damaged[length] ^= 1 << length % 8
            with pytest.raises(InvalidInputError, match=r"'(kind|version|checksum)' parameter"):
                party.import_share(bytes(damaged))
            refused += 1
        with pytest.raises(InvalidInputError, match="'checksum' parameter"):
            party.import_share(good + b"\0")
        return refused

    assert run_local(program).results["party-b"] == len(good)


def test_only_arrays_are_exported() -> None:
    with pytest.raises(PartyFailedError, match="'value' parameter of export_share must be a SecretArray"):
        run_local(lambda party: party.export_share(party.random_secret_bits((3,))))  # type: ignore[arg-type]


def test_what_is_no_element_of_the_ring_is_refused() -> None:
    record = exported(np.array([1.5]), format=FixedPoint(24, F61))["party-b"]
    assert "'body'" in refusal(sealed(record[:-40] + b"\xff" * 8))
