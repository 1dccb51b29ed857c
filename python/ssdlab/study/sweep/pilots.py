"""Estimates the duration of runs by executing some of them (pilot runs).

Each axis is tried at its two ends and in the middle, or at every value if the values are words. If possible, the other
axes keep their values of the first run. In the model, the time of a run is the time of the first run times one factor
per axis. The factor is a power of the axis value (for a trace, of its file size), or a constant per word. Further runs,
at corners of the design and between the values tried, check the model. Their errors determine the range of the
estimate.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ssdlab.lazy import np
from ssdlab.study.sweep.axes import TRACE, Axis, Point
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.work.run import Run
from ssdlab.study.work.workers import Stopped, Workers

SECONDS = 60.0
"""Time limit for all pilot runs, in seconds."""

MAX_CHECKS = 8

LOADING_SECONDS = 1.0
"""A faster first run is repeated, because it spent much of its time starting the worker process."""


class Pilots(NamedTuple):
    """Durations of pilot runs, and the resulting estimates for all runs."""

    seconds: Mapping[str, float]
    expected: Mapping[str, float]
    """Measured and estimated durations in seconds, by run key."""
    off: tuple[float, float] | None
    """Smallest and largest ratio of measured to estimated duration among the runs that check the model, if any."""
    complete: bool
    """True if all pilot runs finished within `SECONDS`."""


def tried(points: Mapping[str, Point], axes: Sequence[Axis]) -> tuple[list[str], list[str]]:
    """Returns the keys of the pilot runs that cover the axes, and of those that check the model."""
    first, *_ = points
    apart = {key: sum(one[name] != points[first][name] for name in one) for key, one in points.items()}
    covering, corners = {first: None}, [[*points][-1]]
    for axis in axes:
        for level in _covering(axis, [*points.values()]):
            having = [key for key in points if _at(points[key], axis) == level]
            covering[min(having, key=apart.__getitem__)] = None
            # Most values increase along their axes, so the last point probably takes longest.
            corners.append(max(reversed(having), key=apart.__getitem__))
    rest = [key for key in points if key not in covering]
    checks = [key for key in dict.fromkeys(corners) if key not in covering]
    # Adds a run from the middle of the remaining points, which checks the model between the points tried so far.
    return [*covering], [*dict.fromkeys((*checks[: MAX_CHECKS - 1], *rest[len(rest) // 2 :][:1]))]


def run(runs: Mapping[str, Run], points: Mapping[str, Point], axes: Sequence[Axis], crew: Workers) -> Pilots:
    """Executes pilot runs one after the other, and stops the workers after `SECONDS`."""
    covering, checks = tried(points, axes)
    seconds: dict[str, float] = {}
    began = time.monotonic()
    alarm = threading.Timer(SECONDS, crew.stop)
    alarm.start()
    try:
        # The run that is probably the longest is executed second, so it is measured even if time runs out.
        for key in dict.fromkeys((covering[0], *checks[:1], *covering, *checks)):
            seconds[key] = _seconds(crew, runs[key])
            if len(seconds) == 1 and seconds[key] < LOADING_SECONDS:
                seconds[key] = _seconds(crew, runs[key])
    except Stopped:
        # If the time limit interrupted the first run, the elapsed time is a lower bound on its duration.
        if not seconds:
            return Pilots({}, dict.fromkeys(runs, time.monotonic() - began), None, complete=False)
    finally:
        alarm.cancel()
    complete = seconds.keys() >= {*covering, *checks}
    expected = fitted(points, axes, {key: seconds[key] for key in covering if key in seconds})
    ratios = [seconds[key] / expected[key] for key in checks if key in seconds]
    off = (min(1.0, *ratios), max(1.0, *ratios)) if ratios else None
    return Pilots(seconds, {**expected, **seconds}, off, complete)


def fitted(points: Mapping[str, Point], axes: Sequence[Axis], seconds: Mapping[str, float]) -> dict[str, float]:
    """Estimates the duration of every run from the measured durations, assuming that axes act independently."""
    features = np.array([list(row) for row in zip(*_features(points, axes), strict=True)] or [[0.0]] * len(points))
    place = {key: at for at, key in enumerate(points)}
    first, *_ = seconds
    features -= features[place[first]]
    known = np.array([math.log(one / seconds[first]) for one in seconds.values()])
    # With the minimum-norm solution, an axis that was not tried has no effect.
    factors = np.linalg.lstsq(features[[place[key] for key in seconds]], known, rcond=1e-9)[0]
    estimates = seconds[first] * np.exp(features @ factors)
    return dict(zip(points, estimates.tolist(), strict=True))


def _seconds(crew: Workers, run: Run) -> float:
    began = time.perf_counter()
    crew.do(run)
    return time.perf_counter() - began


def _at(point: Point, axis: Axis) -> tuple[str, ...]:
    return tuple(point[key] for key in axis.keys)


def _covering(axis: Axis, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Returns the values of an axis to try in pilot runs."""
    levels = [*dict.fromkeys(_at(one, axis) for one in points)]
    size = _size(axis, levels)
    if size is None:
        return levels
    levels.sort(key=size)
    return [levels[0], levels[len(levels) // 2], levels[-1]]


def _size(axis: Axis, levels: Sequence[tuple[str, ...]]) -> Callable[[tuple[str, ...]], float] | None:
    """Returns a function from an axis value to its logarithm, for positive numbers and traces; otherwise None."""
    if axis.keys == (TRACE,):
        return lambda level: math.log(Path(level[0]).stat().st_size + 1)
    numbers = {level: quantity(level[0]) for level in levels}
    if all(one is not None and one.value > 0 for one in numbers.values()):
        return lambda level: math.log(numbers[level].value)  # type: ignore[union-attr]
    return None


def _features(points: Mapping[str, Point], axes: Sequence[Axis]) -> list[list[float]]:
    """Returns the columns of the linear model: logarithms scaled to 0..1 for a numeric axis, or 0/1 for each value."""
    columns = []
    for axis in axes:
        at_points = [_at(one, axis) for one in points.values()]
        levels = [*dict.fromkeys(at_points)]
        size = _size(axis, levels)
        if size is None:
            columns += [[float(one == level) for one in at_points] for level in levels]
            continue
        least, most = (pick(map(size, levels)) for pick in (min, max))
        columns.append([(size(one) - least) / (most - least or 1.0) for one in at_points])
    return columns
