"""The result of a simulation."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import text
from ssdlab.lazy import np, npt, pa, room
from ssdlab.model.arguments import takes
from ssdlab.model.arrow import table
from ssdlab.model.columns import (
    ActivityColumns,
    Columns,
    LatencyColumns,
    LogColumns,
    bins_arrow,
    course_arrow,
    histograms_arrow,
)
from ssdlab.model.config import Config
from ssdlab.model.diagnosis import Diagnosis
from ssdlab.model.finding import Contents, Plot, TraceFinding
from ssdlab.model.source import ingest_dict, source_text
from ssdlab.model.trace import Trace

if TYPE_CHECKING:
    from ssdlab.analyse.steps import Explanation
    from ssdlab.model.plugins import PluginUse


class Result(TraceFinding):
    """Metrics and columns of one run.

    Results do not depend on wall time: identical runs give identical results, which are saved as identical files.

    Saves `result.json`, `config.toml`, `series.parquet`, `latency.parquet`, `erase_counts.parquet` and `report.html`;
    for a log-block FTL also `log_reclaims.parquet`, `log_associativity.parquet` and `log_utilisation.parquet`; where
    `time` is `event`, one `activity_*.parquet` for each table of `activity_arrow`; with `block.record`,
    `dispatched.parquet`, a trace that can be replayed. Such files of an earlier result are removed.
    """

    _page = "result"
    _json = "result.json"
    _optional = ("log_*.parquet", "activity_*.parquet", "dispatched.parquet")
    saved = "report.html, result.json, config.toml and Parquet files"

    def __init__(
        self,
        *,
        config: Config,
        source: Mapping[str, Any],
        summary: dict[str, Any],
        ingest: Mapping[str, Any] | None,
        columns: Columns,
        plugins: "Sequence[PluginUse]" = (),
    ) -> None:
        super().__init__(source, ingest, partial=bool(summary["partial"]))
        self.config = config
        """Configuration of the run."""
        self.summary = summary
        """All metrics as nested dicts, with the keys of `result.json`; see `docs/results.md`."""
        self.plugins = [*plugins]
        """Plug-ins of the run, each with its number of decisions; empty for a loaded result."""
        self._columns = columns

    @cached_property
    def series(self) -> "dict[str, npt.NDArray[np.uint64]]":
        """Time series of the measured phase, which is divided into at most 512 epochs with equal numbers of requests.
        Each column has one uint64 per epoch. `requests` and `time_ns` are values at the end of the epoch.
        `host_pages_written`, `flash_pages_programmed`, `pages_copied`, `blocks_erased`, `read_requests`,
        `read_latency_sum_ns`, `read_latency_max_ns`, `write_requests`, `write_latency_sum_ns` and
        `write_latency_max_ns` cover only the epoch.
        """
        return self._columns.series()

    @cached_property
    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        """Erases of each block during the measured phase, uint32."""
        return self._columns.erase_counts()

    @cached_property
    def latency(self) -> dict[str, LatencyColumns]:
        """Histograms of response times by operation; empty columns if time is not modelled."""
        return self._columns.latency()

    @cached_property
    def log(self) -> LogColumns | None:
        """Distributions measured by a log-block FTL; None for page mapping."""
        return self._columns.log()

    @cached_property
    def activity(self) -> ActivityColumns | None:
        """Activity of dies and channels; None unless `time` is `event`."""
        return self._columns.activity()

    @cached_property
    def dispatched(self) -> "Trace | None":
        """Requests that the scheduler dispatched to the drive, as a trace; None unless `block.record` is set."""
        return self._columns.dispatched()

    @staticmethod
    @takes()
    def load(path: str | os.PathLike[str]) -> "Result":
        """Loads a result written by `save` or `ssdlab run --out`; saving it again writes identical files.

        Columns are read on first use; a missing file raises ConfigError only then. Metrics, findings and configuration
        are therefore available from `result.json` alone, or from the output of `ssdlab run --json`.

        Args:
            path: Directory of the result, or its `result.json`.

        Raises:
            ConfigError: If the file is not the result of a run, or has an incompatible version.

        Example:
            >>> result = ssdlab.Result.load("out/oltp")  # doctest: +SKIP
            >>> result.write_amplification  # doctest: +SKIP
        """
        loaded: Result = room("model.loaded").LoadedResult(Path(path))
        return loaded

    @property
    def write_amplification(self) -> float | None:
        """Pages programmed per page that the host wrote; None without host writes."""
        value: float | None = self.summary["write_amplification"]
        return value

    @property
    def iops(self) -> float | None:
        """Requests per simulated second; None if time is not modelled or no simulated time passed."""
        time = self.summary["time"]
        rate: float | None = None if time is None else time["iops"]
        return rate

    def diagnose(self) -> Diagnosis:
        """Returns the findings with their evidence, and the breakdown of response times."""
        return Diagnosis(
            source=self.source,
            configuration=self.config.to_dict(),
            summary=self.summary,
            partial=self.partial,
            ingest=self.ingest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns all results except the columns, ready for JSON: the key `result` in `result.json`."""
        return {"ingest": ingest_dict(self.ingest), **self.summary}

    def _configuration(self) -> dict[str, Any]:
        return self.config.to_dict()

    def explain(self, requests: str) -> "Explanation":
        """Runs the FTL step by step on a drive of 32 pages; returns a page on which the steps can be replayed.

        Args:
            requests: Pages to write such as `"5 4-7"`; `r5` reads and `t5` trims.

        Raises:
            ConfigError: If a setting of the FTL does not fit the small drive, or a request is invalid.
        """
        explanation: Explanation = room("analyse.steps").of_result(self, requests)
        return explanation

    def to_arrow(self) -> "pa.Table":
        """Returns `series` as a pyarrow Table."""
        return table(self.series)

    def latency_arrow(self) -> "pa.Table":
        """Returns `latency` as one pyarrow Table: op, lower_ns, upper_ns, requests."""
        return histograms_arrow(self.latency)

    def log_arrow(self) -> "dict[str, pa.Table]":
        """Returns `log` as pyarrow Tables; empty for page mapping.

        `reclaims`: copies, erases, ns, times; `associativity`: logical_blocks, reclaims; `utilisation`:
        pages_programmed, log_blocks.
        """
        if self.log is None:
            return {}

        def counted(value: str, count: str, counts: "npt.NDArray[np.uint64]") -> "pa.Table":
            return table({value: np.arange(len(counts), dtype=np.uint64), count: counts})

        costs = ("copies", "erases", "ns", "times")
        return {
            "reclaims": table({name: getattr(self.log, f"reclaim_{name}") for name in costs}),
            "associativity": counted("logical_blocks", "reclaims", self.log.associativity),
            "utilisation": counted("pages_programmed", "log_blocks", self.log.utilisation),
        }

    def activity_arrow(self) -> "dict[str, pa.Table]":
        """Returns `activity` as pyarrow Tables; empty unless `time` is `event`.

        `dies`: die, begin_ns, end_ns, busy_ns; `channels`: channel, begin_ns, end_ns, busy_ns; `internal`: begin_ns,
        end_ns, busy_ns; `queue`: begin_ns, end_ns, outstanding_ns; `waiting`: op, lower_ns, upper_ns, requests;
        `gantt`: the columns of `GanttColumns`, with `truncated` in the metadata of the schema.

        With attribution of response times, also `intervals`: op, time, begin_ns, end_ns, lower_ns,
        upper_ns, requests; `slowest`: the columns of `SlowColumns`; `parts`: op, part, begin_ns, end_ns, sum_ns.
        """
        activity = self.activity
        if activity is None:
            return {}
        truncated = {"truncated": str(activity.gantt_truncated).lower()}
        return {
            "dies": bins_arrow(activity.die_bin_ns, activity.dies_busy_ns, "busy_ns", "die"),
            "channels": bins_arrow(activity.channel_bin_ns, activity.channels_busy_ns, "busy_ns", "channel"),
            "internal": bins_arrow(activity.internal_bin_ns, activity.internal_busy_ns, "busy_ns"),
            "queue": bins_arrow(activity.queue_bin_ns, activity.outstanding_ns, "outstanding_ns"),
            "waiting": histograms_arrow(activity.waiting),
            **({} if activity.course is None else course_arrow(activity.course)),
            "gantt": table(activity.gantt._asdict(), truncated),
        }

    def _tables(self) -> Contents:
        parts = {f"log_{name}": table for name, table in self.log_arrow().items()}
        parts |= {f"activity_{name}": table for name, table in self.activity_arrow().items()}
        if self.dispatched is not None:
            parts["dispatched"] = self.dispatched.to_arrow()
        parts |= {
            "series": self.to_arrow(),
            "latency": self.latency_arrow(),
            "erase_counts": table({"erases": self.erase_counts}),
        }
        return {"config.toml": self.config.to_toml(), **{f"{name}.parquet": table for name, table in parts.items()}}

    plot_write_amplification = Plot("result.write_amplification")
    plot_operations = Plot("result.operations")
    plot_erase_counts = Plot("result.erase_counts")
    plot_latency = Plot("latency.histogram")
    plot_latency_percentiles = Plot("latency.percentiles")
    plot_response_parts = Plot("latency.parts")
    plot_slowest = Plot("latency.slowest")
    plot_response_time = Plot("latency.response_time")
    plot_reclaim_cost = Plot("log.reclaim_cost")
    plot_associativity = Plot("log.associativity")
    plot_log_utilisation = Plot("log.utilisation")
    plot_utilisation = Plot("activity.utilisation")
    plot_queue_depth = Plot("activity.queue_depth")
    plot_gantt = Plot("activity.gantt")

    def __repr__(self) -> str:
        amplification = text.MISSING if self.write_amplification is None else f"{self.write_amplification:.3f}"
        partial = ", partial" if self.partial else ""
        return f"<ssdlab.Result of {source_text(self.source)}: write amplification {amplification}{partial}>"
