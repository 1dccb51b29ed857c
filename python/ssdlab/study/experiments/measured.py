"""Models of experiments that measure the machine they run on. What they find differs from run to run."""

import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import compress
from ssdlab.analyse.drive import reads
from ssdlab.analyse.drive.target import inspect
from ssdlab.study.experiments.arguments import arguments

CODECS = ("lz4", "zlib:6", "zstd:3")
"""Those of Harper 2018, with their usual levels."""
RUNS = 3

COMPRESS_KEYS: Mapping[str, Any] = {
    "codec": "lz4",
    "page": "8KiB",
    "member": -1,
    "threads": 1,
    "fresh": False,
}
"""Arguments of `compress_bench`. `page` may be `file`; `member` counts those of the default corpus, all for -1; `fresh`
makes a context and memory for each page."""

DEVICE_KEYS: Mapping[str, Any] = {"place": "disk", "op": "read", "run": reads.RUN, "block": "4KiB"}
"""Arguments of `page_device`: `disk`, a file in the working directory, or `memory`, one in `/dev/shm`; `read` or
`write`; requests in a row after each jump, 0 for all of the file; their size."""
FILE_BYTES = 64 << 20
SECONDS = 0.2


def compress_bench(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Ratios of the default corpus and microseconds for a page: of processors, and of the clock with all threads.

    Raises:
        ConfigError: If there is no such argument, or no such codec or member.
    """
    given = arguments("compress_bench", COMPRESS_KEYS, settings)
    if given["codec"] not in CODECS:
        raise ConfigError(f"codec: {given['codec']} is not measured; it has {', '.join(CODECS)}")
    cell = _measured(given["page"], given["threads"], given["fresh"])[given["codec"]]
    page_bytes = cell.page_bytes or cell.total.bytes / cell.total.pages
    if not -1 <= given["member"] < len(cell.files):
        raise ConfigError(f"member: {given['member']} is not between -1 and {len(cell.files) - 1}")
    files = cell.files if given["member"] == -1 else (cell.files[given["member"]],)
    total, stored = sum(file.bytes for file in files), sum(file.stored_bytes for file in files)
    # Where no page shrinks, a ratio that counts the others alone is not finite.
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
    found = compress.bench(codecs=CODECS, page_sizes=[page], threads=[threads], runs=RUNS, fresh=fresh)
    return dict(zip(CODECS, found.cells, strict=True))


def page_device(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Requests per second of a file, four in flight; None where there is no such place.

    Raises:
        ConfigError: If there is no such argument, or a value is none of those that it can have.
        OSError: If the file cannot be made.
    """
    given = arguments("page_device", DEVICE_KEYS, settings)
    for key, known in (("place", ("disk", "memory")), ("op", ("read", "write"))):
        if given[key] not in known:
            raise ConfigError(f"{key}: {text.path(given[key])} is not one of {', '.join(known)}")
    block = _ssdlab.size(given["block"])
    if not 4096 <= block <= FILE_BYTES or block % 4096 or not 0 <= given["run"] <= FILE_BYTES // block:
        raise ConfigError("block: is not a multiple of 4KiB of which the file holds run ones; write 8KiB, for example")
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
