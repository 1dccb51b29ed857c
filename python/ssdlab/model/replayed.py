"""Describes how requests were replayed."""

from collections.abc import Iterable, Mapping
from typing import Any

from ssdlab import text
from ssdlab.model.metrics import BY_NAME, Summary
from ssdlab.model.source import is_generated, source_text


def mode(summary: Summary, times: str = "recorded times") -> str:
    """Describes the replay mode of a run. `times` is the phrase to use for the request timestamps."""
    replay = summary["replay"]
    if replay["mode"] == "open":
        speed = replay["speed"]
        return f"at {times}" if speed in (1, None) else f"at {text.exact(speed)}x {times.replace('times', 'speed')}"
    if replay["mode"] == "processes":
        return "with each process waiting for its own requests to complete"
    return f"as fast as possible, {BY_NAME['replay.queue_depth'].text(summary)} outstanding"


def replay_text(source: Mapping[str, Any], settings: Mapping[str, Any], summary: Summary) -> str:
    """Describes in one line the requests of a run, the replay mode and the simulated time."""
    replay = summary["replay"]
    generated = is_generated(source)
    if settings["time"] != "event" and replay["mode"] == "closed":
        how = ", one request at a time"
    else:
        whose = "its" if source["kind"] == "trace" else "their"
        how = f" {mode(summary, f'{whose} generated times' if generated else f'{whose} recorded times')}"
        how += " per stream" if settings.get("host.replay.closed.per_stream") else ""
    elapsed = BY_NAME["time.elapsed_ns"]
    took = ""
    if elapsed.value(summary):
        kept_up = replay["mode"] == "open" and replay["sustained_speed"] is None
        recorded = f"{text.duration(replay['recorded_ns'])} of {'arrivals' if generated else 'trace'}"
        took = elapsed.text(summary)
        took = f", {took}" if kept_up or not replay["recorded_ns"] else f" ({recorded} in {took})"
    return f"{source_text(source)}{how}{took}"


def modes_text(summaries: Iterable[Summary]) -> str:
    """Returns a title suffix with the replay modes of the runs with timestamps; empty if there are none."""
    timed = (one for one in summaries if one["drive"] is not None and one["replay"]["recorded_ns"])
    modes = dict.fromkeys(mode(one) for one in timed)
    return f", {' or '.join(modes)}" if modes else ""


OVERLOADED = "the drive cannot keep up: response times include a growing queue; to avoid it, use --replay closed"
"""Remark on several runs whose drives could not keep up with the arriving requests."""


def overload(summary: Summary) -> str | None:
    """Describes by how much the arrival rate exceeded the rate of serving; None if the drive kept up."""
    replay = summary["replay"]
    sustained = replay["sustained_speed"]
    if sustained is None:
        return None
    arrive, serve = BY_NAME["replay.arrivals_per_s"], BY_NAME["time.iops"].text(summary)
    rates = f"{arrive.text(summary)} requests/s arrive" if arrive.value(summary) else "all requests arrive at once"
    backlog = replay["backlog_requests"]
    waited = "" if backlog is None else f", and {text.count(backlog)} requests were waiting at the last arrival"
    # Rounds the speed down, so that the drive keeps up at this speed.
    speed = text.rounded_down(sustained)
    slower = f"--speed {speed}x or " if float(speed) >= SLOWEST else ""
    return (
        f"the drive cannot keep up: {rates}, but the drive serves {serve}/s{waited}. Response times include this "
        f"queue; to avoid it, use {slower}--replay closed"
    )


SLOWEST = 1e-6
"""Lowest replay speed that `--speed` accepts, as a factor."""
