"""Results of simulating a fleet."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np, npt, pa
from ssdlab.model.arguments import takes
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.volumes import Volume, Volumes
from ssdlab.study.fleet.packing import Drive
from ssdlab.study.store.study import Study
from ssdlab.study.store.table import csv_rows
from ssdlab.study.survey.outcome import Outcome

USUAL = (
    "write_amplification",
    "latency.all.p99_ns",
    "latency.all.p99_9_ns",
    "cache.miss_ratio",
    "map.all.hit_ratio:max",
    "life_years:max",
)
"""Metrics shown by default if drives have them."""

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
"""Quantiles over the drives, shown for each metric."""

OWN_TIMES = ("read.mean_ns", "read.p99_ns", "write.mean_ns", "write.p99_ns")
"""Latencies that can be reported for each volume."""

BUSIEST = (0.01, 0.1, 0.2)
"""Fractions of the volumes, such as the busiest 1 %, whose share of the requests is reported."""

MAX_YEARS = 1000

SERVICE_YEARS = 5.0


LIFE, OWN_LIFE, TBW = "life_years", "lifetime.years", "lifetime.host_tbw_bytes"
WRITTEN = "host.bytes_written"
"""Metrics: lifetime in a fleet and in a run; bytes written until wear-out and in the run, which give the first."""

DWPD = "lifetime.dwpd_5_years"
"""Metric that is reported for every drive whose flash wears out."""

DAY_SECONDS, YEAR_DAYS = 86_400, 365.25
SPEED = "host.replay.open.speed"
"""Key of the setting for the replay speed, relative to the trace's timestamps."""


class Cdf(NamedTuple):
    """Cumulative distribution of a metric over the drives of a fleet."""

    figure: str
    values: "npt.NDArray[np.float64]"
    """Known values of the metric in ascending order."""
    shares: "npt.NDArray[np.float64]"
    """Share of the drives whose metric is at most this value, by value."""

    def at(self, share: float) -> float:
        """Returns a quantile of the metric: at least `share` of the drives have at most this value."""
        return float(self.values[max(math.ceil(share * len(self.values)), 1) - 1])

    @property
    def mean(self) -> float:
        """Mean over the drives."""
        return math.fsum(self.values) / len(self.values)


class Needed(NamedTuple):
    """Number of drives that a fleet needs over the years of service."""

    years: float
    drives: int
    """Number of drives in service at the same time."""
    worn_out: int
    """Number of drives that wear out within these years."""
    bought: int
    """Number of drives bought, including replacements."""
    unknown: int
    """Number of drives with unknown lifetime, each counted as one drive: the drive was not run, its run failed, or the
    requests or the simulation have no times.
    """
    rate: str
    """Write rate used for lifetimes: `trace`, or `replay` if requests have no times."""


class Fleet(Finding):
    """The volumes of a trace, simulated on a fleet of drives.

    Files: `report.html`, `fleet.json`, `drives.csv` and `drives.parquet` with a row per drive, `volumes.csv` with a row
    per volume, and `cdf.csv` with the distributions.
    """

    _page = "fleet"
    _json = "fleet.json"
    saved = "report.html, fleet.json, drives.csv, drives.parquet, volumes.csv and cdf.csv"

    def __init__(self, study: Study, volumes: Volumes, years: float = SERVICE_YEARS) -> None:
        self.dataset = volumes
        """The trace, split into volumes."""
        if not 0 < years <= MAX_YEARS:
            raise ConfigError(f"{years:g} years of service: must be above 0 and at most {MAX_YEARS}")
        self.years = years
        """Years of service for which the number of drives needed is computed."""
        by_file = {one.file: one for one in volumes.volumes}
        plan = study.plan["fleet"]
        names = [point.values["drive"] for point in study.points]
        self.rule: str = plan["pack"]
        self.drives = tuple(
            Drive(name, tuple(by_file[file] for file in files))
            for name, files in zip(names, plan["drives"], strict=True)
        )
        """Drives of the fleet, in the order of their runs in the study."""
        speed = study.plan["configuration"].get(SPEED, {"value": 1.0})["value"]
        self.seconds: float = volumes.seconds / speed
        """Duration of the replay in seconds, from the first request of any volume to the last."""
        self.study = self._with_lives(study)
        """Study of the drives' runs; its only axis is `drive`. The metric `life_years` is the time until a drive wears
        out if the trace repeats every `seconds`; it may be missing.
        """

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """Volumes in order of appearance."""
        return self.dataset.volumes

    @property
    def partial(self) -> bool:
        """True if some drives have not been run."""
        return self.study.partial

    @property
    def table(self) -> "pa.Table":
        """Table with a row per drive that was run: metrics of the study, and sums over the drive's volumes."""
        table = self.study.table
        by_drive = [self.drives[run].volumes for run in table["run"].to_pylist()]
        sums = {
            "volumes": [len(volumes) for volumes in by_drive],
            "trace.requests": [sum(one.requests for one in volumes) for volumes in by_drive],
            "trace.read_bytes": [sum(one.read_bytes for one in volumes) for volumes in by_drive],
            "trace.written_bytes": [sum(one.written_bytes for one in volumes) for volumes in by_drive],
        }
        for name, values in sums.items():
            table = table.append_column(name, pa.array(values, pa.int64()))
        return table

    def by_volume(self) -> list[dict[str, Any]]:
        """Returns a row per volume: its requests, their latencies, and the metrics of its drive.

        Latencies (`OWN_TIMES`) cover only the volume's own requests. They are None if unknown: without event timing,
        with a cache, with more than 256 streams, or if the volume's trace has stream names. Metrics with the prefix
        `drive.` are the same for all volumes of a drive.
        """
        figures = [one.figure for one in self.outcomes()]
        done = {row["run"]: row for row in self.study.table.select(["run", "error", *figures]).to_pylist()}
        rows: dict[str, dict[str, Any]] = {}
        for run, drive in enumerate(self.drives):
            row = done.get(run, {})
            times = self._times(run) if row and row["error"] is None else {}
            shared = {f"drive.{name}": row.get(name) for name in figures}
            for one in drive.volumes:
                own = {name: _time(times.get(one.name), name) for name in OWN_TIMES}
                rows[one.file] = {
                    **one._asdict(), **own, "drive": drive.name, "drive.volumes": len(drive.volumes), **shared
                }  # fmt: skip
        return [rows[one.file] for one in self.volumes]

    def _times(self, run: int) -> dict[str, Any]:
        """Returns the known latencies of the volumes on a drive, by volume name."""
        result, volumes = self.study.result(run), self.drives[run].volumes
        if len(volumes) == 1:
            return {volumes[0].name: result["latency"]}
        # Requests that a cache sends to the drive cannot be attributed to volumes.
        if result["cache"] is not None or result["drive"] is None:
            return {}
        return {one["stream"]: one for one in result["drive"]["streams"]}

    def outcomes(self) -> list[Outcome]:
        """Returns the requested metrics; if none were requested, the default metrics that drives have."""
        if self.study.plan["outcomes"]:
            return self.study.outcomes()
        known = self.study.figures
        return [Outcome.of(one, known) for one in USUAL if one.partition(":")[0] in known]

    @takes(outcomes=["write_amplification"])
    def asked_for(self, outcomes: Sequence[str], years: float = SERVICE_YEARS) -> "Fleet":
        """Returns a copy of the fleet that shows other metrics, or covers another number of years of service.

        Raises:
            ConfigError: If no drive has a requested metric.
        """
        return Fleet(self.study.asked_for(outcomes) if outcomes else self.study, self.dataset, years)

    @takes(figure="write_amplification")
    def cdf(self, figure: str) -> Cdf:
        """Returns the distribution of a metric over the drives.

        Args:
            figure: Dotted path of the metric in a result, such as `write_amplification`.

        Raises:
            ConfigError: If no drive has the metric.
        """
        name = Outcome.of(figure, self.study.figures).figure
        known = [float(value) for value in self.study.table[name].to_pylist() if value is not None]
        return Cdf(name, np.sort(np.array(known)), np.arange(1, len(known) + 1) / len(known))

    @property
    def write_amplification(self) -> float | None:
        """Write amplification of the fleet; None if nothing was written."""
        if "write_amplification" not in self.study.figures:
            return None
        rows = self.study.table.select(["write_amplification", "host.pages_written"]).to_pylist()
        known = [(*row.values(),) for row in rows if row["write_amplification"] is not None]
        written = sum(pages for _, pages in known)
        return math.fsum(factor * pages for factor, pages in known) / written if written else None

    @property
    def rate(self) -> str:
        """Write rate used for lifetimes: `trace`, or `replay` if requests have no times."""
        return "trace" if self.seconds > 0 else "replay"

    def _with_lives(self, study: Study) -> Study:
        """Returns the study with each drive's lifetime at the write rate `rate`, even if the drive cannot keep up."""
        known = {*study.table.column_names}
        if LIFE in known or not {TBW, WRITTEN} <= known:
            return study
        if self.rate == "replay":
            return study.with_figure(LIFE, study.table[OWN_LIFE].to_pylist()) if OWN_LIFE in known else study
        warmup = study.plan["configuration"].get("host.warmup", {"value": 0})["value"]
        lives = []
        for row in study.table.select(["run", TBW, WRITTEN]).to_pylist():
            requests = sum(one.requests for one in self.drives[row["run"]].volumes)
            # The metrics exclude the warm-up, so the time of the warm-up is subtracted from the duration.
            seconds = self.seconds * (1 - min(warmup / requests, 1))
            worn = row[TBW] is not None and row[WRITTEN] > 0 and seconds > 0
            lives.append(row[TBW] / (row[WRITTEN] / seconds * DAY_SECONDS) / YEAR_DAYS if worn else None)
        return study.with_figure(LIFE, lives)

    def needed(self) -> Needed:
        """Returns the number of drives for `years` years of service, if identical drives replace worn-out ones."""
        rows = self.study.table.select(["error", *({LIFE, DWPD} & {*self.study.table.column_names})]).to_pylist()
        spent = [max(math.ceil(self.years / row[LIFE]), 1) for row in rows if row.get(LIFE) is not None]
        # A drive that does not wear out has no endurance rating. A drive sized to fit the trace has a rating, but its
        # lifetime is unknown.
        lasting = sum(row["error"] is None and row.get(DWPD) is None for row in rows)
        return Needed(
            years=self.years,
            drives=len(self.drives),
            worn_out=sum(one > 1 for one in spent),
            bought=len(self.drives) + sum(spent) - len(spent),
            unknown=len(self.drives) - len(spent) - lasting,
            rate=self.rate,
        )

    def busiest(self, share: float) -> float:
        """Returns the fraction of all requests that go to the given share of the volumes, the busiest ones."""
        requests = sorted((one.requests for one in self.volumes), reverse=True)
        return sum(requests[: self.count_of(share)]) / sum(requests)

    def count_of(self, share: float) -> int:
        """Converts a share of all volumes to a number of volumes, at least one."""
        return max(round(share * len(self.volumes)), 1)

    @property
    def late(self) -> int:
        """Number of requests whose times the reader had to change because they were too far out of order."""
        column = "ingest.counts.late"
        if column not in self.study.table.column_names:
            return 0
        return sum(value or 0 for value in self.study.table[column].to_pylist())

    def to_dict(self) -> dict[str, Any]:
        """Returns volumes, drives and distributions, ready for JSON."""
        cdfs = [self.cdf(one.figure) for one in self.outcomes()]
        return {
            "pack": self.rule,
            "asked": self.study.asked,
            "finished": self.study.finished,
            "write_amplification": self.write_amplification,
            "needed": self.needed()._asdict(),
            "busiest": [
                {"volumes": share, "count": self.count_of(share), "requests": self.busiest(share)} for share in BUSIEST
            ],
            "distributions": [
                {
                    "figure": one.figure,
                    "drives": len(one.values),
                    "mean": one.mean,
                    "quantiles": [{"share": share, "value": one.at(share)} for share in SHARES],
                }
                for one in cdfs
            ],
            "volumes": self.by_volume(),
            "drives": [
                {
                    **self.study.points[row["run"]].values,
                    "volumes": [one.name for one in self.drives[row["run"]].volumes],
                    **row,
                }
                for row in self.study.table.select(["run", "key", "error", *(one.figure for one in cdfs)]).to_pylist()
            ],
        }

    def _source(self) -> Mapping[str, Any] | None:
        return self.study._source()

    def _configuration(self) -> dict[str, Any]:
        return self.study._configuration()

    def _tables(self) -> Contents:
        rows: list[Sequence[object]] = [["figure", "value", "share"]]
        for one in self.outcomes():
            cdf = self.cdf(one.figure)
            rows += [[cdf.figure, value, share] for value, share in zip(cdf.values, cdf.shares, strict=True)]
        return {
            "drives.csv": self.table,
            "drives.parquet": self.table,
            "volumes.csv": csv_rows(self.by_volume()),
            "cdf.csv": rows,
        }

    plot = Plot("fleet.cdfs")

    def __repr__(self) -> str:
        volumes, drives = text.counted(len(self.volumes), "volumes"), text.counted(len(self.drives), "drives")
        return f"<ssdlab.Fleet of {volumes} on {drives}>"


def _time(times: Mapping[str, Any] | None, name: str) -> float | None:
    """Returns a latency such as `read.p99_ns`; None if the volume has no such requests, or if times are unknown."""
    operation, _, figure = name.partition(".")
    summary = None if times is None else times[operation]
    return None if summary is None else summary[figure]
