"""Invented activity of a drive: results of a run with `time = "event"`, of any shape, without a simulation."""

import copy
from typing import Any

import numpy as np

import ssdlab
from ssdlab.model import shape
from ssdlab.model.columns import ActivityColumns, Columns

Numbers = np.ndarray[Any, np.dtype[np.float64]]

CAUSES = ("host", "host", "host", "rmw", "gc", "map_load", "map_gc")
COSTS_NS = {"read": 50_000, "program": 600_000, "erase": 3_000_000, "copyback": 650_000}
TRANSFER_NS = 20_000


def drive(
    result: ssdlab.Result,
    *,
    channels: int = 2,
    dies: int = 4,
    planes: int = 2,
    operations: int = 120,
    buffer: bool = False,
    streams: int = 0,
    truncated: bool = False,
    seed: int = 1,
) -> ssdlab.Result:
    """Adds to `result` the activity of `dies` dies on `channels` channels: sums, waiting times and a window."""
    rng = np.random.default_rng(seed)
    elapsed_ns = int(result.summary["time"]["elapsed_ns"])

    def shares(rows: int, low: float, high: float) -> tuple[int, Numbers, Numbers]:
        """Bin length, lengths of all bins, and for each row a share that varies between `low` and `high`."""
        bin_ns = 1 << max(10, (max(elapsed_ns, 1) - 1).bit_length() - 9)
        bins = -(-elapsed_ns // bin_ns)
        lengths = np.full(bins, float(bin_ns))
        lengths[-1:] = elapsed_ns - bin_ns * (bins - 1)
        level = rng.uniform(low, high, (rows, 1))
        course = np.sin(np.linspace(0, 14, bins)) * (high - low) / 4
        return bin_ns, lengths, np.clip(level + course + rng.normal(0, 0.04, (rows, bins)), 0, 1)

    bin_ns, lengths, die_shares = shares(dies, 0.3, 0.9)
    dies_busy = (die_shares * lengths).astype(np.uint64)
    channels_busy = (shares(channels, 0.1, 0.4)[2] * lengths).astype(np.uint64)
    collecting = np.clip(np.sin(np.linspace(0, 14, len(lengths))), 0, 1) * 0.7
    outstanding = (rng.uniform(4, 32, len(lengths)) * lengths).astype(np.uint64)
    waiting = {
        op: tuple(
            column // np.uint64(4) if name != "requests" else column for name, column in columns._asdict().items()
        )
        for op, columns in result.latency.items()
    }
    summary = copy.deepcopy(result.summary)
    parts = {
        part: {
            op: times and {key: value if key == "count" else value * weight for key, value in times.items()}
            for op, times in summary["latency"].items()
        }
        for part, weight in (("waiting", 0.25), ("service", 0.75))
    }

    def spread(busy: "np.ndarray[Any, np.dtype[np.uint64]]") -> dict[str, float]:
        shares = busy.sum(axis=1) / max(elapsed_ns, 1)
        return {"mean": float(shares.mean()), "min": float(shares.min()), "max": float(shares.max())}

    counters = ("pages_accepted", "pages_overwritten", "pages_trimmed", "pages_read", "writes_stalled")
    latency = summary["latency"]
    summary["drive"] = {
        **blank(shape.RESULT["drive"].kind),
        "channels": channels,
        "dies": dies,
        "planes_per_die": planes,
        "die_utilisation": spread(dies_busy),
        "channel_utilisation": spread(channels_busy),
        "internal_share": 0.25,
        "queue_depth_mean": float(outstanding.sum() / max(elapsed_ns, 1)),
        "queue_depth_max": 32,
        **parts,
        "multiplane_commands": 17,
        "streams": [
            {
                "stream": f"stream{n}",
                "read": latency["read"],
                "write": latency["write"] if n else None,
                "bytes": 4096 * n,
                "active_ns": elapsed_ns,
                "bytes_per_s": 1e6 * n,
            }
            for n in range(streams)
        ],
        "interference": {
            "reads_alone": None,
            "reads_beside_writes": latency["read"],
            "writes_alone": None,
            "writes_beside_reads": latency["write"],
        },
        "buffer": {name: 3 * n for n, name in enumerate(counters)} if buffer else None,
    }
    activity = {
        "die_bin_ns": bin_ns,
        "dies_busy_ns": dies_busy,
        "channel_bin_ns": bin_ns,
        "channels_busy_ns": channels_busy,
        "internal_bin_ns": bin_ns,
        "internal_busy_ns": (collecting * lengths * dies).astype(np.uint64),
        "queue_bin_ns": bin_ns,
        "outstanding_ns": outstanding,
        "waiting": waiting,
        "course": {
            "interval_ns": 4 * bin_ns,
            "times": {
                (op, kind): in_halves(columns, elapsed_ns, 4 * bin_ns)
                for op, columns in result.latency.items()
                if op in ("read", "write")
                for kind in ("response", "waiting")
            },
            "slowest": {
                **dict.fromkeys(
                    ("offset", "bytes", "ended_ns", "response_ns", "waiting_ns", "part_ns"), np.ones(2, np.uint64)
                ),
                "op": ["read", "write"],
                "part": ["bus", "own_work"],
            },
            "parts_ns": {},
        },
        "gantt": gantt(rng, channels, dies, planes, operations, elapsed_ns // 2),
        "gantt_truncated": truncated,
    }
    return ssdlab.Result(
        config=result.config,
        source=result.source,
        summary=summary,
        ingest=result.ingest,
        columns=faked_columns(result, activity),
    )


def blank(kind: Any) -> Any:
    """A value of the given kind of `model.shape`, with zeros and nulls."""
    if isinstance(kind, dict):
        return {key: blank(inner) for key, inner in kind.items() if key is not ... and not key.endswith("?")}
    return None if isinstance(kind, shape.Maybe) else [] if isinstance(kind, list) else 0


def faked_columns(result: ssdlab.Result, activity: dict[str, Any]) -> Columns:
    """The columns of `result` with another activity."""
    return Columns(
        series=lambda: result.series,
        erase_counts=lambda: result.erase_counts,
        latency=lambda: result.latency,
        log=lambda: None,
        activity=lambda: ActivityColumns.of(activity),
        dispatched=lambda: None,
    )


def in_halves(times: ssdlab.LatencyColumns, elapsed_ns: int, interval_ns: int) -> dict[str, Any]:
    """Requests of which half of each bucket end at the beginning of a run, and half in its middle."""
    early, late = times.requests - times.requests // np.uint64(2), times.requests // np.uint64(2)
    some = late > 0
    middle = np.full(int(some.sum()), elapsed_ns // 2 // interval_ns, np.uint64)
    return {
        "interval": np.concatenate([np.zeros(len(early), np.uint64), middle]),
        "lower_ns": np.concatenate([times.lower_ns, times.lower_ns[some]]),
        "upper_ns": np.concatenate([times.upper_ns, times.upper_ns[some]]),
        "requests": np.concatenate([early, late[some]]),
    }


def gantt(
    rng: np.random.Generator, channels: int, dies: int, planes: int, operations: int, from_ns: int
) -> dict[str, Any]:
    """The given number of operations, each of which begins when its plane and channel are free."""
    plane_free = np.full((dies, planes), from_ns)
    bus_free = np.full(channels, from_ns)
    bars: list[tuple[int, int, int, int, bool, str, str]] = []
    for _ in range(operations):
        die, plane = int(rng.integers(dies)), int(rng.integers(planes))
        channel = die * channels // dies
        kind = str(rng.choice([*COSTS_NS], p=[0.6, 0.3, 0.05, 0.05]))
        cause = "gc" if kind == "erase" else str(rng.choice(CAUSES))

        def cells(ready: int, of: tuple[int, int], what: tuple[str, str]) -> int:
            begin = max(ready, int(plane_free[of]))
            plane_free[of] = begin + COSTS_NS[what[0]]
            bars.append((*of, begin, int(plane_free[of]), False, *what))
            return int(plane_free[of])

        def bus(ready: int, of: tuple[int, int], on: int, what: tuple[str, str]) -> int:
            begin = max(ready, int(bus_free[on]))
            bus_free[on] = begin + TRANSFER_NS
            bars.append((*of, begin, int(bus_free[on]), True, *what))
            return int(bus_free[on])

        if kind == "program":
            cells(bus(int(plane_free[die, plane]), (die, plane), channel, (kind, cause)), (die, plane), (kind, cause))
        else:
            done = cells(from_ns, (die, plane), (kind, cause))
            if kind == "read":
                plane_free[die, plane] = bus(done, (die, plane), channel, (kind, cause))
    bars.sort(key=lambda bar: bar[3])
    columns: list[Any] = [[bar[field] for bar in bars] for field in range(7)]
    return {
        **{name: np.array(columns[n], np.uint64) for n, name in enumerate(("die", "plane", "begin_ns", "end_ns"))},
        "request": np.arange(len(bars), dtype=np.uint64),
        "arrived_ns": np.full(len(bars), from_ns, np.uint64),
        "bus": np.array(columns[4], bool),
        "kind": columns[5],
        "cause": columns[6],
    }
