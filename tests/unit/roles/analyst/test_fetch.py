"""Fetching the model from a desk: in which pieces, and what an analyst does not believe."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from cofit.errors import PeerClosedError, TransportError
from cofit.roles.analyst import fetch as analyst
from cofit.roles.files.audit import read_audit
from cofit.roles.files.published import Release, largest_release
from cofit.roles.party.desk import PartyDesk
from cofit.roles.service import conversations
from cofit.study.statement import expected_certificate
from cofit.transport.conversation import MAX_PAYLOAD_BYTES
from unit.roles.desks import Counter, planned


def nobody(party: str) -> Any:
    raise AssertionError(f"{party} is not to be called")


class Line:
    """A conversation of an analyst with a desk, without a network; ``twist`` may change what is answered."""

    def __init__(self, desk: PartyDesk, twist: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]) -> None:
        self.peer = "party-c"
        self.asked = 0
        self._desk = desk
        self._twist = twist

    def request(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        self.asked += 1
        header, content = self._twist(*self._desk.answer("analyst", request, b""))
        assert len(content) <= MAX_PAYLOAD_BYTES
        return header, content


def release_at(counter: Counter, weights: int) -> Release:
    job = planned("horizontal")
    small = expected_certificate(job.study, job.plan)
    stated = small.minimiser
    assert stated is not None
    (one,) = small.releases  # twice the sensitivity: room for the rounding of more weights
    doubled = replace(one, dimension=weights, sensitivity=2 * one.sensitivity, scale=2 * one.scale)
    certificate = replace(
        small,
        d=weights,
        statement=replace(stated, sensitivity_total=2 * stated.sensitivity_total, noise_scale=2 * stated.noise_scale),
        noise_expected_norm=2 * small.noise_expected_norm * math.sqrt(weights / small.d),
        releases=(doubled,),
    )
    release = Release(tuple((np.arange(weights) / 7 + 0.1).tolist()), certificate)
    (counter.folder / "state" / "published.json").write_text(release.to_json())
    counter.state.advance("released")
    return release


def test_a_model_of_any_size_comes_in_pieces(horizontal: Counter) -> None:
    release = release_at(horizontal, 500_000)
    line: Any = Line(horizontal.desk, lambda header, content: (header, content))
    text = analyst.Copy(nobody, "party-c", largest_release(500_000)).text(line)
    assert len(text) > 2 * MAX_PAYLOAD_BYTES
    assert Release.from_json(text) == release
    assert line.asked == -(-len(text) // MAX_PAYLOAD_BYTES)
    fetched = [r for r in read_audit(horizontal.folder / "state" / "audit.jsonl") if r["event"] == "model fetched"]
    assert len(fetched) == 1
    for offset in (len(text), 1 << 63):
        header, content = horizontal.desk.answer("analyst", {"request": "model", "offset": offset}, b"")
        assert (header, content) == ({"size": len(text)}, b"")


@pytest.mark.parametrize(
    "twist",
    [
        lambda header, content: ({"size": 1 << 40}, content),
        lambda header, content: ({"size": 5}, content),
        lambda header, content: ({"size": 0}, b""),
        lambda header, content: ({"size": True}, content),
        lambda header, content: ({}, content),
        lambda header, content: (header, b""),
        lambda header, content: (header, content + b"x"),
        lambda header, content: (header, b"\xff" * len(content)),
    ],
)
def test_a_party_that_sends_anything_else_is_named(horizontal: Counter, twist: Any) -> None:
    """Nothing more is taken in than a release can have, and nobody is asked for ever."""
    release_at(horizontal, 1000)
    line: Any = Line(horizontal.desk, twist)
    with pytest.raises(TransportError, match="What 'party-c' sends"):
        analyst.Copy(nobody, "party-c", largest_release(1000)).text(line)
    assert line.asked == 1


def test_a_broken_connection_is_opened_again_and_nothing_is_fetched_twice(
    horizontal: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also many times, for as long as it gets further each time; and not for ever where it does not."""
    monkeypatch.setattr(conversations, "_PAUSES", (0.0, 0.0, 0.0))
    release = release_at(horizontal, 1000)
    (horizontal.folder / "state" / "signature.json").write_text('{"signature": "signed"}')
    text = (horizontal.folder / "state" / "published.json").read_text()
    assert Release.from_json(text) == release
    offsets: list[int] = []

    class Cut(Line):
        def __init__(self, piece: int) -> None:
            super().__init__(horizontal.desk, lambda header, content: (header, content[:piece]))

        def request(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
            if self.asked:
                raise PeerClosedError("party-c", "The connection was cut.")
            offsets.append(request.get("offset", -1))
            return super().request(request)

    size = len(text.encode()) // 9
    copy = analyst.Copy(lambda _: contextlib.nullcontext(cast("Any", Cut(size))), "party-c", largest_release(1000))
    with pytest.raises(TransportError, match="broke 4 times"):  # the signature never fits into such a connection
        copy.fetch()
    assert offsets[:10] == [size * number for number in range(10)]
    monkeypatch.setattr(Cut, "asked", property(lambda _: 0, lambda *_: None), raising=False)
    assert copy.fetch() == (text, "signed")


@pytest.mark.parametrize("offset", [None, -1, True, 1.0, "0"])
def test_offsets_of_a_model(horizontal: Counter, offset: object) -> None:
    release_at(horizontal, 10)
    assert "'offset'" in horizontal.refused("analyst", "model", offset=offset)
