"""A program of the participants' own through the party service: real TLS, and nothing opened but what is declared."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cofit
from cofit.errors import InvalidInputError, ProtocolError, VerificationError
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.statements import SignedStatement
from cofit.roles.jobs.program import ProgramJob, ProgramPolicy
from cofit.roles.party.publication import Publication
from cofit.roles.party.state import PartyState
from support.nursery import until
from support.program_studies import (
    AGES,
    LARGEST_REASON,
    OPENINGS,
    SOURCE,
    TOTAL,
    TOTAL_REASON,
    ProgramSite,
    program_site,
    write_program_study,
)

Make = Callable[..., ProgramSite]
SQUARES = sum((age / 100) ** 2 for ages in AGES.values() for age in ages)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def site(*given: Any, **settings: Any) -> ProgramSite:
            return stack.enter_context(program_site(write_program_study(tmp_path, *given, **settings)))

        yield site


def local(source: str, function: str = "ages") -> Any:
    """The function of a source text, as ``run_local`` would get it."""
    names: dict[str, Any] = {}
    exec(source, names)
    return names[function]


def test_the_study_and_run_local_run_the_same_function(make: Make) -> None:
    site = make()
    site.start()
    site.contribute()
    site.wait("released")
    signed = site.results()
    owners = {name: {"age": cofit.Contribution(np.array(ages), bound=120.0)} for name, ages in AGES.items()}
    run = cofit.run_local(local(SOURCE), owners=owners)
    for name in site.parties:
        mine, theirs = site.own(name)["result"], run.results[name]
        assert mine["mean"] == theirs["mean"] == TOTAL / 5
        assert (mine["mine"] is None) == (theirs["mine"] is None) == (name != "party-c")
    assert site.own("party-c")["result"]["mine"] == pytest.approx(SQUARES, abs=1e-5)
    statement = signed.statement
    assert statement.document["statement"].startswith("Not differentially private")
    assert statement.values == ((TOTAL,), None), "what one party alone learns is told to nobody else"
    assert statement.result is None and "mine" not in statement.to_json()
    for name in site.parties:
        assert site.openings(name) == [(TOTAL_REASON, site.parties), (LARGEST_REASON, ["party-c"])]
        (noted,) = Ledger(site.state(name) / "ledger.sqlite").exposures()
        assert noted.study == site.study.hash and len(noted.openings) == 2
        assert str(round(SQUARES, 3)) not in (site.state(name) / "published.json").read_text()
    for owner in AGES:
        ledger = Ledger(site.folder / f"{owner}.owner" / "budget.sqlite")
        assert [one.dataset for one in ledger.exposures()] == ["data"] and not ledger.charges()
        assert ledger.datasets() == ["data"]


ONE = f'''
def ages(party):
    a, b = party.input("clinic-a", "age"), party.input("clinic-b", "age")
    total = party.open(a.sum() + b.sum(), reason="{TOTAL_REASON}")
    return {{"mean": float(total) / (len(a) + len(b))}}
'''


def test_what_was_opened_is_signed_and_a_change_is_found(make: Make) -> None:
    site = make(ONE, OPENINGS[:1])
    site.start()
    site.contribute()
    site.wait("released")
    signed = site.results()
    assert signed.statement.result == {"mean": TOTAL / 5}, "all is opened to all, so the result is public"
    document = json.loads(signed.to_json())
    SignedStatement.from_json(site.study, json.dumps(document)).check()
    document["result"]["mean"] += 1
    with pytest.raises(VerificationError, match="'party-a' does not fit"):
        SignedStatement.from_json(site.study, json.dumps(document)).check()
    document["statement"] = "Private"
    with pytest.raises(InvalidInputError, match="not the statement that follows from this study"):
        SignedStatement.from_json(site.study, json.dumps(document))


UNDECLARED = {
    "another opening": (SOURCE.replace(TOTAL_REASON, "the first age"), "'the first age'"),
    "another shape": (SOURCE.replace("a.sum() + b.sum()", "a[:2] + b"), "of shape (2,)"),
    "another receiver": (SOURCE.replace("[-1:]", "[:1]"), "to party-a ("),
    "all in place of one": (SOURCE.replace(", to=list(party.parties)[-1:]", ""), "to party-a, party-b, party-c ("),
    "another order": (
        SOURCE.replace(f'reason="{TOTAL_REASON}"', 'reason="_"')
        .replace(f'reason="{LARGEST_REASON}"', f'reason="{TOTAL_REASON}"')
        .replace('reason="_"', f'reason="{LARGEST_REASON}"'),
        "as opening 1",
    ),
    "once too often": (
        SOURCE.replace("    return", f'    party.open(a.sum(), reason="{TOTAL_REASON}")\n    return'),
        "as opening 3",
    ),
    "caught": (
        SOURCE.replace(
            "    total =",
            '    try:\n        party.open(a, reason="all ages")\n    except Exception:\n        pass\n    total =',
        ),
        "'all ages'",
    ),
    "too few": (
        SOURCE.replace("    second = ", '    return {"mine": None}\n    second = '),
        "1 of the 2",
    ),
    "a value of its own": (
        SOURCE.replace("    total =", "    party.share('party-a', None, (1,), None, 1.0)\n    total ="),
        "party.share",
    ),
}  # fmt: skip
FAST = {"another receiver", "caught"}
AFTER_FIRST = {"another receiver", "all in place of one", "once too often", "too few"}


@pytest.mark.parametrize("kind", [pytest.param(k, marks=() if k in FAST else pytest.mark.slow) for k in UNDECLARED])
def test_what_the_study_does_not_declare_is_never_opened(
    make: Make, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    source, said = UNDECLARED[kind]
    site = make(source)
    site.start()
    site.contribute()
    site.wait_ended()
    site.stop()
    declared = [(TOTAL_REASON, site.parties), (LARGEST_REASON, ["party-c"])]
    for name in site.parties:
        most = 2 if kind == "once too often" else int(kind in AFTER_FIRST)
        assert site.openings(name) in [declared[:i] for i in range(most + 1)]
        assert not (site.state(name) / "published.json").exists()
    assert said in caplog.text


def test_an_error_of_the_program_is_for_the_log_of_its_party_alone(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """The texts of exceptions may hold anything; the other parties hear that this one stopped."""
    broken = SOURCE.replace(
        "    with party", '    if party.rank == 1:\n        raise ValueError("a secret xyzzy")\n    with party'
    )
    site = make(broken)
    site.start()
    site.contribute()
    site.wait_ended()
    site.stop()
    texts = [record.getMessage() for record in caplog.records if "xyzzy" in record.getMessage()]
    assert len(texts) == 1 and "ValueError at " in texts[0] and "line 7" in texts[0], "party-b, once"
    assert "new hash" in texts[0]
    for name in site.parties:  # no hash looks like that by chance
        for path in site.state(name).rglob("*"):
            assert not path.is_file() or b"xyzzy" not in path.read_bytes(), path
        assert PartyState(site.state(name), site.study.hash, name).phase in ("failed", "stored")


def test_a_party_that_names_itself_a_receiver_gets_nothing(make: Make) -> None:
    """It disregards its own guard; the others send to those whom the study names."""
    site = make(
        SOURCE.replace("list(party.parties)[-1:]", '["party-b"]'), [OPENINGS[0], {**OPENINGS[1], "to": ["party-b"]}]
    )
    wanted = ("party-b", "party-c")
    lying = ProgramJob(site.study, local(SOURCE.replace("list(party.parties)[-1:]", '["party-b", "party-c"]')))
    openings = lying.study.program.openings
    program = replace(lying.study.program, openings=(openings[0], replace(openings[1], to=wanted)))
    lying.policy = ProgramPolicy(replace(site.study, program=program))
    site.start("party-a", "party-b")
    site.start("party-c", job=lying)
    site.contribute()
    until(lambda: (LARGEST_REASON, list(wanted)) in site.openings("party-c"), "it is about to open it to itself", 60)
    time.sleep(2.0)  # what the others send to it comes at once
    site.stop()
    for name in ("party-a", "party-b"):
        assert all("party-c" not in to for reason, to in site.openings(name) if reason == LARGEST_REASON)
    assert not (site.state("party-c") / "result.json").exists()


@pytest.mark.parametrize("draws", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_restart_opens_the_same_and_takes_the_same_way(
    make: Make, monkeypatch: pytest.MonkeyPatch, draws: bool
) -> None:
    """Stopped after an opening, before anything is published: the values of the stored shares, and no others."""
    seen: dict[str, list[tuple[Any, ...]]] = {}
    original, left = Publication.publish, {"party-a": 2, "party-b": 1, "party-c": 1}

    def publish(self: Publication, outcome: Any, *more: Any) -> Any:
        name = self._state.fact("party") or ""
        seen.setdefault(name, []).append(tuple(outcome.numbers.tolist()))
        if left[name]:
            left[name] -= 1
            raise OSError("stopped before anything was written")
        return original(self, outcome, *more)

    monkeypatch.setattr(Publication, "publish", publish)
    noisy = "a.sum() + b.sum() + (a[:1] * party.random_bits((1,))).sum()"
    site = make(SOURCE.replace("a.sum() + b.sum()", noisy) if draws else SOURCE)
    site.start()
    site.contribute()
    site.wait("released")
    assert len(set().union(*map(set, seen.values()))) == 1
    assert all(len(mine) >= 2 for mine in seen.values())


def test_a_record_of_a_later_opening_that_is_lost_everywhere_is_not_drawn_again(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    site = make()
    site.start()
    site.contribute()
    site.wait("released")
    site.stop()
    for name in site.parties:
        for file in ("published.json", "signature.json", "release-2"):
            (site.state(name) / file).unlink()
        state = PartyState(site.state(name), site.study.hash, name)
        state.record(phase="stored")
        state.close()
    site.start()
    site.wait_ended()
    assert "failed" in site.phases()
    site.stop()
    assert "release-2" in caplog.text and "Nothing is drawn again" in caplog.text


@pytest.mark.parametrize(
    "scheme",
    [pytest.param(name, marks=pytest.mark.slow) for name in ("semi2k", "pair", "rep4", "shamir", "repn", "clear")],
)
def test_every_scheme_serves_programs(make: Make, scheme: str) -> None:
    source = SOURCE.replace("list(party.parties)[-1:]", '["party-b"]')
    site = make(source, [OPENINGS[0], {**OPENINGS[1], "to": ["party-b"]}], scheme=scheme)
    site.start()
    site.contribute()
    site.wait("released")
    assert site.results().statement.values[0] == (TOTAL,)
    assert site.own("party-b")["result"]["mine"] == pytest.approx(SQUARES, abs=1e-5)
    assert all(site.own(name)["result"]["mine"] is None for name in site.parties if name != "party-b")


@pytest.mark.slow
def test_copies_that_differ_are_not_taken(make: Make) -> None:
    site = make()
    site.start()
    site.contribute()
    site.wait("released")
    path = site.state("party-b") / "published.json"
    path.write_text(path.read_text().replace(f"[{TOTAL}]", f"[{TOTAL + 1}]"))
    with pytest.raises(ProtocolError, match="'party-a' and 'party-b' differ"):
        site.results()
