"""The steps of a session that parties and dealer take alike, around the job's program.

A dealer takes part in each exchange with nothing to tell, and hears what the parties found: so it knows what to deal
next, in a new session as in a resumed one.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from cofit.errors import ProtocolError
from cofit.roles.jobs.job import Draw, Job, Outcome, Work
from cofit.secret import Party, SecretArray
from cofit.secret.release import release_once
from cofit.secret.stored import ReleaseStore

AGREED = "plan and contributions"
MOST_CHECKPOINTS = 2
"""A party keeps that many, and tells the others of them."""
_STORED, _CHECKPOINTS, _CHOSEN = "stored release", "checkpoints", "chosen checkpoint"
_ENTRY = struct.Struct("!q16s")
_NONE = _ENTRY.pack(-1, bytes(16))
NO_CHECKPOINTS = _NONE * MOST_CHECKPOINTS
Place = tuple[int, str]
"""A step, and the session (32 hexadecimal digits) that saved it: shares of different sessions do not fit."""


def agreed_names(owners: Iterable[str]) -> list[str]:
    """Return what the parties agree on when a session begins, as errors call it."""
    return ["the plan", "the certificate's date", *(f"the contribution of '{owner}'" for owner in owners)]


def discard_stored(party: Party, stored: bool, confirmed: bool) -> bool:
    """Whether some have stored a release, and all are to discard it. 2 rounds.

    So it is where some party lacks the stored shares and no party knows them to be stored everywhere. Why it is safe: a
    party opens only after a barrier that all reach after noting that all have stored. If one party that follows the
    protocol has no such note, no message of the opening was sent by any that does.
    """
    told = party.announce(_STORED, bytes([stored, confirmed]))
    discarded = not (any(noted for _, noted in told) or all(held for held, _ in told))
    party.agree(_STORED, b"" if party.deals else bytes([discarded]))
    return discarded and any(held for held, _ in told)


class Vault(Protocol):
    """Where one party keeps the stored shares of everything that a job releases: one store for each opening."""

    def store(self, number: int) -> ReleaseStore:
        """Return the store of the opening of that number, from 1."""

    def settle(self, party: Party, number: int) -> None:
        """Discard its stored shares where some party lacks them and none may have been opened (``discard_stored``)."""


def run_job(job: Job, work: Work, vault: Vault | None) -> Outcome:
    """Run the job's program; what it releases is stored and opened, once in all sessions. ``vault``: None at a dealer.

    The first opening was settled when the session began. A later one is settled when the program comes to it: until
    then all parties have opened the one before, so no party can have stored it in this session.
    """
    party, made = work.party, 0

    def release(draw: Draw) -> npt.NDArray[Any] | None:
        nonlocal made
        made += 1
        number, allowed = made, job.policy.allowed(made)

        def drawn() -> SecretArray:
            value = draw()
            if value.shape != allowed.drawn:
                raise ProtocolError(
                    f"The job computed a value of shape {value.shape}, and its policy allows {allowed.drawn}. "
                    "Nothing was opened."
                )
            party.progress("release", 0, 1)
            return value

        if number > 1:
            if vault is None:
                discard_stored(party, stored=False, confirmed=False)
            else:
                vault.settle(party, number)
        opened = release_once(
            party,
            drawn,
            None if vault is None else vault.store(number),
            reason=allowed.reason,
            key=release_key(job, number),
            to=None if allowed.learned_by == party.parties else allowed.learned_by,
            kept=allowed.kept,
        )
        party.progress("release", 1, 1)
        return None if party.deals or party.name not in allowed.learned_by else opened

    outcome = job.run(work, release)
    if made != len(job.policy.openings):
        raise ProtocolError(
            f"The job ended after {made} of the {len(job.policy.openings)} openings of its policy. All parties must "
            "make all of them, in order."
        )
    return outcome


def release_key(job: Job, number: int = 1) -> str:
    """Return the text that names what a job stores for the opening of that number."""
    return f"{job.hash} {job.study.hash}" + (f" opening {number}" if number > 1 else "")


def told_checkpoints(places: Collection[Place]) -> bytes:
    """Return the checkpoints of one party as it tells the others."""
    mine = [_ENTRY.pack(step, bytes.fromhex(session)) for step, session in places]
    return b"".join(mine) + _NONE * (MOST_CHECKPOINTS - len(mine))


def agreed_checkpoint(party: Party, mine: bytes) -> Place | None:
    """Return the last checkpoint that every party has; None if there is none. 2 rounds."""
    place = common_checkpoint(party.announce(_CHECKPOINTS, mine))
    party.agree(_CHOSEN, b"" if party.deals or place is None else f"{place[0]}.{place[1]}".encode())
    return place


def common_checkpoint(told: Sequence[bytes]) -> Place | None:
    """Return the last checkpoint that every party has announced."""
    common = set.intersection(*(set(_ENTRY.iter_unpack(message)) for message in told))
    return max(((step, session.hex()) for step, session in common if step >= 0), default=None)
