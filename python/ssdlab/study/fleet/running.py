"""Simulates the drives of a fleet."""

import os
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.tasks import at_a_time
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.numbers import whole
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.trace_file import TraceFile
from ssdlab.model.volumes import INDEX, Volumes, part
from ssdlab.study.fleet.packing import ALONE, packed
from ssdlab.study.fleet.result import Fleet
from ssdlab.study.store.folder import read_plan, records_of
from ssdlab.study.store.study import Study
from ssdlab.study.store.table import Point as Row
from ssdlab.study.survey.outcome import check_outcomes
from ssdlab.study.sweep import running
from ssdlab.study.sweep.axes import Axis
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import Plan, Question
from ssdlab.study.work.run import Run, TraceRef

VOLUMES, STUDY = "volumes", "study"
"""Subfolders of a fleet's folder: the split trace, and the study of its drives."""

DRIVE = "drive"

Traces = str | os.PathLike[str] | TraceFile | Sequence[str | os.PathLike[str]]
"""The trace of a fleet: files, or folders of files."""


def plan(volumes: Volumes, base: Config, rule: str, drives: int | None, outcomes: Sequence[str]) -> Plan:
    """Plans the runs of a fleet."""
    base.check()
    replayed = base.for_trace()
    # Volumes must fit into the drive's capacity only if `host.fit` is `error`. Otherwise, the addresses or the capacity
    # are adapted.
    room = _ssdlab.size(str(base["device.capacity"])) if replayed["host.fit"] == "error" else None
    dealt = packed(volumes.volumes, rule, drives, room)
    seed = int(base["seed"])
    rows: list[Row] = []
    # Drives whose volumes have equal names and equal requests share a run.
    runs: dict[str, Run] = {}
    for drive in dealt:
        paths = [volumes.path(one) for one in drive.volumes]
        names = [f"volume {text.path(one.name)}" for one in drive.volumes]
        trace = TraceRef.of(TraceFile(*paths, merge=len(paths) > 1, names=names))
        sized = None if "device.capacity" in replayed else drive.touched_bytes
        run = Run.of(base, trace, sized)
        rows.append(Row({DRIVE: drive.name}, seed, run.key))
        runs.setdefault(run.key, run)
    axis = Axis((DRIVE,), tuple({DRIVE: one.name} for one in dealt))
    extra = {
        "source": {"kind": "trace", "paths": volumes.source["paths"]},
        "fleet": {"pack": rule, "drives": [[one.file for one in drive.volumes] for drive in dealt]},
    }
    return Plan(Question((axis,), base, outcomes=tuple(outcomes)), Design(), (DRIVE,), tuple(rows), runs, extra)


@takes(outcomes=["write_amplification"])
def fleet(
    trace: Traces,
    config: Config | Overrides | None = None,
    *,
    pack: str = ALONE,
    drives: int | None = None,
    outcomes: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    retry: bool = False,
    monitor: Monitor | None = None,
) -> Fleet:
    """Replays the volumes of a trace on simulated drives.

    First splits the trace, in one pass, into a file per volume. Then simulates each drive in a separate process. Work
    that is already finished in the folder is not repeated: an interrupted fleet resumes, and fleets with other
    configurations reuse the split trace. Ctrl-C raises KeyboardInterrupt; finished runs are kept.

    Args:
        trace: Files in order. Volumes come from the format (Alibaba, Tencent, MSR, SYSTOR, Parquet with a column
            `volume`); in other formats, each file is a volume. For a folder, all its files are used, sorted by name.
        config: Configuration of every drive; `device.capacity` is the capacity of one drive.
        pack: Rule that assigns volumes to drives: `alone`, `round-robin`, `write-rate` or `name`.
        drives: Number of drives; by default the smallest number with enough capacity for all volumes.
        outcomes: Metrics to show first; the default metrics if empty.
        out: Folder for the results; by default nothing is saved.
        jobs: Number of worker processes; one per processor by default.
        cluster: Address of a Dask scheduler whose workers execute the runs instead.
        retry: True to repeat failed runs.
        monitor: Called with the progress of splitting (`part`) and of runs (`runs`). A true return value stops the
            current phase.

    Raises:
        ConfigError: If settings or the packing are invalid, a volume does not fit, or the folder cannot be used.
        TraceError: If a file cannot be read, or the trace has no volumes.
        OSError: If the folder cannot be written; finished runs are kept.
    """
    at_a_time(jobs)
    drives = None if drives is None else whole("drives", drives)
    check_outcomes(several(outcomes))
    base = config_of(config)
    with tempfile.TemporaryDirectory(prefix="ssdlab-fleet-") if out is None else nullcontext(out) as place:
        folder = Path(place)
        base.check()
        _check(folder)
        volumes = part(trace if isinstance(trace, TraceFile) else TraceFile(*several(trace)), folder / VOLUMES, monitor)
        planned = plan(volumes, base, pack, drives, several(outcomes))
        study = running.run(planned, folder / STUDY, jobs=jobs, cluster=cluster, retry=retry, monitor=monitor)
        return Fleet(study, volumes)


def _check(folder: Path) -> None:
    """Raises an error if the folder contains anything except a fleet."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{text.path(folder)}: is a file; use a folder")
    inside = {one.name for one in folder.iterdir()} if folder.is_dir() else set()
    foreign = inside - {VOLUMES, f"{VOLUMES}.part", STUDY}
    if foreign:
        raise ConfigError(f"{text.path(folder)}: contains {text.path(min(foreign))} but no fleet; use another folder")


@takes()
def open_fleet(path: str | os.PathLike[str]) -> Fleet:
    """Opens the fleet in a folder. If the fleet is still in progress, only its finished runs are included.

    Raises:
        ConfigError: If the folder contains no fleet that this version of ssdlab can read.
    """
    folder = Path(path)
    if not (folder / VOLUMES / INDEX).exists() or not (folder / STUDY).is_dir():
        raise ConfigError(f"{text.path(folder)}: contains no fleet; 'ssdlab fleet run --out FOLDER' creates one")
    return Fleet(Study(read_plan(folder / STUDY), records_of(folder / STUDY)), Volumes.read(folder / VOLUMES))
