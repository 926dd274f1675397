"""What the source of a program must be before anybody runs it: text that people see as Python does, and no way past
the study.

People read a program before they agree to its hash. So a source is UTF-8, whatever it says of itself, and has no
character that hides code from readers: Python takes a lone carriage return for the end of a line, and so of a comment;
other encodings (UTF-7) write a line's end as plain text; marks of direction show text in another order (Boucher and
Anderson, "Trojan Source", USENIX Security 2023). Where a text needs one, it is written as an escape.

``check_source`` also refuses what only a program needs that opens values past the study: private attributes, inner
modules of cofit, code or names made of text. It finds mistakes, and is no prison.
"""

from __future__ import annotations

import ast
import io
import tokenize
import unicodedata

from cofit.errors import InvalidInputError

_INNER = ("secret", "sharing", "transport", "roles", "kernels", "learn", "privacy", "study", "models", "cli")
_PAST_THE_STUDY = ("announce", "agree", "export_share", "import_share", "check_stored")
_OF_CLASSES = ("__init__", "__post_init__", "__name__", "__doc__", "__len__", "__class__", "__file__")
_FROM_TEXT = ("eval", "exec", "compile", "__import__", "getattr", "setattr", "delattr", "vars", "globals", "locals")
_BY_TEXT = ("attrgetter", "methodcaller", "import_module")
_MODULES_FROM_TEXT = ("builtins", "ctypes", "gc", "importlib", "inspect", "runpy")
_UTF8 = ("utf-8", "utf-8-sig")
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode's categories: control, format, surrogate, line and paragraph


def check_source(path: str, content: bytes) -> None:
    """Raise InvalidInputError where a source hides something, or reaches past what a party program is given."""
    check_text(path, content)
    try:
        tree = ast.parse(content, path)
    except (SyntaxError, ValueError) as error:
        raise InvalidInputError(f"'{path}' is not valid Python: {error}.") from None
    for node in ast.walk(tree):
        if problem := _problem(node):
            raise InvalidInputError(
                f"'{path}', line {node.lineno}: {problem}. A program of a study computes with what the party "  # type: ignore[attr-defined]
                "offers in public, so that what it opens can be held to the study."
            )


def check_text(path: str, content: bytes) -> None:
    """Raise InvalidInputError unless people see the characters that Python reads."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode("utf-8-sig")
    except (SyntaxError, UnicodeDecodeError):
        encoding, text = "", ""
    if encoding not in _UTF8:
        raise InvalidInputError(
            f"'{path}' must be UTF-8, and say nothing else of its encoding: people would read another text than Python."
        )
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.removesuffix("\r")
        for character in plain:
            if character != "\t" and unicodedata.category(character) in _UNSEEN:
                raise InvalidInputError(
                    f"'{path}', line {number}: the character U+{ord(character):04X} is not seen by readers, and may "
                    f"hide code from them. Remove it; in a text, write it as an escape ({character!a})."
                )


def _problem(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return _problem_of_name(node.attr, node.value)
    if isinstance(node, ast.MatchClass):
        return next((said for name in node.kwd_attrs if (said := _problem_of_name(name, None))), "")
    if isinstance(node, ast.Name) and node.id in _FROM_TEXT:
        return f"'{node.id}' makes code of text, or reaches what has no name here"
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        top, _, rest = name.partition(".")
        if top == "cofit" and rest.partition(".")[0] in _INNER:
            return f"'{name}' is an inner part of cofit; import cofit, cofit.protocols or cofit.sampling"
        if top in _MODULES_FROM_TEXT or name.rpartition(".")[2] in _BY_TEXT:
            return f"'{name}' makes code of text, or reaches what has no name here"
    return ""


def _problem_of_name(name: str, value: ast.expr | None) -> str:
    """Return what is wrong with an attribute of this name. value: of what; None: of anything, in a pattern."""
    of = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
    if name in _PAST_THE_STUDY:
        return f"'{name}' lets shares out or in"
    if name.startswith("_") and name not in _OF_CLASSES:
        mine = isinstance(value, ast.Name) and of in ("self", "cls") and not name.startswith("__")
        return "" if mine else f"'{name}' is private"
    if isinstance(value, ast.Name) and of == "cofit" and name in _INNER:
        return f"'cofit.{name}' is an inner part of cofit; use cofit, cofit.protocols or cofit.sampling"
    if of == "Party":
        return f"'Party.{name}' is not the method of the party that the function is given, which a study is held to by"
    return f"'{name}' reaches by text what has no name here" if name in _BY_TEXT else ""
