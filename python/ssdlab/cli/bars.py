"""Bars of progress, and lines that are written anew, on a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn
from rich.status import Status
from rich.text import Text


class _Bars(Progress):
    """Bars, with something above them."""

    def __init__(self, *columns: ProgressColumn, above: RenderableType | None, **more: Any) -> None:
        self._above = above
        self._ended = False
        super().__init__(*columns, **more)

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is above, and the bars; a blank line at the end."""
        if self._ended:
            yield Text("")
            return
        if self._above is not None:
            yield self._above
        yield from super().get_renderables()

    def stop(self) -> None:
        """Takes everything off the terminal: the last frame is not cut to its height, and rows above it would stay."""
        self._ended = True
        super().stop()


def obstacle() -> str:
    """Why standard error cannot show bars; empty if it can."""
    console = Console(stderr=True)
    if not console.is_terminal:
        return "standard error is no terminal"
    return "TERM names a terminal that writes no line anew" if console.is_dumb_terminal else ""


def bars(above: RenderableType | None) -> Progress | None:
    """Bars on standard error, below `above` if that is given; None if it cannot show them."""
    if obstacle():
        return None
    return _Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[facts]}"),
        above=above,
        console=Console(stderr=True),
        transient=True,
    )


def status() -> Status | None:
    """A line on standard error that is written anew, for what has no end to be near to; None if it cannot show one."""
    return None if obstacle() else Console(stderr=True).status("")
