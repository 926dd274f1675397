"""A party program on this machine: read once, checked against the study's hashes, and run from the bytes that were
checked.

Code never comes over the network. Whoever runs a party has the source files, and says where they are. Each listed file
is read one time; its SHA-256 must be the study's; what is compiled is that very content, whatever becomes of the file
afterwards. Modules of the program import each other through a function of their own: they find listed files in memory,
everything else among the installed packages, and never a file that lies beside them unlisted.

A program has Python's full power, as every code that a party installs. The hashes say that all parties run the same,
so people must read it; ``program_source`` refuses what they could not see, or what reaches past the study.
"""

from __future__ import annotations

import builtins
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType
from typing import Any

from cofit.errors import InvalidInputError
from cofit.roles.files.program_source import check_source
from cofit.secret import Party
from cofit.study.program import Program

_LARGEST_SOURCE = 4 << 20


def source_paths(files: Sequence[Path]) -> dict[str, Path]:
    """Return source files by their paths from the folder that all of them have in common."""
    if len(files) == 1:
        return {files[0].name: files[0]}
    folders = [path.resolve().parent for path in files]
    root = next(one for one in (folders[0], *folders[0].parents) if all(f.is_relative_to(one) for f in folders))
    return {str(PurePosixPath(path.resolve().relative_to(root))): path for path in files}


def read_source(path: Path) -> tuple[bytes, str]:
    """Return the content of a source file, read once, and its SHA-256 in hex."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_SOURCE + 1)
    except OSError as error:
        raise InvalidInputError(
            f"The source file '{path}' cannot be read: {error.strerror}. A party has the program at hand before it "
            "starts: say where with --program."
        ) from None
    if len(content) > _LARGEST_SOURCE:
        raise InvalidInputError(f"The source file '{path}' must have at most {_LARGEST_SOURCE} bytes.")
    return content, hashlib.sha256(content).hexdigest()


def program_folder(program: Program, beside: Path) -> Path:
    """Return where the source is if nobody says: beside the study, or else among the installed packages."""
    first, _ = program.sources[0]
    if (beside / first).exists():
        return beside
    top = program.module.partition(".")[0]
    spec = PathFinder.find_spec(top)
    if spec is not None and spec.origin is not None:
        file = Path(spec.origin)
        return file.parent.parent if spec.submodule_search_locations else file.parent
    raise InvalidInputError(
        f"The program '{program.name}' of this study is not here: no file '{first}' in {beside}, and no installed "
        f"module '{top}'. Say with --program in which folder its source is. It never comes over the network: get it "
        "from the people of the study, and read it."
    )


def load_program(program: Program, folder: Path) -> Callable[[Party], object]:
    """Return the function of a study's program from its source in ``folder``, or raise InvalidInputError.

    The code at the top of the modules runs now.
    """
    read = {path: read_source(folder / path) for path, _ in program.sources}
    contents = {path: content for path, (content, _) in read.items()}
    digests = {path: digest for path, (_, digest) in read.items()}
    for path, agreed in program.sources:
        if digests[path] != agreed:
            raise InvalidInputError(
                f"'{folder / path}' is not the program that the study agreed on. The SHA-256 of the study is {agreed}, "
                f"that of this file {digests[path]}. Get the agreed file; or, if this one is right, agree on a new "
                "study with its hash (`cofit program-hash`)."
            )
    code = {}
    for path, content in contents.items():
        check_source(path, content)
        code[_module_of(path)] = compile(content, str(folder / path), "exec", dont_inherit=True)
    name = hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()[:16]
    modules = _Modules(f"cofit_program_{name}", folder, code)
    try:
        function = getattr(modules.loaded(program.module), program.function, None)
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"The program '{program.name}' cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        raise InvalidInputError(
            f"'{program.function}' of module '{program.module}' must be a plain function of one Party. Got "
            f"{type(function).__name__} instead."
        )
    return function


class _Modules:
    """The modules of one program, loaded when they are imported, each once. ``prefix``: theirs in ``sys.modules``."""

    def __init__(self, prefix: str, folder: Path, code: Mapping[str, CodeType]) -> None:
        self._prefix = prefix
        self._folder = folder
        self._code = dict(code)
        for name in code:  # packages without a file of their own
            parts = name.split(".")
            for package in (".".join(parts[:i]) for i in range(1, len(parts))):
                self._code.setdefault(package, compile("", f"<{package}>", "exec"))
        self._packages = {name for name in self._code if any(other.startswith(f"{name}.") for other in self._code)}
        self._loaded: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def loaded(self, name: str) -> ModuleType:
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._code:
            raise InvalidInputError(
                f"The program imports '{name}', which is not in the study's [job.sources]. List its file there."
            )
        parent, _, last = name.rpartition(".")
        within = self.loaded(parent) if parent else None
        module = ModuleType(f"{self._prefix}.{name}")
        package = name if name in self._packages else parent
        module.__dict__.update(__builtins__=self._builtins, __file__=self._code[name].co_filename, __package__=package)
        self._loaded[name] = sys.modules[module.__name__] = module  # dataclasses look their module up there
        exec(self._code[name], module.__dict__)  # noqa: S102 - what was read and compared with the study
        if within is not None:
            setattr(within, last, module)
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        if level:
            package = str((globals or {}).get("__package__") or "").split(".")
            name = ".".join([*package[: len(package) - level + 1], *([name] if name else [])])
        top = name.partition(".")[0]
        if top not in self._code and not level:
            if _lies_in(self._folder, top):
                raise InvalidInputError(
                    f"The program imports '{name}', which lies beside it and is not in the study's [job.sources]. List "
                    "its file there."
                )
            return builtins.__import__(name, globals, locals, fromlist or (), 0)
        module = self.loaded(name)
        for one in fromlist or ():
            if f"{name}.{one}" in self._code:
                self.loaded(f"{name}.{one}")
        return module if fromlist else self.loaded(top)


def _lies_in(folder: Path, top: str) -> bool:
    """Whether a module would come from this folder, in whatever form; not so among the installed packages."""
    if folder.resolve() in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}:
        return False
    known = sys.modules.get(top)
    spec: ModuleSpec | None = getattr(known, "__spec__", None) if known is not None else find_spec(top)
    if spec is None:
        return any((folder / name).exists() for name in (f"{top}.py", top))
    places = [spec.origin] if spec.has_location else []
    places = list(spec.submodule_search_locations or places)
    return any(Path(place).resolve().parent == folder.resolve() for place in places if place)


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
