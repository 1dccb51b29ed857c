"""Traces that table cells replay. Either the experiment lists the pages to write, or the user supplies a trace."""

import os
from collections.abc import Iterable, Mapping

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.model.config import Config
from ssdlab.model.trace import Trace
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.experiments.definition import Experiment, Path, Replay, Traces
from ssdlab.text import suggestion

Source = Trace | TraceFile


def supplied(experiment: Experiment, traces: Traces) -> dict[str, Source]:
    """Returns the user's traces by name. Reads the first request of each trace as a check."""
    known = [replay.name for replay in experiment.traces.values() if replay.supplied]
    sources: dict[str, Source] = {}
    for name, given in traces.items():
        if name not in known:
            remedy = (
                f"its traces are {', '.join(known)}" if known else "the experiment needs no trace, so omit the trace"
            )
            raise ConfigError(f"trace {name!r}: is not a trace of {experiment.name}; {remedy}{suggestion(name, known)}")
        if isinstance(given, Trace):
            sources[name] = given
            continue
        source = given if isinstance(given, TraceFile) else _file(experiment.traces[name], given)
        try:
            requests = source.open().read(1)
        except TraceError as error:
            message = str(error)
            if "--format" in message and source is not given:
                # The trace reader's remedy names the option --format, which experiments do not have. It is replaced by
                # a remedy that works for experiments.
                cause, _, _ = message.partition("; ")
                message = f"{cause}; convert the file first with 'ssdlab trace convert --format NAME'"
            raise TraceError(f"trace {name}: {message}") from None
        if not len(requests):
            raise TraceError(f"trace {name}: contains no requests; 'ssdlab trace info' describes the file")
        sources[name] = source
    return sources


def _file(replay: Replay, given: Path | Iterable[Path]) -> TraceFile:
    paths = [given] if isinstance(given, str | os.PathLike) else [*given]
    if not paths:
        raise TraceError(f"trace {replay.name}: has no file; pass at least one file")
    return TraceFile(*paths, format=replay.format, merge=len(paths) > 1, device=replay.device)


class Library:
    """The traces of an experiment. If several names refer to the same trace, they share one object."""

    def __init__(self, experiment: Experiment, sources: Mapping[str, Source]) -> None:
        self._traces = experiment.traces
        self._sources: dict[str, Source] = {}
        same: dict[object, Source] = {}
        for name, source in sources.items():
            key = repr(source.describe()) if isinstance(source, TraceFile) else id(source)
            self._sources[name] = same.setdefault(key, source)
        self._inline: dict[tuple[tuple[int, ...], str], Trace] = {}

    def find(self, name: str, config: Config) -> Source | None:
        """Returns a trace; None if the user has not supplied it. Listed pages get the configuration's page size."""
        replay = self._traces[name]
        if replay.supplied:
            return self._sources.get(name)
        page_size = config["device.unit"]
        key = replay.pages, page_size
        if key not in self._inline:
            self._inline[key] = requests(replay, page_size)
        return self._inline[key]


def requests(replay: Replay, page_size: str) -> Trace:
    """Builds a trace of writes to the listed pages; the page size is text such as `"2KiB"`."""
    page_bytes = _ssdlab.WrittenPages(page_size).page_bytes()
    count = len(replay.pages)
    return Trace.from_columns(
        op=["write"] * count, offset=[page * page_bytes for page in replay.pages], bytes=[page_bytes] * count
    )
