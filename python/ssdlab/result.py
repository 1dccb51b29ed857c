"""What a simulation yields."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab.config import Config
from ssdlab.figures import source_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from matplotlib.figure import Figure

    from ssdlab.trace import Trace


class LatencyColumns(NamedTuple):
    """A histogram of times of requests, one entry per bucket that holds anything; uint64 arrays of equal length."""

    lower_ns: "npt.NDArray[np.uint64]"
    """Smallest value of the bucket in nanoseconds."""
    upper_ns: "npt.NDArray[np.uint64]"
    """First value of the next bucket; at most 1.6 % above `lower_ns`."""
    requests: "npt.NDArray[np.uint64]"
    """Requests in the bucket."""


class LogColumns(NamedTuple):
    """Distributions of a log-block FTL during the measured phase; uint64 arrays."""

    associativity: "npt.NDArray[np.uint64]"
    """Reclaims of log space by the number of logical blocks they merged: entry i counts those that merged i."""
    utilisation: "npt.NDArray[np.uint64]"
    """Log blocks that left the log by the number of their pages programmed: entry i counts those with i."""
    reclaim_copies: "npt.NDArray[np.uint64]"
    """Pages copied by a reclaim, one entry for each cost that occurred, as in the three columns below."""
    reclaim_erases: "npt.NDArray[np.uint64]"
    """Blocks erased by it."""
    reclaim_ns: "npt.NDArray[np.uint64]"
    """Its duration in nanoseconds; 0 where time is not modelled."""
    reclaim_times: "npt.NDArray[np.uint64]"
    """Reclaims of that cost."""


class GanttColumns(NamedTuple):
    """Every flash operation and every transfer in the recorded window, in the order of their ends; equally long."""

    die: "npt.NDArray[np.uint64]"
    """Die among all dies, numbered channel by channel."""
    plane: "npt.NDArray[np.uint64]"
    """Plane in the die."""
    bus: "npt.NDArray[np.bool_]"
    """Whether the channel moved data; otherwise the cells of the plane worked."""
    begin_ns: "npt.NDArray[np.uint64]"
    """Start in nanoseconds from the start of measuring."""
    end_ns: "npt.NDArray[np.uint64]"
    """End, likewise."""
    kind: list[str]
    """`read`, `program`, `erase` or `copyback`."""
    cause: list[str]
    """What it was done for; a cause of flash operations, as in the summary."""


class ActivityColumns(NamedTuple):
    """What dies and channels did when, during the measured phase.

    Sums are by bins of equal simulated time from the start of measuring, uint64. Bins double when time goes on, so
    each column has a length of bin of its own; a column ends with the last bin in which anything happened.
    """

    die_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    dies_busy_ns: "npt.NDArray[np.uint64]"
    """Busy time of the cells of each die, shape (dies, bins); dies are numbered channel by channel."""
    channel_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    channels_busy_ns: "npt.NDArray[np.uint64]"
    """Busy time of each channel, shape (channels, bins)."""
    internal_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    internal_busy_ns: "npt.NDArray[np.uint64]"
    """Work of the cells that was not for the host's data, such as garbage collection, summed over the dies."""
    queue_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    outstanding_ns: "npt.NDArray[np.uint64]"
    """Requests outstanding times nanoseconds: divided by the length of the bin, their mean number."""
    waiting: dict[str, LatencyColumns]
    """Histograms of the time that requests waited, by operation."""
    gantt: GanttColumns
    """Operations one by one, in the window that was to be recorded; empty without one."""
    gantt_truncated: bool
    """Whether there were more of them than are kept."""

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "ActivityColumns":
        """From the dictionary that the extension yields."""
        waiting = {op: LatencyColumns(*histogram) for op, histogram in columns["waiting"].items()}
        return cls(**{**columns, "waiting": waiting, "gantt": GanttColumns(**columns["gantt"])})


class Result:
    """Figures and columns of one run.

    Nothing in it depends on wall time: equal runs give equal results, byte for byte when saved.
    """

    def __init__(
        self,
        *,
        config: Config,
        source: dict[str, Any],
        summary: dict[str, Any],
        ingest: dict[str, Any] | None,
        series: "Mapping[str, npt.NDArray[np.uint64]]",
        erase_counts: "npt.NDArray[np.uint32]",
        latency: Mapping[str, "tuple[npt.NDArray[np.uint64], ...]"],
        log: "Mapping[str, npt.NDArray[np.uint64]] | None",
        activity: Mapping[str, Any] | None,
        dispatched: "Trace | None",
    ) -> None:
        self.config = config
        """The configuration that was run."""
        self.source = source
        """Where the requests came from: `kind` is `trace`, `memory` or `workload`, with its particulars."""
        self.summary = summary
        """Every figure as nested dicts; the keys of `result.json`, described in the documentation."""
        self.ingest = ingest
        """What was met while reading the trace (None without a file): `counts`, `notes`, `other_devices` ..."""
        self.series = dict(series)
        """The measured phase in at most 512 epochs of equally many requests, one uint64 per epoch: `requests`
        and `time_ns` at the end of the epoch; `host_pages_written`, `flash_pages_programmed`, `pages_copied`,
        `blocks_erased`, `read_requests`, `read_latency_sum_ns`, `read_latency_max_ns`, `write_requests`,
        `write_latency_sum_ns`, `write_latency_max_ns` within it."""
        self.erase_counts = erase_counts
        """Erases of each block during the measured phase, uint32."""
        self.latency = {op: LatencyColumns(*columns) for op, columns in latency.items()}
        """Histograms of response times by operation; empty columns where time is not modelled."""
        self.log = None if log is None else LogColumns(**log)
        """Distributions of a log-block FTL; None for page mapping."""
        self.activity = None if activity is None else ActivityColumns.of(activity)
        """What dies and channels did when; None unless `time` is `event`."""
        self.dispatched = dispatched
        """The requests that the scheduler gave to the drive, at the times when it did: a trace from below it. None
        unless `block.record` is set."""

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.summary["partial"])

    @property
    def write_amplification(self) -> float | None:
        """Pages programmed per page the host wrote; None if it wrote nothing."""
        value: float | None = self.summary["write_amplification"]
        return value

    @property
    def iops(self) -> float | None:
        """Requests completed per simulated second; None where time is not modelled."""
        time = self.summary["time"]
        return None if time is None else float(time["iops"])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the columns, ready for JSON: the contents of `result.json`."""
        ingest = None
        if self.ingest is not None:
            counts = {name: value for name, _, _, value in self.ingest["counts"]}
            ingest = {**self.ingest, "counts": counts}
        return {
            "ssdlab": _ssdlab.__version__,
            "source": self.source,
            "config": {key: {"value": self.config[key], "origin": origin} for key, _, origin in self.config.settings},
            "ingest": ingest,
            **self.summary,
        }

    def to_json(self) -> str:
        """`to_dict` as indented JSON text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def to_arrow(self) -> "pa.Table":
        """`series` as a pyarrow Table."""
        import pyarrow as pa

        return pa.table(self.series)

    def latency_arrow(self) -> "pa.Table":
        """`latency` as one pyarrow Table: op, lower_ns, upper_ns, requests."""
        return _histograms_arrow(self.latency)

    def log_arrow(self) -> "dict[str, pa.Table]":
        """`log` as pyarrow Tables; empty for page mapping.

        `reclaims`: copies, erases, ns, times; `associativity`: logical_blocks, reclaims; `utilisation`:
        pages_programmed, log_blocks.
        """
        import pyarrow as pa

        if self.log is None:
            return {}

        def counted(value: str, count: str, counts: "npt.NDArray[np.uint64]") -> "pa.Table":
            return pa.table({value: pa.array(range(len(counts)), pa.uint64()), count: counts})

        costs = ("copies", "erases", "ns", "times")
        return {
            "reclaims": pa.table({name: getattr(self.log, f"reclaim_{name}") for name in costs}),
            "associativity": counted("logical_blocks", "reclaims", self.log.associativity),
            "utilisation": counted("pages_programmed", "log_blocks", self.log.utilisation),
        }

    def activity_arrow(self) -> "dict[str, pa.Table]":
        """`activity` as pyarrow Tables; empty unless `time` is `event`.

        `dies`: die, begin_ns, end_ns, busy_ns; `channels`: channel, begin_ns, end_ns, busy_ns; `internal`: begin_ns,
        end_ns, busy_ns; `queue`: begin_ns, end_ns, outstanding_ns; `waiting`: op, lower_ns, upper_ns, requests;
        `gantt`: the columns of `GanttColumns`, with `truncated` in the metadata of the schema.
        """
        import pyarrow as pa

        activity = self.activity
        if activity is None:
            return {}
        types = {"bus": pa.bool_(), "kind": pa.string(), "cause": pa.string()}
        schema = pa.schema(
            [(name, types.get(name, pa.uint64())) for name in GanttColumns._fields],
            metadata={"truncated": str(activity.gantt_truncated).lower()},
        )
        return {
            "dies": _bins_arrow(activity.die_bin_ns, activity.dies_busy_ns, "busy_ns", "die"),
            "channels": _bins_arrow(activity.channel_bin_ns, activity.channels_busy_ns, "busy_ns", "channel"),
            "internal": _bins_arrow(activity.internal_bin_ns, activity.internal_busy_ns, "busy_ns"),
            "queue": _bins_arrow(activity.queue_bin_ns, activity.outstanding_ns, "outstanding_ns"),
            "waiting": _histograms_arrow(activity.waiting),
            "gantt": pa.table(activity.gantt._asdict(), schema=schema),
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the result into a directory, which is made if need be.

        Files: `result.json`, `config.toml`, `series.parquet`, `latency.parquet`, `erase_counts.parquet`,
        `report.html`; for a log-block FTL also `log_reclaims.parquet`, `log_associativity.parquet` and
        `log_utilisation.parquet`, which a result without a log removes; likewise, where `time` is `event`, one
        `activity_*.parquet` for each table of `activity_arrow`; with `block.record`, `dispatched.parquet`, a trace that
        can be replayed. Each appears whole or not at all, and equal runs
        give equal bytes.

        Raises:
            OSError: If the directory cannot be written.
        """
        from ssdlab.store import save

        save(self, Path(directory))

    def report_html(self) -> str:
        """The report as one HTML page that needs nothing else."""
        from ssdlab.report import render

        return render(self)

    def plot_write_amplification(self) -> "Figure":
        """Write amplification of each epoch, and of the run so far."""
        from ssdlab import plot

        return plot.write_amplification(self)

    def plot_latency(self) -> "Figure":
        """Histogram of response times by operation, on a logarithmic time axis.

        Raises:
            ValueError: If time was not modelled.
        """
        from ssdlab import plot

        return plot.latency(self)

    def plot_response_time(self) -> "Figure":
        """Response time over the run: mean and maximum of each epoch by operation, on a logarithmic time axis.

        Where `time` is `event`, shaded by the share of the dies' time that went to internal work.

        Raises:
            ValueError: If time was not modelled.
        """
        from ssdlab import plot

        return plot.response_time(self)

    def plot_latency_percentiles(self) -> "Figure":
        """Response times of reads and writes by percentile; 90 %, 99 %, 99.9 % ... are equally far apart.

        Where `time` is `event`, with the time that they waited, dashed.

        Raises:
            ValueError: If time was not modelled.
        """
        from ssdlab import plot

        return plot.latency_percentiles(self)

    def plot_utilisation(self) -> "Figure":
        """How busy each die and each channel was over the run, as heat maps.

        Raises:
            ValueError: If `time` is not `event`.
        """
        from ssdlab import plot_activity

        return plot_activity.utilisation(self)

    def plot_queue_depth(self) -> "Figure":
        """Requests outstanding over the run.

        Raises:
            ValueError: If `time` is not `event`.
        """
        from ssdlab import plot_activity

        return plot_activity.queue_depth(self)

    def plot_gantt(self) -> "Figure":
        """The recorded window, operation by operation: a lane for each channel and each plane of a die.

        Raises:
            ValueError: If `time` is not `event`.
        """
        from ssdlab import plot_activity

        return plot_activity.gantt(self)

    def plot_reclaim_cost(self) -> "Figure":
        """Cumulative distribution of what reclaiming log space costs: time, or pages copied without time.

        Raises:
            ValueError: If the FTL has no log blocks.
        """
        from ssdlab import plot

        return plot.reclaim_cost(self)

    def plot_associativity(self) -> "Figure":
        """How many reclaims of log space merged how many logical blocks.

        Raises:
            ValueError: If the FTL has no log blocks.
        """
        from ssdlab import plot

        return plot.associativity(self)

    def plot_log_utilisation(self) -> "Figure":
        """How many log blocks left the log with how many of their pages programmed.

        Raises:
            ValueError: If the FTL has no log blocks.
        """
        from ssdlab import plot

        return plot.log_utilisation(self)

    def plot_erase_counts(self) -> "Figure":
        """How many blocks were erased how often."""
        from ssdlab import plot

        return plot.erase_counts(self)

    def plot_operations(self) -> "Figure":
        """Flash reads, programs and erases by what caused them."""
        from ssdlab import plot

        return plot.operations(self)

    def __repr__(self) -> str:
        amplification = text.MISSING if self.write_amplification is None else f"{self.write_amplification:.3f}"
        partial = ", partial" if self.partial else ""
        return f"<ssdlab.Result of {source_text(self.source)}: write amplification {amplification}{partial}>"


def _histograms_arrow(histograms: Mapping[str, LatencyColumns]) -> "pa.Table":
    """Histograms by operation as one table: op, lower_ns, upper_ns, requests."""
    import pyarrow as pa

    schema = pa.schema([("op", pa.string()), *((name, pa.uint64()) for name in LatencyColumns._fields)])
    parts = [
        pa.table({"op": [op] * len(columns.requests), **columns._asdict()}, schema=schema)
        for op, columns in histograms.items()
    ]
    return pa.concat_tables(parts)


def _bins_arrow(bin_ns: int, sums: "npt.NDArray[np.uint64]", value: str, row: str | None = None) -> "pa.Table":
    """Sums by bin, or by row and bin, as a table: `row` if there are rows, begin_ns, end_ns, `value`."""
    import numpy as np
    import pyarrow as pa

    edges = np.arange(sums.shape[-1] + 1, dtype=np.uint64) * np.uint64(bin_ns)
    begin, end = (np.broadcast_to(edge, sums.shape).ravel() for edge in (edges[:-1], edges[1:]))
    rows = {} if row is None else {row: np.repeat(np.arange(len(sums), dtype=np.uint64), sums.shape[1])}
    return pa.table({**rows, "begin_ns": begin, "end_ns": end, value: sums.ravel()})
