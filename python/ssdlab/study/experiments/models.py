"""Models that compute or measure the value of a table cell from its settings, without a simulation.

To add a model, write its function with the defaults of its arguments and register it in `MODELS`.
"""

import functools
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import compress
from ssdlab.analyse.cache.planning.advice import PAGE
from ssdlab.analyse.cache.planning.compressors import PAPER_DEVICE_US, Compressor, of_paper
from ssdlab.analyse.cache.planning.model import corrections
from ssdlab.analyse.drive import reads
from ssdlab.analyse.drive.target import inspect
from ssdlab.study.experiments.expression import Summary

PLAN_DEFAULTS: Mapping[str, Any] = {
    "memory": "15GiB",
    "data": "200GiB",
    "page": PAGE,
    "distribution": "even",
    "device_us": PAPER_DEVICE_US,
    "ratio": 1.0,
    "compress_us": 0.0,
    "decompress_us": 0.0,
    "shrinking": 1.0,
    "share": 0.0,
    "corrections": "none",
    "other": "",
}
"""Default arguments of the model `cache_plan`. `corrections` is `none`, `all` or the name of a correction. `other` is
the name of a compressor in Harper 2018. The metric `passes_percent` is the smallest compressed share at which the
modelled compressor is faster than `other`.
"""

CODECS = ("lz4", "zlib:6", "zstd:3")
"""Codecs of Harper 2018 with their default levels."""
RUNS = 3

COMPRESS_DEFAULTS: Mapping[str, Any] = {"codec": "lz4", "page": "8KiB", "member": -1, "threads": 1, "fresh": False}
"""Default arguments of the model `compress_bench`. With `page` set to `file`, each file is one page. `member` is an
index into the default corpus, or -1 for all files. `fresh` allocates a new context and memory for each page.
"""

DEVICE_DEFAULTS: Mapping[str, Any] = {"place": "disk", "op": "read", "run": reads.RUN, "block": "4KiB"}
"""Default arguments of the model `page_device`. `place` is `disk` (a file in the working directory) or `memory` (a file
in `/dev/shm`). `op` is `read` or `write`. `run` is the number of sequential requests after each random jump, or 0 for
the whole file. `block` is the request size.
"""
FILE_BYTES = 64 << 20
SECONDS = 0.2

_KINDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def _arguments(model: str, defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a model's arguments: its defaults, replaced by settings of the same types."""
    for key, value in settings.items():
        if key not in defaults:
            raise ConfigError(f"{key}: the model {model} has no such setting; its settings are {', '.join(defaults)}")
        kind = type(defaults[key])
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ConfigError(f"{key}: {value!r} is not {_KINDS[kind]}")
    return {**defaults, **settings}


def cache_plan(settings: Mapping[str, Any]) -> Summary:
    """Computes hit ratios (in percent) and times of a compressed page cache with the model of `cache.plan`."""
    given = _arguments("cache_plan", PLAN_DEFAULTS, settings)
    names = {"none": [], "all": corrections("corrected")}.get(given["corrections"], [given["corrections"]])
    memory = (_ssdlab.size(given["memory"]), _ssdlab.size(given["data"]), _ssdlab.size(given["page"]))

    def plan(compressor: Compressor) -> _ssdlab.Plan:
        costs = (compressor.ratio, compressor.compress_us, compressor.decompress_us, compressor.shrinking)
        return _ssdlab.Plan(memory, given["device_us"], given["distribution"], costs)

    own = plan(Compressor("", given["ratio"], given["compress_us"], given["decompress_us"], given["shrinking"]))
    point = own.point(given["share"] / 100, names)
    figures = {
        "raw_hit_percent": 100 * own.raw_hit_ratio(),
        "raw_us": own.raw_us(),
        "hit_percent": 100 * point["hit_ratio"],
        "compressed_hit_percent": 100 * point["compressed_hit_ratio"],
        "us": point["us"],
        "break_even_percent": _percent(own.break_even(names)),
        "device_break_even_us": own.device_break_even_us(names),
    }
    if given["other"]:
        figures["passes_percent"] = _percent(own.passes(plan(of_paper(given["other"])), names))
    return figures


def _percent(share: float | None) -> float | None:
    return None if share is None or math.isnan(share) else 100 * share


def compress_bench(settings: Mapping[str, Any]) -> Summary:
    """Measures the compression ratio of the default corpus and the time per page, in microseconds. Metrics with `bulk`
    in their name are the wall time in which all threads together process the pages, divided by the number of pages; all
    other times are processor time per page.
    """
    given = _arguments("compress_bench", COMPRESS_DEFAULTS, settings)
    if given["codec"] not in CODECS:
        raise ConfigError(f"codec: {given['codec']} is unknown; use one of {', '.join(CODECS)}")
    cell = _measured(given["page"], given["threads"], given["fresh"])[given["codec"]]
    page_bytes = cell.page_bytes or cell.total.bytes / cell.total.pages
    if not -1 <= given["member"] < len(cell.files):
        raise ConfigError(f"member: {given['member']} is not between -1 and {len(cell.files) - 1}")
    files = cell.files if given["member"] == -1 else (cell.files[given["member"]],)
    total, stored = sum(file.bytes for file in files), sum(file.stored_bytes for file in files)
    # Files without a compressible page are skipped: all their pages are stored uncompressed, so the ratio for their
    # compressed pages would be a division by 0.
    shrinking = [file for file in files if file.raw_pages < file.pages]
    return {
        "ratio": total / stored,
        "mean_ratio": sum(file.ratio for file in files) / len(files),
        "shrinking_mean_ratio": _mean([file.ratio for file in shrinking]),
        "zero_mean_ratio": _mean([file.bytes / (file.stored_bytes - file.raw_bytes) for file in shrinking]),
        "stored_raw_percent": 100 * sum(file.raw_pages for file in files) / sum(file.pages for file in files),
        "compress_us": cell.compress_cpu_us.median,
        "decompress_us": cell.decompress_cpu_us.median,
        "compress_bulk_us": 1e6 * page_bytes / cell.compress_bytes_s.median,
        "decompress_bulk_us": 1e6 * page_bytes / cell.decompress_bytes_s.median,
    }


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


@functools.cache
def _measured(page: str, threads: int, fresh: bool) -> dict[str, compress.Cell]:
    result = compress.bench(codecs=CODECS, page_sizes=[page], threads=[threads], runs=RUNS, fresh=fresh)
    return dict(zip(CODECS, result.cells, strict=True))


def page_device(settings: Mapping[str, Any]) -> Summary:
    """Measures requests per second to a file, with four in flight; None if the machine lacks the storage."""
    given = _arguments("page_device", DEVICE_DEFAULTS, settings)
    for key, known in (("place", ("disk", "memory")), ("op", ("read", "write"))):
        if given[key] not in known:
            raise ConfigError(f"{key}: {text.path(given[key])} is not one of {', '.join(known)}")
    block = _ssdlab.size(given["block"])
    if not 4096 <= block <= FILE_BYTES or block % 4096 or not 0 <= given["run"] <= FILE_BYTES // block:
        raise ConfigError(
            f"block: must be a multiple of 4KiB, and run x block at most {FILE_BYTES >> 20}MiB; use 8KiB, for example"
        )
    directory = Path("/dev/shm" if given["place"] == "memory" else ".")
    if not directory.is_dir():
        return {"iops": None}
    with tempfile.NamedTemporaryFile(prefix=".ssdlab-blocks-", dir=directory) as file:
        for _ in range(FILE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        target = inspect(Path(file.name), write=False)
        run = given["run"] or FILE_BYTES // block
        return {"iops": reads.probe(target, block, SECONDS, run=run, write=given["op"] == "write")}


MODELS: Mapping[str, Callable[[Mapping[str, Any]], Summary]] = {
    "cache_plan": cache_plan,
    "compress_bench": compress_bench,
    "page_device": page_device,
}

MEASURED = frozenset({"compress_bench", "page_device"})
"""Models that measure this machine, so their values vary from run to run."""
