"""Pages in Markdown as blocks that can be carried out, with the marks that say what to do with them.

A block is fenced (```language) or indented by four spaces. A mark is an HTML comment, which readers do not see, and is
about the next block:

    <!-- output -->                             what the commands before it print, not a command; ... stands for any
                                                lines, or for any part of a word
    <!-- output; numbers vary: REASON -->       the same but for its numbers
    <!-- not run: REASON -->                    neither carried out nor compared
    <!-- answers: TEXT -->                      its commands have a terminal, at which TEXT is typed when they ask
    <!-- fails -->                              its last command must fail; the others must not
    <!-- in a party program -->                 Python for the inside of a party program
    <!-- values in a party program -->          the same, an expression a line, with its value to the right of two
                                                spaces; `: CODE` is run before
    <!-- changes FILE -->, <!-- changes FILE, without NAME -->
                                                TOML that takes the place of FILE's tables of the same names

and two are about no block:

    <!-- prepare: NAME -->                      call a function of the page's preparation
    <!-- slow from here: REASON -->             make test ends here, make test-all goes on
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(f"docs/{p.relative_to(ROOT / 'docs')}" for p in (ROOT / "docs").rglob("*.md")))
_CARRIED_OUT_ELSEWHERE = ("docs/how-to/add-a-learner.md",)  # e2e/test_add_a_learner.py: it needs a module of its own
WALKED = tuple(
    page
    for page in PAGES
    if re.match(r"README|docs/tutorial/|docs/how-to/", page) and page not in _CARRIED_OUT_ELSEWHERE
)
"""The pages whose blocks are carried out."""
_NEEDS_REASON = ("not run", "slow from here", "output; numbers vary")
_KINDS = (
    "output",
    "answers",
    "fails",
    "in a party program",
    "values in a party program",
    "changes",
    "prepare",
    *_NEEDS_REASON,
)
_MARK = re.compile(rf"<!-- ({'|'.join(sorted(_KINDS, key=len, reverse=True))})(?:(?::|(?<=changes)) ?(.*?))? ?-->")
_COMMENT = re.compile(r"<!-- (?!= |/ -->).*-->$")
_SAVED = re.compile(r"[Ss]ave (?:this|it) as `([\w./-]+)`")


class PageError(Exception):
    """A page that cannot be read as blocks and marks."""


@dataclass(frozen=True)
class Block:
    """Code from line ``line`` on (the first is 1), indented by ``indent``; ``language`` is 'shell' where none is said.

    mark, note: the mark's kind and what it adds. saved_as: the file that the text before the block names.
    A mark that is about no block has the language ''.
    """

    line: int
    indent: int
    language: str
    code: str
    mark: str = ""
    note: str = ""
    saved_as: str | None = None


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    lines = text.splitlines()
    found: list[Block] = []
    mark, note, before, i = "", "", "", 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("```") or (_indented(line) and not before.lstrip().startswith(("- ", "* ", "1. "))):
            block, i = _block(lines, i, mark, note, before)
            found.append(block)
            mark, note, before = "", "", ""
            continue
        i += 1
        if _COMMENT.match(line):
            if (given := _MARK.fullmatch(line)) is None:
                raise PageError(f"line {i}: no such mark: {line}")
            if mark:
                raise PageError(f"line {i}: two marks of one block")
            kind, note = given[1], given[2] or ""
            if kind in _NEEDS_REASON and not note:
                raise PageError(f"line {i}: '{kind}' needs a reason")
            if kind in ("prepare", "slow from here"):
                found.append(Block(i, 0, "", "", kind, note))
                note = ""
            else:
                mark = kind
        elif line.strip():
            if mark:
                raise PageError(f"line {i}: the mark '{mark}' has no block")
            before = line
    if mark:
        raise PageError(f"the mark '{mark}' at the end has no block")
    return found


def _indented(line: str) -> bool:
    return line.startswith("    ") and bool(line.strip())


def _block(lines: list[str], start: int, mark: str, note: str, before: str) -> tuple[Block, int]:
    """Return the block that begins at a line, and the place of the line after it."""
    saved = _SAVED.search(before)
    name = saved[1] if saved else None
    if lines[start].startswith("```"):
        end = next((j for j in range(start + 1, len(lines)) if lines[j] == "```"), None)
        if end is None:
            raise PageError(f"line {start + 1}: the block does not end")
        language = lines[start][3:].strip()
        code = lines[start + 1 : end]
        if language not in ("python", "toml", "sh", "text"):
            raise PageError(
                f"line {start + 1}: the language must be python, toml, sh or text. Got '{language}' instead."
            )
        language = {"sh": "shell"}.get(language, language)
        return Block(start + 2, 0, language, "\n".join(code) + "\n", mark, note, name), end + 1
    end = start
    while end < len(lines) and (_indented(lines[end]) or not lines[end].strip()):
        end += 1
    code = [line[4:] for line in lines[start:end]]
    while not code[-1].strip():
        code.pop()
    return Block(start + 1, 4, "shell", "\n".join(code) + "\n", mark, note, name), end
