"""Progress of parallel runs."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from ssdlab.cli import bars, progress
from ssdlab.interrupt import Request


class RecordingStream:
    """A stream that records each write call."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        self.texts.append(text)
        return len(text)

    def flush(self) -> None:
        """Flushes nothing."""


def side_by_side(*tasks: Callable[[], object]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_line_of_progress_is_written_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: lines of several runs, and of several programs on one terminal, do not interleave. Method: a single call
    writes a whole line; `print` needs two calls.
    """
    stream = RecordingStream()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0)
    monkeypatch.setattr(bars, "bars", lambda _above: None)
    shown = progress.Display(Request())

    def run(label: str) -> Callable[[], None]:
        watch = shown.watch(label)

        def report() -> None:
            for done in range(100):
                watch("measure", done, 100, done)

        return report

    side_by_side(run("a"), run("b"))
    assert len(stream.texts) == 200
    assert all(text.endswith("\n") and text.count("\n") == 1 for text in stream.texts)


def test_parallel_runs_share_one_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: two runs that first show progress at the same time create one display, not two that overwrite each other.
    Method: while the first display is created, the second run gets time to create one too. Python 3.11 guards a cached
    property; later versions do not.
    """
    made: list[threading.Event] = []

    class FakeDisplay:
        """A display that shows nothing."""

        tasks: tuple[object, ...] = ()

        def start(self) -> None:
            """Begins."""

        def add_task(self, **_: Any) -> int:
            return 0

        def update(self, *_: Any, **__: Any) -> None:
            """Shows nothing."""

    def slow(_above: object) -> FakeDisplay:
        made.append(threading.Event())
        if len(made) == 1:
            second.start()
            made[0].wait(0.5)
        else:
            made[0].set()
        return FakeDisplay()

    monkeypatch.setattr(progress, "QUIET_SECONDS", 0)
    monkeypatch.setattr(bars, "bars", slow)
    shown = progress.Display(Request())
    first_watch, second_watch = shown.watch("a"), shown.watch("b")
    second = threading.Thread(target=lambda: second_watch("measure", 1, 2, 1))
    first_watch("measure", 1, 2, 1)
    second.join()
    assert len(made) == 1
