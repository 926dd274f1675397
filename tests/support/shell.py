"""One bash for a whole page: directories, variables and jobs in the background stay from block to block."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

_END = "--end-of-block--"
_ANSWERS = 5


class Shell:
    """A bash that ends at the first command that fails. Close it: that ends everything it has started."""

    def __init__(self, folder: Path, env: Mapping[str, str], scripts: Path) -> None:
        self.folder = folder
        self._scripts = scripts
        self._count = 0
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._send(f"set -e; trap 'code=$?; echo; echo {_END} $code \"$PWD\"' EXIT\n")

    def run(self, code: str, *, timeout: float, fails: bool = False, answer: str = "") -> tuple[str, int]:
        """Run commands and return what they print and the exit code; with ``fails`` the last line may fail.

        Commands have no input. With ``answer`` every line has a terminal, at which this is typed a few times.
        """
        self._count += 1
        script = self._scripts / f"{self._count}.sh"
        lines = code.rstrip().replace("\\\n", " ").split("\n")
        if answer:
            typed = shlex.join(["printf", "%s\\n", *[answer] * _ANSWERS])
            lines = [f"{typed} | script -qec {shlex.quote(line)} /dev/null" for line in lines if line.strip()]
        if fails:
            lines.insert(-1, "set +e")
        script.write_text("\n".join(lines) + "\n")
        self._send(f'. {script} < /dev/null; code=$?; set -e; echo; echo {_END} $code "$PWD"\n')
        return self._until_end(timeout)

    def close(self) -> None:
        """End the shell and everything it has started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._bash.pid, number)
            except ProcessLookupError:
                break
            time.sleep(0.2)
        self._bash.wait()
        for stream in (self._bash.stdin, self._bash.stdout):
            with contextlib.suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()

    def _send(self, text: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(text.encode())
        self._bash.stdin.flush()

    def _until_end(self, timeout: float) -> tuple[str, int]:
        assert self._bash.stdout is not None
        seen = b""
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as ready:
            ready.register(self._bash.stdout, selectors.EVENT_READ)
            while True:
                text, found, rest = seen.partition(f"\n{_END} ".encode())
                if found and b"\n" in rest:
                    code, _, folder = rest.decode().partition("\n")[0].partition(" ")
                    self.folder = Path(folder)
                    return text.decode().removesuffix("\n"), int(code)
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError(f"still running after {timeout:.0f} s; it printed:\n{seen.decode()}")
                if not (more := os.read(self._bash.stdout.fileno(), 1 << 16)):
                    raise OSError(f"the shell is gone; it printed:\n{seen.decode()}")
                seen += more
