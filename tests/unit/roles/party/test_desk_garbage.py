"""The desk and garbage: whatever is asked, the answer can be told, and nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cofit.errors import CofitError
from cofit.roles.files.manifest import DealtContribution
from cofit.roles.service.doors import answerable
from cofit.transport.strict_json import encode_header
from unit.roles.desks import FILE, Counter, make

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**19), 10**19)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("manifest", "upload", "file", "offset", "session", "contributions", "instead_of", "created")
KINDS = ("upload.begin", "upload.chunk", "upload.commit", "status", "model", "party.state", "party.hold", "party.begin")
PEERS = ("owner-a", "owner-b", "party-a", "party-b", "analyst", "stranger")
ALLOWED = {("status", peer) for peer in PEERS} | {("party.state", "party-a"), ("party.state", "party-b")}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Counter, DealtContribution]]:
    for counter in make(tmp_path_factory.mktemp("desk"), "horizontal"):
        yield counter, counter.begin("owner-a")


@given(
    kind=st.sampled_from(KINDS) | JSON,
    peer=st.sampled_from(PEERS),
    fields=st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), JSON, max_size=4),
    payload=st.binary(max_size=50),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_answered_with_an_error_that_can_be_told(
    begun: tuple[Counter, DealtContribution], kind: object, peer: str, fields: dict[str, Any], payload: bytes
) -> None:
    counter, _ = begun
    try:
        counter.desk.answer(peer, {**fields, "request": kind}, payload)
    except CofitError as error:
        told = answerable(error)
        assert told is not None
        encode_header(told)
    else:
        assert (kind, peer) in ALLOWED
    assert counter.files() == {}
    assert counter.state.phase == "collecting"


@given(field=st.sampled_from(["upload", "file", "offset", "payload"]), value=JSON)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_field_of_garbage_in_a_good_piece(
    begun: tuple[Counter, DealtContribution], field: str, value: object
) -> None:
    counter, dealt = begun
    good: dict[str, Any] = {"upload": dealt.manifest["upload"], "file": FILE, "offset": 0}
    payload = b"" if field == "payload" else b"x"
    if field != "payload" and value != good[field]:
        good[field] = value
        counter.refused("owner-a", "upload.chunk", payload, **good)
    assert counter.files() == {}


@given(
    path=st.sampled_from([("upload",), ("plan",), ("rows",), ("components",), ("components", FILE)])
    | st.tuples(st.just("components"), st.just(FILE), st.sampled_from(["ranks", "size", "sha256", "more"])),
    value=JSON,
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_field_of_garbage_in_a_good_manifest(
    begun: tuple[Counter, DealtContribution], path: tuple[str, ...], value: object
) -> None:
    counter, dealt = begun
    if path == ("rows",) and value is None:
        return

    def replaced(place: Any, steps: tuple[str, ...]) -> Any:
        return {**place, steps[0]: replaced(place.get(steps[0]), steps[1:])} if steps else value

    counter.refused("owner-a", "upload.begin", manifest=replaced(dealt.manifest, path))
    current = counter.state.upload("owner-a")
    assert current is not None
    assert current.upload == dealt.manifest["upload"]
