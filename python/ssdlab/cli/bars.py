"""Progress bars and status lines on a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn
from rich.status import Status
from rich.text import Text


class _Bars(Progress):
    """Progress bars, optionally with another rich renderable above them."""

    def __init__(self, *columns: ProgressColumn, above: RenderableType | None, **more: Any) -> None:
        self._above = above
        self._ended = False
        super().__init__(*columns, **more)

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yields the renderable above the bars, if any, then the bars; a blank line once the display has ended."""
        if self._ended:
            yield Text("")
            return
        if self._above is not None:
            yield self._above
        yield from super().get_renderables()

    def stop(self) -> None:
        """Replaces the display with a blank line, because rich does not cut the last frame to the terminal's height."""
        self._ended = True
        super().stop()


def obstacle() -> str:
    """Returns the reason why standard error cannot show progress bars; empty if it can."""
    console = Console(stderr=True)
    if not console.is_terminal:
        return "standard error is not a terminal"
    return "the terminal type in TERM cannot redraw a line" if console.is_dumb_terminal else ""


def bars(above: RenderableType | None) -> Progress | None:
    """Returns progress bars on standard error, under the heading `above`; None if they cannot be shown."""
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
    """Returns a status line on standard error, for work of unknown length; None if it cannot be shown."""
    return None if obstacle() else Console(stderr=True).status("")
