"""Builds the report page of a trace in memory, for notebooks."""

from collections.abc import Iterator

from ssdlab import text
from ssdlab.lazy import np
from ssdlab.model.requests import OPS
from ssdlab.model.trace import Trace
from ssdlab.view.page import Facts, Page, Section, Table

SHOWN = 10
"""Number of requests shown in the table."""


def page(trace: Trace) -> Page:
    """Returns a report page with the number of requests by operation, and the first requests."""
    return Page(
        title="Trace",
        sections=[
            Section("", [Facts(list(_facts(trace)))]),
            Section("First requests", [Table(("time", "op", "offset", "bytes"), list(_first(trace)))]),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B).",
    )


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    yield "requests", text.count(len(trace))
    for number, op in enumerate(OPS):
        of = trace.op == number
        if of.any():
            size = text.size(int(trace.bytes[of].sum(dtype="uint64")))
            yield "flushes" if op == "flush" else f"{op}s", f"{text.count(int(of.sum()))} ({size})"
    if len(trace):
        yield "duration", text.duration(int(trace.time_ns[-1]))
    # Flushes have no stream; number 0 means no stream.
    stream = trace.columns()["stream"][trace.op != OPS.index("flush")]
    if stream.any():
        yield "streams", text.count(len(np.unique(stream[stream > 0])))


def _first(trace: Trace) -> Iterator[tuple[str, ...]]:
    columns = (trace.time_ns[:SHOWN], trace.op[:SHOWN], trace.offset[:SHOWN], trace.bytes[:SHOWN])
    for time_ns, op, offset, count in zip(*columns, strict=True):
        yield text.duration(int(time_ns)), OPS[op], text.count(int(offset)), text.count(int(count))
