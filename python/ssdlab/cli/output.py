"""How a command hands over what it found."""

from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.model.envelope import envelope, written
from ssdlab.model.finding import Finding
from ssdlab.view.page import Page

PARTIAL = 130
"""Exit status of a run that Ctrl-C ended."""


def show(page: Page) -> None:
    """Prints a page."""
    room("view.terminal").show(page)


def print_json(kind: str, result: object, **about: Any) -> None:
    """Prints what is no finding in the shape of all JSON; `about` goes to `envelope`."""
    print(written(envelope(kind, result, **about)), end="")


def deliver(found: Finding, *, json: bool, out: Path | None = None, page: Page | None = None) -> int:
    """Saves what was found in `out`, if that is given, and prints it: as JSON and nothing else, or as a page.

    Returns:
        The exit status.
    """
    if out is not None:
        found.save(out)
    if json:
        print(found.to_json(), end="")
    else:
        show(page or found.page())
        if out is not None:
            print(f"\nwritten to {text.path(out)}: {found.saved}")
    return PARTIAL if found.partial else 0
