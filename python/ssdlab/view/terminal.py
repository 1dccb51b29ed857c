"""Shows pages on the terminal."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from ssdlab.view.page import Beside, Cell, Facts, Item, Page, Paragraph, Row, Section, Style, Table

STYLES: dict[Style, str] = {
    "": "", "strong": "bold", "soft": "dim", "code": "", "best": "green", "gap": "yellow", "bad": "red",
}  # fmt: skip
FACT_COLUMNS = 42, 16
"""Minimum widths of labels and values of facts in columns, so that the facts of a page align."""
GAP = 2
"""Number of spaces between two columns of a table."""
WITH_OUT = "with --out"
WORDS = 32
"""Maximum width of a text column next to numbers; longer words are folded."""
BELOW_NUMBER = "   "
"""Indent of paragraphs that belong to a numbered paragraph."""
NOTE_COLUMNS = 110
"""Maximum width of a note in columns; other lines are not wrapped, for search and pipes."""


def show(page: Page, further: str = WITH_OUT) -> None:
    """Prints a page; `further` states where to find rows that are omitted."""
    out = Console(highlight=False, soft_wrap=True)
    out.print(Text(page.title, style="bold"))
    for paragraph in page.lead:
        _paragraph(out, paragraph)
    for remark in page.remarks:
        out.print(Text(_remark(out, f"note: {remark}"), style="yellow"))
    if page.partial:
        out.print(Text(_remark(out, f"partial result: {page.partial}"), style="bold red"))
    items = [item for section in page.sections if section.terminal for item in _items(section)]
    labels = _label_columns(items)
    for before, item in zip([None, *items], items, strict=False):
        if isinstance(item, Paragraph):
            if not isinstance(before, Paragraph | Table):
                out.print()
            _paragraph(out, _filled(out, item) if item.style == "soft" else item)
        else:
            _table(out, item, labels, further)
    if page.legend:
        out.print(Text(f"\n{page.legend}"))
    for number, paragraph in enumerate(page.conclusion):
        if number == 0:
            out.print()
        _paragraph(out, paragraph)


def _paragraph(out: Console, paragraph: Paragraph) -> None:
    indent = BELOW_NUMBER if paragraph.belongs else "  " if paragraph.style == "code" else ""
    out.print(Text(textwrap.indent(paragraph.text, indent), style=STYLES[paragraph.style]))


def _remark(out: Console, line: str) -> str:
    """Wraps a remark between words on a terminal; in a pipe the remark stays one line."""
    return textwrap.fill(line, out.width, break_long_words=False) if out.is_terminal else line


def _filled(out: Console, note: Paragraph) -> Paragraph:
    """Wraps a note without separating a number from its unit."""
    words = note.text.replace(" %", "\u00a0%")
    filled = textwrap.fill(
        words, min(out.width, NOTE_COLUMNS) - len(BELOW_NUMBER) * note.belongs, break_long_words=False
    )
    return note._replace(text=filled.replace("\u00a0", " "))


def _items(section: Section) -> Iterator[Paragraph | Facts | Table]:
    """Yields the items of a section without figures. The section's title goes to the first table without a title."""
    title = section.title
    for item in section.items:
        for shown in _shown(item):
            if isinstance(shown, Table) and not shown.title:
                yield replace(shown, title=title)
                title = ""
            else:
                yield shown


def _shown(item: Item) -> Iterator[Paragraph | Facts | Table]:
    if isinstance(item, Beside):
        for inner in item.items:
            yield from _shown(inner)
    elif isinstance(item, Paragraph | Facts | Table):
        yield item


def _label_columns(items: Sequence[Paragraph | Facts | Table]) -> int:
    """Returns the width of the first column of all tables that have their title in the header, so that they align."""
    labels = [0]
    for item in items:
        if isinstance(item, Table) and not item.headers[0]:
            first = item.headers[1:] if item.wide else [_text(row[0]).plain for row in item.rows[: item.most]]
            labels += [len(item.title), *(2 + len(label) for label in first)]
    return max(labels)


def _table(out: Console, item: Facts | Table, labels: int, further: str) -> None:
    out.print()
    if isinstance(item, Facts):
        _print_grid(out, _facts(item))
        return
    headers, rows = (item.headers, item.rows[: item.most]) if not item.wide else _turned(item)
    # Without a header, the first column has the table's title.
    own = bool(headers[0])
    if own and item.title:
        out.print(Text(item.title, style="bold"))
    for number, columns in enumerate(_parts(out, headers, rows, item.left, 0 if own else labels)):
        if number:
            out.print()
        heads, left = [headers[at] for at in columns], sum(at < item.left for at in columns)
        grid = _grid(heads if own else [item.title, *heads[1:]], left)
        if out.is_terminal:
            # Text columns may break lines between words.
            for column in grid.columns[1:left]:
                column.no_wrap = False
        for row in rows:
            first, *cells = [row[at] for at in columns]
            # Rows are indented below the table's title, except headings among the rows.
            outdented = own or (isinstance(first, Cell) and first.style == "strong")
            grid.add_row(_text(first) if outdented else Text("  ") + _text(first), *map(_text, cells))
        if own:
            grid.columns[0].header_style = ""
        else:
            grid.columns[0].min_width = labels
        _print_grid(out, grid)
    if item.most is not None and len(item.rows) > item.most:
        out.print(Text(f"  further rows: {len(item.rows) - item.most}, {further}", style="dim"))


def _facts(item: Facts) -> Grid:
    grid = _grid([item.title, ""], 1)
    grid.show_header = bool(item.title)
    indent = "  " if item.title else ""
    for label, value in item.rows:
        grid.add_row(Text(indent + label), Text(value))
    if item.title:
        grid.columns[0].min_width, grid.columns[1].min_width = FACT_COLUMNS
    return grid


def _print_grid(out: Console, grid: Grid) -> None:
    # Numbers in a table must not be cut off.
    whole = out.width
    needed = out.measure(grid, options=out.options.update(width=10_000))
    out.width = max(whole, needed.minimum if out.is_terminal else needed.maximum)
    out.print(grid)
    out.width = whole


def _parts(
    out: Console, headers: Sequence[str], rows: Sequence[Row], left: int, labels: int
) -> Iterator[Sequence[int]]:
    """Splits the columns of a table into parts that fit a terminal, each with the names of rows. In a pipe, all columns
    stay together.
    """
    fixed = [*range(left if left < len(headers) else 1)]
    free = [*range(len(fixed), len(headers))]
    if not out.is_terminal or not free:
        yield [*fixed, *free]
        return

    def widest(at: int) -> int:
        return max(Text(cell).cell_len for cell in (headers[at], *(_text(row[at]).plain for row in rows)))

    def columns(at: int) -> int:
        if at == 0:
            return max(widest(0) + 2, labels) + GAP
        return (min(widest(at), WORDS) if at < left else widest(at)) + GAP

    # Columns of long words appear only in the first part of a split table.
    again = [at for at in fixed if at == 0 or widest(at) <= WORDS]
    part = [*fixed]
    for at in free:
        # A column wider than the terminal forms a part by itself.
        if part[-1] not in fixed and sum(map(columns, [*part, at])) - GAP > out.width:
            yield part
            part = [*again]
        part.append(at)
    yield part


def _turned(table: Table) -> tuple[Sequence[str], Sequence[Row]]:
    """Returns headers and rows of the transposed table."""
    _, *names = table.headers
    headers = ["", *(_text(row[0]).plain for row in table.rows)]
    return headers, [[name, *(row[at] for row in table.rows)] for at, name in enumerate(names, 1)]


def _grid(headers: Sequence[str], left: int) -> Grid:
    """Returns a rich table without lines."""
    grid = Grid(box=None, padding=(0, GAP, 0, 0), header_style="dim", pad_edge=False)
    for index, header in enumerate(headers):
        grid.add_column(Text(header), justify="left" if index < left else "right", no_wrap=True)
    if headers:
        grid.columns[0].header_style = "bold"
    return grid


def _text(cell: str | Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else Text(cell.text, style=STYLES[cell.style])
