"""Runs in the form in which they are sent to workers, and their outcomes."""

import hashlib
import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import SsdlabError, TraceError
from ssdlab.lazy import room
from ssdlab.model.config import PLUGIN, Config
from ssdlab.model.simulation import simulate
from ssdlab.model.source import identified
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.work.below import Below

BASE_BYTES = 96 << 20
"""Memory in bytes of a Python process with the models loaded, without a drive."""
PAGE_BYTES = 16
"""Memory in bytes per flash page of a simulated drive, for maps, counters and preconditioning."""
CHECK_BYTES = 24
"""Additional bytes of memory per flash page if the setting `check` is on."""
TOGETHER_SECONDS = 0.1
"""Seconds after which a task returns its other runs to the queue, because another worker may be free."""
SIZED_BY_TRACE = "16GiB"
"""Assumed capacity of a drive that is sized for its trace."""


@cache
def program() -> str:
    """Returns ssdlab's version and the checksum of its extension, because builds of the same version may differ."""
    with Path(_ssdlab.__file__).open("rb") as file:
        return f"{_ssdlab.__version__} {hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"


class TraceRef(NamedTuple):
    """A trace in one or more files, with checksums."""

    paths: tuple[str, ...]
    sha256: tuple[str, ...]
    format: str | None
    columns: str | None
    files: str | None
    device: str | None
    action: str | None
    skip_bad: bool
    names: tuple[str, ...]

    @classmethod
    def of(cls, trace: TraceFile) -> "TraceRef":
        """Returns a reference to the current contents of a trace file."""
        paths = tuple(str(path.absolute()) for path in trace.paths)
        for path in trace.paths:
            if not path.exists():
                raise TraceError(f"{text.path(path)}: does not exist; check the path")
            if not path.is_file():
                raise TraceError(f"{text.path(path)}: can be read only once; use a regular file")
        format = trace.format
        if trace.files is None:
            # Opens the trace here to report missing options once instead of in every run. Concatenated and merged files
            # are not opened here, because opening merged files may need a full pass.
            detected = trace.open().format()
            if detected.startswith(PLUGIN):
                format = detected
        digests = identified({"kind": "trace", "paths": paths})["sha256"]
        return cls(
            paths, tuple(digests), format, trace.columns, trace.files, trace.device, trace.action, trace.skip_bad,
            trace.names,
        )  # fmt: skip

    @property
    def identity(self) -> str:
        """All properties of the trace that affect results, as a string: contents, names and options, but not paths."""
        names = [Path(path).name for path in self.paths]
        is_plugin = self.format is not None and self.format.startswith(PLUGIN)
        plugins = [room("model.plugins").digest(self.format)] if is_plugin else []
        return json.dumps([self.sha256, names, *self[2:], *plugins])

    def file(self) -> TraceFile:
        """Returns the trace as a trace file."""
        return TraceFile(
            *self.paths,
            format=self.format,
            columns=self.columns,
            concat=self.files == "concat",
            merge=self.files == "merge",
            device=self.device,
            action=self.action,
            skip_bad=self.skip_bad,
            names=self.names,
        )


class Run(NamedTuple):
    """A simulation to execute."""

    key: str
    """Checksum of all inputs that determine the run's result."""
    config: Config
    """Configuration with its layers, which show the settings with default values: a trace may change only these."""
    trace: TraceRef | None
    memory_bytes: int
    """Estimated memory in bytes of the process that executes the run."""
    below: Below | None = None
    """Second drive, if any."""

    @classmethod
    def on_two(cls, config: Config, below: Below) -> "Run":
        """Returns a run that simulates a workload, and replays what its scheduler sends on a second drive."""
        first, second = cls.of(config, None), cls.of(below.config, None)
        key = hashlib.sha256("\n".join((first.key, second.key, json.dumps(below.taking))).encode()).hexdigest()[:32]
        return cls(key, config, None, max(first.memory_bytes, second.memory_bytes), below)

    @classmethod
    def of(cls, config: Config, trace: TraceRef | None, capacity_bytes: int | None = None) -> "Run":
        """Returns the run of a configuration on a trace or on its own workload. `capacity_bytes` is an upper bound of
        the capacity of a drive that is sized for the trace.
        """
        toml = config.to_toml()
        plugins = room("model.plugins").identity(config) if PLUGIN in toml else []
        identity = "" if trace is None else trace.identity
        replayed = (config if trace is None else config.for_trace()).at_times()
        if replayed is not config:
            # If the user did not set the drive's capacity or the replay mode, the trace determines them.
            unsaid = [one.key for one in replayed.settings if one.origin.startswith("default")]
            identity = json.dumps([identity, unsaid])
        key = hashlib.sha256("\n".join((program(), identity, toml, *plugins)).encode()).hexdigest()[:32]
        return cls(key, config, trace, memory_bytes(config, capacity_bytes))


def memory_bytes(config: Config, capacity_bytes: int | None = None) -> int:
    """Estimates the memory of a simulation in bytes; `host.fit` and `device.fill` may increase it for a trace."""
    needed = ("device.capacity", "device.unit", "device.op", "device.spare", "check")
    # Values can be read as JSON, because the TOML scalars of settings are also JSON scalars.
    given: dict[str, Any] = {key: json.loads(value) for key, value, _ in config.settings if key in needed}
    if capacity_bytes is None:
        capacity_bytes = _ssdlab.size(given.get("device.capacity", SIZED_BY_TRACE))
    pages = capacity_bytes / _ssdlab.size(given["device.unit"])
    # Exactly one of the settings device.spare and device.op is present.
    if "device.spare" in given:
        pages /= 1 - _ssdlab.share(given["device.spare"])
    else:
        pages *= 1 + _ssdlab.share(given["device.op"])
    return BASE_BYTES + round(pages * (PAGE_BYTES + (CHECK_BYTES if given["check"] else 0)))


class Outcome(NamedTuple):
    """Outcome of a run: a result or the reason why it failed."""

    result: str | None
    """Result as JSON, from `Result.to_dict`; None if the run failed."""
    error: str | None


def execute(run: Run) -> Outcome:
    """Executes a run. Errors are returned as outcomes instead of raised, because the same run would fail again."""
    try:
        if run.below is None:
            result = simulate(run.config, None if run.trace is None else run.trace.file()).to_dict()
        else:
            result = run.below.results(run.config)
    except SsdlabError as error:
        return Outcome(None, f"{type(error).__name__}: {error}")
    return Outcome(json.dumps(result), None)


def execute_some(runs: Sequence[Run]) -> list[Outcome]:
    """Executes runs for `TOGETHER_SECONDS`; returns the outcomes of the finished runs."""
    began = time.monotonic()
    done: list[Outcome] = []
    for run in runs:
        if done and time.monotonic() - began >= TOGETHER_SECONDS:
            break
        done.append(execute(run))
    return done
