"""Compares generated Filebench workloads with captures by statistics of their requests.

The captures record bios when they are queued. Filebench ran for about 31 s on ext4 on a loop device with Linux 6.18;
page cache and processes were limited to 768 MiB. `filebench_reference.csv` has the results of `statistics` for the
captures. For each statistic it also has the maximum accepted difference (tolerance), in the unit of the statistic. For
a wide tolerance, the file states which gap in the model explains it.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab
from ssdlab.lazy import np
from ssdlab.model.config import Config
from ssdlab.model.finding import Finding
from ssdlab.model.requests import batches

REFERENCE = "filebench_reference.csv"
PAGE_BYTES = 4096
READ, WRITE, FLUSH = 0, 1, 3
SYNC, META, PREFLUSH = 1, 2, 16

STATISTICS = {
    "read_share": ("reads, as a share of reads and writes", "%"),
    "read_bytes_share": ("bytes read, as a share of all bytes", "%"),
    "read_mean": ("mean read", "KiB"),
    "write_mean": ("mean write", "KiB"),
    "read_4k": ("reads of 4 KiB", "%"),
    "write_4k": ("writes of 4 KiB", "%"),
    "read_sequential": ("reads that continue the previous read", "%"),
    "write_sequential": ("writes that continue the previous write", "%"),
    "write_sync": ("synchronous writes", "%"),
    "write_meta": ("writes of metadata", "%"),
    "flushes": ("flushes per write, standalone or attached to a write", "%"),
    "read_distinct": ("distinct bytes read", "MiB"),
    "write_distinct": ("distinct bytes written", "MiB"),
}

REQUESTS = {"fileserver": 211_261, "webserver": 378_540, "varmail": 459_750, "oltp": 72_282}
"""Number of requests in each capture, including flushes."""

SETS: dict[str, dict[str, object]] = {
    "fileserver": {},
    "webserver": {"files": 20_000, "file_size": "32KiB", "bandwidth": "430MB/s", "think": "165us"},
    "varmail": {"files": 50_000, "threads": 100, "think": "2700us"},
    "oltp": {"file_size": "256MiB", "think": "30ms", "cache": "370MiB"},
}
"""Settings of the captures that differ from the defaults. Times are fitted to the captures. The bandwidth of webserver
and the think times of varmail and oltp make runs take 31 to 33 s, as in the captures. webserver creates its files in
3.3 s, the time of the first commit in its capture. fileserver takes 21 s instead of 32 s. A bandwidth limit of 340 MB/s
would slow it down, but it would then reuse freed blocks sooner than ext4 did in the capture.
"""

COMMON = {"cache": "485MiB", "service": "4ms", "depth": 256}
"""Settings of all workloads. The cache size was not recorded. With this size, webserver reads 571 MiB between two reads
of the same page, as in the capture. The 211 processes of oltp leave less memory, so oltp never reads the last 370 MiB
of its files. The service time is the median time from a read to the write of the same page by the same thread.
"""

SPAN = "24GiB"

SHARE_POINTS, RELATIVE = 5.0, 0.1
"""Differences up to which statistics are alike: in percentage points for shares, else as a fraction."""


def statistics(trace: Iterable[_ssdlab.Requests]) -> dict[str, float]:
    """Returns the statistics of a trace, which yields batches of requests."""
    counts = {op: np.zeros(4, dtype=np.int64) for op in (READ, WRITE)}
    sync = meta = flushes = 0
    ends = {READ: -1, WRITE: -1}
    pages = {op: np.zeros(0, dtype=bool) for op in (READ, WRITE)}
    for batch in trace:
        columns = batch.columns()
        op, flags = columns["op"], columns["flags"]
        flushes += int(np.count_nonzero((op == FLUSH) | (op == WRITE) & (flags & PREFLUSH != 0)))
        sync += int(np.count_nonzero((op == WRITE) & (flags & SYNC != 0)))
        meta += int(np.count_nonzero((op == WRITE) & (flags & META != 0)))
        for kind, total in counts.items():
            mine = op == kind
            start, size = columns["offset"][mine].astype(np.int64), columns["bytes"][mine].astype(np.int64)
            if not len(start):
                continue
            end = start + size
            before = np.concatenate(([ends[kind]], end[:-1]))
            ends[kind] = int(end[-1])
            sequential = np.count_nonzero(before == start)
            total += np.array([len(start), size.sum(), np.count_nonzero(size == PAGE_BYTES), sequential])
            touched = pages[kind]
            highest = -(-int(end.max()) // PAGE_BYTES)
            if highest > len(touched):
                pages[kind] = touched = np.concatenate((touched, np.zeros(highest - len(touched), dtype=bool)))
            first, count = start // PAGE_BYTES, -(-end // PAGE_BYTES) - start // PAGE_BYTES
            steps = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            touched[np.repeat(first, count) + steps] = True
    reads, read_bytes, read_4k, read_sequential = counts[READ].tolist()
    writes, write_bytes, write_4k, write_sequential = counts[WRITE].tolist()

    def share(part: int, whole: int) -> float:
        return 100 * part / whole if whole else 0.0

    def mean(size: int, count: int) -> float:
        return size / count / 1024 if count else 0.0

    return {
        "read_share": share(reads, reads + writes),
        "read_bytes_share": share(read_bytes, read_bytes + write_bytes),
        "read_mean": mean(read_bytes, reads),
        "write_mean": mean(write_bytes, writes),
        "read_4k": share(read_4k, reads),
        "write_4k": share(write_4k, writes),
        "read_sequential": share(read_sequential, reads),
        "write_sequential": share(write_sequential, writes),
        "write_sync": share(sync, writes),
        "write_meta": share(meta, writes),
        "flushes": share(flushes, writes),
        "read_distinct": np.count_nonzero(pages[READ]) * PAGE_BYTES / 2**20,
        "write_distinct": np.count_nonzero(pages[WRITE]) * PAGE_BYTES / 2**20,
    }


@dataclass(frozen=True)
class Row:
    """A statistic of a Filebench workload, with the captured value."""

    workload: str
    statistic: str
    captured: float
    tolerance: float
    reason: str
    """Reason for a wide tolerance; may be empty."""


@dataclass(frozen=True)
class Outcome:
    """A statistic of the captured and of the generated workload."""

    row: Row
    generated: float

    @property
    def difference(self) -> float:
        """Generated minus captured value."""
        return self.generated - self.row.captured

    @property
    def passed(self) -> bool:
        """True if the difference is within the row's tolerance."""
        return abs(self.difference) <= self.row.tolerance

    @property
    def alike(self) -> bool:
        """True if the difference is within the general limits `SHARE_POINTS` and `RELATIVE`."""
        is_share = STATISTICS[self.row.statistic][1] == "%"
        return abs(self.difference) <= (SHARE_POINTS if is_share else RELATIVE * self.row.captured)


def rows() -> Iterator[Row]:
    """Yields the rows of the reference table in file order."""
    text = Path(__file__).with_name(REFERENCE).read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        captured, tolerance = float(line["captured"]), float(line["tolerance"])
        yield Row(line["workload"], line["statistic"], captured, tolerance, line["reason"])


def config(workload: str) -> Config:
    """Returns the configuration that generates as many requests as the workload's capture contains."""
    key = "workload.pattern.filebench"
    own = {f"{key}.{name}": value for name, value in (COMMON | SETS[workload]).items()}
    return Config(
        overrides={
            "device.capacity": SPAN,
            "workload.span": SPAN,
            "workload.requests": REQUESTS[workload],
            "workload.pattern": "filebench",
            f"{key}.personality": workload,
            **own,
        }
    )


class Filebench(Finding):
    """Statistics of captured and generated workloads."""

    _page = "filebench"
    _json = "filebench.json"
    saved = "report.html and filebench.json"

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = tuple(outcomes)

    @property
    def passed(self) -> bool:
        """True if every statistic is within its tolerance."""
        return all(one.passed for one in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Returns all rows with captured and generated statistics, ready for JSON."""
        rows = [
            {**asdict(one.row), "generated": one.generated, "difference": one.difference, "passed": one.passed}
            for one in self.outcomes
        ]
        return {"passed": self.passed, "rows": rows}

    def _source(self) -> dict[str, Any]:
        return {"kind": "reference", "name": REFERENCE}


def compare(workload: str) -> list[Outcome]:
    """Generates a workload and compares it with its capture."""
    generated = statistics(batches(_ssdlab.Generator(config(workload)._inner)))
    return [Outcome(row, generated[row.statistic]) for row in rows() if row.workload == workload]


def run() -> Filebench:
    """Generates all workloads and compares them with their captures."""
    return Filebench([outcome for workload in SETS for outcome in compare(workload)])
