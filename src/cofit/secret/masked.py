"""A value under somebody's own mask: the one way in which it leaves the computation to that one alone.

Somebody who is no party, a client, shares a vector k with the parties, as it shares data: every element uniform in the
ring, drawn by the client, and known to nobody else. The parties compute x on shares, add k on shares, and open x + k
among themselves, by the scheme's own opening, with all of its checks. The client asks every party for x + k, compares
the copies, and subtracts k.

**Who learns what.** Addition is that of the ring: it wraps, and is meant to. Shares of k that fewer parties hold than
the scheme withstands say nothing about k, so for them k is uniform whatever x is, and so is x + k: a one-time pad
(Shannon, "Communication theory of secrecy systems", 1949, section 10). The client learns x exactly.

**Once.** Of two openings x + k and x' + k under one mask the parties would learn x' - x. Two computations of one x
differ in their truncations, each by one unit at random, so the difference is about what the masks of truncations hide.
Hence x + k is stored by all parties before it is opened, and a repetition opens the same shares (``release``); and a
mask is for one value: whoever asks again takes a new one.
"""

from __future__ import annotations

from cofit.arithmetic import FixedPoint
from cofit.errors import ShapeError, parameter_error
from cofit.secret.array import SecretArray
from cofit.secret.party import Party


def masked(party: Party, value: SecretArray, owner: str, name: str) -> SecretArray:
    """Return the integers of ``value`` plus the mask that ``owner`` contributed under ``name``, which is used up.

    The result is uniform in the ring: it can be stored and opened, and nothing else makes sense; its bound says
    nothing. Local.
    """
    facts = party.facts(owner, name)
    ring = value.format.ring
    if facts.shape != value.shape or facts.format.ring is not ring:
        must_be = f"a mask of shape {value.shape} in {ring.name}"
        raise parameter_error("name", "masked", must_be, f"{facts.shape} in {facts.format.ring.name}", ShapeError)
    mask = party._dealt_by(owner, name).expand()
    integers = FixedPoint(0, ring)
    return SecretArray(party._scheme, party._scheme.add(value._share, mask), integers, integers.capacity)
