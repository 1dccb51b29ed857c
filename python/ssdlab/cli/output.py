"""Prints and saves the findings of commands."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.leaving import STATUS
from ssdlab.model.files import naming

if TYPE_CHECKING:
    from ssdlab.model.finding import FigureFormat, Finding
    from ssdlab.view.page import Page

STDOUT = "standard output"
"""Name that messages use for standard output."""


def show(page: "Page", further: str = "") -> None:
    """Prints a page; `further` states where the user finds omitted rows, if not in `--out`."""
    terminal = room("view.terminal")
    terminal.show(page, further or terminal.WITH_OUT)


def print_named(rows: "list[tuple[str, str]]") -> None:
    """Prints names in a column, each with its description."""
    width = max(len(name) for name, _ in rows)
    for name, about in rows:
        print(f"{name:<{width}}  {about}")


def status_of(partial: bool) -> int:
    """Returns the exit status of a command that printed a result; reports a partial result."""
    if not partial:
        return 0
    print("ssdlab: interrupted; the result covers only the finished part", file=sys.stderr)
    return STATUS


def print_json(kind: str, result: object, **about: Any) -> None:
    """Prints a result that is not a finding, in the common JSON form; `about` is passed to `envelope`."""
    shape = room("model.envelope")
    print(shape.written(shape.envelope(kind, result, **about)), end="")


def deliver(
    found: "Finding",
    *,
    json: bool,
    out: Path | None = None,
    figures: "FigureFormat | None" = None,
    page: "Page | None" = None,
    earlier: bool = False,
    further: str = "",
) -> int:
    """Prints a finding as JSON or as a page, saves it in `out`, and returns the exit status.

    Args:
        found: The finding.
        json: True to print only JSON.
        out: Directory in which to save the finding.
        figures: Format in which to save figures as well.
        page: Page to print instead of the finding's own.
        earlier: True for a loaded finding, which may be partial although this command was not interrupted.
        further: States where to find rows that do not fit on the terminal, if not in `out`.
    """
    try:
        with naming(STDOUT):
            if json:
                print(found.to_json(), end="")
            else:
                show(page or found.page(), further or (f"in {text.path(out)}" if out is not None else ""))
            sys.stdout.flush()
    finally:
        # The finding is saved even if standard output is full or closed.
        if out is not None:
            _save(found, out, figures)
    if out is not None and not json:
        also = f"; figures as figure-*.{figures}" if figures else ""
        print(f"\nwritten to {text.path(out)}: {found.written}{also}")
    return status_of(found.partial and not earlier)


def _save(found: "Finding", out: Path, figures: "FigureFormat | None") -> None:
    try:
        found.save(out, figures)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"nothing was written to {text.path(out)}") from None
