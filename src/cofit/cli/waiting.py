"""Whom a command waits for: one line about each party that does not answer."""

from __future__ import annotations

import threading

import click

from cofit.roles.service.conversations import Waiting
from cofit.study.agreement import Agreement


def say_waiting(study: Agreement) -> Waiting:
    """Return what tells, on the standard error and once for each, of a party or dealer that does not answer."""
    dealers = [] if study.dealer is None else [study.dealer]
    addresses = {one.name: f"{one.host}:{one.port}" for one in (*study.parties, *dealers)}
    told: set[str] = set()
    lock = threading.Lock()

    def tell(party: str, seconds: float) -> None:
        with lock:
            if party in told:
                return
            told.add(party)
        click.echo(
            f"Waiting for '{party}' at {addresses[party]}, which does not answer, for up to {seconds:g} s.", err=True
        )

    return tell
