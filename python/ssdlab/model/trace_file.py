"""Traces on disk, and whatever else a user gives as a trace."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.model.arguments import shown, takes
from ssdlab.model.config import Config
from ssdlab.model.devices import DeviceReader, no_devices
from ssdlab.model.parquet import ParquetReader, ParquetRows, are_parquet
from ssdlab.model.pipe import STDIN, Copies, name_of
from ssdlab.model.requests import RequestSource, batches
from ssdlab.model.source import Source
from ssdlab.model.trace import Trace, Workload

Columns = str | Mapping[str, int | str]
"""What the columns of a text hold: `"time=0:us,op=2,offset=3:sectors,size=4"` or the same as a dictionary."""


FileReader = ParquetReader | DeviceReader | _ssdlab.Reader
"""One pass over the files of a trace."""


class TraceFile(Source):
    """A trace on disk that is streamed, never loaded as a whole; every pass reads it from the front.

    Args:
        paths: The files of one trace, in order; `-` is standard input, which is copied to a file when it is first read,
            as every pipe is. Compression (gzip, zstd) is recognised by content.
        format: Name of the format; recognised by content if left out.
        columns: What the columns of any text hold, by number from 0 or by heading, with their units:
            `"time=0:us,op=2,offset=3:sectors,size=4"`. Times are in nanoseconds, offsets and sizes in bytes unless they
            say otherwise; `stream`, `device` and `repeat` may be there too. `op` and `size` may be constants: `op=R`.
        concat: The files follow one another; each begins when the one before it ends. Files whose format names no
            device are of the same one.
        merge: The files are merged by their times. Those whose format names no device are of different ones.
        device: Which device's requests to take: a name as `report` prints it, `"all"` to lay all devices side by side,
            `"overlay"` to lay them over each other at the same addresses, or None for the device of the first request,
            or for all of several files.
        action: Which event of a request's life to take from traces of events: `queue` (the default of blkparse and
            blktrace), `issue` (the default of ftrace and ETW) or `complete`.
        skip_bad: Count malformed lines instead of stopping at the first.
        names: What results call the files of this trace, if not by their paths.

    Raises:
        TraceError: If two of the options exclude each other, or there is no such action; all else when a pass starts or
            goes on.
    """

    @takes(device="all", action="issue", format="blkparse")
    def __init__(
        self,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        columns: Columns | None = None,
        concat: bool = False,
        merge: bool = False,
        device: str | None = None,
        action: str | None = None,
        skip_bad: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        if not paths:
            raise TraceError("no trace file given; name at least one")
        for path in paths:
            if not isinstance(path, str | os.PathLike):
                raise TraceError(
                    f"{type(path).__name__} is no trace; give the path of a file, a Trace, or a data frame; of a "
                    "dictionary of columns Trace.from_frame(columns) makes one"
                )
        if concat and merge:
            raise TraceError("files follow one another (concat) or are merged by their times (merge); choose one")
        self.paths = [Path(path) for path in paths]
        if self.paths.count(STDIN) > 1:
            raise TraceError("standard input (-) is named twice; name it once")
        self.format = _ssdlab.named(format, ["parquet"]) or format if format is not None else None
        self.columns = _spelled(columns)
        self.files = "concat" if concat else "merge" if merge else None
        if action is not None:
            # Formats without actions, as Parquet, have no use for one.
            _ssdlab.check_action(action)
        self.device = device
        self.action = action
        self.skip_bad = skip_bad
        self.names = tuple(names)
        self._copies = Copies()

    def open(self) -> FileReader:
        """Starts a pass.

        Raises:
            TraceError: If a file cannot be opened or its format is not known.
        """
        return self._open(None)

    def open_objects(self, granularity: str) -> FileReader:
        """Starts a pass over requests for objects of a cache: keys may be text, and sizes may be 0 where they do not
        matter.

        Args:
            granularity: `"objects"` or `"sized-objects"`.
        """
        return self._open(granularity)

    def _open(self, objects: str | None) -> FileReader:
        named = [(self._copies.file(path), Path(name_of(path))) for path in self.paths]
        if self.format == "parquet" or (self.format is None and are_parquet(named)):
            return self._open_parquet(named)
        return _ssdlab.Reader(
            named, self.format, self.columns, self.files, self.device, self.action, self.skip_bad, objects
        )

    def _open_parquet(self, named: list[tuple[Path, Path]]) -> FileReader:
        if self.columns is not None:
            raise TraceError("columns say what a text holds, and Parquet names its own; leave them out")
        if len(named) > 1 and self.files != "concat":
            raise TraceError(
                f"{len(named)} Parquet files are given, which may be different traces; pass --concat (concat=True) "
                "to replay them one after the other, or sort their rows by time into one file"
            )
        rows = ParquetRows(named)
        if rows.names_devices:
            several = "all" if len(named) > 1 else None
            return DeviceReader(rows, self.device or several, named[0][1].name)
        no_devices(self.device, text.path(named[0][1]))
        return ParquetReader(rows)

    def beyond(self, capacity_bytes: int) -> str | None:
        """What is wrong with the first request that ends beyond a device, with its file and its line, record or row;
        None if none does.
        """
        return self.open().beyond(capacity_bytes)

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
        assert isinstance(reader, FileReader)
        return reader.report()

    def describe(self) -> dict[str, Any]:
        """How the trace was chosen, for a result: paths and options that were given."""
        options = {"format": self.format, "columns": self.columns, "files": self.files, "device": self.device,
                   "action": self.action}  # fmt: skip
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if self.skip_bad:
            given["skip_bad"] = True
        if self.names:
            given["names"] = [*self.names]
        return {"paths": [str(path) for path in self.paths], **given}

    def __repr__(self) -> str:
        return f"<ssdlab.TraceFile {', '.join(map(str, self.paths))}>"


def _spelled(columns: Columns | None) -> str | None:
    if isinstance(columns, Mapping):
        return ",".join(f"{name}={place}" for name, place in columns.items())
    if not isinstance(columns, str | None):
        raise ConfigError(
            f"columns: {shown(columns)} does not say what columns hold; give a text or a mapping, such as "
            "'time=0:us,op=2,offset=3:sectors,size=4', or None"
        )
    return columns


def read_trace(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    columns: Columns | None = None,
    concat: bool = False,
    merge: bool = False,
    device: str | None = None,
    action: str | None = None,
    skip_bad: bool = False,
) -> Trace:
    """Reads a trace into memory; for traces too large for that, pass a `TraceFile` to `simulate`.

    The arguments are those of `TraceFile`.

    Raises:
        TraceError: File, place, fault and remedy in one line.
    """
    return TraceFile(
        *paths,
        format=format,
        columns=columns,
        concat=concat,
        merge=merge,
        device=device,
        action=action,
        skip_bad=skip_bad,
    ).load()


class Table(Protocol):
    """A data frame or another table, of any library that shares tables by Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its rows."""


Given = Trace | TraceFile | Table | str | os.PathLike[str]
"""A trace as functions take it: in memory, a file, which is streamed, the path of one, or a data frame."""


def source_of(given: Given | None, config: Config | None = None) -> Trace | TraceFile | Workload:
    """What a user gave as a trace; None stands for the workload of `config`."""
    if isinstance(given, Trace | TraceFile):
        return given
    if given is None:
        return Workload(config or Config())
    if hasattr(given, "__arrow_c_stream__"):
        return Trace.from_frame(given)
    return TraceFile(given)
