"""Splits traces of many volumes into one file per volume. The files form the dataset of a fleet.

    volumes.json              source of the dataset, and statistics of each volume
    000000.ssdlab-volume ...  requests of a volume, which every command reads as a trace

The dataset is created in one pass; memory use does not depend on the number of volumes. This thread decodes requests,
and another thread sorts them by volume and appends them to their files. An interrupted pass starts again; an existing
dataset of the same files is reused.
"""

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np
from ssdlab.model.frame import Words
from ssdlab.model.parquet import ParquetRows, are_parquet
from ssdlab.model.requests import BATCH, Monitor, ingest_report
from ssdlab.model.source import ingest_dict
from ssdlab.model.trace_file import TraceFile

SHAPE = 1
"""Version of the dataset's file format."""

INDEX = "volumes.json"

PART_REQUESTS = 1 << 20
"""Requests in a batch, which is sorted by volume and takes about 28 MiB; at most three exist at once."""


class Volume(NamedTuple):
    """Request statistics of a volume."""

    name: str
    file: str
    """Name of the volume's file in the folder of the dataset."""
    requests: int
    reads: int
    writes: int
    read_bytes: int
    written_bytes: int
    end_bytes: int
    """Offset of the first byte past all requests of the volume."""
    first_ns: int
    """Time of the volume's first request in nanoseconds, on the time axis of the whole trace."""
    last_ns: int


class Volumes(NamedTuple):
    """A trace split into volumes."""

    folder: Path
    source: dict[str, Any]
    """Files of the trace, and the options for reading them."""
    ingest: dict[str, Any]
    """Report on reading the original trace."""
    volumes: tuple[Volume, ...]
    """Volumes in order of appearance."""

    @classmethod
    def read(cls, folder: Path) -> "Volumes":
        """Reads a dataset from its folder."""
        path = folder / INDEX
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise TraceError(
                f"{text.path(folder)}: contains no volumes; 'ssdlab fleet run --out' creates them"
            ) from None
        if not isinstance(found, dict) or found.get("shape") != SHAPE:
            raise TraceError(f"{text.path(folder)}: was written by another version of ssdlab; choose another folder")
        return cls(folder, found["source"], found["ingest"], tuple(Volume(*one) for one in found["volumes"]))

    def path(self, volume: Volume) -> Path:
        """Returns the path of a volume's file."""
        return self.folder / volume.file

    @property
    def seconds(self) -> float:
        """Seconds from the first to the last request of all volumes."""
        last_ns = max(volume.last_ns for volume in self.volumes)
        return (last_ns - min(volume.first_ns for volume in self.volumes)) / 1e9


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Returns the named files, and the files of named folders sorted by name."""
    files = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not inside:
            raise TraceError(f"{text.path(path)}: has no files; pass the folder with the trace files")
        files += inside
    return files


def part(trace: TraceFile, folder: Path, monitor: Monitor | None = None) -> Volumes:
    """Returns the dataset of a trace in a folder; creates it if it does not exist. The monitor, called with the phase
    `part`, may return a true value to raise KeyboardInterrupt.
    """
    if trace.device is not None or trace.files is not None:
        raise TraceError("a fleet uses all devices in its files; omit device, concat and merge")
    paths = files_of(trace.paths)
    source = _described(trace, paths)
    if (folder / INDEX).exists() and (known := Volumes.read(folder)).source == source:
        return known
    making = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    partition, report = _passed(trace, paths, making, monitor)
    # A volume whose requests all have 0 bytes is possible; such requests are not replayed.
    volumes = [volume for volume in (Volume(*figures) for figures in partition.volumes()) if volume.requests]
    index = {"shape": SHAPE, "source": source, "ingest": ingest_dict(report), "volumes": volumes}
    (making / INDEX).write_text(json.dumps(index) + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)
    return Volumes.read(folder)


def _described(trace: TraceFile, paths: Sequence[Path]) -> dict[str, Any]:
    """Returns files and reading options of a trace; the dataset of the same trace has an equal description."""
    about = trace.describe() | {"paths": [str(path.absolute()) for path in paths]}
    try:
        states = [path.stat() for path in paths]
    except OSError as error:
        raise TraceError(f"{text.path(Path(error.filename))}: {error.strerror}; check the path") from None
    return {
        **about,
        "bytes": [state.st_size for state in states],
        "changed_ns": [state.st_mtime_ns for state in states],
    }


def _passed(
    trace: TraceFile, paths: Sequence[Path], folder: Path, monitor: Monitor | None
) -> tuple[_ssdlab.Partition, dict[str, Any]]:
    """Splits a trace by volume in one pass; returns the partition and the report on reading the trace."""
    reader = _opened(trace, paths)
    partition = _ssdlab.Partition(folder)
    requests = 0
    with ThreadPoolExecutor(1) as pool:
        adding: Future[None] | None = None
        while len(batch := reader.read(PART_REQUESTS)):
            if requests == 0:
                _check_volumes(reader, paths)
            requests += len(batch)
            if adding is not None:
                adding.result()
            adding = pool.submit(partition.add, batch)
            if monitor is not None and monitor("part", *reader.progress(), requests):
                raise KeyboardInterrupt("stopped while splitting the trace; nothing was saved")
        if adding is not None:
            adding.result()
    if not requests:
        raise TraceError(f"{text.path(paths[0])}: has no requests; use a trace with requests")
    return partition, reader.report()


def _opened(trace: TraceFile, paths: Sequence[Path]) -> "_ParquetVolumes | _ssdlab.VolumeReader":
    named = [(path, path) for path in paths]
    if trace.format == "parquet" or (trace.format is None and are_parquet(named)):
        return _ParquetVolumes(paths)
    reader = _ssdlab.VolumeReader(named, trace.format, trace.columns, trace.action, trace.skip_bad)
    trace.refuse_objects(reader.report())
    return reader


def _check_volumes(reader: "_ParquetVolumes | _ssdlab.VolumeReader", paths: Sequence[Path]) -> None:
    if len(paths) == 1 and not reader.names_volumes():
        column = (
            "rename the column of volume names to 'volume'"
            if isinstance(reader, _ParquetVolumes)
            else "add the column number of the volume names to --columns, as in device=3"
        )
        raise TraceError(
            f"{text.path(paths[0])}: {reader.format()} has no volume names; pass a file for each volume, or {column}"
        )


class _ParquetVolumes:
    """Reads Parquet files one by one; a file without a column of volume names is a volume."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        names = [path.name for path in paths]
        self._names = [path.name if names.count(path.name) == 1 else str(path) for path in paths]
        self._numbers: dict[str, int] = {}
        self._streams: dict[str, int] = {}
        self._behind = 0
        self._rows = 0
        self._reader: ParquetRows | None = None
        self._names_volumes = False

    def read(self, max: int) -> _ssdlab.Parted:
        """Returns about `max` further requests in file order, each with its volume; an empty batch at the end."""
        requests: list[_ssdlab.Requests] = []
        volumes: list[Any] = []
        while sum(map(len, requests)) < max and self._behind < len(self._paths):
            path = self._paths[self._behind]
            if self._reader is None:
                self._reader = ParquetRows([(path, path)], epoch=True)
                self._names_volumes |= self._reader.names_devices
            batch = self._reader.read(BATCH)
            if not len(batch):
                self._reader, self._behind = None, self._behind + 1
                continue
            requests.append(self._renamed(batch, self._reader.streams()))
            named = self._reader.devices or Words(np.zeros(len(batch), np.int64), [self._names[self._behind]])
            volumes.append(named.numbered(self._numbers))
            self._rows += len(batch)
        return _ssdlab.Parted.of(
            _ssdlab.Requests.concatenate(requests),
            np.concatenate(volumes) if volumes else np.zeros(0, np.uint32),
            [*self._numbers],
            ["", *self._streams],
        )

    def _renamed(self, batch: _ssdlab.Requests, names: Sequence[str]) -> _ssdlab.Requests:
        """Returns the requests with stream numbers mapped to numbers that identify the same stream in all files."""
        columns = batch.columns()
        last = int(columns["stream"].max())
        if last == 0:
            return batch
        # A stream without a name gets its number as its name.
        named = [*names, *map(str, range(max(len(names), 1), last + 1))]
        to = [0, *(self._streams.setdefault(name, len(self._streams) + 1) for name in named[1:])]
        columns["stream"] = np.array(to, np.uint16)[columns["stream"]]
        return _ssdlab.Requests.from_columns(**columns, in_order=False)

    def progress(self) -> tuple[int, int | None]:
        """Returns the number of rows read so far."""
        return self._rows, None

    def names_volumes(self) -> bool:
        """True if the rows read so far have a column that names volumes."""
        return self._names_volumes

    def format(self) -> str:
        """Returns the name of the trace's format."""
        return "parquet"

    def report(self) -> dict[str, Any]:
        """Returns the report on reading the trace."""
        return ingest_report("parquet", [("requests", "requests", "Requests handed out.", self._rows)])
