"""``make mutants``: break a package on purpose, one small change at a time, and count what its tests notice.

Cosmic Ray makes the changes (other operators, comparisons and numbers, conditions turned round, decorators left out).
They are made in a copy of the checkout, in a temporary folder, where nothing else looks. A mutant is killed if a test
fails, or if the tests take far longer than usual. Survivors are printed with their change: each is a change that means
nothing, or a gap in the tests.

    python -m support.mutants sampling --sample 50 --seconds 600

Annotations are left out, which a run never reads. Where one place could be changed to several things alike, one of
them is taken at random.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from support.pages import ROOT

TESTS = {
    "sharing": (
        "tests/unit/test_vectors.py",
        "tests/conformance/test_operations.py",
        "tests/conformance/test_algebra.py",
        "tests/conformance/test_algebra_of_bits.py",
        "tests/conformance/test_traffic.py",
        "tests/conformance/test_meter.py",
        "tests/conformance/test_bit_circuits.py",
        "tests/conformance/test_secrecy.py",
        "tests/unit/sharing",
        "tests/adversary/protocol/test_rep4_checks.py",
        "tests/adversary/protocol/test_rep4_late_checks.py",
    ),
    "sampling": ("tests/unit/test_vectors.py", "tests/unit/sampling"),
    "privacy": ("tests/unit/privacy", "tests/unit/test_vectors.py", "tests/unit/roles/files/test_ledger.py"),
}
"""What must notice a change of a package; tests with the name of the changed file come first."""
OPTIONS = ("-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-o", "timeout=30")
LONGEST = 600.0
PRELOADED = ("cryptography.hazmat.primitives.ciphers", "mpmath", "numpy", "pytest", "scipy.stats")
"""What takes long to import and is never changed: every mutant starts with them."""
NEED_ARGUMENTS = ("VariableInserter", "VariableReplacer")


@dataclass(frozen=True)
class Mutant:
    """The n-th place at which an operator of Cosmic Ray can change a file."""

    file: Path
    operator: str
    occurrence: int
    line: int


def mutants_of(package: str, seed: int) -> list[Mutant]:
    """Return the mutants of a package: one for every place and kind of change, such as another operator there."""
    chance = random.Random(seed)
    files = sorted((ROOT / "src/cofit" / package).rglob("*.py"))
    return [chance.choice(alike) for file in files for alike in _mutants_in(file)]


def _mutants_in(file: Path) -> list[list[Mutant]]:
    source = file.read_text()
    without = set(_meaningless(source))
    nodes = list(ast_nodes(get_ast(source)))
    found: dict[tuple[str, tuple[int, int]], list[Mutant]] = {}
    for name in sorted(operator_names()):
        if name.endswith(NEED_ARGUMENTS):
            continue
        operator = get_operator(name)()
        places = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, place in enumerate(places):
            if place not in without:
                mutant = Mutant(file.relative_to(ROOT), name, occurrence, place[0])
                found.setdefault((name.split("_")[0], place), []).append(mutant)
    return list(found.values())


def _meaningless(source: str) -> Iterator[tuple[int, int]]:
    """Yield the places of annotations, which a run never reads."""
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr):
                for line in range(found.lineno, (found.end_lineno or found.lineno) + 1):
                    yield from ((line, column) for column in range(found.col_offset, found.end_col_offset or 0))


def copy_of_the_checkout(folder: Path) -> None:
    """Copy what the tests need, with the compiled kernels beside the sources."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    (native,) = Path(sysconfig.get_path("platlib")).glob("cofit/kernels/_native*.so")
    shutil.copy(native, folder / "src/cofit/kernels")


def run_tests(folder: Path, tests: list[str], timeout: float) -> bool:
    """Return whether all tests passed, in a process of their own, with the sources in the folder."""
    child = os.fork()
    if not child:
        os._exit(_tested(folder, tests))
    ends = time.monotonic() + timeout
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _tested(folder: Path, tests: list[str]) -> int:
    """Run the tests with the copy's sources in place of the installed ones; quietly."""
    try:
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        sys.dont_write_bytecode = True
        sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
        sys.path[:] = [str(folder / "src"), *(path for path in sys.path if not path.startswith(str(ROOT / "tests")))]
        for name in [name for name in sys.modules if name.partition(".")[0] in ("cofit", "support")]:
            del sys.modules[name]
        return int(import_module("pytest").main([*OPTIONS, *tests]))
    except BaseException:
        return 1


def tests_for(mutant: Mutant) -> list[str]:
    """Return the tests of a mutant's package, those of its own file first."""
    package = mutant.file.parts[2]
    own = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob(f"test_{mutant.file.stem}*.py"))
    return [*own, *TESTS[package]]


def survives(folder: Path, mutant: Mutant) -> str | None:
    """Return the change of a mutant that no test noticed; None where one did."""
    file = folder / mutant.file
    source = file.read_text()
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    try:
        file.write_text(changed)
        if not run_tests(folder, tests_for(mutant), LONGEST):
            return None
    finally:
        file.write_text(source)
    return "".join(difflib.unified_diff(source.splitlines(True), changed.splitlines(True), str(mutant.file), n=0))


def main() -> None:
    """Try a random sample of the mutants of one package, as many as the time allows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=TESTS)
    parser.add_argument("--sample", type=int, help="How many, at random.  [default: all]")
    parser.add_argument("--seed", type=int, default=1, help="Of the sample.  [default: 1]")
    parser.add_argument("--skip", type=int, default=0, help="So many of the sample were tried before.  [default: 0]")
    parser.add_argument("--seconds", type=float, help="Begin no further one after so long.  [default: no limit]")
    given = parser.parse_args()
    for name in PRELOADED:
        import_module(name)
    everything = mutants_of(given.package, given.seed)
    chosen = random.Random(given.seed).sample(everything, min(given.sample or len(everything), len(everything)))
    begin, tried, alive = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkout"
        copy_of_the_checkout(folder)
        if not given.skip and not run_tests(folder, list(TESTS[given.package]), LONGEST):
            sys.exit(f"The tests of {given.package} fail without any change. Mend that first.")
        for mutant in chosen[given.skip :]:
            if given.seconds is not None and time.monotonic() - begin > given.seconds:
                break
            change = survives(folder, mutant)
            tried += 1
            alive += change is not None
            told = "killed" if change is None else f"SURVIVED\n{change}"
            print(f"{mutant.file}:{mutant.line} {mutant.operator} {told}", flush=True)
    print(
        f"{given.package}: {tried - alive} of {tried} killed; there are {len(everything)} places and kinds of change."
    )


if __name__ == "__main__":
    main()
