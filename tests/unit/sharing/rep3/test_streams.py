"""The seeds of ``rep3``: each is known to two parties, depends on both of them, and on the session."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from support.runs import run_scheme
from support.views import watched


def halves() -> dict[tuple[str, str], bytes]:
    """What each party sent to each other one in the setup."""
    with watched() as views:
        run_scheme("rep3", lambda s: None)
    return {
        (sender, receiver): data
        for receiver, log in views.received.items()
        for sender, label, data in log
        if label == "setup"
    }


def test_no_half_of_a_seed_is_seen_by_the_third_party() -> None:
    exchanged = halves()
    assert len(exchanged) == 6
    assert len(set(exchanged.values())) == 6, "a party could compute the seed that it must lack"


def first_draws(session: bytes, halves_of: Callable[[int], bytes]) -> list[tuple[bytes, bytes]]:
    counter = iter(range(1000))
    fixed = mock.patch("cofit.sharing.rep3.streams.fresh_seed", side_effect=lambda: halves_of(next(counter)))
    token = mock.patch("support.runs.secrets.token_bytes", side_effect=lambda n: session[:n])
    with fixed, token:
        return run_scheme("rep3", lambda s: (s._own.draw(32).tobytes(), s._next.draw(32).tobytes())).results  # type: ignore[attr-defined]


def test_a_seed_depends_on_both_halves_and_on_the_session() -> None:
    def alike(number: int) -> bytes:
        return bytes([1] * 32)

    base = first_draws(bytes(16), alike)
    again = first_draws(bytes(16), alike)
    other_session = first_draws(bytes([9] * 16), alike)
    assert base == again
    assert all(
        a != b for pair, other in zip(base, other_session, strict=True) for a, b in zip(pair, other, strict=True)
    )
    for changed in range(6):
        others = first_draws(bytes(16), lambda number, c=changed: bytes([2 if number == c else 1] * 32))  # type: ignore[misc]
        moved = {draw for pair in others for draw in pair} - {draw for pair in base for draw in pair}
        assert len(moved) == 1, "one half is in one seed, and changes it for both holders"
