"""Writes the tables of a page as Markdown, LaTeX or CSV, for papers and spreadsheets."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ssdlab.model.finding import TableFormat
from ssdlab.view.choice import chosen
from ssdlab.view.page import Cell, Facts, Page, Row, Section, Table
from ssdlab.view.terminal import shown_items

BEST = " *"
"""Mark of the best value of a row on a terminal; other output formats show the value in bold."""
IN_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "µ": r"\textmu{}",
    "±": r"$\pm$", "×": r"$\times$", "–": "--", "≤": r"$\le$", "≥": r"$\ge$",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}  # fmt: skip
"""LaTeX code for characters that have a special meaning in LaTeX, or are not ASCII."""


def tables(page: Page, *, all: bool) -> list[Table]:
    """Returns the tables that a terminal shows, with or without details; facts become two-column tables."""
    found = []
    for item in shown_items(page, all=all):
        table = Table(("", "value"), item.rows, item.title) if isinstance(item, Facts) else item
        if isinstance(table, Table):
            if not table.headers[0]:
                table = replace(table, headers=(table.title, *table.headers[1:]), title="")
            found.append(table)
    return found


def with_rows(page: Page, names: Iterable[str]) -> list[Table]:
    """Returns the rows with the given names, in one table for identical headers. A name may also select one cell by the
    names of its row and column, such as `read.p99`.
    """
    labels: list[str] = []
    rows: list[tuple[tuple[str, ...], Row]] = []
    for table in tables(page, all=True):
        for first, *cells in (row for row in table.rows if not _is_heading(row)):
            name = _plain(first)
            labels.append(name)
            rows.append((tuple(table.headers[1:]), [name, *cells]))
            for header, cell in zip(table.headers[1:], cells, strict=True):
                labels.append(f"{name} {header}")
                rows.append((("value",), [labels[-1], cell]))
    found: dict[tuple[str, ...], list[Row]] = {}
    for at in chosen("--rows", names, labels):
        headers, row = rows[at]
        found.setdefault(headers, []).append(row)
    return [Table(("", *headers), rows) for headers, rows in found.items()]


def only(page: Page, names: Iterable[str]) -> Page:
    """Returns the page reduced to the rows with the given names."""
    return replace(page, sections=[Section("", with_rows(page, names))], conclusion=(), more="", remarks=())


def written(found: Sequence[Table], form: TableFormat) -> str:
    """Returns tables as text in one of the formats, separated by blank lines."""
    return "\n".join(_WRITERS[form](table) for table in found)


def _plain(cell: str | Cell) -> str:
    is_best = isinstance(cell, Cell) and cell.style == "best"
    words = cell.text if isinstance(cell, Cell) else cell
    return (words.removesuffix(BEST) if is_best else words).strip()


def _is_heading(row: Row) -> bool:
    return isinstance(row[0], Cell) and row[0].style == "strong"


def _cells(row: Row, bold: str, escaped: "dict[int, str]") -> Iterator[str]:
    for cell in row:
        words = _plain(cell).translate(escaped)
        is_bold = isinstance(cell, Cell) and cell.style in ("best", "strong") and words
        yield bold % words if is_bold else words


def _markdown(table: Table) -> str:
    escaped = str.maketrans({letter: f"\\{letter}" for letter in r"\|*_`<"})
    rule = [":--" if at < table.left else "--:" for at in range(len(table.headers))]
    rows = [_cells(table.headers, "**%s**", escaped), rule, *(_cells(row, "**%s**", escaped) for row in table.rows)]
    title = f"**{table.title}**\n\n" if table.title else ""
    return title + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _latex(table: Table) -> str:
    """Returns a table for the LaTeX package booktabs, with thin spaces between numbers and units."""
    escaped = str.maketrans(IN_LATEX)

    def line(row: Row) -> str:
        names = _cells(row[: table.left], r"\emph{%s}", escaped)
        values = _cells(row[table.left :], r"\textbf{%s}", escaped)
        return " & ".join([*names, *(re.sub(r"(\d) (?=[^\d\s$])", r"\1\\,", value) for value in values)]) + " \\\\\n"

    title = f"% {table.title}\n" if table.title else ""
    layout = "l" * table.left + "r" * (len(table.headers) - table.left)
    body = "".join(map(line, table.rows))
    return (
        f"{title}\\begin{{tabular}}{{{layout}}}\n\\toprule\n{line(table.headers)}\\midrule\n{body}\\bottomrule\n"
        "\\end{tabular}\n"
    )


def _csv(table: Table) -> str:
    """Returns a table as CSV, without headings; a row name that occurs more than once is prefixed with its heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.headers)
    times = Counter(_plain(row[0]) for row in table.rows)
    heading = ""
    for row in table.rows:
        name, *cells = map(_plain, row)
        if _is_heading(row):
            heading = name
        else:
            writer.writerow([f"{heading}: {name}" if heading and times[name] > 1 else name, *cells])
    return text.getvalue()


_WRITERS = {"markdown": _markdown, "latex": _latex, "csv": _csv}
