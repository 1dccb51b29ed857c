"""Prints and saves the findings of commands."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.leaving import STATUS
from ssdlab.model.files import naming

if TYPE_CHECKING:
    from ssdlab.model.finding import FigureFormat, Finding, TableFormat
    from ssdlab.view.page import Page

STDOUT = "standard output"
"""Name that messages use for standard output."""


MOST_LINES = 40
"""Maximum number of printed lines without `--all`."""


def shows_all() -> bool:
    """True if the user gave `--all`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.params.get("all"))


def show(page: "Page") -> None:
    """Prints a page."""
    room("view.terminal").show(page, all=shows_all())


def print_lines(lines: Sequence[str]) -> None:
    """Prints lines; without `--all`, at most `MOST_LINES`. The last line then gives the number of omitted lines. This
    line also makes a truncated configuration invalid TOML, so that nobody uses it by mistake.
    """
    left_out = 0 if shows_all() else max(0, len(lines) - MOST_LINES)
    if left_out:
        lines = [*lines[: MOST_LINES - 1], f"{left_out + 1} more lines: --all"]
    print(*lines, sep="\n")


def named(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the lines of a list of names, each with its description in a second column."""
    width = max(len(name) for name, _ in rows)
    return [line for name, about in rows
            for line in text.folded(f"{name:<{width}}  {about}", hang=" " * (width + 2)).split("\n")]  # fmt: skip


def status_of(partial: bool) -> int:
    """Returns the exit status of a command that printed a result, and prints a message if the result is partial."""
    if not partial:
        return 0
    print("ssdlab: interrupted; the result covers only the finished part", file=sys.stderr)
    return STATUS


def print_json(kind: str, result: object, **about: Any) -> None:
    """Prints a result that is not a finding as JSON in the common envelope; `about` is passed to `envelope`."""
    shape = room("model.envelope")
    print(shape.written(shape.envelope(kind, result, **about)), end="")


def deliver(
    found: "Finding",
    *,
    json: bool,
    table: "TableFormat | None" = None,
    rows: Sequence[str] = (),
    out: Path | None = None,
    figures: "FigureFormat | None" = None,
    only: Sequence[str] = (),
    earlier: bool = False,
    written: str | None = None,
) -> int:
    """Prints a finding as JSON or as a page, saves it in `out`, and returns the exit status.

    `table`, `rows` and `only` restrict what is printed or saved; empty means all. A finding that was loaded (`earlier`)
    may be partial although this command was not interrupted. `written` is JSON text to print instead.
    """
    is_json = json or written is not None
    try:
        with naming(STDOUT):
            if is_json:
                print(found.to_json() if written is None else written, end="")
            elif table or rows:
                _print_tables(found.page(), table, rows)
            else:
                show(found.page())
            sys.stdout.flush()
    finally:
        # A finding is saved even if standard output is full or closed.
        if out is not None:
            _save(found, out, figures, only)
    if out is not None and not (is_json or table):
        also = f"; figures as figure-*.{figures}" if figures else ""
        print(text.folded(f"\nwritten to {text.path(out)}: {found.written}{also}"))
    return status_of(found.partial and not earlier)


def _print_tables(page: "Page", form: "TableFormat | None", rows: Sequence[str]) -> None:
    """Prints the tables of a page, or only the rows with the given names."""
    writer = room("view.written")
    if form is None:
        show(writer.only(page, rows))
    else:
        tables = writer.with_rows(page, rows) if rows else writer.tables(page, all=shows_all())
        print(writer.written(tables, form), end="")


def _save(found: "Finding", out: Path, figures: "FigureFormat | None", only: Sequence[str]) -> None:
    try:
        try:
            found.save(out, figures, only)
        except ConfigError:
            # If a figure name is unknown, saves everything except the figures, so that the result of a long run is not
            # lost.
            found.save(out)
            raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"nothing was written to {text.path(out)}") from None
