"""Trace formats written in Python."""

import gzip
import struct
from pathlib import Path

import pytest

import ssdlab
from conftest import Cli
from plugged import DRIVE

MINE = '''
import struct
from ssdlab.plugin import TraceFormat


class Words(TraceFormat):
    """Lines such as `17us sda 4096+512 w pid3`."""

    def parse(self, line):
        if line.startswith(";"):
            return None
        time, device, extent, op, process = line.split()
        offset, size = extent.split("+")
        return op, int(offset), int(size), 1000 * int(time.removesuffix("us")), process, device


class Records(TraceFormat):
    """Records of 16 bytes: time in us, sector, flags with the operation, and length in sectors."""

    record_bytes = 16

    def sniff(self, head):
        return 100 if head.startswith(bytes(4)) and len(head) % 16 == 0 else 0

    def parse(self, record):
        time, sector, flags, sectors = struct.unpack("<IIII", record)
        return flags & 1, 512 * sector, 512 * sectors, 1000 * time
'''

OTHER = """
import time
from ssdlab.plugin import TraceFormat


class Slow(TraceFormat):
    time_limit = 0.3

    def parse(self, line):
        while True:
            time.sleep(0.01)


class Answers(TraceFormat):
    def parse(self, line):
        return eval(line)
"""

TEXT = """; a made-up tracer
17us sda 4096+512 w pid3

18us sdb 0+4096 r pid4
20us sda 8192+1024 R pid3
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with formats and a trace, as the current directory."""
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "other.py").write_text(OTHER, encoding="utf-8")
    (tmp_path / "a.trace").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def columns(trace: ssdlab.Trace) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in trace.columns().items()}


def test_lines_are_read(mine: Path) -> None:
    """By hand: two requests of the first device, at 0 and 3 us."""
    trace = ssdlab.read_trace("a.trace", format="python:mine.Words")
    assert columns(trace) == {
        "time_ns": [0, 3000],
        "op": [1, 0],
        "offset": [4096, 8192],
        "bytes": [512, 1024],
        "flags": [0, 0],
        "stream": [1, 1],
    }
    assert list(trace.streams) == ["", "pid3", "pid4"]
    assert trace.ingest is not None and trace.ingest["other_devices"] == [("sdb", 1)]
    counts = {name: value for name, _, _, value in trace.ingest["counts"]}
    assert (trace.ingest["format"], counts["records"], counts["headers"]) == ("python:mine.Words", 4, 1)
    every = ssdlab.read_trace("a.trace", format="python:mine.Words", device="all")
    assert len(every) == 3 and list(every.streams) == ["", "pid3", "pid4"]


def test_records_are_read_and_compression_is_known(mine: Path) -> None:
    rows = [(0, 8, 1, 1), (5, 16, 0, 2), (9, 0, 3, 8)]
    packed = b"".join(struct.pack("<IIII", *row) for row in rows)
    (mine / "b.trace.gz").write_bytes(gzip.compress(packed))
    trace = ssdlab.read_trace("b.trace.gz", format="python:mine.Records")
    assert (trace.op.tolist(), trace.offset.tolist()) == ([1, 0, 1], [4096, 8192, 0])
    assert (trace.bytes.tolist(), trace.time_ns.tolist()) == ([512, 1024, 4096], [0, 5000, 9000])
    (mine / "c.trace").write_bytes(packed + b"xyz")
    with pytest.raises(ssdlab.TraceError, match=r"c\.trace: .*the file ends inside record 4"):
        ssdlab.read_trace("c.trace", format="python:mine.Records")


def test_listed_formats_are_detected(mine: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("SSDLAB_PLUGINS", str(mine / "mine.py"))
    trace = ssdlab.read_trace("a.trace")
    assert trace.ingest is not None and trace.ingest["format"] == "python:mine.Words"
    (mine / "b.trace").write_bytes(struct.pack("<IIII", 0, 8, 1, 1))
    binary = ssdlab.read_trace("b.trace")
    assert binary.ingest is not None and binary.ingest["format"] == "python:mine.Records"
    assert "python:mine.Words" in cli("list", "formats").stdout


def test_a_run_records_the_format(mine: Path, cli: Cli) -> None:
    result = ssdlab.simulate(DRIVE, ssdlab.TraceFile("a.trace", format="python:mine.Words"))
    (use,) = result.summary["plugins"]
    assert (use["setting"], use["name"], use["file"]) == ("format", "python:mine.Words", "mine.py")
    assert use["decisions"] == 4 and len(use["sha256"]) == 64
    done = cli("trace", "info", "a.trace", "--format", "python:mine.Words")
    assert "python:mine.Words" in done.stdout


def test_studies_use_the_format_and_notice_its_change(mine: Path) -> None:
    trace = ssdlab.TraceFile("a.trace", format="python:mine.Words")
    axis = {"device.op": ["20%", "30%"]}
    assert ssdlab.sweep(axis, DRIVE, trace, out=mine / "study").to_arrow().num_rows == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 // 0", "Answers.parse raised ZeroDivisionError: integer division or modulo by zero"),
        ("7", "Answers.parse returned 7, which is not a request; return (op, offset, bytes, time_ns) or None"),
        ("('w', 0)", "returned ('w', 0), which is not a request"),
        ("('x', 0, 512)", "returned ('x', 0, 512), whose operation is unknown"),
        ("('w', -1, 512)", "whose offset is invalid; use a whole number of at least 0"),
        ("('w', 0, 512, 1.5)", "whose time in ns is invalid; use a whole number of at least 0"),
        ("('w', 0, 512, 1, 0.5)", "whose stream is invalid; use a whole number of at least 0"),
    ],
)
def test_a_bad_line_is_named_with_the_line_of_the_class(mine: Path, line: str, message: str) -> None:
    (mine / "bad.trace").write_text(f"('w', 0, 512)\n{line}\n('r', 0, 512)\n", encoding="utf-8")
    with pytest.raises(ssdlab.TraceError) as caught:
        ssdlab.read_trace("bad.trace", format="python:other.Answers")
    said = str(caught.value)
    assert said.startswith("bad.trace:2: other.py:") and message in said and "\n" not in said
    trace = ssdlab.read_trace("bad.trace", format="python:other.Answers", skip_bad=True)
    assert len(trace) == 2 and trace.ingest is not None
    assert message in trace.ingest["first_bad"]


def test_a_parser_has_a_time_limit(mine: Path, cli: Cli) -> None:
    # In a separate process, so that later tests do not detect files with this format.
    done = cli("trace", "info", "a.trace", "--format", "python:other.Slow", "--skip-bad", check=False)
    assert done.returncode != 0 and "Slow.parse ran for more than 0.3 s" in done.stderr


def test_an_unknown_class_is_one_line(mine: Path, cli: Cli) -> None:
    done = cli("trace", "info", "a.trace", "--format", "python:mine.Word", check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "format: python:mine.Word: mine.py has no class Word; did you mean Words?" in done.stderr
