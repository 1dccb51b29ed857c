"""A job file of fio as a source of requests."""

import math
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.lazy import np, npt
from ssdlab.model.config import Config, rebuilt, set_by
from ssdlab.model.fio import parse
from ssdlab.model.fio.job import MOST_BYTES, Job, jobs_of
from ssdlab.model.fio.requests import JobStream
from ssdlab.model.pipe import name_of
from ssdlab.model.requests import OPS, Monitor, RequestSource, ingest_report
from ssdlab.model.source import Source

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
"""Percentiles that fio reports by default."""
BOUNDS = {
    1: (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000),
    1_000: (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000),
    1_000_000: (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000),
}
"""Upper bounds of fio's response-time ranges, grouped by unit. Each key is the length of the unit in nanoseconds."""

Buckets = tuple["npt.NDArray[np.uint64]", "npt.NDArray[np.uint64]", "npt.NDArray[np.uint64]"]
Moments = tuple[float, float, int, int]
Outcome = tuple[int, int, Sequence[tuple[int, Buckets, Moments]]]
"""Start and end of a job; for each operation, its bytes, latency histogram, mean, standard deviation, min and max."""


class FioJob(Source):
    """Jobs of a fio job file; each job runs as a closed loop. `configured` must be called before `open`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.sections = parse.read(self.path)
        self._capacity: int | None = None

    @cached_property
    def _resolved(self) -> tuple[list[Job], list[str]]:
        return jobs_of(self.sections, self._capacity)

    @property
    def jobs(self) -> list[Job]:
        """All jobs, including clones."""
        return self._resolved[0]

    def configured(self, config: Config) -> Config:
        """Returns the configuration with the job file's settings; rejects user settings that contradict them."""
        where = f"fio job {name_of(self.path)}"
        if config["time"] != "event" and "time" in config.made:
            raise ConfigError(f'time: {where} runs its jobs concurrently; set time to "event"')
        if config["host.warmup"]:
            raise ConfigError(f"host.warmup: {where} has no warm-up phase; set host.warmup to 0")
        if config.get("precondition.overwrite") == "trace":
            raise ConfigError(f'precondition.overwrite: {where} is not a trace; set precondition.overwrite to "steady"')
        is_known = not config._has_defaults("device.capacity")
        self._capacity = _ssdlab.size(config["device.capacity"]) if is_known else None
        depth = max(job.depth for job in self.jobs)
        implied = {
            "host.replay": "closed",
            "host.replay.closed.per_stream": True,
            "host.replay.closed.queue_depth": depth,
            "host.replay.closed.think": "0ns",
        }
        # A configuration that was saved by a run of this job already has these settings.
        replay = next((key for key in config.made if "host.replay" in key and config[key] != implied.get(key)), None)
        if replay is not None:
            raise ConfigError(f"{replay}: {where} decides how requests are issued; remove {replay}")
        return rebuilt(config._preset, config._files, [*config._sets, set_by(where, {"time": "event", **implied})])

    def open(self) -> "FioReader":
        """Starts a pass over the requests."""
        return FioReader(self.jobs)

    def address_space(self, config: Config, monitor: Monitor | None = None) -> _ssdlab.AddressSpace | None:
        """Returns the addresses of the jobs' regions; None if `host.fit` does not need addresses."""
        if not config._inner.needs_extent():
            return None
        space = _ssdlab.AddressSpace(config._inner)
        for job in self.jobs:
            offsets = np.arange(job.base, job.base + job.size, MOST_BYTES, dtype=np.uint64)
            sizes = np.minimum(np.uint64(job.base + job.size) - offsets, np.uint64(MOST_BYTES))
            zeros = np.zeros(len(offsets), np.uint64)
            ops = np.ones(len(offsets), np.uint8)
            space.add(
                _ssdlab.Requests.from_columns(
                    zeros, ops, offsets, sizes.astype(np.uint32), zeros.astype(np.uint8), zeros.astype(np.uint16)
                )
            )
        return space

    @property
    def about(self) -> dict[str, Any]:
        """Description of the job file, for results."""
        return {"kind": "trace", "paths": [str(self.path)], "format": "fio-job"}

    def report_of(self, reader: RequestSource) -> dict[str, Any]:
        """Returns the report on reading the job file, which has notes on options and no counters."""
        return ingest_report("fio-job", [], self._resolved[1])

    def beyond(self, capacity_bytes: int) -> str | None:
        """Describes the first job that extends past the end of the device; None if all fit."""
        for job in self.jobs:
            if job.base + job.size > capacity_bytes:
                return (
                    f"{text.path(self.path)}:{job.section.line}: [{text.path(job.section.name)}]: ends at byte "
                    f"{job.base + job.size}, past the end of the device ({text.exact_size(capacity_bytes)}); lower "
                    "size, or use --fit grow"
                )
        return None


class FioReader:
    """A single pass over the requests of the jobs. The simulation reads the requests of each job separately."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._described = jobs
        self._outcomes: Sequence[Outcome] = ()
        self.jobs = [
            (job.group, job.depth, job.think_ns, job.think_requests, job.delay_ns, job.runtime_ns) for job in jobs
        ]
        """Group, queue depth, think time, start delay and run time of each job, for the simulation."""
        self.rewind()

    def rewind(self) -> None:
        """Restarts all jobs at their first requests."""
        self._streams = [JobStream(job, number) for number, job in enumerate(self._described, 1)]
        self._read = 0

    def read(self, max: int) -> _ssdlab.Requests:
        """Always raises TraceError, because the requests of different jobs have no common order."""
        raise TraceError("the requests of a fio job file have no fixed order; replay the file with 'ssdlab run'")

    def read_job(self, number: int, max: int) -> _ssdlab.Requests:
        """Returns up to `max` further requests of a job; an empty batch at the end of the job."""
        requests = self._streams[number].read(max)
        self._read += len(requests)
        return requests

    def progress(self) -> tuple[int, int | None]:
        """Returns the number of generated requests; the total is unknown."""
        return self._read, None

    def streams(self) -> list[str]:
        """Returns the names of the jobs."""
        return ["", *(job.name for job in self._described)]

    def done(self, outcomes: Sequence[Outcome]) -> None:
        """Stores the measurements of the jobs."""
        self._outcomes = outcomes

    def results(self) -> list[dict[str, Any]]:
        """Returns the measurements of each job or, with group_reporting, of each group of jobs."""
        groups: dict[tuple[int, int], list[int]] = {}
        for number, job in enumerate(self._described):
            groups.setdefault((job.report, -1 if job.is_summed else number), []).append(number)
        return [self._result(numbers) for numbers in groups.values()]

    def _result(self, numbers: Sequence[int]) -> dict[str, Any]:
        job = self._described[numbers[0]]
        outcomes = [self._outcomes[number] for number in numbers] if self._outcomes else []
        start_ns = min((outcome[0] for outcome in outcomes), default=0)
        return {
            "name": job.section.name,
            "group": job.report,
            "jobs": len(numbers),
            "options": job.section.own,
            "global_options": job.section.shared,
            "elapsed_ns": max((outcome[1] for outcome in outcomes), default=0) - start_ns,
            **{op: _summed([outcome[2][at] for outcome in outcomes]) for at, op in enumerate(OPS)},
        }


def _summed(parts: Sequence[tuple[int, Buckets, Moments]]) -> dict[str, Any] | None:
    """Returns requests, bytes and response times of one operation, summed over jobs; None without requests."""
    counts = [int(buckets[2].sum()) for _, buckets, _ in parts]
    total = sum(counts)
    if total == 0:
        return None
    used = [part for part, count in zip(parts, counts, strict=True) if count]
    weights = [count for count in counts if count]
    moments = [part[2] for part in used]
    mean = sum(count * moment[0] for count, moment in zip(weights, moments, strict=True)) / total
    squares = sum(
        count * (moment[1] ** 2 + (moment[0] - mean) ** 2) for count, moment in zip(weights, moments, strict=True)
    )
    least, most = min(moment[2] for moment in moments), max(moment[3] for moment in moments)
    uppers = np.concatenate([part[1][1] for part in used])
    order = np.argsort(uppers, kind="stable")
    cumulated = np.cumsum(np.concatenate([part[1][2] for part in used])[order])
    bounds = [unit * bound for unit, group in BOUNDS.items() for bound in group]
    below = np.concatenate([[0], cumulated])[np.searchsorted(uppers[order], bounds, side="right")]
    ranks = [max(1, math.ceil(percent / 100 * total)) for percent in PERCENTILES]
    # As in the summary of a run, a percentile is the largest value of its bucket, clamped to the measured minimum and
    # maximum.
    found = (int(uppers[order][np.searchsorted(cumulated, rank)]) - 1 for rank in ranks)
    return {
        "requests": total,
        "bytes": sum(part[0] for part in used),
        "mean_ns": mean,
        "std_dev_ns": math.sqrt(squares / total),
        "min_ns": least,
        "max_ns": most,
        "percentiles_ns": {
            f"{percent:f}": min(max(value, least), most) for percent, value in zip(PERCENTILES, found, strict=True)
        },
        "requests_by_range": np.diff(below, prepend=0, append=total).astype(int).tolist(),
    }
