"""The figures of a page as files for papers, in the widths of the usual two-column formats."""

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import matplotlib

from ssdlab.model.finding import FigureFormat
from ssdlab.view.page import Beside, Figure, Page
from ssdlab.view.plots.drawing import drawn
from ssdlab.view.plots.style import STYLE

WIDTHS = {"": 3.5, "-wide": 7.16}
"""In inches, as IEEE sets one and two columns; those of ACM and USENIX differ by less than a tenth."""

STATELESS: dict[FigureFormat, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""What keeps times and versions out of a file, so that equal figures give equal bytes."""


def papers(page: Page, format: FigureFormat) -> dict[str, bytes]:
    """The figures of a page that show something: names of files to their contents. Equal titles are numbered."""
    found: dict[str, bytes] = {}
    times: Counter[str] = Counter()
    for title, figure in _titled(page):
        chart = figure.draw()
        if chart.is_empty:
            continue
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        times[name] += 1
        if times[name] > 1:
            name = f"{name}-{times[name]}"
        for suffix, width in WIDTHS.items():
            canvas = io.BytesIO()
            # Type 42 embeds outlines that publishers accept; type 3, the default, they do not.
            with matplotlib.rc_context({**STYLE, "pdf.fonttype": 42}):
                drawn(chart, title, width).savefig(canvas, format=format, dpi=300, metadata=STATELESS[format])
            found[f"figure-{name}{suffix}.{format}"] = canvas.getvalue()
    return found


def _titled(page: Page) -> Iterator[tuple[str, Figure]]:
    """Figures with what they are called: their own title, or that of their section."""
    for section in page.sections:
        for item in section.items:
            for one in item.items if isinstance(item, Beside) else [item]:
                if isinstance(one, Figure):
                    yield one.title or section.title or page.title, one
