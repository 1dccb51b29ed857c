"""How a command hands over what it found."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ssdlab import text


class Savable(Protocol):
    """What a command may find."""

    def save(self, directory: Path) -> None:
        """Writes it into a directory."""

    def to_json(self) -> str:
        """It as JSON text that ends a line."""


def deliver(found: Savable, show: Callable[[], None], *, json: bool, out: Path | None, files: str) -> None:
    """Saves what was found in `out`, if that is given, and prints it: as JSON and nothing else, or by `show`.

    `files` names what saving writes, for the last line.
    """
    if out is not None:
        found.save(out)
    if json:
        print(found.to_json(), end="")
        return
    show()
    if out is not None:
        print(f"\nwritten to {text.path(out)}: {files}")
