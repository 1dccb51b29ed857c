"""Progress on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TaskProgressColumn, TextColumn
from rich.status import Status

from ssdlab import text
from ssdlab.interrupt import Request, asked_for

QUIET_SECONDS = 1.0
"""Nothing is shown of what takes no longer."""
LINE_SECONDS = 5.0
"""Between lines where there is no terminal."""

UNITS = {"fill": "pages", "overwrite": "pages", "accesses": "accesses"}
"""What `done` of a phase counts, where a rate of it says something."""
COUNTED = {"simulate": "simulations", "caches": "caches", "cells": "cells", "runs": "runs", "repeats": "runs"}
"""What `done` of a phase counts, where there are too few for a rate: their number is shown."""


@dataclass
class _Phase:
    """The phase that a run is in, and when it began."""

    name: str
    done: int
    requests: int
    began: float = field(default_factory=time.monotonic)


class Watch:
    """Follows one run; what `simulate` takes as its monitor."""

    def __init__(self, display: "Display", label: str) -> None:
        self._display = display
        self._label = label
        self._phase = _Phase("", 0, 0)
        self._task: TaskID | None = None
        self._next_line = display.began + QUIET_SECONDS

    @property
    def phase(self) -> str:
        """What the run was at when it was last heard of."""
        return self._phase.name

    def __call__(self, phase: str, done: int, total: int | None, requests: int) -> bool:
        """Shows how far the run is; true if it is to end."""
        name, _, detail = phase.partition(", ")
        if name != self._phase.name:
            self._phase = _Phase(name, done, requests)
        now = time.monotonic()
        if now - self._display.began >= QUIET_SECONDS:
            self._show(now, detail, done, total, requests)
        return self._display.request.ask()

    def _show(self, now: float, detail: str, done: int, total: int | None, requests: int) -> None:
        phase = self._phase
        elapsed = max(now - phase.began, 1e-6)
        facts = [detail] if detail else []
        if phase.name in COUNTED and total:
            facts.append(f"{done} of {total} {COUNTED[phase.name]}")
        rate = (done - phase.done if phase.name in UNITS else requests - phase.requests) / elapsed
        if rate >= 1:
            facts.append(f"{text.short_count(rate)} {UNITS.get(phase.name, 'requests')}/s")
        if total and done > phase.done:
            facts.append(f"{_clock((total - done) * elapsed / (done - phase.done))} left")
        else:
            facts.append(f"for {_clock(elapsed)}")
        if self._display.bars is not None:
            self._bar(done, total, ", ".join(facts))
        elif now >= self._next_line:
            share = f" {100 * done / total:.0f} %" if total else ""
            print(f"{self._label}: {phase.name}{share}, {', '.join(facts)}", file=sys.stderr, flush=True)
            self._next_line = now + LINE_SECONDS

    def _bar(self, done: int, total: int | None, facts: str) -> None:
        bars = self._display.bars
        assert bars is not None
        bars.start()
        fields: dict[str, Any] = {"description": f"{self._label}: {self._phase.name}", "facts": facts}
        if self._task is None:
            self._task = bars.add_task(total=total, completed=done, **fields)
            return
        bars.update(self._task, completed=done, **fields)
        for task in bars.tasks:
            if task.id == self._task:
                # `update` takes None for no change, and a phase of unknown length would seem complete.
                task.total = total

    def finish(self) -> None:
        """Takes the run off the display."""
        if self._task is not None and self._display.bars is not None:
            self._display.bars.remove_task(self._task)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


class _Bars(Progress):
    """Bars, with something above them."""

    def __init__(self, *columns: ProgressColumn, above: RenderableType | None, **more: Any) -> None:
        self._above = above
        super().__init__(*columns, **more)

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is above, and the bars."""
        if self._above is not None:
            yield self._above
        yield from super().get_renderables()


class Display:
    """What standard error shows: bars on a terminal, below `above` if that is given; now and then a line elsewhere."""

    def __init__(self, request: Request, above: RenderableType | None = None) -> None:
        self.began = time.monotonic()
        self.request = request
        console = Console(stderr=True)
        self.bars: Progress | None = None
        if console.is_terminal:
            self.bars = _Bars(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TextColumn("{task.fields[facts]}"),
                above=above,
                console=console,
                transient=True,
            )

    def watch(self, label: str) -> Watch:
        """A monitor for one more run."""
        return Watch(self, label)


@contextmanager
def display(above: RenderableType | None = None) -> Iterator[Display]:
    """Shows progress while it lasts, on a terminal below `above`. Ctrl-C asks the runs to end."""
    with asked_for() as request:
        shown = Display(request, above)
        try:
            yield shown
        finally:
            if shown.bars is not None:
                shown.bars.stop()


@contextmanager
def watching(label: str, above: RenderableType | None = None) -> Iterator[Watch]:
    """Shows the progress of one run while it lasts, on a terminal below `above`."""
    with display(above) as shown:
        watch = shown.watch(label)
        yield watch
        watch.finish()


def status() -> Status:
    """A line on standard error that is written anew, for what has no end to be near to."""
    return Console(stderr=True).status("")
