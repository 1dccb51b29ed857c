"""How a command hands over what it found."""

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
"""Its name in messages."""


def show(page: "Page", further: str = "") -> None:
    """Prints a page; `further` says where rows are that it has no room for, if that is not `--out`."""
    terminal = room("view.terminal")
    terminal.show(page, further or terminal.WITH_OUT)


def status_of(partial: bool) -> int:
    """The exit status of a command that has printed a result, partial or whole; says if it was interrupted."""
    if not partial:
        return 0
    print("ssdlab: interrupted; the result is of what was finished", file=sys.stderr)
    return STATUS


def print_json(kind: str, result: object, **about: Any) -> None:
    """Prints what is no finding in the shape of all JSON; `about` goes to `envelope`."""
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
    """Prints what was found, as JSON and nothing else or as a page, then saves it in `out`, if that is given.

    What was found `earlier` may be partial, but it is not this command that was interrupted. `further` says where rows
    are that a terminal has no room for, if neither in `out` nor to be had with it.

    Returns:
        The exit status.
    """
    try:
        with naming(STDOUT):
            if json:
                print(found.to_json(), end="")
            else:
                show(page or found.page(), further or (f"in {text.path(out)}" if out is not None else ""))
            sys.stdout.flush()
    finally:
        # Neither an output that is full nor a reader that has seen enough keeps it from being saved.
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
