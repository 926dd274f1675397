"""Sections of facts for people: a name, a value and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cofit.learn.base_plan import Plan

_BITS = {
    "data": "the shared features",
    "weights": "the weights",
    "argument": "z = <w, x>",
    "scaled": "the residuals that meet X^T",
    "inverse_norm": "1 / ||x||, where the parties compute it",
    "product": "X w before it is multiplied by 1 / ||x||",
}


@dataclass(frozen=True)
class Row:
    """One fact of a plan."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Section:
    """Facts that belong together, under a title."""

    title: str
    rows: tuple[Row, ...]


def check_row(plan: Plan) -> Row:
    """Return how rows and labels are checked inside the computation."""
    count = plan.row_check.projections
    way = f"{count} projections" if count else "every value"
    note = f"rows and labels, in secret; a lie passes with probability {as_number(plan.check_delta)} at most, in delta"
    return Row("check of rows", way, note)


def format_section(plan: Plan) -> Section:
    """Return the formats of a plan, and the ranges that they are proven for."""
    formats = plan.formats
    bits = [(name, getattr(formats, name)) for name in _BITS]
    because = f"because {plan.ring_reason}" if plan.ring_reason else ""
    rows = [Row("ring", formats.ring.name, because), Row("loss on secrets", formats.evaluation.description)]
    rows += [Row(f"bits of {name.replace('_', ' ')}", str(n), _BITS[name]) for name, n in bits if n is not None]
    rows += [
        Row("largest ||w||", as_number(formats.radius), "proven for every epoch; nothing can overflow"),
        Row("largest |z|", as_number(formats.argument_radius), "proven for every row"),
    ]
    return Section("Number formats and proven ranges", tuple(rows))


def as_number(value: Fraction | float) -> str:
    """Return four significant digits."""
    return f"{float(value):.4g}"


def as_percent(share: float) -> str:
    """Return a share in percent."""
    return f"{share:.0%}" if share >= 0.1 else f"{100 * share:.2g}%"
