"""Calibrates a real file or block device."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.drive import fio
from ssdlab.analyse.drive.target import engine_of, inspect
from ssdlab.lazy import np
from ssdlab.model.arguments import takes
from ssdlab.model.requests import Monitor
from ssdlab.study.calibration import knee
from ssdlab.study.calibration.grid import IN_FLIGHT, ROUNDS, in_flight_of, medians, regions_of
from ssdlab.study.calibration.result import Calibration

SECONDS = 1.0
"""Default duration of one measurement (one region size and number of requests in flight), in seconds."""

SIZE = "4KiB"


@takes(regions=["64MiB"])
def calibrate_target(
    path: str | os.PathLike[str],
    *,
    write: bool = False,
    size: str = SIZE,
    regions: Sequence[str] | None = None,
    in_flight: Sequence[int] = IN_FLIGHT,
    offset: str = "0B",
    seconds: float = SECONDS,
    monitor: Monitor | None = None,
) -> Calibration:
    """Measures the throughput of a real file or block device for requests into one region, with fio.

    Each cell is measured in three rounds by a run of fio: random requests into the region, bypassing the page cache if
    possible. The median is the result. All reads come before all writes.

    Args:
        path: An existing file, or an unused block device.
        write: True to measure writes too, which destroys the contents.
        size: Request size.
        regions: Region sizes such as `"64MiB"`; by default powers of two from 64 MiB and everything after `offset`.
        in_flight: Numbers of requests in flight.
        offset: Start of every region.
        seconds: Duration of each cell and round.
        monitor: See `calibrate`.

    Raises:
        CalibrationError: If the target must not or cannot be measured, or fio is missing or fails.
        ConfigError: If a size or number does not fit the target.
        OSError: If the target cannot be opened.
    """
    if not 0 < seconds <= 86_400:
        raise ConfigError(
            f"the time per cell must be above 0 s and at most 1 day, not {seconds:g} s; use 1, for example"
        )
    request_bytes, offset_bytes = _ssdlab.size(size), _ssdlab.size(offset)
    if request_bytes < 512 or request_bytes % 512 or offset_bytes % 512:
        raise ConfigError("request size and offset must be multiples of 512 bytes, for example 4KiB")
    depths = in_flight_of(in_flight)
    target = inspect(Path(path), write)
    whole = (target.bytes - offset_bytes) // request_bytes * request_bytes
    if whole <= 0:
        raise ConfigError(
            f"offset {text.exact_size(offset_bytes)} is past the end of {text.path(path)} "
            f"({text.exact_size(target.bytes)}); use a smaller offset"
        )
    sizes = regions_of(regions, whole, request_bytes, f"the measured part of {text.path(path)}")
    ops = ("read", "write") if write else ("read",)
    tool = fio.find()
    probe = fio.Job(
        path=target.path,
        op="read",
        request_bytes=request_bytes,
        offset_bytes=offset_bytes,
        region_bytes=sizes[0],
        in_flight=1,
        engine="",
        direct=target.direct,
        seconds=0.2,
    )
    engine = engine_of(tool, probe)

    shape = len(sizes), len(depths)
    rounds = {op: np.full((ROUNDS, *shape), np.nan) for op in ops}
    cells = [(op, at) for op in ops for at in np.ndindex(ROUNDS, *shape)]
    done = requests = 0

    def stop() -> object:
        return monitor is not None and monitor("cells", done, len(cells), requests)

    for op, at in cells:
        job = replace(probe, op=op, region_bytes=sizes[at[1]], in_flight=depths[at[2]], engine=engine, seconds=seconds)
        figures = fio.run(tool, job, stop)
        if figures is None:
            break
        done += 1
        requests += figures[0]
        rounds[op][at] = figures[1]
    is_stopped = done < len(cells)
    return Calibration(
        source={
            "kind": target.kind,
            "path": str(target.path),
            "bytes": target.bytes,
            "offset_bytes": offset_bytes,
            "rounds": ROUNDS,
            "seconds": seconds,
            "direct": target.direct,
            "fio": tool.version,
            "engine": engine,
        },
        config=None,
        size=size,
        regions=sizes,
        in_flight=depths,
        iops={op: medians(table) for op, table in rounds.items()},
        is_stopped=is_stopped,
        noise={} if is_stopped else {op: knee.difference(table) for op, table in rounds.items()},
        remarks=target.remarks,
    )
