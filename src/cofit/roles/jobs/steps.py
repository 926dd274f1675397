"""The steps of a session that parties and dealer take alike, around the job's program.

A dealer takes part in each exchange with nothing to tell, and hears what the parties found: so it knows what to deal
next, in a new session as in a resumed one.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cofit.errors import ProtocolError
from cofit.roles.jobs.job import Job, Work
from cofit.secret import Party, SecretArray
from cofit.secret.release import release_once
from cofit.secret.stored import ReleaseStore

AGREED = "plan and contributions"
_INTERVAL = 25
"""How often a checkpoint is kept where the study does not say."""
MOST_CHECKPOINTS = 2
"""A party keeps that many, and tells the others of them."""
_STORED, _CHECKPOINTS, _CHOSEN = "stored release", "checkpoints", "checkpoint"
_ENTRY = struct.Struct("!q16s")
_NONE = _ENTRY.pack(-1, bytes(16))
NO_CHECKPOINTS = _NONE * MOST_CHECKPOINTS
Place = tuple[int, str]
"""A step, and the session (32 hexadecimal digits) that saved it: shares of different sessions do not fit."""


def agreed_names(owners: Iterable[str]) -> list[str]:
    """Return what the parties agree on when a session begins, as errors call it."""
    return ["the plan", "the certificate's date", *(f"the contribution of '{owner}'" for owner in owners)]


def checkpoint_interval(job: Job) -> int:
    """Return how often a checkpoint is kept: after so many steps."""
    return job.study.compute.checkpoint_epochs or _INTERVAL


def discard_stored(party: Party, stored: bool, confirmed: bool) -> bool:
    """Whether all are to discard what they have stored. 2 rounds.

    So it is where some party lacks the stored shares and no party knows them to be stored everywhere. Why it is safe: a
    party opens only after a barrier that all reach after noting that all have stored. If one party that follows the
    protocol has no such note, no message of the opening was sent by any that does.
    """
    told = party.announce(_STORED, bytes([stored, confirmed]))
    discarded = not (any(noted for _, noted in told) or all(held for held, _ in told))
    party.agree(_STORED, b"" if party.deals else bytes([discarded]))
    return discarded


def release(job: Job, work: Work, store: ReleaseStore | None) -> npt.NDArray[np.float64]:
    """Release the job's value, once in all sessions, and return its numbers (at a dealer, which has no store, none)."""
    party, policy = work.party, job.policy

    def draw() -> SecretArray:
        value = job.value(work)
        if value.shape != policy.shape:
            raise ProtocolError(
                f"The job computed a value of shape {value.shape}, and its policy allows {policy.shape}. "
                "Nothing was opened."
            )
        party.progress("release", 0, 1)
        return value

    opened = release_once(party, draw, store, reason=policy.reason, key=f"{job.hash} {job.study.hash}")
    party.progress("release", 1, 1)
    return np.zeros(0) if party.deals else job.in_units(opened)


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
