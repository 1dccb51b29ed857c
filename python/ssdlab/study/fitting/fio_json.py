"""Reads loads and their metrics from fio's JSON (`--output-format=json` or `json+`)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np
from ssdlab.study.fitting.job import PREPARING
from ssdlab.study.fitting.load import LARGE, RATE, Figure, Load, Measured, Queue

HOW = "measure with the job that 'ssdlab fit drive --job' prints"

REFUSED = ("bssplit", "bsrange", "bs_is_seq_rand", "thinktime", "rate", "zonemode", "flow", "trim_percentage")
"""fio options that are rejected, because the simulations of a fit cannot reproduce their requests."""

PATTERNS: Mapping[str, tuple[Literal["random", "sequential"], float | None]] = {
    "read": ("sequential", 1.0),
    "write": ("sequential", 0.0),
    "randread": ("random", 1.0),
    "randwrite": ("random", 0.0),
    "randrw": ("random", None),
}
"""For each value of `rw`: the access pattern and the share of reads; None if `rwmixread` sets the share."""

WANTED = (10.0, 50.0, 90.0, 99.0, 99.9)
"""Percentiles that are computed from fio's latency histogram."""

SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20}


def read(path: Path, written: str) -> list[Measured]:
    """Returns the loads in the JSON output of fio, with their metrics."""
    where = text.path(path)
    # Warnings of fio may come before the JSON.
    _, brace, rest = written.partition("{")
    try:
        found: Any = json.JSONDecoder().raw_decode(brace + rest)[0]
    except ValueError as error:
        raise ConfigError(f"{where}: not JSON: {error}; run fio with --output-format=json+") from None
    if not isinstance(found, dict) or not isinstance(found.get("jobs"), list) or "fio version" not in found:
        raise ConfigError(f"{where}: not a fio result; run fio with --output-format=json+ --output=FILE")
    shared = found.get("global options", {})
    try:
        jobs = [_Job(where, entry, shared) for entry in found["jobs"] if entry.get("jobname") not in PREPARING]
        loads = [
            measured
            for _, together in groupby(jobs, key=lambda job: job.group)
            for measured in [_measured(where, [*together])]
            if measured.figures
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ConfigError(f"{where}: the fio result is incomplete or damaged; repeat the measurement") from None
    if not loads:
        raise ConfigError(f"{where}: no job completed a request; {HOW}")
    return loads


class _Job:
    """A job in fio's JSON."""

    def __init__(self, where: str, entry: Mapping[str, Any], shared: Mapping[str, str]) -> None:
        try:
            self.name = str(entry["jobname"])
            self.group = int(entry["groupid"])
            self.entry = entry
            options = {**shared, **entry["job options"]}
        except (KeyError, TypeError, ValueError):
            raise ConfigError(
                f"{where}: a job has no name or options, perhaps because group_reporting merged different jobs; {HOW}"
            ) from None
        self.where = f"{where}: job {text.path(self.name)}"
        if entry.get("error"):
            raise ConfigError(f"{self.where}: fio reported error {entry['error']}; repeat the measurement")
        self.options: Mapping[str, str] = options
        for option in REFUSED:
            if option in options:
                raise ConfigError(f"{self.where}: {option} is not supported; {HOW}")
        rw = options.get("rw") or options.get("readwrite") or "read"
        if rw not in PATTERNS:
            raise ConfigError(f"{self.where}: rw={text.path(rw)} is not supported; {HOW}")
        self.pattern, share = PATTERNS[rw]
        self.reads = self.number("rwmixread", 50) / 100 if share is None else share
        sizes = {*re.split(r"[,:]", options.get("bs") or options.get("blocksize") or "4k")} - {""}
        if len(sizes) != 1:
            raise ConfigError(f"{self.where}: mixed block sizes {text.path(','.join(sorted(sizes)))}; {HOW}")
        self.size = self.bytes(sizes.pop())

    def bytes(self, written: str) -> int:
        match = re.fullmatch(r"(\d+)([km]?)(?:i?b)?", written.strip().lower())
        if match is None:
            raise ConfigError(f"{self.where}: bs={text.path(written)} is not a size such as 4096, 4k or 1m; {HOW}")
        return int(match[1]) * SIZES[match[2]]

    def number(self, option: str, default: int) -> int:
        written = str(self.options.get(option, default))
        if not written.isdecimal():
            raise ConfigError(f"{self.where}: {option}={text.path(written)} is not a whole number; {HOW}")
        return int(written)

    def queue(self) -> Queue:
        """Returns the identical queues that issue the job's requests, one per clone."""
        count, depth = self.number("numjobs", 1), self.number("iodepth", 1)
        rates = [part for part in str(self.options.get("rate_iops", "")).split(",") if part]
        if not rates:
            return Queue(count, self.reads, depth)
        if not all(rate.isdecimal() for rate in rates) or len(rates) > 2:
            raise ConfigError(f"{self.where}: rate_iops={text.path(','.join(rates))} is not supported; {HOW}")
        read, write = int(rates[0]), int(rates[-1])
        moves = [rate for rate, share in ((read, self.reads), (write, 1 - self.reads)) if share > 0]
        total = float(sum(moves))
        arrival: Literal["fixed", "poisson"] = (
            "poisson" if "poisson" in str(self.options.get("rate_process")) else "fixed"
        )
        return Queue(count, read / total if len(moves) == 2 else self.reads, depth, arrival, total)

    def rate(self, op: str) -> float:
        """Returns completed requests per second."""
        return float(self.entry[op]["iops"]) if self.entry[op]["total_ios"] else 0.0


def _measured(where: str, jobs: "Sequence[_Job]") -> Measured:
    """Returns the combined load of jobs that ran concurrently, with its metrics. Clones of a job share its name."""
    kinds = [[*same] for _, same in groupby(jobs, key=lambda job: job.name)]
    first = kinds[0][0]
    if len({(job.pattern, job.size) for job in jobs}) > 1:
        raise ConfigError(f"{first.where}: ran concurrently with jobs of other patterns or sizes; {HOW}")
    queues = tuple(kind[0].queue() for kind in kinds)
    arrivals = {queue.arrival == "closed" for queue in queues}
    if len(kinds) > 1 and True in arrivals:
        raise ConfigError(
            f"{first.where}: ran concurrently with other jobs, and at least one of the jobs has no rate_iops; add "
            "'stonewall' to each job, or rate_iops to each job"
        )
    load = Load(first.name, queues, first.pattern, first.size)
    if (fault := load.fault()) is not None:
        raise ConfigError(f"{first.where}: {fault}")
    figures: dict[Figure, float] = {}
    ops: tuple[Literal["read", "write"], ...] = ("read", "write")
    for op in ops:
        rate = sum(job.rate(op) for job in jobs)
        # If requests arrive at given rates, the read rate is not a measurement. The write rate is one, because the
        # drive may not keep up with the writes.
        if rate and (load.is_closed or op == "write"):
            figures[Figure(op, RATE)] = rate
        if load.size <= LARGE:
            figures |= _latencies(kinds[0], op)
    return Measured(load, figures)


def _latencies(clones: "Sequence[_Job]", op: Literal["read", "write"]) -> dict[Figure, float]:
    """Returns the mean and the percentiles of latencies in nanoseconds, averaged over the clones of a job."""
    busy = [job for job in clones if job.rate(op)]
    if not busy:
        return {}
    found = [dict(_of_entry(job, job.entry[op])) for job in busy]
    weights = np.array([job.rate(op) for job in busy])
    names = [name for name in found[0] if all(name in one for one in found)]
    return {
        Figure(op, name): float(np.average([one[name] for one in found], weights=weights))
        for name in names
        if all(one[name] > 0 for one in found)
    }


def _of_entry(job: _Job, figures: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    total = figures.get("lat_ns", {})
    # fio's completion latency (clat) is the total latency minus the submission time.
    own = total if "percentile" in total or "bins" in total else figures.get("clat_ns", {})
    percentiles = {float(key): float(value) for key, value in own.get("percentile", {}).items()}
    if own.get("bins"):
        percentiles = {**_of_bins(own["bins"]), **percentiles}
    if not percentiles:
        raise ConfigError(
            f"{job.where}: has no percentiles; add lat_percentiles=1 to the job, and run fio with --output-format=json+"
        )
    yield "mean", float((total if total.get("mean") else own)["mean"])
    for percentile in WANTED:
        if percentile in percentiles:
            yield f"p{percentile:g}", percentiles[percentile]


def _of_bins(bins: Mapping[str, int]) -> dict[float, float]:
    times = sorted((float(time), count) for time, count in bins.items())
    after = np.cumsum([count for _, count in times])
    places = np.searchsorted(after, np.array(WANTED) / 100 * after[-1])
    return {percentile: times[int(at)][0] for percentile, at in zip(WANTED, places, strict=True)}
