"""A long run of studies whose processes are killed and whose lines are cut, at random: ``make soak``.

Studies come one after the other, with schemes and recipes in turn, each over a shaped line; parties, the dealer and the
commands of owners are killed with ``kill -9`` and started again, connections are cut, frozen and stalled. Each must end
with one release, equal at all parties. Beside them one study, the veteran, trains for the whole time in one session:
its connections are cut too, its processes are not killed, and must not grow.

    PYTHONPATH=tests python -m support.soak --minutes 60 --out build/soak

writes ``soak.json`` and ``soak.svg``; exit code 1: a wrong release, a study that did not end, or growth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.nursery import Child, Nursery, until
from support.proxy import DOWN, UP, Shape
from support.studies import Lab, lab_of
from support.vital_signs import Watch, as_json, growth, plot, thirds

SCHEMES = ("rep3", "semi2k", "rep4", "pair", "shamir", "repn")
RECIPES: tuple[Mapping[str, Any], ...] = (
    {"model": {"recipe": "best"}, "compute": {"checkpoint_epochs": 4}},
    {"model": {"epochs": 12}, "compute": {"checkpoint_epochs": 2}},
    {"model": {"recipe": "best", "calibrate_intercept": True}, "epsilon": 4.0, "compute": {"checkpoint_epochs": 5}},
)
SHAPES = (Shape(), Shape(delay=0.005), Shape(delay=0.002, jitter=0.02), Shape(delay=0.01, rate=2.5e6))
KILLS, BREAKS = ("kill server", "kill owner"), ("cut one", "cut all", "freeze", "stall")
_TIMEOUT = 6
_MOST_SECONDS = 300.0
_VETERAN_STEP = 0.05


@dataclass
class Soak:
    """One run, below ``root``. ``mischief``: what may happen, and how many times in a study; None: at random."""

    root: Path
    nursery: Nursery
    seed: int = 0
    mischief: Mapping[str, int] | None = None
    done: Counter[str] = field(default_factory=Counter)
    by_scheme: Counter[str] = field(default_factory=Counter)
    releases: int = 0
    sessions: int = 0
    resumed: int = 0
    longest: float = 0.0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._living: dict[str, tuple[Child, Path]] = {}

    def processes(self) -> dict[str, tuple[int, Path]]:
        """Those that run now, with their state directories."""
        return {name: (child.pid, state) for name, (child, state) in list(self._living.items()) if child.code is None}

    def study(self, number: int) -> None:
        """Run one study to its end; AssertionError where it does not end, or not with one release."""
        scheme, recipe = SCHEMES[number % len(SCHEMES)], RECIPES[(number // len(SCHEMES) + number) % len(RECIPES)]
        compute = {"timeout": _TIMEOUT, "connect_timeout": _TIMEOUT, **recipe["compute"]}
        settings = {**recipe, "scheme": scheme, "shape": self._random.choice(SHAPES), "compute": compute}
        started = time.monotonic()
        with lab_of(self.root / f"study-{number}", self.nursery, seed=number, **settings) as lab:
            for name in lab.servers:
                self._start(lab, number, name)
            owners = {owner: lab.contribute(owner) for owner in lab.owners}
            for what in self._events():
                time.sleep(self._random.uniform(0.2, 2.5))
                self._happen(lab, number, owners, what)
                self._again(lab, owners)
            until(
                lambda: self._again(lab, owners) and set(lab.phases()) == {"released"},
                lambda: f"the end of study {number} ({scheme}): {lab.phases()}\n" + "\n".join(map(lab.log, lab.names)),
                _MOST_SECONDS,
                step=0.2,
            )
            lab.check_one_release()
            self.releases += 1
            self.by_scheme[scheme] += 1
            self.sessions += max(lab.events(party).count("session begins") for party in lab.parties)
            self.resumed += sum(lab.log(party).count("is back: the session goes on") for party in lab.parties)
            self.longest = max(self.longest, time.monotonic() - started)
        for name in lab.servers:
            self._living.pop(f"{number} {name}", None)
        shutil.rmtree(lab.root)

    def _events(self) -> list[str]:
        if self.mischief is not None:
            events = [what for what, times in self.mischief.items() for _ in range(times)]
        else:
            events = self._random.choices((*KILLS, *BREAKS), weights=(3, 1, 2, 2, 1, 1), k=self._random.randint(2, 9))
        self._random.shuffle(events)
        return events

    def _start(self, lab: Lab, number: int, name: str) -> None:
        lab.start(name)
        self._living[f"{number} {name}"] = lab.children[name], lab.state(name)

    def _happen(self, lab: Lab, number: int, owners: dict[str, Child], what: str) -> None:
        self.done[what] += 1
        proxies = list(lab.proxies.values())
        if what == "kill server":
            victim = self._random.choice(lab.servers)
            lab.kill(victim)
            time.sleep(self._random.uniform(0.0, 1.0))
            self._start(lab, number, victim)
        elif what == "kill owner":
            owners[self._random.choice(list(owners))].kill()
        elif what == "cut all":
            for proxy in proxies:
                proxy.cut()
        elif what == "cut one":
            self._random.choice(proxies).cut(reset=self._random.random() < 0.5)
        elif what == "freeze":
            self._random.choice(proxies).freeze()
        else:
            proxy = self._random.choice(proxies)
            proxy.stalled = {self._random.choice((UP, DOWN))}
            time.sleep(self._random.uniform(0.5, 3.0))
            proxy.stalled = set()

    def _again(self, lab: Lab, owners: dict[str, Child]) -> bool:
        """Repeat the commands of owners that were killed or gave up, as people do; whether all have succeeded."""
        for owner, child in owners.items():
            if child.poll() not in (None, 0):
                owners[owner] = lab.contribute(owner)
        return all(child.poll() == 0 for child in owners.values())

    # --- the veteran ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def veteran(self, seconds: float) -> Any:
        """One session that lasts longer than the soak; yields the lab."""
        epochs = int(1.2 * seconds / _VETERAN_STEP) + 100
        compute = {"timeout": 30, "connect_timeout": 30, "checkpoint_epochs": 100}
        with lab_of(
            self.root / "veteran", self.nursery, model={"epochs": epochs}, compute=compute, shape=Shape(delay=0.001)
        ) as lab:
            lab.start(pause={"progress train": _VETERAN_STEP})
            for name in lab.servers:
                self._living[f"veteran {name}"] = lab.children[name], lab.state(name)
            lab.contribute_all()
            until(lambda: "progress train: 0" in lab.trace("party-a"), "the veteran trains", 120.0)
            yield lab

    def disturb(self, veteran: Lab) -> None:
        """Cut or freeze the connections of the veteran, which must go on in its session."""
        if self._random.random() < 0.2:
            self.done["veteran freeze"] += sum(proxy.freeze() for proxy in veteran.proxies.values()) > 0
        else:
            self.done["veteran cut"] += sum(proxy.cut() for proxy in veteran.proxies.values()) > 0


def soak(root: Path, seconds: float, seed: int = 0) -> tuple[dict[str, Any], Watch]:
    """Run studies for so long; return what happened, and all samples."""
    problems: list[str] = []
    begun = time.monotonic()
    with Nursery() as nursery, Nursery() as other:
        run = Soak(root, nursery, seed)
        watch = Watch(run.processes)
        studies = 0
        old = Soak(root, other, seed + 1)
        try:
            with old.veteran(seconds) as veteran:
                run._living |= old._living
                while time.monotonic() - begun < seconds:
                    old.disturb(veteran)
                    run.study(studies)
                    studies += 1
                    print(f"{time.monotonic() - begun:.0f} s: {studies} studies, {dict(run.done)}", flush=True)
                lasting = {party: veteran.events(party).count("session begins") for party in veteran.parties}
                if set(lasting.values()) != {1}:
                    told = [
                        line for p in veteran.parties for line in veteran.log(p).splitlines() if "train: " not in line
                    ]
                    problems.append(f"the veteran's session ended: {lasting}\n" + "\n".join(told))
                old.resumed = sum(veteran.log(p).count("is back: the session goes on") for p in veteran.parties)
        except Exception:
            problems.append(traceback.format_exc())
        finally:
            watch.end()
    problems += growth(watch.samples)
    names = [name for name in dict.fromkeys(s.process for s in watch.samples) if name.startswith("veteran")]
    result = {
        "seconds": round(time.monotonic() - begun),
        "seed": seed,
        "studies": studies,
        "releases": run.releases,
        "by_scheme": dict(run.by_scheme),
        "sessions": run.sessions,
        "resumed": run.resumed,
        "veteran_resumed": old.resumed,
        "happened": dict(run.done + old.done),
        "longest_study_seconds": round(run.longest, 1),
        "veteran_thirds": {name: thirds(watch.samples, name) for name in names},
        "problems": problems,
    }
    return result, watch


def main() -> int:
    """Run, and write what was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, default=Path("build/soak"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        result, watch = soak(Path(folder), 60 * options.minutes, options.seed)
    (options.out / "soak.json").write_text(json.dumps({**result, "samples": as_json(watch.samples)}))
    plot(watch.samples, options.out / "soak.svg")
    print(json.dumps(result, indent=1))
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
