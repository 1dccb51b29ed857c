"""Live figures of a running simulation: `simulate(watch=...)`, and the table on the terminal."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

import ssdlab
from conftest import SMALL, SMALL_SETS, Cli
from ssdlab.cli.bars import bars
from ssdlab.cli.live import View, course, facts
from ssdlab.leaving import STATUS

FIRST_LOOK = 4096
"""Requests before the first figures."""
EMPTY = {"precondition.fill": "0%", "precondition.overwrite": "none"}
"""Nothing is reported before the first request."""


def watched(config: ssdlab.Config) -> tuple[ssdlab.Result, list[Mapping[str, Any]]]:
    seen: list[Mapping[str, Any]] = []
    return ssdlab.simulate(config, watch=seen.append), seen


@pytest.mark.parametrize("time", ["serial", "event", "count"])
def test_live_figures_add_up_to_the_result(small: ssdlab.Config, time: str) -> None:
    # So few requests that the first sample is the last, but enough data for garbage collection.
    few = {"device.capacity": "8MiB", "workload.requests": 1000, "workload.size": "16KiB", "workload.reads": "0%"}
    result, seen = watched(small.with_overrides({**EMPTY, **few, "time": time}))
    figures = seen[-1]
    assert figures["blocks"] == len(result.erase_counts) and figures["requests"] == 1000
    assert (result.write_amplification or 0) > 1
    assert 0 < figures["free_blocks"] < figures["blocks"]
    if time == "count":
        assert figures["elapsed_ns"] is figures["busy_ns"] is figures["latency"] is None
        assert figures["write_amplification"] == result.write_amplification
        return
    assert 0 < figures["busy_ns"] <= figures["elapsed_ns"] <= result.summary["time"]["elapsed_ns"]
    if time == "serial":
        assert figures["write_amplification"] == result.write_amplification
        assert figures["latency"] == result.summary["latency"]
        assert figures["busy_ns"] == result.summary["time"]["busy_ns"]


def test_free_blocks_are_the_unwritten_ones(small: ssdlab.Config) -> None:
    sequential = {"workload.pattern": "sequential", "workload.reads": "0%", "workload.size": "4KiB"}
    result, seen = watched(small.with_overrides({**EMPTY, **sequential, "time": "serial"}))
    pages_per_block = SMALL["nand.pages_per_block"]
    assert isinstance(pages_per_block, int)
    written = FIRST_LOOK // pages_per_block
    assert seen[0]["requests"] == FIRST_LOOK
    assert seen[0]["blocks"] - seen[0]["free_blocks"] in (written, written + 1), "and the one that is open"
    assert result.summary["device"]["pages_per_block"] == pages_per_block


def test_errors_of_a_watcher_are_survived(small: ssdlab.Config) -> None:
    def fails(_figures: Mapping[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ssdlab.simulate(small.with_overrides(EMPTY), watch=fails)


def figures(requests: int, milliseconds: int, **more: Any) -> dict[str, Any]:
    latency = {"all": {"p50_ns": 90_000, "p99_ns": 1_250_000, "max_ns": 9_000_000}}
    return {
        "requests": requests, "elapsed_ns": milliseconds * 1_000_000, "busy_ns": milliseconds * 500_000,
        "write_amplification": 2.5, "latency": latency, "free_blocks": 123, "blocks": 1024, **more,
    }  # fmt: skip


def shown(view: View) -> dict[str, str]:
    out = io.StringIO()
    Console(file=out, width=100).print(view)
    rows = (line.split("  ", 1) for line in out.getvalue().splitlines() if line.strip())
    return {name: rest.strip() for name, rest in rows}


def test_a_view_shows_rates_since_the_previous_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdlab.cli.live.SAMPLE_SECONDS", 0.0)
    view = View()
    assert shown(view) == {}
    view.update(figures(1000, 100))
    assert "throughput" not in shown(view)
    view.update(figures(3000, 200))
    rows = shown(view)
    assert rows["throughput"].startswith("20.0 k IOPS")
    assert rows["dies"].startswith("50.00 % busy")
    assert rows["response time"] == "p50 90.0 µs, p99 1.25 ms, max 9.00 ms"
    assert rows["write amplification"].startswith("2.500") and rows["free blocks"] == "123 of 1,024"
    assert rows["simulated time"] == "200 ms"
    # When measuring begins, time restarts, and no rate covers this moment.
    view.update(figures(3100, 1))
    view.update(figures(3200, 2))
    assert shown(view)["throughput"].startswith("100 k IOPS")
    counted = View()
    counted.update(figures(1000, 0, elapsed_ns=None, busy_ns=None, latency=None, write_amplification=None))
    assert shown(counted) == {"free blocks": "123 of 1,024"}


def test_sparklines_and_lines() -> None:
    assert course(deque([0.0, 1.0, 2.0, 4.0])) == "▁▃▅█" and course(deque([0.0])) == "▁"
    assert course(deque([1.0, 3.0]), least=1.0) == "▁█"
    assert facts(1234, 2.0, {"p99_ns": 5000}) == ["1.23 k requests/s", "write amplification 2.000", "p99 5.00 µs"]
    assert facts(0, None, None) == ["0 requests/s"]


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (20, 4), (80, 24)])
def test_no_remains_of_the_previous_frame(columns: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(
        "ssdlab.cli.bars.Console",
        lambda stderr: Console(file=out, force_terminal=True, width=columns, height=rows, _environ={"TERM": "xterm"}),
    )
    shown = bars("\n".join(f"row {number}" for number in range(12)))
    assert shown is not None
    shown.start()
    shown.add_task("run: measure", total=10, completed=3, facts="for 0:03")
    shown.refresh()
    shown.stop()
    assert "row" in out.getvalue()
    assert not [line for line in _lines(out.getvalue(), rows) if line.strip()]


def _lines(said: str, rows: int) -> list[str]:
    """Final contents of a terminal with this number of rows, without its scrollback."""
    lines, at = [""], 0
    for sign in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|.|\n|\r", said):
        if sign == "\n":
            at += 1
            lines += [""] * (at == len(lines))
        elif sign == "\x1b[1A":
            at = max(at - 1, len(lines) - rows, 0)
        elif sign == "\x1b[2K":
            lines[at] = ""
        elif sign.isprintable():
            lines[at] += sign
    return lines


def test_live_without_a_terminal_says_that_it_shows_nothing(cli: Cli) -> None:
    done = cli("run", *SMALL_SETS, "--live")
    assert done.stderr == "ssdlab: --live has no effect: standard error is not a terminal\n"
    assert done.stdout == cli("run", *SMALL_SETS).stdout


def test_live_on_a_dumb_terminal_says_that_it_shows_nothing() -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "ssdlab", "run", *SMALL_SETS, "--live"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "dumb"})
    os.close(slave)
    said = b"".join(iter(lambda: _read(master), b""))
    os.close(master)
    assert run.wait() == 0
    assert said == b"ssdlab: --live has no effect: the terminal type in TERM cannot redraw a line\r\n"


def test_live_on_a_terminal_shows_the_drive_at_work() -> None:
    master, slave = pty.openpty()
    endless = ["--set", "workload.requests=4G", "--set", "precondition.overwrite=none"]
    command = [sys.executable, "-m", "ssdlab", "run", *SMALL_SETS, *endless, "--live"]
    environment = {**os.environ, "COLUMNS": "100", "LINES": "30", "TERM": "xterm"}
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave, env=environment)
    os.close(slave)
    left, said = {"throughput", "response time", "write amplification", "free blocks", "dies", "run: measure"}, b""
    stopped = False
    while part := _read(master):
        said += part
        left = {row for row in left if row.encode() not in said}
        if not left and not stopped:
            run.send_signal(signal.SIGINT)
            stopped = True
    os.close(master)
    assert run.wait() == STATUS and not left, said.decode()


def _read(terminal: int) -> bytes:
    """Returns the available bytes; no bytes after the other end is closed."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
