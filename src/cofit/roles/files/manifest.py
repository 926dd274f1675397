"""The manifest of a contribution: what an owner announces to all computing parties before it uploads anything.

    {"upload": "<random id>",
     "plan": "<hash of the plan in whose formats the data are encoded>",
     "components": {"features.seed_0": {"ranks": [0, 2], "size": 64, "sha256": "..."}, ...},
     "rows": "<digest of the set of row keys in a vertical study, else null>"}

Every party gets the same manifest, checks the files that are meant for it against it, and compares its hash with the
other parties' before training: so the parties know that they hold shares of the same contribution, and that summands
held by several of them are equal. **Every file begins with 32 random bytes** that only its holders get, and the digest
is of all of it. Without them a digest would be a test for guesses: the party of rank 0 in ``rep3`` can draw x_0, x_1,
so it could check a guess of the labels against the digest of x_2 = x - x_0 - x_1, which it does not hold. From the
digests of the rows (``study.align.set_digest``: keyed with a secret of the owners) the parties learn whether the owners
have the same rows, and nothing else. The plan is the owner's own: so no party reads its shares in other formats, or
releases them with other noise, than the owner was told when it contributed.

An owner that is a computing party itself may keep its values as they are, where the scheme lets it: then the manifest
has one file for each input, "features.values", for that party alone, and the others check that there is none for them.

What a manifest must look like follows from the study and its plan alone, except for the id and the digests: an owner
cannot make a party store more, or anything else, than was agreed.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cofit.arithmetic.prg import derive_seed
from cofit.errors import InvalidInputError, parameter_error
from cofit.secret import InputFacts
from cofit.sharing import Component, ComponentFacts, Spec, scheme_of
from cofit.sharing.inputs import Values
from cofit.sharing.known_inputs import components_of, layout_of

SALT_BYTES = 32
_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, repr=False)
class DealtContribution:
    """An owner's contribution, ready to be sent, again and again if need be. ``components``: by file name."""

    manifest: dict[str, Any]
    components: Mapping[str, Component]

    def files_of(self, rank: int) -> Iterator[tuple[str, Component]]:
        """The files that the party of this rank gets."""
        return ((name, c) for name, c in self.components.items() if rank in c.facts.ranks)

    def __repr__(self) -> str:
        return f"<DealtContribution {self.manifest['upload']}>"


def deal_contribution(
    spec: Spec,
    inputs: Mapping[str, tuple[InputFacts, Values]],
    seed: bytes,
    plan: str,
    rows: str | None = None,
    holder: int | None = None,
) -> DealtContribution:
    """Share encoded inputs. The same seed and inputs give the same bytes and the same manifest.

    plan: the hash of the owner's plan. rows: the digest of the set of row keys, in a vertical study. holder: the rank
    of the party that the owner is, if it is one. Every component is made once here, for its digest, and again whenever
    it is sent: nothing but ``inputs`` is held in memory.
    """
    components: dict[str, Component] = {}
    entries: dict[str, Any] = {}
    for name, (facts, encoded) in inputs.items():
        own_seed = derive_seed(seed, f"contribution {name}")
        for component in components_of(scheme_of(spec), spec, facts.format.ring, encoded, own_seed, holder):
            file = f"{name}.{component.facts.name}"
            salted = _salted(component, derive_seed(own_seed, f"salt {component.facts.name}")[:SALT_BYTES])
            digest = hashlib.sha256()
            for piece in salted.content():
                digest.update(piece)
            components[file] = salted
            entries[file] = {**_entry(component.facts), "sha256": digest.hexdigest()}
    return DealtContribution({"upload": upload_id(seed), "plan": plan, "components": entries, "rows": rows}, components)


def upload_id(seed: bytes) -> str:
    """Return the id of what is dealt from a seed."""
    return hashlib.sha256(derive_seed(seed, "upload id 2")).hexdigest()[:32]


def without_salt(file: memoryview) -> memoryview:
    """Return the component that a file holds."""
    return file[SALT_BYTES:]


def _salted(component: Component, salt: bytes) -> Component:
    facts = component.facts

    def content() -> Iterator[memoryview]:
        yield memoryview(salt)
        yield from component.content()

    return Component(ComponentFacts(facts.name, facts.ranks, facts.size + SALT_BYTES), content)


def check_manifest(
    manifest: object,
    spec: Spec,
    inputs: Mapping[str, InputFacts],
    *,
    plan: str,
    vertical: bool,
    holder: int | None = None,
) -> dict[str, Any]:
    """Return a manifest from an owner if it is as the study and this party's plan say, or raise InvalidInputError.

    holder: the rank of the party that the owner is, if it is one.
    """
    if not isinstance(manifest, dict) or set(manifest) != {"upload", "plan", "components", "rows"}:
        must_be = "an object with 'upload', 'plan', 'components' and 'rows': run the same cofit release as the parties"
        raise parameter_error("manifest", "a contribution", must_be, type(manifest).__name__)
    upload, components = manifest["upload"], manifest["components"]
    if not isinstance(upload, str) or not _ID.fullmatch(upload):
        raise parameter_error("upload", "a manifest", "32 hexadecimal digits", upload)
    if manifest["plan"] != plan:
        must_be = f"{plan}, this party's plan of the study: run the same cofit release as the parties"
        raise parameter_error("plan", "a manifest", must_be, manifest["plan"])
    check_rows_digest(manifest["rows"], vertical=vertical)
    expected = {
        f"{name}.{facts.name}": _entry(facts)
        for name, values in inputs.items()
        for facts in layout_of(scheme_of(spec), spec, values.format.ring, values.shape, holder)
    }
    if not isinstance(components, dict) or set(components) != set(expected):
        raise parameter_error("components", "a manifest", f"an object with {sorted(expected)}", components)
    for name, wanted in expected.items():
        entry = components[name]
        if not isinstance(entry, dict) or _exactly({k: v for k, v in entry.items() if k != "sha256"}) != _exactly(
            wanted
        ):
            raise parameter_error(f"components.{name}", "a manifest", f"{wanted} and its sha256", entry)
        if not isinstance(entry.get("sha256"), str) or not _DIGEST.fullmatch(entry["sha256"]):
            raise parameter_error(
                f"components.{name}.sha256", "a manifest", "64 hexadecimal digits", entry.get("sha256")
            )
    return manifest


def check_rows_digest(rows: object, *, vertical: bool) -> None:
    """Raise InvalidInputError unless ``rows`` is a digest in a vertical study, and None in a horizontal one."""
    if not vertical:
        if rows is not None:
            raise parameter_error("rows", "a manifest", "null in a horizontal study", rows)
    elif not isinstance(rows, str) or not _DIGEST.fullmatch(rows):
        raise parameter_error("rows", "a manifest", "64 hexadecimal digits in a vertical study", rows)


def files_for(manifest: Mapping[str, Any], rank: int) -> dict[str, dict[str, Any]]:
    """Return the files that the party of this rank is to get, with size and digest."""
    return {
        name: {"size": entry["size"], "sha256": entry["sha256"]}
        for name, entry in manifest["components"].items()
        if rank in entry["ranks"]
    }


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    """Return the SHA-256 that parties compare."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def fresh_upload_seed() -> bytes:
    """Return the secret from which a contribution is dealt; the owner keeps it until every party has acknowledged."""
    return secrets.token_bytes(32)


def _exactly(value: object) -> str:
    """A text that differs also for what Python calls equal, such as 1, 1.0 and True."""
    return json.dumps(value, sort_keys=True)


def _entry(facts: ComponentFacts) -> dict[str, Any]:
    if len(facts.name) > 32:
        raise InvalidInputError(f"A component's name is too long: {facts.name!r}.")
    return {"ranks": list(facts.ranks), "size": facts.size + SALT_BYTES}
