"""The source of a program: what is run is what was hashed, and nothing that lies beside it."""

from __future__ import annotations

import hashlib
import py_compile
import sys
import sysconfig
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files import program_files
from cofit.roles.files.program_files import load_program, program_folder, source_paths
from cofit.roles.files.program_source import check_source
from cofit.study.program import Program

MAIN = "def run(party):\n    return 1\n"


def program(folder: Path, files: dict[str, str], module: str = "main") -> Program:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sources = tuple(sorted((name, hashlib.sha256(text.encode()).hexdigest()) for name, text in files.items()))
    return Program(module, "run", sources, ())


def run(folder: Path, files: dict[str, str], module: str = "main") -> Any:
    return load_program(program(folder, files, module), folder)(None)  # type: ignore[arg-type]


def test_another_file_is_refused_with_both_hashes_and_the_remedy(tmp_path: Path) -> None:
    agreed = program(tmp_path, {"main.py": MAIN})
    (tmp_path / "main.py").write_text(MAIN + "\n")
    with pytest.raises(InvalidInputError) as caught:
        load_program(agreed, tmp_path)
    for part in (agreed.sources[0][1], hashlib.sha256((MAIN + "\n").encode()).hexdigest(), "agree on a new study"):
        assert part in str(caught.value)


def test_what_runs_is_what_was_read_even_if_the_file_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed = program(
        tmp_path, {"main.py": "import helper\n" + MAIN.replace("1", "helper.VALUE"), "helper.py": "VALUE = 7\n"}
    )

    def swap(path: str, content: bytes) -> None:
        check_source(path, content)
        for file in ("main.py", "helper.py"):
            (tmp_path / file).write_text("raise SystemExit('not the agreed code')\n")

    monkeypatch.setattr(program_files, "check_source", swap)
    assert load_program(agreed, tmp_path)(None) == 7  # type: ignore[arg-type]


def test_files_of_a_program_import_each_other(tmp_path: Path) -> None:
    files = {
        "main.py": "from __future__ import annotations\nimport deep.inner as inner\nfrom deep import other\n"
        "from dataclasses import dataclass\n\n@dataclass\nclass Pair:\n    a: int\n\n"
        "def run(party):\n    return inner.VALUE + other.TWICE + Pair(1).a\n",
        "deep/inner.py": "VALUE = 10\n",
        "deep/other.py": "from .inner import VALUE\nfrom . import inner\nTWICE = VALUE + inner.VALUE\n",
    }
    assert run(tmp_path, files) == 31


def test_two_programs_of_one_name_are_two(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    first = program(
        tmp_path / "x", {"main.py": "import part\ndef run(party):\n    return part.V\n", "part.py": "V = 1\n"}
    )
    second = program(
        tmp_path / "y", {"main.py": "import part\ndef run(party):\n    return part.V\n", "part.py": "V = 2\n"}
    )
    functions = load_program(first, tmp_path / "x"), load_program(second, tmp_path / "y")
    assert [one(None) for one in functions] == [1, 2]  # type: ignore[arg-type]


def compiled(path: Path) -> None:
    """A module without its source."""
    path.with_suffix(".py").write_text("VALUE = 1\n")
    py_compile.compile(str(path.with_suffix(".py")), str(path), doraise=True)
    path.with_suffix(".py").unlink()


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("unlisted_helper.py", "unlisted_helper"),
        ("unlisted_package/__init__.py", "unlisted_package"),
        ("unlisted_folder/inner.py", "unlisted_folder.inner"),
        ("unlisted_folder/deep/inner.py", "unlisted_folder.deep.inner"),
        ("unlisted_compiled.pyc", "unlisted_compiled"),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_a_file_that_is_not_listed_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, module: str, before: bool
) -> None:
    """In whatever form it lies there, and even if somebody has imported it before."""
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    if file.endswith(".pyc"):
        compiled(tmp_path / file)
    else:
        (tmp_path / file).write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    if before:
        monkeypatch.setitem(sys.modules, module.partition(".")[0], import_module(module.partition(".")[0]))
    with pytest.raises(InvalidInputError, match=rf"'{module}', which lies beside it and is not in the study's \[job"):
        run(tmp_path, {"main.py": f"import {module}\n" + MAIN})


def test_what_is_installed_is_imported_also_where_the_program_is_installed(tmp_path: Path) -> None:
    assert run(tmp_path, {"main.py": "import numpy, decimal, sys, iniconfig\n" + MAIN}) == 1
    code = compile("import numpy, iniconfig", "main.py", "exec")
    installed = program_files._Modules("test", Path(sysconfig.get_path("purelib")), {"main": code})
    assert installed.loaded("main").iniconfig


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    party._scheme.open(1)", "'_scheme' is private"),
        ("    getattr(party, 'x')", "'getattr' makes code of text"),
        ("    eval('1')", "'eval'"),
        ("    party.export_share(1)", "'export_share' lets shares out"),
        ("    from cofit.secret.release import release_once", "inner part of cofit"),
        ("    from cofit import sharing", "inner part of cofit"),
        ("    import cofit.roles.party", "inner part of cofit"),
        ("    return (", "not valid Python"),
        ("    match party:\n        case object(_scheme=found):\n            return found", "'_scheme' is private"),
        ("    import cofit\n    return cofit.secret.Party", "'cofit.secret' is an inner part"),
        ("    import builtins", "'builtins' makes code of text"),
        ("    from builtins import getattr as g", "'builtins.getattr' makes code of text"),
        ("    from importlib import import_module", "'importlib.import_module' makes code"),
        ("    from operator import attrgetter", "'operator.attrgetter' makes code"),
        ("    import operator\n    return operator.attrgetter('a')", "'attrgetter' reaches by text"),
        ("    import cofit\n    return cofit.Party.share(party, 'a', 1)", "'Party.share' is not the method"),
        ("    from cofit import Party\n    return Party.random_bits(party, (1,))", "'Party.random_bits' is not"),
    ],
)
def test_what_reaches_past_the_study_is_refused_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        run(tmp_path, {"main.py": f"def run(party):\n{line}\n"})
    assert "main.py" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"# coding: utf-7\ndef run(party):\n    # +AAo-    return 'not seen'\n    return 1\n", "must be UTF-8"),
        (b"# coding: latin-1\n" + MAIN.encode(), "must be UTF-8"),
        (MAIN.encode() + b"# \xff\n", "must be UTF-8"),
        (b"def run(party):\n    # a comment\r    return 'not seen'\n", r"line 2: the character U\+000D"),
        (MAIN.encode() + "# \u202e\n".encode(), r"line 3: the character U\+202E .*as an escape \('\\u202e'\)"),
        (MAIN.encode() + "X = '\u200b'\n".encode(), r"U\+200B"),
        (MAIN.encode() + "# \u2028\n".encode(), r"U\+2028"),
        (b"def run(party):\n    \x0c return 1\n", r"U\+000C"),
    ],
)
def test_what_hides_code_from_readers_is_refused(tmp_path: Path, text: bytes, said: str) -> None:
    """Python would run another text than people see."""
    (tmp_path / "main.py").write_bytes(text)
    agreed = Program("main", "run", (("main.py", hashlib.sha256(text).hexdigest()),), ())
    with pytest.raises(InvalidInputError, match=said):
        load_program(agreed, tmp_path)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"# coding: utf-8\n"])
def test_plain_text_of_any_system_is_not_refused(tmp_path: Path, mark: bytes) -> None:
    text = mark + "X = 'ä\t'\n".encode() + MAIN.replace("\n", "\r\n").encode()
    (tmp_path / "main.py").write_bytes(text)
    agreed = Program("main", "run", (("main.py", hashlib.sha256(text).hexdigest()),), ())
    assert load_program(agreed, tmp_path)(None) == 1  # type: ignore[arg-type]


def test_what_programs_do_is_not_refused(tmp_path: Path) -> None:
    text = (
        "import numpy as np\nimport cofit\nfrom cofit import FixedPoint, concatenate\n"
        "from cofit.protocols import select\n"
        "from cofit.sampling.discrete_laplace import discrete_laplace\n\n"
        "class Sum:\n    def __init__(self, x):\n        super().__init__()\n        self._x = x\n\n"
        "def run(party):\n    return Sum(2)._twice if False else 5\n"
    )
    with pytest.raises(InvalidInputError, match="'_twice' is private"):
        run(tmp_path, {"main.py": text})
    assert run(tmp_path, {"main.py": text.replace("Sum(2)._twice if False else 5", "5")}) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run = 3\n", "must be a plain function of one Party"),
        ("async def run(party):\n    pass\n", "must be a plain function"),
        ("import no_such_module_at_all\n", "cannot be loaded: ModuleNotFoundError"),
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError"),
    ],
)
def test_a_program_that_cannot_be_loaded_says_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        run(tmp_path, {"main.py": text})


def test_where_the_source_is(tmp_path: Path) -> None:
    here = program(tmp_path, {"main.py": MAIN})
    assert program_folder(here, tmp_path) == tmp_path
    (tmp_path / "elsewhere").mkdir()
    installed = Program("pytest", "run", (("pytest/__init__.py", "0" * 64),), ())
    assert (program_folder(installed, tmp_path / "elsewhere") / "pytest" / "__init__.py").is_file()
    absent = Program("no_such_module", "run", (("no_such_module.py", "0" * 64),), ())
    with pytest.raises(InvalidInputError, match="never comes over the network"):
        program_folder(absent, tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_program(absent, tmp_path)


def test_paths_are_from_the_common_folder(tmp_path: Path) -> None:
    program(tmp_path, {"main.py": MAIN, "deep/inner.py": ""})
    assert list(source_paths([tmp_path / "main.py", tmp_path / "deep" / "inner.py"])) == ["main.py", "deep/inner.py"]
    assert list(source_paths([tmp_path / "deep" / "inner.py"])) == ["inner.py"]
