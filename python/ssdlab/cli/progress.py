"""Progress on standard error."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ssdlab import text
from ssdlab.interrupt import Request, asked_for
from ssdlab.lazy import room

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, TaskID

QUIET_SECONDS = 1.0
"""Seconds of work before progress is first shown."""
LINE_SECONDS = 5.0
"""Seconds between two progress lines if standard error is not a terminal."""

UNITS = {"fill": "pages", "overwrite": "pages", "accesses": "accesses"}
"""Phases whose progress line shows a rate, mapped to the unit of `done`."""
COUNTED = {"simulate": "simulations", "caches": "caches", "cells": "cells", "runs": "runs", "repeats": "runs"}
"""Phases whose progress line shows a count, because they have too few steps for a rate; mapped to the unit of `done`.
"""


class _Phase:
    """A phase of a run: name, progress counts at its start, and start time."""

    def __init__(self, name: str, done: int, requests: int) -> None:
        self.name, self.done, self.requests = name, done, requests
        self.began = time.monotonic()


class Watch:
    """Progress of one run; used as a monitor for `simulate`."""

    def __init__(self, display: "Display", label: str) -> None:
        self._display = display
        self._label = label
        self._phase = _Phase("", 0, 0)
        self._task: TaskID | None = None
        self._next_line = display.began + QUIET_SECONDS

    @property
    def phase(self) -> str:
        """Returns the name of the phase that the run reported last."""
        return self._phase.name

    def __call__(self, phase: str, done: int, total: int | None, requests: int) -> bool:
        """Shows the progress of the run; returns True if the run should end."""
        name, _, detail = phase.partition(", ")
        if name != self._phase.name:
            self._phase = _Phase(name, done, requests)
        # Checks for a stop request before displaying anything. The call to `ask` also tells the Ctrl-C handler that
        # this run still calls its monitor.
        should_end = self._display.request.ask()
        now = time.monotonic()
        if now - self._display.began >= QUIET_SECONDS:
            with self._display.lock:
                self._show(now, detail, done, total, requests)
        return should_end

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
            self._bar(self._display.bars, done, total, ", ".join(facts))
        elif now >= self._next_line:
            share = f" {100 * done / total:.0f} %" if total else ""
            # Unlike `print`, this writes the line and its newline in one call, so output of another process cannot
            # appear between them.
            sys.stderr.write(f"{self._label}: {phase.name}{share}, {', '.join(facts)}\n")
            sys.stderr.flush()
            self._next_line = now + LINE_SECONDS

    def _bar(self, bars: "Progress", done: int, total: int | None, facts: str) -> None:
        bars.start()
        fields: dict[str, Any] = {"description": f"{self._label}: {self._phase.name}", "facts": facts}
        if self._task is None:
            self._task = bars.add_task(total=total, completed=done, **fields)
            return
        bars.update(self._task, completed=done, **fields)
        for task in bars.tasks:
            if task.id == self._task:
                # Sets the total directly, because rich's `update` ignores None. If the old total remained, a phase of
                # unknown length would seem complete.
                task.total = total

    def finish(self) -> None:
        """Removes the run from the display."""
        with self._display.lock:
            if self._task is not None and self._display.bars is not None:
                self._display.bars.remove_task(self._task)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


class Display:
    """Progress on standard error: bars below `above` on a terminal, otherwise a line of text every few seconds."""

    def __init__(self, request: Request, above: "RenderableType | None" = None) -> None:
        self.began = time.monotonic()
        self.request = request
        self.lock = threading.Lock()
        """Lock that a run holds while it shows progress, because parallel runs share one display."""
        self._above = above

    @cached_property
    def bars(self) -> "Progress | None":
        """The progress bars, loaded when first shown; None if the terminal cannot show bars."""
        bars: Progress | None = room("cli.bars").bars(self._above)
        return bars

    def close(self) -> None:
        """Clears the progress bars from the terminal."""
        if "bars" in vars(self) and self.bars is not None:
            self.bars.stop()

    def watch(self, label: str) -> Watch:
        """Returns a monitor that shows the progress of another run under the given label."""
        return Watch(self, label)


@contextmanager
def display(above: "RenderableType | None" = None) -> Iterator[Display]:
    """Shows progress inside the context; on a terminal, below the renderable `above`. Ctrl-C asks the runs to end."""
    with asked_for() as request:
        shown = Display(request, above)
        try:
            yield shown
        finally:
            shown.close()


@contextmanager
def watching(label: str, above: "RenderableType | None" = None) -> Iterator[Watch]:
    """Shows the progress of a single run inside the context; on a terminal, below the renderable `above`."""
    with display(above) as shown:
        watch = shown.watch(label)
        yield watch
        watch.finish()
