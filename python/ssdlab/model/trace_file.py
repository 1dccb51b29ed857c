"""Trace files, and the other types of trace that functions accept."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.lazy import room
from ssdlab.model.arguments import shown, takes
from ssdlab.model.config import PLUGIN, PLUGIN_FILES, Config
from ssdlab.model.devices import DeviceReader, no_devices
from ssdlab.model.parquet import ParquetReader, ParquetRows, are_parquet
from ssdlab.model.pipe import STDIN, Copies, name_of
from ssdlab.model.requests import RequestSource, batches
from ssdlab.model.source import Source
from ssdlab.model.trace import Trace, Workload

Columns = str | Mapping[str, int | str]
"""Meaning of the columns of a text file: `"time=0:us,op=2,offset=3:sectors,size=4"` or the same as a dictionary."""


FileReader = ParquetReader | DeviceReader | _ssdlab.Reader
"""A pass over the files of a trace."""


class TraceFile(Source):
    """A trace on disk; every pass streams it from the start.

    Args:
        paths: Files of one trace, in order; `-` is standard input. Pipes are copied to a file on first use. Compression
            (gzip, zstd) is detected from the contents.
        format: Name of the format; by default detected from the contents.
        columns: Meaning of the columns of any text, by number from 0 or by heading, with units:
            `"time=0:us,op=2,offset=3:sectors,size=4"`. Default units are nanoseconds and bytes; `stream`, `device` and
            `repeat` are optional. `op` and `size` may be constants: `op=R`.
        concat: True to concatenate the files; each begins when the previous one ends. Files without device names belong
            to the same device.
        merge: True to merge the files by their times. Files without device names belong to different devices.
        device: Device to select: a name as `report` prints it, `"all"` to place all devices end to end, `"overlay"` to
            overlay them at the same addresses, or None. None selects the device of the first request, or all devices of
            several files.
        action: Event that counts as a request in event traces: `queue` (the default of blkparse and blktrace), `issue`
            (the default of ftrace and ETW) or `complete`.
        skip_bad: True to count malformed lines instead of stopping at the first.
        names: Names of the files in results, instead of their paths.

    Raises:
        TraceError: If two options exclude each other, or the action is unknown. Other faults are reported when the
            trace is read.
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
            raise TraceError("no trace file given; pass at least one file")
        for path in paths:
            if not isinstance(path, str | os.PathLike):
                raise TraceError(
                    f"{type(path).__name__} is not a trace; pass the path of a file, a Trace, or a data frame; convert "
                    "a dictionary of columns with Trace.from_frame(columns)"
                )
        if concat and merge:
            raise TraceError("concat and merge are both set; set only one of them")
        self.paths = [Path(path) for path in paths]
        if self.paths.count(STDIN) > 1:
            raise TraceError("standard input (-) is given twice; pass it only once")
        self.format = _ssdlab.named(format, ["parquet"]) or format if format is not None else None
        if PLUGIN in (self.format or ""):
            room("model.plugins").register_named([("format", f"={self.format}")])
        elif self.format is None and os.environ.get(PLUGIN_FILES):
            # Formats in these files take part in the detection.
            room("model.plugins").register_files()
        self.columns = _spelled(columns)
        self.files = "concat" if concat else "merge" if merge else None
        if action is not None:
            # The name of the event (action) is checked here, because formats with a single event per request ignore it.
            _ssdlab.check_action(action)
        self.device = device
        self.action = action
        self.skip_bad = skip_bad
        self.names = tuple(names)
        self._copies = Copies()

    def open(self) -> FileReader:
        """Starts a pass over the requests.

        Raises:
            TraceError: If a file cannot be opened or its format is unknown.
        """
        return self._open(None)

    def open_objects(self, granularity: str) -> FileReader:
        """Starts a pass over `"objects"` or `"sized-objects"`. Keys may be text, and sizes may be 0 if they do not
        matter.
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
            raise TraceError("columns apply only to text files; omit them for Parquet")
        if len(named) > 1 and self.files != "concat":
            raise TraceError(
                f"{len(named)} Parquet files are given, which may be different traces; pass --concat (concat=True) "
                "to replay them one after the other"
            )
        rows = ParquetRows(named)
        if rows.names_devices:
            several = "all" if len(named) > 1 else None
            return DeviceReader(rows, self.device or several, named[0][1].name)
        no_devices(self.device, text.path(named[0][1]))
        return ParquetReader(rows)

    def beyond(self, capacity_bytes: int) -> str | None:
        """Describes the first request past the end of its device; None if all fit."""
        return self.open().beyond(capacity_bytes)

    def load(self) -> Trace:
        """Reads the whole trace into memory.

        Raises:
            TraceError: If a file cannot be opened, its format is unknown, or its contents are invalid.
        """
        source = self.open()
        requests = _ssdlab.Requests.concatenate(list(batches(source)))
        return Trace(requests, source.streams(), source.report())

    @property
    def about(self) -> dict[str, Any]:
        """Description of the trace file, for results."""
        return {"kind": "trace", **self.describe()}

    def report_of(self, reader: RequestSource) -> dict[str, Any] | None:
        """Returns the report of `reader` on reading the trace."""
        assert isinstance(reader, FileReader)
        return reader.report()

    def describe(self) -> dict[str, Any]:
        """Returns the paths of the trace file and the options that were set, in the form stored in a result."""
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
            f"columns: {shown(columns)} is not a string or mapping; pass one such as "
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
    """Reads a trace into memory. For traces too large for memory, pass a `TraceFile` to `simulate`.

    See `TraceFile` for the arguments.

    Raises:
        TraceError: If the trace is invalid; one line with file, position, fault and remedy.
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
    """A data frame or another table, from any library that exports Arrow data."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the rows of the table as an Arrow C stream."""


Given = Trace | TraceFile | Table | str | os.PathLike[str]
"""Any form of trace that functions accept: in memory, a streamed file, a path or a data frame."""

JOB_FILES = (".fio", ".job")
"""Suffixes of the names of fio job files."""


def job_file(given: Given | None) -> Path | None:
    """Returns the path of a fio job file; None for any other source."""
    if isinstance(given, TraceFile) and len(given.paths) == 1 and given.describe().keys() == {"paths"}:
        given = given.paths[0]
    is_job = isinstance(given, str | os.PathLike) and os.fspath(given).endswith(JOB_FILES)
    return Path(given) if is_job else None  # type: ignore[arg-type]


def source_of(given: Given | None, config: Config | None = None) -> Trace | TraceFile | Workload:
    """Converts an argument to a source; None stands for the workload in `config`."""
    if isinstance(given, Trace | TraceFile):
        return given
    if given is None:
        return Workload(config or Config())
    if hasattr(given, "__arrow_c_stream__"):
        return Trace.from_frame(given)
    return TraceFile(given)
