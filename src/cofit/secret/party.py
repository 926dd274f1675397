"""What a party program is given: inputs, randomness, the one function that opens values, and the facts of the run.

A party program is a plain function of one ``Party``, run by every computing party on its own shares:

    def program(party):
        x = party.input("hospital-a", "x")
        return party.open(x.sum(), reason="the total, agreed in the study")
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, FixedPoint, IntegerRing, Place, RingArray, Shape
from cofit.errors import InvalidInputError, ProtocolError, parameter_error
from cofit.secret.array import SecretArray
from cofit.secret.audit import AuditLog
from cofit.secret.bits import SecretBits
from cofit.secret.conversions import bits_to_array, concatenate
from cofit.secret.joining import InputFacts, Pairs, checked_pairs, places_of
from cofit.secret.ranges import Bound
from cofit.secret.shards import Shards
from cofit.secret.stored import decode_share, encode_share
from cofit.sharing import DealtShare, Scheme, Share

PREPARATION = "prepare"
"""The step in which a scheme makes what it uses later."""
_RUNNER_STEPS = ("start", "share", "program")


class Party:
    """One computing party's side of a run."""

    def __init__(
        self,
        scheme: Scheme,
        inputs: Mapping[str, Mapping[str, InputFacts]],
        audit: AuditLog | None = None,
        report: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._scheme = scheme
        self._facts = {owner: dict(named) for owner, named in inputs.items()}
        self._dealt: dict[tuple[str, str], DealtShare] = {}
        self._received: dict[tuple[str, str], SecretArray] = {}
        self._pieces: dict[tuple[str, str], tuple[SecretArray, Place]] = {}  # joined ones, cut out when asked for
        self._joined: dict[tuple[Pairs, int, Bound | None, bool], SecretArray] = {}
        self._report = report
        self._under_way: tuple[str, int, int] | None = None
        scheme.on_preparation = self._prepared
        self.audit = audit or AuditLog()
        self._shards: Shards | None = None  # where the rows of the data are, if they are not here

    @property
    def name(self) -> str:
        """This party's name."""
        return self._scheme.mesh.name

    @property
    def rank(self) -> int:
        """This party's place among the computing parties, from 0."""
        return self._scheme.rank

    @property
    def deals(self) -> bool:
        """Whether this is the dealer, which runs the program without values and holds no shares."""
        return self._scheme.rank >= len(self._scheme.names)

    @property
    def holds_values(self) -> bool:
        """Whether this member holds shares; False for the dealer, nor where the program only runs to be counted."""
        return self._scheme.holds_values

    @property
    def parties(self) -> tuple[str, ...]:
        """All computing parties, by rank."""
        return self._scheme.names

    @property
    def session(self) -> bytes:
        """The session of this run, different for every run."""
        return self._scheme.mesh.terms.session

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners who contribute to this run."""
        return tuple(self._facts)

    def __repr__(self) -> str:
        return f"<Party {self.name}, {self.rank + 1} of {len(self.parties)}, scheme {self._scheme.info.name}>"

    def label(self, name: str) -> AbstractContextManager[None]:
        """Count the traffic inside the ``with`` block under ``name``."""
        return self._scheme.label(name)

    def progress(self, step: str, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` parts of ``step`` are done, for the person who waits and for the benchmarks.

        Public facts only: whoever started the run sees the numbers, and when they came. Report the beginning of a step
        too, with ``done=0``: its time runs from its first report to the first report of the next step. Local.
        """
        if not isinstance(step, str) or not step.strip() or step in _RUNNER_STEPS:
            allowed = f"text, and none of {', '.join(_RUNNER_STEPS)}, which the runner itself reports"
            raise parameter_error("step", "progress", allowed, step)
        if not isinstance(total, int) or total < 0:
            raise parameter_error("total", "progress", "an integer that is at least 0", total)
        if not isinstance(done, int) or not 0 <= done <= total:
            raise parameter_error("done", "progress", f"an integer from 0 to {total}", done)
        self._under_way = (step, done, total)
        if self._report is not None:
            self._report(step, done, total)

    def _prepared(self, done: int, total: int) -> None:
        """Say how far the scheme is with a preparation; after its end the step that was under way goes on."""
        if self._report is not None:
            self._report(PREPARATION, done, total)
            if done == total and self._under_way is not None:
                self._report(*self._under_way)

    def limit_batches(self, most: int | None) -> None:
        """Say how many bytes what is computed row by row may hold at once, in about; None: no limit. Local.

        All parties must say the same: how many batches there are decides on the rounds.
        """
        self._scheme.batch_bytes = most

    def barrier(self, label: str) -> None:
        """Return when every party has reached this barrier (the traffic counts under ``label``). Nobody learns more.

        1 round; one byte from every party to each other one.
        """
        self._scheme.barrier(label)

    # --- values in ---------------------------------------------------------------------------------------

    def input(self, owner: str, name: str) -> SecretArray:
        """Return the secret array that ``owner`` contributed under ``name``."""
        facts = self._facts_of(owner, name, "input")
        if (owner, name) not in self._received:
            if (owner, name) in self._pieces:
                joint, place = self._pieces.pop((owner, name))
                share = joint._share.map(lambda part: part[place])
            else:
                share = self._dealt_by(owner, name).expand()
            self._received[owner, name] = self._as_input(share, facts)
        return self._received[owner, name]

    def joined(
        self, inputs: Sequence[tuple[str, str]], axis: int, *, constant: Bound | None = None, held: int = 0
    ) -> SecretArray:
        """Return the contributions (owner, name) of several owners, in one format, joined along an axis.

        ``axis``: 0 to put rows below each other, 1 for columns beside each other. ``constant``: a public number that
        fills one more column, the last one (of the intercept, say). Every contribution is expanded into its place and
        then dropped, so that the data are never held twice; only inputs that the program took before are copied. Later
        calls with the same arguments return the same array, and ``input`` returns its pieces.

        ``held``: for how many matrix products with it on the left (``X @ w`` in every epoch), and as many with its
        transpose, to prepare the array; 0: for none. Some schemes open it under a mask for that, once: as many elements
        as it has. Otherwise nothing is sent.
        """
        pairs = checked_pairs(inputs)
        if len(pairs) == 1 and constant is None and not held:
            return self.input(*pairs[0])
        facts = [self._facts_of(owner, name, "joined") for owner, name in pairs]
        shape, places = places_of(pairs, facts, axis)
        if constant is not None and (not isinstance(constant, int | float | Fraction) or len(shape) != 2):
            raise parameter_error(
                "constant", "joined", "one number, beside inputs of two dimensions, or None", constant
            )
        key = pairs, axis, constant, held > 0
        if key not in self._joined:
            element = None if constant is None else facts[0].format.encode(constant)
            if any(pair in self._received or pair in self._pieces for pair in pairs):
                self._joined[key] = self._join_taken(pairs, axis, element, held)
            else:
                self._joined[key] = self._join_dealt(pairs, facts, shape, places, element, held)
                self._pieces |= {pair: (self._joined[key], place) for pair, place in zip(pairs, places, strict=True)}
        return self._joined[key]

    def _join_dealt(
        self,
        pairs: Pairs,
        facts: Sequence[InputFacts],
        shape: Shape,
        places: Sequence[Place],
        element: RingArray | None,
        held: int,
    ) -> SecretArray:
        format = facts[0].format
        limit = max(format.limit(fact.bound) for fact in facts)
        column = None
        if element is not None:
            column = element, (slice(None), slice(shape[1], shape[1] + 1))
            shape = (shape[0], shape[1] + 1)
            limit = max(limit, format.ring.largest_magnitude(element))
        pieces = ((self._dealt_by(*pair), place) for pair, place in zip(pairs, places, strict=True))
        share = self._scheme.expand_joined(format.ring, shape, pieces, column)
        share = self._scheme.hold(share, held, owned=True) if held else share
        return SecretArray(self._scheme, share, format, limit)

    def _join_taken(self, pairs: Pairs, axis: int, element: RingArray | None, held: int) -> SecretArray:
        joint = concatenate([self.input(*pair) for pair in pairs], axis)
        if element is not None:
            ring = joint.format.ring
            column = self._scheme.constant(ring, np.broadcast_to(element, (len(joint), 1)))
            limit = ring.largest_magnitude(element)
            joint = concatenate([joint, SecretArray(self._scheme, column, joint.format, limit)], 1)
        return self.hold(joint, held, owned=True) if held else joint

    def hold(self, table: SecretArray, products: int, *, owned: bool = False) -> SecretArray:
        """Return a table prepared for so many matrix products with it on the left; ``owned``: see ``Scheme.hold``."""
        share = self._scheme.hold(table._share, products, owned=owned)
        return SecretArray(self._scheme, share, table.format, table.integer_limit)

    def facts(self, owner: str, name: str) -> InputFacts:
        """Return the public facts of an owner's input."""
        return self._facts_of(owner, name, "facts")

    def _facts_of(self, owner: str, name: str, caller: str) -> InputFacts:
        known = self._facts.get(owner)
        if known is None:
            raise parameter_error("owner", caller, f"one of {list(self._facts)}", owner)
        if name not in known:
            raise parameter_error("name", caller, f"one of {list(known)}, the inputs of '{owner}'", name)
        return known[name]

    def _dealt_by(self, owner: str, name: str) -> DealtShare:
        """Return what the owner dealt, and keep it no longer."""
        if (owner, name) not in self._dealt:
            raise InvalidInputError("There are no contributions: call collect() first, and not after forget_inputs().")
        return self._dealt.pop((owner, name))

    def _as_input(self, share: Share, facts: InputFacts) -> SecretArray:
        return SecretArray(self._scheme, share, facts.format, facts.format.limit(facts.bound))

    def take(self, owner: str, name: str, dealt: DealtShare) -> None:
        """Accept a contribution that was received earlier and kept, in place of ``collect``."""
        self._facts_of(owner, name, "take")
        self._dealt[owner, name] = dealt

    def refreshed(self, value: SecretArray) -> SecretArray:
        """Return the same value in a fresh, independent sharing: for shares that outlive this session."""
        return SecretArray(self._scheme, self._scheme.refresh(value._share), value.format, value.integer_limit)

    def announce(self, label: str, message: bytes) -> tuple[bytes, ...]:
        """Tell all parties a public message of an agreed length; return everybody's, by rank. 1 round."""
        return self._scheme.announce(label, message)

    def agree(self, label: str, decision: bytes | Mapping[str, bytes]) -> None:
        """Raise ProtocolError unless every party has come to the same public decision. 1 round of 32 bytes.

        Whoever told different parties different things before is found out here. Several decisions, by name, take 32
        bytes each, and the error names those that differ; a dealer, which decides nothing, names the same ones.
        """
        decisions = decision if isinstance(decision, Mapping) else {f"the {label}": decision}
        told = self.announce(label, b"".join(hashlib.sha256(one).digest() for one in decisions.values()))
        size = hashlib.sha256().digest_size
        pieces = [{message[i * size : (i + 1) * size] for message in told} for i in range(len(decisions))]
        if differing := [name for name, said in zip(decisions, pieces, strict=True) if len(said) > 1]:
            raise ProtocolError(
                f"The parties do not agree on {' and '.join(differing)}. Compare their studies, releases of cofit and "
                f"audit logs."
            )

    def check_stored(self, values: Sequence[SecretArray]) -> None:
        """Raise ProtocolError unless imported shares fit together. 1 round with an active scheme, local otherwise."""
        self._scheme.check_stored([value._share for value in values])

    def verify(self) -> None:
        """Raise ProtocolError unless everything that was computed so far stands up to the checks of the scheme, in the
        sessions of all shards first.

        ``open`` and ``export_share`` do this first. Local, but where the scheme has put checks off.
        """
        if self._shards is not None:
            self._shards.brought(self._shards.each(Party.verify, (self._shards.parties,)))
        self._scheme.verify()

    def forget_inputs(self) -> None:
        """Drop every contribution, taken or not: a program that needs them no longer gives their memory back. Local."""
        if self._shards is not None:
            self._shards.brought(self._shards.each(Party.forget_inputs, (self._shards.parties,)))
        for held in (self._dealt, self._received, self._pieces, self._joined):
            held.clear()

    def collect(self) -> None:
        """Receive every owner's contribution, in the order of declaration. The runner calls this, once."""
        shapes: dict[tuple[str, FixedPoint, Shape], list[Shape]] = {}
        for named in self._facts.values():
            for name, facts in named.items():
                shapes.setdefault((name, facts.format, facts.shape[1:]), []).append(facts.shape)
        rooms = {key: self._scheme.room(key[1].ring, alike) for key, alike in shapes.items() if len(alike) > 1}
        for owner, named in self._facts.items():
            for name, facts in named.items():
                room = rooms.get((name, facts.format, facts.shape[1:]))
                self._dealt[owner, name] = self._scheme.receive_input(owner, facts.format.ring, facts.shape, room)

    def share(
        self,
        source: str,
        values: npt.ArrayLike | None,
        shape: Shape,
        format: FixedPoint,
        bound: float | int | Fraction,
    ) -> SecretArray:
        """Share values that the computing party ``source`` holds. It alone passes ``values``; the others pass None."""
        rank = self._rank_of(source, "share")
        if (values is not None) != (rank == self.rank):
            given = "None" if values is None else "values"
            raise parameter_error("values", "share", "given by the source party and by nobody else", given)
        encoded = None if values is None else format.encode(values, bound)
        share = self._scheme.input(rank, encoded, format.ring, tuple(shape))
        return SecretArray(self._scheme, share, format, format.limit(bound))

    def constant(self, values: npt.ArrayLike, format: FixedPoint) -> SecretArray:
        """Return a public value as a (trivially shared) secret array."""
        encoded = format.encode(values)
        largest = format.ring.largest_magnitude(encoded)
        return SecretArray(self._scheme, self._scheme.constant(format.ring, encoded), format, largest)

    # --- randomness --------------------------------------------------------------------------------------

    def random_bits(self, shape: Shape, ring: IntegerRing = Z64) -> SecretArray:
        """Return uniform secret bits that nobody knows, as integers 0 and 1."""
        return SecretArray(self._scheme, self._scheme.random_ring_bits(ring, tuple(shape)), FixedPoint(0, ring), 1)

    def random_secret_bits(self, shape: Shape, width: int = 1) -> SecretBits:
        """Return ``width`` uniform secret bits per element that nobody knows, in Boolean sharing."""
        count = int(np.prod(shape, dtype=np.int64))
        return SecretBits(self._scheme, self._scheme.boolean.random(width, count), tuple(shape))

    def to_arithmetic(self, bits: SecretBits, ring: IntegerRing = Z64) -> SecretArray:
        """Return Boolean bits as integers 0 and 1 of shape (width, \\*shape)."""
        return bits_to_array(bits, ring)

    # --- values out --------------------------------------------------------------------------------------

    @overload
    def open(self, value: SecretArray | SecretBits, *, reason: str, to: None = None) -> npt.NDArray[Any]: ...
    @overload
    def open(self, value: SecretArray | SecretBits, *, reason: str, to: Sequence[str]) -> npt.NDArray[Any] | None: ...

    def open(
        self, value: SecretArray | SecretBits, *, reason: str, to: Sequence[str] | None = None
    ) -> npt.NDArray[Any] | None:
        """Reveal a value to all parties, or to those in ``to`` (the others get None), and record why.

        A SecretArray comes back as ``float64`` (as integers when it has no fractional bits), SecretBits as 0 and 1 of
        shape (width, \\*shape). This is the only way a program can see a secret.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise parameter_error("reason", "open", "a sentence that says why this value may be seen", reason)
        to = (to,) if isinstance(to, str) else to
        ranks = None if to is None else [self._rank_of(name, "open") for name in to]
        learned_by = self.parties if to is None else tuple(to)
        self.verify()
        if isinstance(value, SecretBits):
            self.audit.record(reason, f"{value.width} bits an element", value.shape, learned_by)
            with self._scheme.agreeing_on(f"{learned_by} {reason}"):
                bits = self._scheme.boolean.open(value._share, ranks)
            return None if bits is None else bits.reshape(value.width, *value.shape)
        if not isinstance(value, SecretArray):
            raise InvalidInputError(f"Only secret values can be opened; got {type(value).__name__}.")
        self.audit.record(reason, str(value.format), value.shape, learned_by)
        with self._scheme.agreeing_on(f"{learned_by} {reason}"):
            elements = self._scheme.open(value._share, ranks)
        if elements is None:
            return None
        return value.format.decode(elements) if value.format.fraction_bits else value.format.ring.to_int(elements)

    # --- shares that outlive a run -----------------------------------------------------------------------

    def export_share(self, value: SecretArray) -> bytes:
        """Return this party's own share of a value as bytes, as secret as the share itself.

        For this party's own storage, and for nobody else: two parties' shares together may be the value. All parties
        export together, and everything is verified before: local, but where a scheme has put checks off.
        """
        self.verify()
        return encode_share(self._scheme, value)

    def import_share(self, data: bytes) -> SecretArray:
        """Return the value whose share this party exported, in this run or in an earlier one. Local.

        All parties must import their shares of one value. Raises InvalidInputError, naming the field, for damaged bytes
        and for a share of another scheme, rank or version.
        """
        return decode_share(self._scheme, data)

    def _rank_of(self, name: str, caller: str) -> int:
        if name not in self.parties:
            raise parameter_error("party", caller, f"one of {list(self.parties)}", name)
        return self.parties.index(name)
