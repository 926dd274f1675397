"""The imports between the packages of cofit as a picture: ``make graph`` draws docs/images/imports.svg again.

Packages stand in the order of the layers in pyproject.toml; an arc leads from a package to one that it imports, always
downwards. Bold arcs are those without which the order would not follow: all others skip a package on a longer path.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping

import grimp

from support.pages import ROOT

PICTURE = ROOT / "docs" / "images" / "imports.svg"
Graph = Mapping[str, set[str]]
_BOX, _HEIGHT, _GAP, _LEFT, _TOP = 150, 26, 14, 20, 44
_STYLES = {True: 'stroke="#1f6feb" stroke-width="1.8"', False: 'stroke="#b6bec8" stroke-width="1"'}


def layers() -> list[str]:
    """Return the packages from the highest layer to the lowest, as the linter knows them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [one for one in settings["contracts"] if one.get("containers") == ["cofit"]]
    return [name.strip() for layer in contract["layers"] for name in layer.split("|")]


def imports(packages: Iterable[str]) -> dict[str, set[str]]:
    """Return which packages each of them imports."""
    graph = grimp.build_graph("cofit")
    for name in packages:
        if graph.find_children(f"cofit.{name}"):
            graph.squash_module(f"cofit.{name}")
    found = {name: graph.find_modules_directly_imported_by(f"cofit.{name}") for name in packages}
    return {name: {one.removeprefix("cofit.") for one in of} - {name, "cofit"} for name, of in found.items()}


def needed(graph: Graph) -> set[tuple[str, str]]:
    """Return the imports that no longer path replaces (the transitive reduction of a graph without cycles)."""

    def reached(start: str) -> set[str]:
        return {start}.union(*(reached(one) for one in graph[start]))

    return {
        (name, one)
        for name, of in graph.items()
        for one in of
        if not any(one in reached(other) for other in of - {one})
    }


def drawn(order: list[str], graph: Graph) -> str:
    """Return the picture."""
    place = {name: _TOP + i * (_HEIGHT + _GAP) + _HEIGHT / 2 for i, name in enumerate(order)}
    reach = max((place[one] - place[name] for name, of in graph.items() for one in of), default=0.0)
    width, height = round(_LEFT + _BOX + 0.55 * reach + 30), round(_TOP + len(order) * (_HEIGHT + _GAP))
    bold = needed(graph)
    arcs = sorted(((name, one) for name, of in graph.items() for one in of), key=lambda arc: (arc in bold, arc))
    edge = _LEFT + _BOX
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title desc" font-family="DejaVu Sans, Verdana, Arial, sans-serif" font-size="13">',
        '<title id="title">Imports between the packages of cofit</title>',
        '<desc id="desc">Each package imports only packages below it. Bold: not replaced by a longer path.</desc>',
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0 L10 5 L0 10 z" fill="#57606a"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="24" fill="#1b1f24">a package imports those to which arcs lead; bold: no detour</text>',
    ]
    for name, one in arcs:
        top, bottom = place[name] + 4, place[one] - 4
        bulge = edge + 0.72 * (bottom - top) + 10
        path = f"M{edge} {top:g} C{bulge:.0f} {top:g} {bulge:.0f} {bottom:g} {edge + 2} {bottom:g}"
        lines.append(f'<path d="{path}" fill="none" {_STYLES[(name, one) in bold]} marker-end="url(#tip)"/>')
    for name, y in place.items():
        lines.append(
            f'<rect x="{_LEFT}" y="{y - _HEIGHT / 2:g}" width="{_BOX}" height="{_HEIGHT}" rx="5" fill="#f3f5f8" '
            'stroke="#8b949e"/>'
        )
        lines.append(f'<text x="{_LEFT + _BOX / 2:g}" y="{y + 5:g}" text-anchor="middle" fill="#1b1f24">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def picture() -> str:
    """Return the picture of the imports as they are now."""
    order = layers()
    return drawn(order, imports(order))


if __name__ == "__main__":
    PICTURE.write_text(picture())
