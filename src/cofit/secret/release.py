"""One release: a value that is drawn once, stored by every party, and only then opened.

Why: whoever sees two noisy versions of the same weights averages the noise away. So a release that may have been opened
must never be drawn again; a restart opens the stored shares of the first draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import ProtocolError, parameter_error
from cofit.secret.array import SecretArray
from cofit.secret.party import Party
from cofit.secret.stored import ReleaseStore, pack, unpack

_RECORD = b"cofitrel"
_NAME = "a stored release"
_LABEL = "release"


def release_once(
    party: Party,
    draw: Callable[[], SecretArray],
    store: ReleaseStore | None,
    *,
    reason: str,
    key: str,
    to: Sequence[str] | None = None,
    kept: int = 0,
) -> npt.NDArray[Any]:
    """Open one secret value, the same one however often the parties start again.

    draw: computes the value, noise included. Called only if no party has stored one.
    store: this party's own, empty or with the record of an earlier attempt at this release. None at a dealer, which
        holds no shares: it hears what the parties found, and takes part in ``draw``.
    key: public text that names the release (such as the study's hash and the run); a record of another key is refused.
    to: the parties that learn it, and None: all. At the others, as at a dealer, an empty array is returned.
    kept: of a vector, how many of its first elements are stored with the others and not opened, now or ever; all of it
        is stored in a fresh sharing then, which has nothing in common with the messages of this session.

    Every party looks into its store and tells all others what it found (1 round). Then:

    - Nobody holds a record: ``draw``, save the own share, meet at a barrier, note that all have saved
      (``ReleaseStore.confirm``), meet again (2 rounds in all), open. A party opens only after the second barrier, which
      falls only when every party has saved *and noted it*. So a value that anybody may have seen is stored, and known
      to be stored everywhere, at *every* party; finding no record anywhere means that nothing was opened yet.
    - Everybody holds a record of the same draw: check that the shares fit together (active schemes; 1 round), and open
      that. It is the same sharing of the same value, so that an interrupted opening and its repetition reveal no more
      than one.
    - Anything else: ProtocolError. It may be a crash while the parties saved, before anything was opened. But it looks
      the same when a record was deleted *after* the opening, which an adversary who wants a second draw can do at its
      own party; so nothing is drawn. As long as one party that tells the truth holds its record, no honest party draws.
      (A caller whose parties also keep the note of ``confirm`` may first discard records that nobody has confirmed,
      which cannot have been opened: ``roles.party.session`` does.)

    What the stores cannot prevent: a second draw after *all* parties have lost their records. Keep them as long as the
    data.

    Nobody learns more than the value. Rounds: those of ``draw``, 3, and an opening; 2 and an opening the second time.
    """
    if not isinstance(key, str) or not key.strip():
        raise parameter_error("key", "release_once", "text that names the release", key)
    if (store is None) != party.deals:
        raise parameter_error("store", "release_once", "a ReleaseStore at a party, and None at a dealer", store)
    scheme = party._scheme
    drawn_before, value = _stored(party, store, key)
    if not drawn_before:
        value = party.refreshed(draw()) if kept else draw()
        party.verify()
        if store is not None:
            header = {"key": key, "draw": scheme.mesh.terms.session.hex()}
            store.save(pack(_RECORD, header, party.export_share(value)))
        party.barrier(_LABEL)
    if store is not None:
        store.confirm()
    party.barrier(_LABEL)
    if value is None or (kept and kept == len(value)):
        return np.zeros(0)
    value = value[kept:] if kept else value
    opened = party.open(value, reason=reason) if to is None else party.open(value, reason=reason, to=to)
    return np.zeros(0) if opened is None else opened


def stored_value(party: Party, store: ReleaseStore | None, key: str) -> SecretArray | None:
    """Return what ``release_once`` has stored at all parties under this key, to compute with it; None at a dealer.

    ProtocolError where a party lacks it, or holds it of another draw. 1 round, and 1 more with an active scheme.
    """
    held, value = _stored(party, store, key)
    if not held:
        raise ProtocolError(f"No party has stored {key!r}: there is nothing to compute with.")
    return value


def _stored(party: Party, store: ReleaseStore | None, key: str) -> tuple[bool, SecretArray | None]:
    """Return whether all parties hold the same draw, and this one's share of it; raise unless all hold it, or none."""
    scheme = party._scheme
    data = None if store is None else store.load()
    found = None if data is None else _read(party, data, key)
    nothing = bytes(1 + len(scheme.mesh.terms.session))
    with scheme.agreeing_on(key):
        told = scheme.announce(_LABEL, nothing if found is None else b"\x01" + found[0])
    holds = [message != nothing for message in told]
    if any(holds) and len(set(told)) > 1:
        raise _unproven(party, key, holds)
    if found is not None:
        party.check_stored([found[1]])
    return any(holds), None if found is None else found[1]


def _read(party: Party, data: bytes, key: str) -> tuple[bytes, SecretArray]:
    """Return which draw a record comes from (the session that made it) and the value."""
    header, share = unpack(_RECORD, _NAME, ("key", "draw"), data)
    if header["key"] != key:
        raise parameter_error("key", _NAME, f"{key!r}, the release of this run", header["key"])
    size = len(party._scheme.mesh.terms.session)
    try:
        session = bytes.fromhex(header["draw"])
    except (TypeError, ValueError):
        session = b""
    if len(session) != size:
        raise parameter_error("draw", _NAME, f"{size} bytes in hexadecimal", header["draw"])
    return session, party.import_share(share)


def _unproven(party: Party, key: str, holds: list[bool]) -> ProtocolError:
    if all(holds):
        return ProtocolError(
            f"The parties hold records of different draws of release {key!r}, so nothing is opened. Restore at every "
            "party the record of the same draw."
        )
    holders = ", ".join(name for name, has in zip(party.parties, holds, strict=True) if has)
    others = ", ".join(name for name, has in zip(party.parties, holds, strict=True) if not has)
    return ProtocolError(
        f"Release {key!r} cannot be proven unopened: {holders} stored a record of it and {others} did not, or lost it. "
        "Nothing is drawn or opened, because noise that is drawn twice can be averaged away. Restore the missing "
        "records and start again. If they are lost, so is this release: another one needs another name (of the study, "
        "for example), and the privacy budget is charged for both."
    )
