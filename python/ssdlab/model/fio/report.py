"""Writes the result of a job file in the JSON format of fio 3."""

import json
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.model.fio.source import BOUNDS
from ssdlab.model.result import Result

OPS = ("read", "write", "trim")
RANGES = 1 + sum(map(len, BOUNDS.values()))
"""Number of response-time ranges, including the range above the highest bound."""
NO_TIMES = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
UNKNOWN = {
    "error": 0, "eta": 0, "usr_cpu": 0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0, "minf": 0, "latency_depth": 0,
    "latency_target": 0, "latency_percentile": 100.0, "latency_window": 0,
}  # fmt: skip
"""Fields of fio's JSON that a simulation does not measure; they have fixed values."""
SAMPLES = {
    "bw_min": 0, "bw_max": 0, "bw_agg": 0.0, "bw_mean": 0.0, "bw_dev": 0.0, "bw_samples": 0, "iops_min": 0,
    "iops_max": 0, "iops_mean": 0.0, "iops_stddev": 0.0, "iops_samples": 0,
}  # fmt: skip
"""Statistics that fio computes from periodic samples, which a simulation does not take."""


def written(result: Result) -> str:
    """Returns the result of a fio job file as JSON text in the form of `fio --output-format=json`."""
    jobs = result.summary.get("jobs")
    if jobs is None:
        raise ConfigError("--json fio: this format requires a run of a fio job file; run a job file, or use --json")
    report = {
        "fio version": f"ssdlab-{_ssdlab.__version__}",
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "",
        "global options": {**(jobs[0]["global_options"] if jobs else {})},
        "jobs": [_job(job) for job in jobs],
    }
    return json.dumps(report, indent=2) + "\n"


def _job(job: dict[str, Any]) -> dict[str, Any]:
    runtime_ms = round(job["elapsed_ns"] / 1e6)
    return {
        "jobname": job["name"],
        "groupid": job["group"],
        "elapsed": -(-job["elapsed_ns"] // 10**9),
        "job options": {"name": job["name"], **job["options"]},
        **{op: _direction(job[op], job["elapsed_ns"]) for op in OPS},
        "sync": {"total_ios": _count(job["flush"]), "lat_ns": _times(job["flush"], percentiles=True)},
        "job_runtime": runtime_ms * job["jobs"],
        **_ranges(job),
        **UNKNOWN,
    }


def _direction(found: dict[str, Any] | None, elapsed_ns: int) -> dict[str, Any]:
    """Returns the statistics of one operation; all 0 without requests."""
    bytes = 0 if found is None else found["bytes"]
    seconds = elapsed_ns / 1e9
    per_second = bytes / seconds if seconds else 0.0
    return {
        "io_bytes": bytes,
        "io_kbytes": bytes >> 10,
        "bw_bytes": int(per_second),
        "bw": int(per_second) >> 10,
        "iops": _count(found) / seconds if seconds else 0.0,
        "runtime": round(elapsed_ns / 1e6) if found is not None else 0,
        "total_ios": _count(found),
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": NO_TIMES,
        "clat_ns": _times(found, percentiles=True),
        "lat_ns": _times(found),
        **SAMPLES,
    }


def _ranges(job: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Returns the percentage of a job's requests (reads, writes and trims) in each of fio's response-time ranges."""
    found = [job[op]["requests_by_range"] for op in OPS if job[op] is not None]
    requests = [sum(counts) for counts in zip(*found, strict=True)] if found else [0] * RANGES
    total = sum(requests) or 1
    percentages = iter([100 * count / total for count in requests])
    tables = {
        name: {str(bound): next(percentages) for bound in bounds}
        for name, bounds in zip(("latency_ns", "latency_us", "latency_ms"), BOUNDS.values(), strict=True)
    }
    tables["latency_ms"][">=2000"] = next(percentages)
    return tables


def _count(found: dict[str, Any] | None) -> int:
    return 0 if found is None else int(found["requests"])


def _times(found: dict[str, Any] | None, *, percentiles: bool = False) -> dict[str, Any]:
    if found is None:
        return NO_TIMES
    times = {
        "min": found["min_ns"], "max": found["max_ns"], "mean": found["mean_ns"], "stddev": found["std_dev_ns"],
        "N": found["requests"],
    }  # fmt: skip
    return {**times, "percentile": found["percentiles_ns"]} if percentiles else times
