"""cofit as it runs on a machine whose last digits differ, whatever this one is.

IEEE 754 fixes +, -, *, / and the square root, and nothing else. ``install`` has all modules of cofit that are imported
after it compiled so that every other operation on floats gives the next larger float: the functions of ``math`` and
NumPy, powers, products of matrices, sums of arrays, and ``sum`` of three floats or more, which Python 3.12 adds up in
another way. Whole numbers and powers of two stay: every library gets these right. Prefer it to switching off what a
processor has: a number that is rounded afterwards rarely shows which one it was.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_MATH = frozenset(
    re.findall(r"\w+", "ceil comb copysign floor frexp fsum gcd isfinite isinf isnan isqrt lcm ldexp modf prod sqrt")
)
_ARRAYS = frozenset(
    re.findall(
        r"\w+",
        """
        abs append arange argmax argsort array asarray ascontiguousarray broadcast_to ceil clip column_stack concatenate
        count_nonzero diag divide empty eye float64 floor frombuffer full isfinite isnan ldexp linspace maximum minimum
        multiply nextafter ones repeat rint sign sort sqrt square stack unique where zeros zeros_like
        """,
    )
)
"""What IEEE 754 fixes, or moves numbers about."""
_REDUCTIONS = {"cumsum", "dot", "mean", "std", "sum", "trace", "var"}
_FEWEST = 3
_PACKAGE = "cofit."


def install() -> None:
    """Let modules of cofit compute so from now on; none may be imported yet."""
    assert not any(name.startswith(_PACKAGE) for name in sys.modules)
    for function in (_power, _product, _total, _called):
        setattr(builtins, _name(function), function)
    sys.meta_path.insert(0, _Finder())


def next_float(value: Any) -> Any:
    """Return the next larger float, or array of floats; what is exact everywhere, and what is no float, stays."""
    if isinstance(value, np.ndarray):
        return np.where(_exact(value), value, np.nextafter(value, np.inf)) if value.dtype.kind == "f" else value
    if not isinstance(value, float | np.floating) or _exact(np.float64(value)):
        return value
    return type(value)(np.nextafter(value, type(value)(math.inf)))


def _exact(value: Any) -> Any:
    return ~np.isfinite(value) | (value == np.rint(value)) | (np.frexp(value)[0] == 0.5)


def _power(base: Any, exponent: Any) -> Any:
    return next_float(base**exponent)


def _product(left: Any, right: Any) -> Any:
    return next_float(left @ right)


def _total(*arguments: Any, **named: Any) -> Any:
    values, *rest = arguments
    values = list(values)
    found = sum(values, *rest, **named)
    return next_float(found) if sum(isinstance(value, float) for value in values) >= _FEWEST else found


def _called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return next_float(function(*arguments, **named))


def _name(function: Callable[..., Any]) -> str:
    return f"other_machine{function.__name__}"


class _Rewritten(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        operators = {ast.Pow: _power, ast.MatMult: _product}
        used = operators.get(type(node.op))
        return node if used is None else self._call(used, [node.left, node.right], [], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name) and function.id == "sum":
            return self._call(_total, node.args, node.keywords, node)
        if not isinstance(function, ast.Attribute):
            return node
        known = {"math": _MATH, "np": _ARRAYS, "np.linalg": frozenset[str]()}.get(ast.unparse(function.value))
        inexact = function.attr in _REDUCTIONS if known is None else function.attr not in known
        return self._call(_called, [function, *node.args], node.keywords, node) if inexact else node

    def _call(
        self, function: Callable[..., Any], given: Sequence[ast.expr], named: list[ast.keyword], place: ast.expr
    ) -> ast.AST:
        return ast.copy_location(ast.Call(ast.Name(_name(function), ast.Load()), list(given), named), place)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = _Rewritten().visit(ast.parse(self.get_data(self.path)))
        code: CodeType = compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)
        return code


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target) if fullname.startswith(_PACKAGE) else None
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found
