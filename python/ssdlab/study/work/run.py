"""One run as a worker gets it, and what it comes to."""

import hashlib
import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import SsdlabError, TraceError
from ssdlab.model.config import Config
from ssdlab.model.simulation import simulate
from ssdlab.model.source import identified
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.work.below import Below

BASE_BYTES = 96 << 20
"""What a process of Python with the models takes before it has a drive."""
PAGE_BYTES = 16
"""What a simulated drive takes for a flash page: maps, counts, and what precedes its first request."""
CHECK_BYTES = 24
"""What checking takes for one."""
TOGETHER_SECONDS = 0.1
"""After which runs that were sent together, and have not begun, go back: another worker may be free by now."""
SIZED_BY_TRACE = "16GiB"
"""What a drive counts as whose size its trace decides, which is known only when that has been read."""


@cache
def program() -> str:
    """Which program simulates: the version and a checksum of the models, as builds of one version may differ."""
    with Path(_ssdlab.__file__).open("rb") as file:
        return f"{_ssdlab.__version__} {hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"


class TraceRef(NamedTuple):
    """A trace in files, with what tells whether a file elsewhere is the same."""

    paths: tuple[str, ...]
    sha256: tuple[str, ...]
    """Of each file."""
    format: str | None
    columns: str | None
    files: str | None
    device: str | None
    action: str | None
    skip_bad: bool
    names: tuple[str, ...]

    @classmethod
    def of(cls, trace: TraceFile) -> "TraceRef":
        """The trace as it is now.

        Raises:
            TraceError: If a file is not there, is not ordinary or holds no trace, or if nobody has said what several
                are to each other.
        """
        paths = tuple(str(path.absolute()) for path in trace.paths)
        for path in trace.paths:
            if not path.exists():
                raise TraceError(f"{text.path(path)}: there is no such file; check the path")
            if not path.is_file():
                raise TraceError(f"{text.path(path)}: is no file that can be read again and again; give one that is")
        if trace.files is None:
            # Every run would say so. Files that are merged lie side by side, which to find out takes reading them all.
            trace.open()
        digests = identified({"kind": "trace", "paths": paths})["sha256"]
        return cls(
            paths, tuple(digests), trace.format, trace.columns, trace.files, trace.device, trace.action, trace.skip_bad,
            trace.names,
        )  # fmt: skip

    @property
    def identity(self) -> str:
        """What of it decides about a result: contents, names and options, not where the files lie."""
        names = [Path(path).name for path in self.paths]
        return json.dumps([self.sha256, names, *self[2:]])

    def file(self) -> TraceFile:
        """The trace to be read."""
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
    """A simulation to be done."""

    key: str
    """Checksum of all that decides about its result."""
    config: Config
    """With its layers: what a trace decides depends on what was said, and what is a default."""
    trace: TraceRef | None
    memory_bytes: int
    """What a process that does it takes, about."""
    below: Below | None = None
    """The drive that replays what the scheduler gives to that of `config`, if there is one."""

    @classmethod
    def on_two(cls, config: Config, below: Below) -> "Run":
        """The run of a workload on a drive, and of what its scheduler gives to it on another."""
        first, second = cls.of(config, None), cls.of(below.config, None)
        key = hashlib.sha256("\n".join((first.key, second.key, json.dumps(below.taking))).encode()).hexdigest()[:32]
        return cls(key, config, None, max(first.memory_bytes, second.memory_bytes), below)

    @classmethod
    def of(cls, config: Config, trace: TraceRef | None, capacity_bytes: int | None = None) -> "Run":
        """The run of a configuration on a trace, or on its own workload.

        Args:
            config: The configuration.
            trace: The trace.
            capacity_bytes: Most that the drive holds, if its trace sizes it.
        """
        toml = config.to_toml()
        identity = "" if trace is None else trace.identity
        if trace is not None and (replayed := config.for_trace()) is not config:
            # A trace sizes what nobody has said.
            unsaid = [one.key for one in replayed.settings if one.origin.startswith("default")]
            identity = json.dumps([identity, unsaid])
        key = hashlib.sha256("\n".join((program(), identity, toml)).encode()).hexdigest()[:32]
        return cls(key, config, trace, memory_bytes(config, capacity_bytes))


def memory_bytes(config: Config, capacity_bytes: int | None = None) -> int:
    """What a process takes that simulates a drive, about; a trace may add to it with `host.fit` and `device.fill`."""
    needed = ("device.capacity", "nand.page_size", "device.op", "device.spare", "check")
    # A TOML scalar is a JSON scalar.
    given: dict[str, Any] = {key: json.loads(value) for key, value, _ in config.settings if key in needed}
    if capacity_bytes is None:
        capacity_bytes = _ssdlab.size(given.get("device.capacity", SIZED_BY_TRACE))
    pages = capacity_bytes / _ssdlab.size(given["nand.page_size"])
    # Two ways to say the same: one of them is there.
    if "device.spare" in given:
        pages /= 1 - _ssdlab.share(given["device.spare"])
    else:
        pages *= 1 + _ssdlab.share(given["device.op"])
    return BASE_BYTES + round(pages * (PAGE_BYTES + (CHECK_BYTES if given["check"] else 0)))


class Outcome(NamedTuple):
    """What a run came to."""

    result: str | None
    """`Result.to_dict` as JSON text; None if it failed."""
    error: str | None
    """Why it failed."""


def execute(run: Run) -> Outcome:
    """Does a run. What it raises is an outcome as well: another time it would be the same."""
    try:
        if run.below is None:
            result = simulate(run.config, None if run.trace is None else run.trace.file()).to_dict()
        else:
            result = run.below.results(run.config)
    except SsdlabError as error:
        return Outcome(None, f"{type(error).__name__}: {error}")
    return Outcome(json.dumps(result), None)


def execute_some(runs: Sequence[Run]) -> list[Outcome]:
    """Does runs, one after another, until they have taken `TOGETHER_SECONDS`; what the first of them came to."""
    began = time.monotonic()
    done: list[Outcome] = []
    for run in runs:
        if done and time.monotonic() - began >= TOGETHER_SECONDS:
            break
        done.append(execute(run))
    return done
