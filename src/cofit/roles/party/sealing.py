"""How the parties come to seal the same contributions, whatever the owners do meanwhile.

An owner may replace its contribution at every party until that party has sealed. So it can replace it at one party
alone, between the leader's question and the leader's invitation. If that party then had nothing but the new one, the
leader would have sealed what the other can never have again. Hence parties *hold* what they have told the leader. A set
is {owner: hash of its manifest}, of all owners.

1. ``party.state``: the leader, which has the set S complete, asks every other party which set it has, and which it
   holds.
2. ``party.hold`` names S, and the set H that the party has told to hold, if that is another one. The party notes
   durably that it holds S, and then answers. From now on an owner's replacement is taken as before, but the upload that
   belongs to S is set aside instead of being deleted. Refused where S is not complete here, and where another set than
   S and H is held.
3. When all others hold S the leader seals S, durably, if it still has it.
4. ``party.begin`` names S. A party that holds S takes it back, drops what owners have sent since, and seals.

Why all seal the same: the leader seals once, and the others seal what it names after it has sealed.

Why no owner can stop it: when the leader seals S, all others hold S. A party lets go of a set H only for a message that
names H as the one to let go. The leader sends that while it has sealed nothing and has another set than H. At the
leader an upload that was replaced never comes back (``Desk._retire``), so it never has H again and never seals it: the
message stays true however late it arrives, and however often.

Why a kill at any moment does no harm: each step is one transaction, made before it is answered, and files are deleted
after the transaction that no longer speaks of them. A leader that starts again repeats the steps with the set it has;
if it has sealed S, all others hold S or have sealed it. Nothing waits for a time limit.

What it costs: one more request to each party before the first session, and at each party but the leader room for one
complete set beside the current one. Owners notice nothing: they are refused nothing before the sealing. One that
follows the protocol announces a replacement to the leader first, so either the leader can no longer seal S, or the
owner is refused there and changes nothing anywhere.

A dishonest leader could name a set that is held although its owners have replaced it everywhere since. So with a
scheme that withstands active corruption nothing is taken back (``take_back`` false): a party seals only what it has
now. With an honest leader and honest owners that is always S; a dishonest owner can then hinder the sealing, which ends
the study and no more, as everybody who may cheat can.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from cofit.errors import parameter_error
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.manifest import manifest_hash
from cofit.roles.files.published import is_date
from cofit.roles.party.state import PartyState, Upload
from cofit.roles.service.doors import RefusedError


class Sealing:
    """The contributions of one party as sets: complete, held, sealed. While ``lock`` is taken nothing is replaced."""

    def __init__(self, owners: Collection[str], state: PartyState, audit: AuditFile, *, take_back: bool = True) -> None:
        self.lock = threading.Lock()
        self._may_take_back = take_back
        self._owners = owners
        self._state = state
        self._audit = audit
        self._compared: dict[str, dict[str, str]] = {}
        self._told: dict[tuple[str, str], str] = {}  # whatever a party answers next, once for each contribution here

    def ready(self) -> dict[str, str] | None:
        """Return the set that is complete here, of the same rows; None if there is none."""
        uploads = {owner: self._state.upload(owner) for owner in self._owners}
        if any(upload is None or not upload.committed for upload in uploads.values()):
            return None
        return None if any(map(self.other_rows, self._owners)) else _hashes(uploads)

    def held(self) -> dict[str, str] | None:
        """Return the set that is held here, if any."""
        return _hashes(self._state.held()) or None

    def other_rows(self, owner: str) -> list[str]:
        """Return the owners whose complete contributions are of other rows than what this owner has announced."""
        mine = self._state.upload(owner)
        if mine is None:
            return []
        others = {other: self._state.upload(other) for other in self._owners if other != owner}
        return [
            other
            for other, upload in others.items()
            if upload is not None
            and upload.committed
            and upload.manifest["common"]["rows"] != mine.manifest["common"]["rows"]
        ]

    def compare(self, party: str, mine: Mapping[str, str], theirs: Mapping[str, object]) -> list[str]:
        """Return the owners that announced another contribution to ``party`` than here; nothing is sealed meanwhile.

        The audit log names them, once for each contribution here, and ``differs`` is true of them until they repeat it.
        """
        differing = {owner: mine[owner] for owner in sorted(mine) if theirs.get(owner) != mine[owner]}
        if new := [owner for owner, one in differing.items() if self._told.get((party, owner)) != one]:
            self._audit.note("shares differ", party, owners=new, party=party)
            self._told |= {(party, owner): differing[owner] for owner in new}
        self._compared[party] = differing
        return list(differing)

    def differs(self, owner: str) -> bool:
        """Whether what is here of an owner is not what another party had of it when the two were last compared."""
        upload = self._state.upload(owner)
        if upload is None or self._state.phase != "collecting":
            return False
        here = manifest_hash(upload.manifest["common"])
        return any(differing.get(owner) == here for differing in self._compared.values())

    def hold(self, contributions: object, instead_of: object) -> None:
        """Hold a set for the leader, and let go of ``instead_of``; RefusedError where it is not here."""
        with self.lock:
            mine, held = self.ready(), self.held()
            if self._state.phase == "collecting" and held is not None and held == contributions:
                return
            if mine is None or contributions != mine:
                raise _not_here()
            if self._state.phase != "collecting":
                return
            if held is not None and held != instead_of:
                raise RefusedError("Other contributions are held here than those to let go.")
            self._state.hold()
            self._audit.write("contributions held", owners=sorted(self._owners))

    def seal(self, created: str, contributions: object) -> None:
        """Close these very contributions for good, and fix the date of the certificate. The first call counts.

        RefusedError where they are neither here nor held.
        """
        if not is_date(created):
            raise parameter_error("created", "party.begin", "a date as in 2026-01-02T03:04:05+00:00", created)
        with self.lock:
            mine, held = self.ready(), self.held()
            collecting = self._state.phase == "collecting"
            take_back = self._may_take_back and collecting and held is not None and held == contributions
            if not take_back and (mine is None or contributions != mine):
                raise _not_here()
            if collecting:
                self._state.seal(created, take_back=take_back)
                self._audit.write("contributions sealed", owners=sorted(self._owners))


def _hashes(uploads: Mapping[str, Upload | None]) -> dict[str, str]:
    return {owner: manifest_hash(upload.manifest["common"]) for owner, upload in uploads.items() if upload is not None}


def _not_here() -> RefusedError:
    return RefusedError("The contributions here are not those of the invitation.")
