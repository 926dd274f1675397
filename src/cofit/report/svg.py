"""Plots as inline SVG in the page's own colours and font, the same bytes every time.

Matplotlib draws with colours that stand for roles (ink, grid, first series ...); in the SVG text they become CSS
variables, so one drawing serves light and dark screens and paper. Labels stay text. Ids get a prefix, because all plots
of a page share one name space.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, MUTED, GRID, ALARM = "#010101", "#010102", "#010103", "#010104"
SERIES = ("#010111", "#010112", "#010113", "#010114", "#010115", "#010116")
VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--line)",
    ALARM: "var(--alarm)",
    **{colour: f"var(--series-{i + 1})" for i, colour in enumerate(SERIES)},
}
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cofit report",
    "text.parse_math": False,
    "font.size": 8.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "patch.linewidth": 0.0,
    "lines.linewidth": 1.6,
}


@contextmanager
def drawing(width: float = 4.6, height: float = 2.7) -> Iterator[tuple[Figure, Axes]]:
    """Give an empty figure, in inches, with one set of axes. Draw and call ``to_svg`` inside."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the browser has other fonts
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def to_svg(figure: Figure, name: str, description: str) -> Markup:
    """Return a figure as an SVG element. ``name``: unique on the page. ``description``: for those who do not see it."""
    buffer = io.StringIO()
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    empty = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    FigureCanvasSVG(figure).print_svg(buffer, metadata=empty)  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:)?href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r"font-family: [^;\"]*; ", "", text)  # the page's, by its style sheet
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    label = Markup.escape(description)
    head = f'<svg class="plot" role="img" aria-label="{label}" viewBox='
    return Markup(re.sub(r"<svg\b.*?viewBox=", lambda _: head, text, count=1, flags=re.DOTALL).strip())  # noqa: S704
