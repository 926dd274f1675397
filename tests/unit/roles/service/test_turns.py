"""Whose request is answered next."""

from __future__ import annotations

import threading
import time

from cofit.roles.service.turns import Turns


def served(first: list[tuple[str, bool]]) -> list[str]:
    """The order in which requests (peer, favoured) that all wait, in this order, get their turns."""
    turns, order, threads = Turns(), list[str](), list[threading.Thread]()

    def ask(peer: str, favoured: bool) -> None:
        with turns.turn(peer, favoured=favoured):
            order.append(peer)

    with turns.turn("nobody", favoured=False):
        for number, one in enumerate(first, start=1):
            threads.append(threading.Thread(target=ask, args=one))
            threads[-1].start()
            while len(turns._waiting) < number:
                time.sleep(0.001)
    for thread in threads:
        thread.join(10)
    return order


def test_peers_take_turns_however_much_one_asks() -> None:
    assert served([("a", False)] * 5 + [("b", False), ("c", False)])[:3] == ["a", "b", "c"]


def test_every_second_turn_is_of_a_favoured_request() -> None:
    flood = [(f"hostile-{number % 5}", False) for number in range(20)]
    order = served(flood + [("honest", True)] * 6)
    assert order[:12:2] == ["honest"] * 6
    assert order[12:] == [peer for peer in order[12:] if peer != "honest"]


def test_favoured_requests_do_not_keep_out_the_others() -> None:
    order = served([("honest", True)] * 6 + [("party", False), ("analyst", False)])
    assert sorted(order.index(peer) for peer in ("party", "analyst")) == [1, 3]


def test_an_error_ends_the_turn() -> None:
    turns = Turns()
    for _ in range(3):
        try:
            with turns.turn("a", favoured=False):
                raise ValueError
        except ValueError:
            pass
    assert turns._waiting == []
