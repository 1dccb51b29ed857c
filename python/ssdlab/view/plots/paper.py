"""Figures of a page as files for papers, in the widths of the usual two-column formats."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from ssdlab._ssdlab import ConfigError
from ssdlab.model.finding import FigureFormat
from ssdlab.view.choice import chosen
from ssdlab.view.page import Beside, Figure, Page
from ssdlab.view.plots.drawing import drawn

WIDTHS = {"": 3.5, "-wide": 7.16}
"""Widths in inches of one and two columns of IEEE papers; ACM's and USENIX's columns differ by less than a tenth."""


def papers(page: Page, format: FigureFormat, only: Sequence[str] = ()) -> dict[str, bytes]:
    """Returns the figures of a page as files: their contents by file name. Figures with equal titles are numbered.
    `only` selects figures by words in their titles.
    """
    if format not in get_args(FigureFormat):
        raise ConfigError(f"figures: unknown format {format!r}; choose one of {', '.join(get_args(FigureFormat))}")
    files: dict[str, bytes] = {}
    times: Counter[str] = Counter()
    every = [*titled(page)]
    names = [f"{section}, {title}" if section != title else title for section, title, _ in every]
    wanted = {*chosen("--figure", only, names)} if only else {*range(len(every))}
    for at in sorted(wanted):
        _, title, figure = every[at]
        chart = figure.draw()
        if chart.is_empty:
            continue
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        times[name] += 1
        if times[name] > 1:
            name = f"{name}-{times[name]}"
        for suffix, width in WIDTHS.items():
            files[f"figure-{name}{suffix}.{format}"] = drawn(chart, title, width).saved(format, dpi=300)
    return files


def titled(page: Page) -> Iterator[tuple[str, str, Figure]]:
    """Yields the figures worth drawing, with the titles of section and figure, which are equal for untitled figures."""
    for section in page.sections:
        for item in section.items:
            for figure in item.items if isinstance(item, Beside) else [item]:
                if isinstance(figure, Figure) and figure.is_useful():
                    section_title = section.title or page.title
                    yield section_title, figure.title or section_title, figure
