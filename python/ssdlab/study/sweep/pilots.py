"""How long runs take, from a few of them.

Each axis is tried at its ends and in its middle, or, if it has words, at all of them; the other axes stay as in the
first run where the design has such points. The time of a run is then taken as that of the first times a factor for each
axis: a power of a number (of a trace, of its bytes), a constant for a word. Corners of the design and a run between
them, which had no part in this, are tried as well: by how much they are off is the range of the estimate.
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
"""After which no pilot goes on."""

CHECKS = 8
"""Runs at most that show how wrong the times are."""

LOADING_SECONDS = 1.0
"""A first run that takes longer is not done again: what its process loads is little of it."""


class Pilots(NamedTuple):
    """What some runs took, and what that says of all."""

    seconds: Mapping[str, float]
    """What each that came to its end took, by key."""
    expected: Mapping[str, float]
    """What each of all takes, about."""
    off: tuple[float, float] | None
    """By which factors, from and to, times of other runs than these may differ; None if that was not tried."""
    complete: bool
    """Whether all that were to be tried came to their end in `SECONDS`."""


def tried(points: Mapping[str, Point], axes: Sequence[Axis]) -> tuple[list[str], list[str]]:
    """Runs that cover the axes, and others that show how wrong what these tell is.

    Args:
        points: By key of the run, in the order of the design.
        axes: What is varied.
    """
    first, *_ = points
    apart = {key: sum(one[name] != points[first][name] for name in one) for key, one in points.items()}
    covering, corners = {first: None}, [[*points][-1]]
    for axis in axes:
        for level in _covering(axis, [*points.values()]):
            having = [key for key in points if _at(points[key], axis) == level]
            covering[min(having, key=apart.__getitem__)] = None
            # Settings grow along their axes, so that the last of those that differ in most is likely the largest.
            corners.append(max(reversed(having), key=apart.__getitem__))
    rest = [key for key in points if key not in covering]
    checks = [key for key in dict.fromkeys(corners) if key not in covering]
    # Numbers are tried between their ends too.
    return [*covering], [*dict.fromkeys((*checks[: CHECKS - 1], *rest[len(rest) // 2 :][:1]))]


def run(runs: Mapping[str, Run], points: Mapping[str, Point], axes: Sequence[Axis], crew: Workers) -> Pilots:
    """Does the pilots among runs, for `SECONDS` at most.

    Args:
        runs: What can be run, by key; not empty.
        points: Of each.
        axes: What is varied.
        crew: Who does them, one at a time; stopped if they take too long.
    """
    covering, checks = tried(points, axes)
    seconds: dict[str, float] = {}
    began = time.monotonic()
    alarm = threading.Timer(SECONDS, crew.stop)
    alarm.start()
    try:
        # The likely largest early, so that it is known even if time runs out.
        for key in dict.fromkeys((covering[0], *checks[:1], *covering, *checks)):
            seconds[key] = _seconds(crew, runs[key])
            if len(seconds) == 1 and seconds[key] < LOADING_SECONDS:
                seconds[key] = _seconds(crew, runs[key])
    except Stopped:
        # One that takes longer than all there was time for takes that at least.
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
    """What every run takes if axes act each by itself, from what some took; the first of these is what others are
    compared with.
    """
    features = np.array([list(row) for row in zip(*_features(points, axes), strict=True)] or [[0.0]] * len(points))
    place = {key: at for at, key in enumerate(points)}
    first, *_ = seconds
    features -= features[place[first]]
    known = np.array([math.log(one / seconds[first]) for one in seconds.values()])
    # Of several that tell as well, the least factors: an axis that was not tried is taken to do nothing.
    factors = np.linalg.lstsq(features[[place[key] for key in seconds]], known, rcond=1e-9)[0]
    found = seconds[first] * np.exp(features @ factors)
    return dict(zip(points, found.tolist(), strict=True))


def _seconds(crew: Workers, run: Run) -> float:
    began = time.perf_counter()
    crew.do(run)
    return time.perf_counter() - began


def _at(point: Point, axis: Axis) -> tuple[str, ...]:
    return tuple(point[key] for key in axis.keys)


def _covering(axis: Axis, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """The levels of an axis that are tried."""
    levels = [*dict.fromkeys(_at(one, axis) for one in points)]
    size = _size(axis, levels)
    if size is None:
        return levels
    levels.sort(key=size)
    return [levels[0], levels[len(levels) // 2], levels[-1]]


def _size(axis: Axis, levels: Sequence[tuple[str, ...]]) -> Callable[[tuple[str, ...]], float] | None:
    """What number is behind a level, for an axis of numbers above 0, or of traces; None for others."""
    if axis.keys == (TRACE,):
        return lambda level: math.log(Path(level[0]).stat().st_size + 1)
    found = {level: quantity(level[0]) for level in levels}
    if all(one is not None and one.value > 0 for one in found.values()):
        return lambda level: math.log(found[level].value)  # type: ignore[union-attr]
    return None


def _features(points: Mapping[str, Point], axes: Sequence[Axis]) -> list[list[float]]:
    """Columns over the points: of an axis of numbers their logarithm, from 0 to 1; of others one for each word."""
    columns = []
    for axis in axes:
        its = [_at(one, axis) for one in points.values()]
        levels = [*dict.fromkeys(its)]
        size = _size(axis, levels)
        if size is None:
            columns += [[float(one == level) for one in its] for level in levels]
            continue
        least, most = (pick(map(size, levels)) for pick in (min, max))
        columns.append([(size(one) - least) / (most - least or 1.0) for one in its])
    return columns
