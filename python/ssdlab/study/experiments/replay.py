"""Traces that cells replay: those written in the experiment and those that the user supplies."""

import os
from collections.abc import Mapping

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.model.config import Config
from ssdlab.model.trace import Trace
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.experiments.definition import Experiment, Replay, Traces
from ssdlab.text import suggestion

Source = Trace | TraceFile


def supplied(experiment: Experiment, traces: Traces) -> dict[str, Source]:
    """The user's traces by name; each can be opened and begins like a trace.

    Raises:
        ConfigError: If the experiment asks for no trace of a name.
        TraceError: If a trace cannot be read.
    """
    known = [replay.name for replay in experiment.traces.values() if replay.supplied]
    found: dict[str, Source] = {}
    for name, given in traces.items():
        if name not in known:
            what = f"it takes {', '.join(known)}" if known else "leave it out: it takes none"
            raise ConfigError(f"trace {name!r}: {experiment.name} takes no such trace{suggestion(name, known)}; {what}")
        replay = experiment.traces[name]
        if not isinstance(given, Trace | TraceFile):
            paths = [given] if isinstance(given, str | os.PathLike) else list(given)
            if not paths:
                raise TraceError(f"trace {name}: no file given; name at least one")
            given = TraceFile(*paths, format=replay.format, merge=len(paths) > 1, device=replay.device)
        if isinstance(given, TraceFile):
            try:
                requests = given.open().read(1)
            except TraceError as error:
                raise TraceError(f"trace {name}: {_remedied(str(error))}") from None
            if not len(requests):
                raise TraceError(f"trace {name}: holds no request; 'ssdlab trace info' tells what is in a file")
        found[name] = given
    return found


def _remedied(message: str) -> str:
    """Experiments have no --format: it is for converting first."""
    return message.replace("name its format with", "convert it first, with 'ssdlab trace convert' and")


def describe(sources: Mapping[str, Source]) -> dict[str, dict[str, object]]:
    """The user's traces, for a result."""
    return {name: source.about for name, source in sources.items()}


class Library:
    """The traces of an experiment; equal ones are one object."""

    def __init__(self, experiment: Experiment, sources: Mapping[str, Source]) -> None:
        self._traces = experiment.traces
        self._sources: dict[str, Source] = {}
        same: dict[object, Source] = {}
        for name, source in sources.items():
            key = repr(source.describe()) if isinstance(source, TraceFile) else id(source)
            self._sources[name] = same.setdefault(key, source)
        self._inline: dict[tuple[tuple[int, ...], str], Trace] = {}

    def find(self, name: str, config: Config) -> Source | None:
        """The trace of a name as a configuration replays it; None if the user has not supplied it."""
        replay = self._traces[name]
        if replay.supplied:
            return self._sources.get(name)
        page_size = config["nand.page_size"]
        key = replay.pages, page_size
        if key not in self._inline:
            self._inline[key] = requests(replay, page_size)
        return self._inline[key]


def requests(replay: Replay, page_size: str) -> Trace:
    """An inline trace for pages of a size such as `"2KiB"`."""
    # Reads a size as everything else does.
    page_bytes = _ssdlab.WrittenPages(page_size).page_bytes()
    count = len(replay.pages)
    return Trace.from_columns(
        op=["write"] * count, offset=[page * page_bytes for page in replay.pages], bytes=[page_bytes] * count
    )
