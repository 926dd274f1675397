"""Carry out a page as a reader would: save its files, type its commands, and compare what they print.

Commands run in one bash, Python in one name space, from the top of the page to its end, in an empty folder with the
environment at .venv, as in a clone. Addresses of this machine get ports that are free. ``FOLDER/NAME.sh`` and
``FOLDER/NAME.py`` prepare what a page takes for granted.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import sys
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cofit
from support.pages import ROOT, Block, PageError, blocks_of
from support.services import free_ports
from support.shell import Shell

_ADDRESS = re.compile(r"127\.0\.0\.1:(\d{4,5})\b")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\d.]*\w)|(?<=\[)-?\d+\.(?=\s)")
_NUMBERS = r"[-+]?\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?"
_WORD_WITH_DIGITS = re.compile(r"[^\s()]*\d[^\s()]*")


class WalkError(AssertionError):
    """A step of a page that does not do what the page says."""


class Walk:
    """One walk through a page. ``slow``: its slow part too. ``timeout``: seconds for a block of commands.

    After it, ``ran`` counts the blocks that were carried out, and ``stale`` has lines as they should be.
    """

    def __init__(
        self, text: str, folder: Path, preparation: Path | None = None, *, slow: bool = False, timeout: float = 200.0
    ) -> None:
        self._blocks = blocks_of(text)
        self._lines = text.splitlines()
        self._slow = slow
        self._timeout = timeout
        self._preparation = preparation
        self._printed = ""
        self._names: dict[str, Any] = {"__name__": "page"}
        self._ports: dict[str, str] = {}
        self.stale: dict[int, str] = {}
        self.ran = 0
        home, scripts = folder / "home", folder / "scripts"
        self._start = folder / "page"
        for made in (home, scripts, self._start):
            made.mkdir(parents=True)
        (self._start / ".venv").symlink_to(sys.prefix)
        binaries = str(Path(sys.executable).parent)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("COFIT_", "PYTEST_"))}
        env |= {"PATH": f"{binaries}:{env['PATH']}", "HOME": str(home), "COLUMNS": "80", "CLONE": str(ROOT)}
        self._shell = Shell(self._start, env, scripts)

    def walk(self, *, write: bool = False) -> None:
        """Carry out all blocks, or raise WalkError with the first line that does not hold.

        With ``write``, numbers of the output that are no longer right are put into ``stale`` instead.
        """
        with contextlib.closing(self._shell), self._forgetting_modules():
            if self._preparation is not None:
                self._prepare(self._preparation)
            for block in self._blocks:
                if block.mark == "slow from here" and not self._slow:
                    break
                try:
                    self._step(block, write)
                except (WalkError, PageError, TimeoutError, OSError) as error:
                    raise WalkError(f"line {block.line}: {error}") from None

    # --- steps -------------------------------------------------------------------------------------------

    def _step(self, block: Block, write: bool) -> None:
        if block.mark in ("not run", "slow from here"):
            return
        code = _ADDRESS.sub(self._address, block.code)
        if block.mark == "prepare":
            self._python(f"{block.note}()", 0) if block.note in self._names else self._commands(block.note)
        elif block.mark.startswith("output"):
            self._compare(block, write)
            return
        elif block.saved_as is not None:
            self._save(block.saved_as, code, fails=block.mark == "fails")
        elif block.mark == "changes":
            self._change(block.note, code)
        elif block.language == "toml":
            _ = tomllib.loads(code)
        elif block.mark == "in a party program":
            program = compile(code, "page", "exec")
            self._party_program(lambda names: exec(program, names))
        elif block.mark == "values in a party program":
            self._party_program(lambda names: _check_values(f"{block.note}\n", code, names))
        elif block.language == "python" and code.startswith(">>>"):
            self._session(block, write)
        elif block.language == "python":
            self._python(code, block.line)
        elif block.language == "shell" and code.startswith("$ "):
            self._console(block, code, write)
        elif block.language == "shell":
            self._commands(code, fails=block.mark == "fails", answer=block.note if block.mark == "answers" else "")
        else:
            raise WalkError("a block of text must be marked: <!-- output -->, or <!-- not run: why -->")
        self.ran += 1

    def _prepare(self, base: Path) -> None:
        for ending in (".sh", ".py"):
            file = base.with_suffix(ending)
            if file.exists() and ending == ".sh":
                self._commands(f". {file}")
            elif file.exists():
                self._python(file.read_text(), 0)

    def _save(self, name: str, code: str, *, fails: bool) -> None:
        (self._shell.folder / name).write_text(code)
        if name.endswith(".py"):
            self._commands(f"python {name}", fails=fails)

    def _commands(self, code: str, *, fails: bool = False, answer: str = "") -> None:
        self._printed, status = self._shell.run(code, fails=fails, answer=answer, timeout=self._timeout)
        if fails and not status:
            raise WalkError(f"it must fail, and did not:\n{code}\n{self._printed}")
        if not fails and status:
            raise WalkError(f"exit code {status} of\n{code}\n{self._printed}")

    def _console(self, block: Block, code: str, write: bool) -> None:
        """Lines with a dollar are commands, those after them what they print."""
        fails = block.mark == "fails"
        for offset, line in enumerate(code.splitlines()):
            if line.startswith("$ "):
                self._commands(line[2:], fails=fails)
            else:
                self._compare_line(block.line + offset, line, write=write, vary=False)

    def _python(self, code: str, line: int) -> None:
        with self._here() as printed:
            try:
                exec(compile("\n" * max(line - 1, 0) + code, "page", "exec"), self._names)
            except Exception:
                raise WalkError(traceback.format_exc(limit=-3)) from None
            finally:
                self._printed = printed.getvalue()

    def _session(self, block: Block, write: bool) -> None:
        """An interactive session: after every statement, what it prints."""
        for example in doctest.DocTestParser().get_examples(block.code):
            with self._here() as printed, contextlib.redirect_stderr(printed):
                exec(compile(example.source, "page", "single"), self._names)
            self._printed = printed.getvalue()
            first = block.line + example.lineno + example.source.count("\n")
            for offset, line in enumerate(example.want.splitlines()):
                self._compare_line(first + offset, line, write=write, vary=False)

    def _party_program(self, block: Callable[[dict[str, Any]], None]) -> None:
        """Run a block at every party. The preparation has ``owners``, and ``names(party)``: what the block may use."""
        names, owners = (self._names.get(name) for name in ("names", "owners"))
        if names is None or owners is None:
            raise WalkError("the page's preparation must have `owners`, and `names(party)`")
        with self._here():
            try:
                run = cofit.run_local(
                    lambda party: block({**self._names, **names(party), "party": party}), owners=owners
                )
            except Exception:
                raise WalkError(traceback.format_exc(limit=-3)) from None
        self._printed = "\n".join(map(str, run.openings))

    def _change(self, note: str, code: str) -> None:
        """Put tables into a TOML file in the place of those of the same name, and drop those of a participant."""
        name, _, without = note.partition(", without ")
        file = self._shell.folder / name
        headers = set(re.findall(r"^\[.*$", code, re.MULTILINE))
        kept = [
            table
            for table in re.split(r"^(?=\[)", file.read_text(), flags=re.MULTILINE)
            if table.partition("\n")[0] not in headers and not (without and f'name = "{without}"' in table)
        ]
        file.write_text("".join(kept) + code)

    def _address(self, found: re.Match[str]) -> str:
        port = found[1]
        if port not in self._ports:
            self._ports[port] = str(free_ports(1)[0])
        return f"127.0.0.1:{self._ports[port]}"

    @contextlib.contextmanager
    def _here(self) -> Iterator[io.StringIO]:
        """In the shell's folder, which also has the page's modules; give what is printed."""
        folder = str(self._shell.folder)
        sys.path.insert(0, folder)
        printed = io.StringIO()
        try:
            with contextlib.chdir(folder), contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("default")
                yield printed
        finally:
            sys.path.remove(folder)

    @contextlib.contextmanager
    def _forgetting_modules(self) -> Iterator[None]:
        """A later page that saves a module of the same name must get its own."""
        try:
            yield
        finally:
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(str(self._start)):
                    del sys.modules[name]

    # --- output ------------------------------------------------------------------------------------------

    def _compare(self, block: Block, write: bool) -> None:
        for offset, line in enumerate(block.code.splitlines()):
            if line.strip() not in ("", "..."):
                self._compare_line(block.line + offset, line, write=write, vary=block.mark != "output")

    def _compare_line(self, number: int, line: str, *, write: bool, vary: bool) -> None:
        """Look for a line in what was printed last; spaces and ends of lines do not count."""
        printed = " ".join(self._printed.split())
        for port, other in self._ports.items():
            printed = printed.replace(f"127.0.0.1:{other}", f"127.0.0.1:{port}")
        wanted = " ".join(line.split())
        if re.search(r"\S*".join(map(re.escape, wanted.split("..."))), printed):
            return
        if vary and re.search(r"[^\s()]+".join(map(re.escape, _WORD_WITH_DIGITS.split(wanted))), printed):
            return
        similar = re.search(_NUMBERS.join(map(re.escape, _NUMBER.split(wanted))), printed)
        if similar and write:
            new = iter(_NUMBER.findall(similar[0]))
            self.stale[number] = _NUMBER.sub(lambda _: next(new), self._lines[number - 1])
            return
        remedy = "Its numbers are stale: run `make figures`. " if similar else ""
        raise WalkError(f"{remedy}The page has\n{line}\nwhich is not in what was printed:\n{self._printed}")


def _check_values(before: str, code: str, names: dict[str, Any]) -> None:
    """Of every line, compute what stands left and look for what stands right in it; more of it may follow below."""
    exec(before, names)
    for line in re.sub(r"\n {4,}", " ", code).splitlines():
        source, _, wanted = (part.strip() for part in line.partition("  "))
        name, _, expression = source.partition(" = ") if " = " in source else ("_", "", source)
        try:
            names[name] = eval(expression, names)
            shown = repr(names[name])
        except cofit.CofitError as error:
            shown = f"{type(error).__name__}: {error}"
        if " ".join(wanted.split()) not in " ".join(shown.split()):
            raise WalkError(f"{source} is {shown}, and not {wanted}")


def rewritten(text: str, stale: Mapping[int, str]) -> str:
    """Return a page with the lines that changed."""
    lines = text.split("\n")
    for number, line in stale.items():
        lines[number - 1] = line
    return "\n".join(lines)
