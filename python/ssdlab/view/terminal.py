"""Shows pages on the terminal."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from ssdlab.text import columns, counted, folded
from ssdlab.view.page import Beside, Cell, Facts, Page, Paragraph, Row, Style, Table

STYLES: dict[Style, str] = {
    "": "", "strong": "bold", "soft": "dim", "code": "", "best": "green", "gap": "yellow", "bad": "red",
}  # fmt: skip
FACT_COLUMNS = 42, 16
"""Minimum widths of the labels and values of facts, in terminal columns, so that the facts of a page align."""
GAP = 2
"""Number of spaces between two columns of a table."""
INDENT = "  "
"""Indent of rows below a table title, and of continuation lines of a wrapped row name."""
LABEL = 55
"""Maximum width of the first column; longer row names are wrapped."""
WORDS = 32
"""Maximum width of a text column next to numbers; longer texts are wrapped."""
BELOW_NUMBER = "   "
"""Indent of paragraphs that belong to a numbered paragraph."""
MOST_LINES = 36
"""Maximum number of lines of a page. Commands print up to four more lines about the files that they wrote."""
MOST_NOTE_LINES = 4
"""Maximum number of lines for the notes of a page; the first note is always printed in full."""


def show(page: Page, *, all: bool = False) -> None:
    """Prints a page in at most 100 columns. Without `all`, omits details and prints at most `MOST_LINES` lines."""
    out = Console(highlight=False, soft_wrap=True, width=columns())
    with out.capture() as body:
        _body(out, page, all)
    with out.capture() as end:
        if page.legend:
            out.print(Text(folded(f"\n{page.legend}")))
        if page.conclusion:
            out.print()
        for paragraph in page.conclusion:
            _paragraph(out, paragraph)
        if page.more and not all:
            out.print(Text(folded(f"\n{page.more}"), style="dim"))
    lines, last = (captured.get().splitlines() for captured in (body, end))
    room = MOST_LINES - len(last)
    if not all and len(lines) > room:
        lines[room - 1 :] = [f"{len(lines) - room + 1} more lines: --all"]
    for line in (*lines, *last):
        print(line.rstrip())


def _body(out: Console, page: Page, all: bool) -> None:
    """Prints the page without its conclusion, which is printed separately and never truncated."""
    out.print(Text(folded(page.title), style="bold"))
    for paragraph in page.lead:
        _paragraph(out, paragraph)
    _notes(out, page.remarks, all)
    if page.partial:
        out.print(Text(folded(f"partial result: {page.partial}"), style="bold red"))
    items = [*shown_items(page, all=all)]
    labels = _label_columns(items)
    for before, item in zip([None, *items], items, strict=False):
        if isinstance(item, Paragraph):
            if not isinstance(before, Paragraph | Table):
                out.print()
            _paragraph(out, item)
        elif isinstance(item, Facts) and not _fits_a_row(out, item):
            out.print()
            _print_grid(out, _facts(item))
        elif isinstance(item, Facts):
            names, values = zip(*item.rows, strict=True)
            _table(out, Table(names, [values], left=0), labels, all)
        else:
            _table(out, item, labels, all)


def _fits_a_row(out: Console, facts: Facts) -> bool:
    """True if the facts are the page's headlines and fit on one line of the terminal."""
    return facts.tiles and sum(max(map(len, row)) + GAP for row in facts.rows) - GAP <= out.width


def _notes(out: Console, remarks: Sequence[str], all: bool) -> None:
    used = 0
    for number, remark in enumerate(remarks):
        note = folded(f"note: {remark}")
        used += note.count("\n") + 1
        if number and used > MOST_NOTE_LINES and not all:
            out.print(Text(f"{counted(len(remarks) - number, 'more notes')}: --all", style="yellow"))
            return
        out.print(Text(note, style="yellow"))


def _paragraph(out: Console, paragraph: Paragraph) -> None:
    indent = BELOW_NUMBER if paragraph.belongs else "  " if paragraph.style == "code" else ""
    out.print(Text(folded(paragraph.text, indent), style=STYLES[paragraph.style]))


def shown_items(page: Page, *, all: bool) -> Iterator[Paragraph | Facts | Table]:
    """Yields the items that a terminal shows. The first table of a section without a title gets the section's title."""
    for section in page.sections:
        if not section.terminal or (section.detail and not all):
            continue
        title = section.title
        for outer in section.items:
            for item in outer.items if isinstance(outer, Beside) else [outer]:
                if isinstance(item, Table) and not item.title:
                    yield replace(item, title=title)
                    title = ""
                elif isinstance(item, Paragraph | Facts | Table):
                    yield item


def _label_columns(items: Sequence[Paragraph | Facts | Table]) -> int:
    """Returns the common width of the first columns of all tables that have their title in the header."""
    labels = [0]
    for item in items:
        if isinstance(item, Table) and not item.headers[0]:
            first = item.headers[1:] if item.wide else [_text(row[0]).plain for row in item.rows[: item.most]]
            labels += [len(item.title), *(2 + len(label) for label in first)]
    return min(max(labels), LABEL)


def _table(out: Console, item: Table, labels: int, all: bool) -> None:
    out.print()
    most = None if all else item.most
    headers, rows = _turned(item) if item.wide else (item.headers, item.rows[:most])
    # If the first column has no header, the title of the table takes its place.
    own = bool(headers[0])
    if own and item.title:
        out.print(Text(item.title, style="bold"))
    width = max(_first_width(headers[0] if own else item.title, rows, indented=not own), 0 if own else labels)
    for number, part in enumerate(_parts(out, headers, rows, item.left, width)):
        if number:
            out.print()
        heads, left = [headers[at] for at in part], sum(at < item.left for at in part)
        grid = _grid(heads if own else [item.title, *heads[1:]], left)
        for row in rows:
            first, *cells = [row[at] for at in part]
            # Rows are indented below the table's title; headings among the rows are not.
            outdented = own or (isinstance(first, Cell) and first.style == "strong")
            grid.add_row(_label(first, "" if outdented else INDENT, width), *map(_text, cells))
        grid.columns[0].min_width = grid.columns[0].max_width = width
        if own:
            grid.columns[0].header_style = ""
        _print_grid(out, grid)
    if most is not None and len(item.rows) > most:
        out.print(Text(f"  {counted(len(item.rows) - most, 'more rows')}: --all", style="dim"))


def _facts(item: Facts) -> Grid:
    grid = _grid([item.title, ""], 1)
    grid.show_header = bool(item.title)
    indent = INDENT if item.title else ""
    for label, value in item.rows:
        grid.add_row(Text(indent + label), Text(value))
    if item.title:
        grid.columns[0].min_width, grid.columns[1].min_width = FACT_COLUMNS
    return grid


def _print_grid(out: Console, grid: Grid) -> None:
    whole = out.width
    if any(column.no_wrap for column in grid.columns[1:]):
        # Numbers in a table must not be cut off.
        out.width = max(whole, out.measure(grid, options=out.options.update(width=10_000)).minimum)
    out.print(grid)
    out.width = whole


def _label(cell: str | Cell, indent: str, width: int) -> Text:
    """Returns the name of a row, wrapped to the width of the first column with a hanging indent."""
    name = _text(cell)
    lines = textwrap.wrap(name.plain, width, initial_indent=indent, subsequent_indent=indent + INDENT,
                          break_long_words=False, break_on_hyphens=False)  # fmt: skip
    return Text("\n".join(lines), name.style)


def _first_width(header: str, rows: Sequence[Row], *, indented: bool) -> int:
    """Returns the width of the first column. Names longer than `LABEL` are wrapped, but only between words."""
    names = [_text(row[0]) for row in rows]
    indent = len(INDENT) * indented
    longest = max([len(header), *(name.cell_len + indent for name in names)])
    folded_words = [word for name in names if name.cell_len + indent > LABEL for word in name.plain.split()]
    return max([min(longest, LABEL), *(len(word) + indent + len(INDENT) for word in folded_words)])


def _parts(
    out: Console, headers: Sequence[str], rows: Sequence[Row], left: int, first_width: int
) -> Iterator[Sequence[int]]:
    """Splits the columns of a table into parts that fit the width; each part repeats the column of row names."""
    fixed = [*range(max(left, 1))]

    def widest(at: int) -> int:
        return max(Text(cell).cell_len for cell in (headers[at], *(_text(row[at]).plain for row in rows)))

    def needed(at: int) -> int:
        if at == 0:
            return first_width + GAP
        return (min(widest(at), WORDS) if at < left else widest(at)) + GAP

    # In a split table, text columns with long texts appear only in the first part.
    again = [at for at in fixed if at == 0 or widest(at) <= WORDS]
    part = [*fixed]
    for at in range(len(fixed), len(headers)):
        # A column wider than the page forms a part by itself.
        if part[-1] not in fixed and sum(map(needed, [*part, at])) - GAP > out.width:
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
    grid = Grid(box=None, padding=(0, GAP, 0, 0), header_style="dim", pad_edge=False)
    for index, header in enumerate(headers):
        # Text columns may break lines between words.
        grid.add_column(Text(header), justify="left" if index < left else "right", no_wrap=index == 0 or index >= left)
    if headers:
        grid.columns[0].header_style = "bold"
    return grid


def _text(cell: str | Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else Text(cell.text, style=STYLES[cell.style])
