"""What came of a fleet."""

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
from ssdlab.study.survey.outcome import Outcome

USUAL = (
    "write_amplification",
    "latency.all.p99_ns",
    "latency.all.p99_9_ns",
    "cache.miss_ratio",
    "map.all.hit_ratio:max",
    "life_years:max",
)
"""Figures whose distributions are shown unless others are named; of those that the drives have."""

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
"""Of the drives, at which a distribution is told."""

OWN_TIMES = ("read.mean_ns", "read.p99_ns", "write.mean_ns", "write.p99_ns")
"""Response times that are told of each volume."""

BUSIEST = (0.01, 0.1, 0.2)
"""Shares of the volumes whose requests are counted together."""

MOST_YEARS = 1000
"""That drives may be asked to serve."""

SERVICE_YEARS = 5.0
"""How long drives are to serve, unless another time is asked for."""


LIFE, OWN_LIFE, TBW = "life_years", "lifetime.years", "lifetime.host_tbw_bytes"
WRITTEN = "host.bytes_written"
"""Of a drive in a fleet, and what its run says of it."""

DAY_SECONDS, YEAR_DAYS = 86_400, 365.25
SCALE = "host.replay.open.time_scale"
"""The setting by which the times of the trace are replayed slower."""


class Cdf(NamedTuple):
    """The distribution of a figure over drives."""

    figure: str
    values: "npt.NDArray[np.float64]"
    """Of each drive that has one, rising."""
    shares: "npt.NDArray[np.float64]"
    """Of the drives whose value is at most that."""

    def at(self, share: float) -> float:
        """The least value that so many drives do not exceed: that of a drive."""
        return float(self.values[max(math.ceil(share * len(self.values)), 1) - 1])

    @property
    def mean(self) -> float:
        """Over the drives."""
        return math.fsum(self.values) / len(self.values)


class Needed(NamedTuple):
    """Drives that a fleet takes over years."""

    years: float
    drives: int
    """At a time."""
    worn_out: int
    """Of those, how many are worn out before the years are over."""
    bought: int
    """With those that take the place of worn-out ones."""
    unknown: int
    """Drives whose life is not known, each of which is counted once: not run yet, failed, or of requests without times
    where time is not modelled."""
    rate: str
    """At which hosts write: of the `trace`, or of the `replay` as requests have no times."""


class Fleet(Finding):
    """What the volumes of a trace do on drives.

    Saved are `report.html`, `fleet.json`, `drives.csv` and `drives.parquet` with a row for each drive, `volumes.csv`
    with a row for each volume, and `cdf.csv` with the distributions.
    """

    _page = "fleet"
    _json = "fleet.json"
    saved = "report.html, fleet.json, drives.csv, drives.parquet, volumes.csv and cdf.csv"

    def __init__(self, study: Study, volumes: Volumes, years: float = SERVICE_YEARS) -> None:
        self.dataset = volumes
        """The parted trace."""
        if not 0 < years <= MOST_YEARS:
            raise ConfigError(f"{years:g} years of service: give a number above 0, up to {MOST_YEARS}")
        self.years = years
        """How long drives are to serve."""
        found = {one.file: one for one in volumes.volumes}
        told = study.plan["fleet"]
        names = [point.values["drive"] for point in study.points]
        self.rule: str = told["pack"]
        """By which volumes share drives."""
        self.drives = tuple(
            Drive(name, tuple(found[file] for file in files)) for name, files in zip(names, told["drives"], strict=True)
        )
        """Every drive, in the order of the runs."""
        scale = study.plan["configuration"].get(SCALE, {"value": 1.0})["value"]
        self.seconds: float = volumes.seconds * scale
        """From the first request of any volume to the last, at the speed of the replay."""
        self.study = self._with_lives(study)
        """The runs of the drives; its axis is `drive`. Where it is known, with the figure `life_years`: years until a
        drive is worn out if what the trace writes to it comes again every `seconds`."""

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """Every volume, in order of appearance."""
        return self.dataset.volumes

    @property
    def partial(self) -> bool:
        """Whether some drives are still to be run."""
        return self.study.partial

    @property
    def table(self) -> "pa.Table":
        """A row for each drive that was run: what the study tells, and what is known of its volumes."""
        found = self.study.table
        its = [self.drives[run].volumes for run in found["run"].to_pylist()]
        known = {
            "volumes": [len(volumes) for volumes in its],
            "trace.requests": [sum(one.requests for one in volumes) for volumes in its],
            "trace.read_bytes": [sum(one.read_bytes for one in volumes) for volumes in its],
            "trace.written_bytes": [sum(one.written_bytes for one in volumes) for volumes in its],
        }
        for name, values in known.items():
            found = found.append_column(name, pa.array(values, pa.int64()))
        return found

    def by_volume(self) -> list[dict[str, Any]]:
        """A row for each volume: what its own requests are and how long they took, and what its drive does.

        Response times in `OWN_TIMES` are of the volume's own requests: of volumes side by side each is a stream. They
        are None where that is not known: of a drive that is not in event time, one below a cache, one with more than
        256 streams, or a volume whose trace names streams of its own. Figures of the drive stand under `drive.` and the
        name of the figure. Volumes that share a drive have them in common: its pages and its collection belong to none.
        """
        figures = [one.figure for one in self.outcomes()]
        done = {row["run"]: row for row in self.study.table.select(["run", "error", *figures]).to_pylist()}
        found: dict[str, dict[str, Any]] = {}
        for run, drive in enumerate(self.drives):
            its = done.get(run, {})
            times = self._times(run) if its and its["error"] is None else {}
            shared = {f"drive.{name}": its.get(name) for name in figures}
            for one in drive.volumes:
                own = {name: _time(times.get(one.name), name) for name in OWN_TIMES}
                found[one.file] = {
                    **one._asdict(), **own, "drive": drive.name, "drive.volumes": len(drive.volumes), **shared
                }  # fmt: skip
        return [found[one.file] for one in self.volumes]

    def _times(self, run: int) -> dict[str, Any]:
        """The response times of the volumes on a drive that was run, by name, as far as they are known."""
        result, volumes = self.study.result(run), self.drives[run].volumes
        if len(volumes) == 1:
            return {volumes[0].name: result["latency"]}
        # What a cache asks of the drive is asked in no volume's name.
        if result["cache"] is not None or result["drive"] is None:
            return {}
        return {one["stream"]: one for one in result["drive"]["streams"]}

    def outcomes(self) -> list[Outcome]:
        """The figures whose distributions are shown: those that were asked for, or the usual ones that drives have."""
        if self.study.plan["outcomes"]:
            return self.study.outcomes()
        known = self.study.figures
        return [Outcome.of(one, known) for one in USUAL if one.partition(":")[0] in known]

    @takes(outcomes=["write_amplification"])
    def asked_for(self, outcomes: Sequence[str], years: float = SERVICE_YEARS) -> "Fleet":
        """The same fleet with other figures to show, or other years to serve.

        Raises:
            ConfigError: If no drive has a figure of that name.
        """
        return Fleet(self.study.asked_for(outcomes) if outcomes else self.study, self.dataset, years)

    @takes(figure="write_amplification")
    def cdf(self, figure: str) -> Cdf:
        """The distribution of a figure over drives.

        Args:
            figure: Its dotted path in a result, such as `write_amplification`.

        Raises:
            ConfigError: If no drive has a figure of that name.
        """
        name = Outcome.of(figure, self.study.figures).figure
        known = [float(value) for value in self.study.table[name].to_pylist() if value is not None]
        return Cdf(name, np.sort(np.array(known)), np.arange(1, len(known) + 1) / len(known))

    @property
    def write_amplification(self) -> float | None:
        """Of the fleet: pages that flash programs for each page that hosts write; None if nothing is written."""
        if "write_amplification" not in self.study.figures:
            return None
        rows = self.study.table.select(["write_amplification", "host.pages_written"]).to_pylist()
        written = sum(row["host.pages_written"] for row in rows if row["write_amplification"] is not None)
        programmed = math.fsum(
            row["write_amplification"] * row["host.pages_written"]
            for row in rows
            if row["write_amplification"] is not None
        )
        return programmed / written if written else None

    @property
    def rate(self) -> str:
        """At which hosts write in lives: of the `trace`, or of the `replay` as requests have no times."""
        return "trace" if self.seconds > 0 else "replay"

    def _with_lives(self, study: Study) -> Study:
        """With how long each drive lives, whether it keeps up with the trace or not."""
        known = {*study.table.column_names}
        if LIFE in known or not {TBW, WRITTEN} <= known:
            return study
        if self.rate == "replay":
            return study.with_figure(LIFE, study.table[OWN_LIFE].to_pylist()) if OWN_LIFE in known else study
        warmup = study.plan["configuration"].get("host.warmup", {"value": 0})["value"]
        lives = []
        for row in study.table.select(["run", TBW, WRITTEN]).to_pylist():
            requests = sum(one.requests for one in self.drives[row["run"]].volumes)
            # What is measured is what comes behind the warm-up.
            seconds = self.seconds * (1 - min(warmup / requests, 1))
            worn = row[TBW] is not None and row[WRITTEN] > 0 and seconds > 0
            lives.append(row[TBW] / (row[WRITTEN] / seconds * DAY_SECONDS) / YEAR_DAYS if worn else None)
        return study.with_figure(LIFE, lives)

    def needed(self) -> Needed:
        """How many drives the fleet takes for `years`: a drive that lasts for less is replaced by its like."""
        rows = self.study.table.select(["error", *({LIFE, TBW} & {*self.study.table.column_names})]).to_pylist()
        spent = [max(math.ceil(self.years / row[LIFE]), 1) for row in rows if row.get(LIFE) is not None]
        # What nothing wears has no bytes until it is worn out, and no life.
        lasting = sum(row["error"] is None and row.get(TBW) is None for row in rows)
        return Needed(
            years=self.years,
            drives=len(self.drives),
            worn_out=sum(one > 1 for one in spent),
            bought=len(self.drives) + sum(spent) - len(spent),
            unknown=len(self.drives) - len(spent) - lasting,
            rate=self.rate,
        )

    def busiest(self, share: float) -> float:
        """The share of all requests that go to the busiest volumes.

        Args:
            share: Of the volumes; at least one counts.
        """
        requests = sorted((one.requests for one in self.volumes), reverse=True)
        return sum(requests[: self.count_of(share)]) / sum(requests)

    def count_of(self, share: float) -> int:
        """How many volumes a share of them is, at least one."""
        return max(round(share * len(self.volumes)), 1)

    @property
    def late(self) -> int:
        """Requests that came so far out of order that they got another time."""
        column = "ingest.counts.late"
        if column not in self.study.table.column_names:
            return 0
        return sum(value or 0 for value in self.study.table[column].to_pylist())

    def to_dict(self) -> dict[str, Any]:
        """Volumes, drives and distributions, ready for JSON."""
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
        by_volume = self.by_volume()
        volumes: list[Sequence[object]] = [[*by_volume[0]]]
        volumes += [["" if cell is None else cell for cell in row.values()] for row in by_volume]
        rows: list[Sequence[object]] = [["figure", "value", "share"]]
        for one in self.outcomes():
            cdf = self.cdf(one.figure)
            rows += [[cdf.figure, value, share] for value, share in zip(cdf.values, cdf.shares, strict=True)]
        return {
            "drives.csv": self.table,
            "drives.parquet": self.table,
            "volumes.csv": volumes,
            "cdf.csv": rows,
        }

    plot = Plot("fleet.cdfs")

    def __repr__(self) -> str:
        volumes, drives = text.counted(len(self.volumes), "volumes"), text.counted(len(self.drives), "drives")
        return f"<ssdlab.Fleet of {volumes} on {drives}>"


def _time(times: Mapping[str, Any] | None, name: str) -> float | None:
    """One of `OWN_TIMES`; None of a volume without such requests, or whose times are not known."""
    operation, _, figure = name.partition(".")
    summary = None if times is None else times[operation]
    return None if summary is None else summary[figure]
