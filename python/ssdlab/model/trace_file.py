"""Traces on disk, and whatever else a user gives as a trace."""

import os
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.model.config import Config
from ssdlab.model.parquet import ParquetReader, is_parquet
from ssdlab.model.requests import RequestSource, batches
from ssdlab.model.source import Source
from ssdlab.model.trace import Trace, Workload


class TraceFile(Source):
    """A trace on disk that is streamed, never loaded as a whole; every pass reads it from the front.

    Args:
        paths: The files of one trace, in order. Compression (gzip, zstd) is recognised by content.
        format: Name of the format; recognised by content if left out.
        device: Which device's requests to take: a name as `report` prints it, `"all"` to lay all devices side
            by side, or None for the device of the first request.
        action: Which event of a request's life to take from blkparse and blktrace traces: `queue` (the
            default), `issue` or `complete`.
        skip_bad: Count malformed lines instead of stopping at the first.

    Raises:
        TraceError: When a pass starts or goes on, never here.
    """

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        device: str | None = None,
        action: str | None = None,
        skip_bad: bool = False,
    ) -> None:
        if not paths:
            raise TraceError("no trace file given; name at least one")
        self.paths = [Path(path) for path in paths]
        self.format = format
        self.device = device
        self.action = action
        self.skip_bad = skip_bad

    def open(self) -> ParquetReader | _ssdlab.Reader:
        """Starts a pass.

        Raises:
            TraceError: If a file cannot be opened or its format is not known.
        """
        if self.format == "parquet" or (self.format is None and any(is_parquet(path) for path in self.paths)):
            if self.device not in (None, "all"):
                raise TraceError(f"device {self.device!r} is not in the trace: Parquet names none; leave it out")
            return ParquetReader(self.paths)
        return _ssdlab.Reader(self.paths, self.format, self.device, self.action, self.skip_bad)

    def load(self) -> Trace:
        """Reads the whole trace into memory.

        Raises:
            TraceError: As `open`, or where the content is at fault.
        """
        source = self.open()
        requests = _ssdlab.Requests.concatenate(list(batches(source)))
        return Trace(requests, source.streams(), source.report())

    @property
    def about(self) -> dict[str, Any]:
        """That the requests are in files, and which."""
        return {"kind": "trace", **self.describe()}

    def report_of(self, reader: RequestSource) -> dict[str, Any] | None:
        """What the reader has met."""
        assert isinstance(reader, ParquetReader | _ssdlab.Reader)
        return reader.report()

    def describe(self) -> dict[str, Any]:
        """How the trace was chosen, for a result: paths and options that were given."""
        options = {"format": self.format, "device": self.device, "action": self.action}
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if self.skip_bad:
            given["skip_bad"] = True
        return {"paths": [str(path) for path in self.paths], **given}

    def __repr__(self) -> str:
        return f"<ssdlab.TraceFile {', '.join(map(str, self.paths))}>"


def read_trace(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    device: str | None = None,
    action: str | None = None,
    skip_bad: bool = False,
) -> Trace:
    """Reads a trace into memory; for traces too large for that, pass a `TraceFile` to `simulate`.

    The arguments are those of `TraceFile`.

    Raises:
        TraceError: File, place, fault and remedy in one line.
    """
    return TraceFile(*paths, format=format, device=device, action=action, skip_bad=skip_bad).load()


Given = Trace | TraceFile | str | os.PathLike[str]
"""A trace as functions take it: in memory, a file, which is streamed, or the path of one."""


def source_of(given: Given | None, config: Config | None = None) -> Trace | TraceFile | Workload:
    """What a user gave as a trace; None stands for the workload of `config`.

    Raises:
        TraceError: If it is a table that holds no trace.
    """
    if isinstance(given, Trace | TraceFile):
        return given
    if given is None:
        return Workload(config or Config())
    if hasattr(given, "__arrow_c_stream__"):
        return Trace.from_frame(given)
    return TraceFile(given)
