"""Reads and writes the folder of a study."""

import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import pa, pq
from ssdlab.model.files import naming, replacing, write
from ssdlab.study.store.journal import Journal, entries
from ssdlab.study.store.table import Point, Record
from ssdlab.study.work.run import Outcome, program

SHAPE = 1
"""Format version of a study's folder."""

PLAN, JOURNAL, RESULTS, RUNS, LOCK = "plan.json", "journal", "results.parquet", "runs.parquet", "lock"
"""Names of the files in a study's folder."""

TUNING = "tuning"
"""Key of a plan that identifies a search by `ssdlab tune`; plans of sweeps lack this key."""


def read_plan(folder: Path, name: object = None) -> dict[str, Any]:
    """Reads the plan in a folder. `name` is the folder's name in messages."""
    path, name = folder / PLAN, text.path(folder if name is None else name)
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(f"{name}: contains no study; 'ssdlab sweep --out FOLDER' creates one") from None
    except ValueError:
        raise ConfigError(f"{name}: {PLAN} is not JSON; repeat the study in another folder") from None
    if not isinstance(plan, dict) or plan.get("shape") != SHAPE:
        raise ConfigError(
            f"{name}: was written by another version of ssdlab; use that version, or repeat the study in another folder"
        )
    return plan


def points_of(plan: Mapping[str, Any]) -> list[Point]:
    """Returns the points (requested rows) of a plan."""
    axes = plan["columns"]
    return [Point(dict(zip(axes, values, strict=True)), seed, key) for values, seed, key in plan["points"]]


def records_of(folder: Path) -> dict[str, Record]:
    """Returns every finished run of a folder, by key."""
    # Reads the journal before the Parquet files. In this order, runs that another process moves from the journal to the
    # Parquet files in the meantime are read twice rather than missed.
    records = {}
    for line in entries(folder / JOURNAL):
        entry = json.loads(line)
        result = None if entry["result"] is None else json.dumps(entry["result"])
        records[entry["key"]] = Record(result, entry["error"])
    if (folder / RESULTS).exists():
        try:
            packed = pq.read_table(folder / RESULTS).to_pydict()
        except pa.ArrowInvalid as fault:
            why = str(fault).splitlines()[0]
            remedy = "remove the file to repeat its runs"
            raise ConfigError(f"{folder / RESULTS} is damaged ({why}); {remedy}") from None
        for key, error, result in zip(packed["key"], packed["error"], packed["result"], strict=True):
            records.setdefault(key, Record(result, error))
    return records


class Store:
    """The folder of a study, locked by this process for writing; created if missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        known = (PLAN, JOURNAL, RESULTS, RUNS, LOCK)
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{text.path(folder)}: is a file; use a folder")
        foreign = [path.name for path in folder.iterdir() if path.name not in known] if folder.is_dir() else []
        if foreign and not (folder / PLAN).exists():
            raise ConfigError(f"{text.path(folder)}: contains {text.path(foreign[0])} but no study; use another folder")
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        try:
            if (folder / PLAN).exists():
                theirs = read_plan(folder)["program"]
                if theirs != program():
                    raise ConfigError(
                        f"{text.path(folder)}: the study was made by ssdlab {theirs}, and results of ssdlab "
                        f"{program()} may differ; use another folder"
                    )
            self.records = records_of(folder)
            """Finished runs in the folder, by key."""
            self._journal = Journal(folder / JOURNAL)
        except BaseException:
            os.close(self._lock)
            raise

    def ask(self, plan: Mapping[str, Any]) -> None:
        """Stores a plan. Raises an error if the folder has another search, or if only one of both plans is a search."""
        if (self.folder / PLAN).exists():
            ours, theirs = (one.get(TUNING) or {} for one in (plan, read_plan(self.folder)))
            other = [key for key in {**theirs, **ours} if ours.get(key) != theirs.get(key)]
            if other:
                holds = (
                    f"a search with different {', '.join(other)}"
                    if theirs and ours
                    else "a search"
                    if theirs
                    else "a sweep"
                )
                remedy = "; a warm start from this folder reuses its runs" if ours else ""
                raise ConfigError(f"{text.path(self.folder)}: contains {holds}; use another folder{remedy}")
        with naming(self.folder / PLAN), replacing(self.folder / PLAN) as path:
            write(path, json.dumps({"shape": SHAPE, "program": program(), **plan}, separators=(",", ":")) + "\n")

    def keep(self, key: str, outcome: Outcome) -> None:
        """Stores the outcome of a run in the folder."""
        result = "null" if outcome.result is None else outcome.result
        self._journal.append(f'{{"key": "{key}", "error": {json.dumps(outcome.error)}, "result": {result}}}')
        self.records[key] = Record(outcome.result, outcome.error)

    def forget_failures(self, keys: Sequence[str]) -> None:
        """Removes the records of failed runs, so that these runs are executed again."""
        for key in keys:
            if key in self.records and self.records[key].error is not None:
                del self.records[key]

    def pack(self, dataset: "pa.Table") -> None:
        """Moves the journal's runs into the Parquet files, sorted by key, and writes `dataset` to `runs.parquet`."""
        keys = sorted(self.records)
        results = pa.table(
            {
                "key": pa.array(keys, pa.string()),
                "error": pa.array([self.records[key].error for key in keys], pa.string()),
                "result": pa.array([self.records[key].result for key in keys], pa.string()),
            }
        )
        for name, table in ((RESULTS, results), (RUNS, dataset)):
            with naming(self.folder / name), replacing(self.folder / name) as path:
                pq.write_table(table, path, compression="zstd")
                _to_disk(path)
        # The journal is removed only after the Parquet file that replaces it has been flushed to disk.
        _to_disk(self.folder)
        self._journal.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()
        os.close(self._lock)


def _to_disk(path: Path) -> None:
    """Flushes a file or a directory to disk, so that it survives a power loss."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _locked(folder: Path) -> int:
    """Locks a study's folder; the system releases the lock when this process ends."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    # If a writer is killed right after a fork, its child holds the lock until the child calls exec.
    patience = time.monotonic() + 10
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            holder = os.pread(lock, 200, 0).decode(errors="replace").strip()
            if not _has_ended(holder) or time.monotonic() > patience:
                os.close(lock)
                raise ConfigError(
                    f"{text.path(folder)}: is being written by {holder or 'another process'}; wait until that process "
                    "ends, or use another folder"
                ) from None
            time.sleep(0.01)
    with naming(folder / LOCK):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return lock


def _has_ended(holder: str) -> bool:
    """True if the process that held the lock ran on this machine and has ended."""
    match = re.fullmatch(rf"process (\d+) on {re.escape(socket.gethostname())}", holder)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
