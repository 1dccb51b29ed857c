"""Code shared by all kinds of advice that are based on a sweep over a trace."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.config import Config, Overrides
from ssdlab.model.finding import Finding
from ssdlab.study.store.study import Study
from ssdlab.study.survey.outcome import Outcome

TBW, DWPD = "lifetime.host_tbw_bytes", "lifetime.dwpd_5_years"
LIFE = {"trace": "lifetime.trace_years", "replay": "lifetime.years"}
"""Lifetime metric by write rate: that of the trace's timestamps, or that reached in the `replay`."""

BySeed = Mapping[str, tuple[float, ...]]
"""The values of each metric, one per seed."""


class Life(NamedTuple):
    """Years until a drive wears out, by seed, at the write rate `rate`: a key of `LIFE`, or None if unknown."""

    rate: str | None
    by_seed: tuple[float, ...]


def values_by_point(study: Study, names: Iterable[str]) -> Mapping[tuple[tuple[str, str], ...], BySeed]:
    """Returns the values of metrics for each point of a study. Omits metrics that a point does not have."""
    by_point: dict[tuple[tuple[str, str], ...], dict[str, tuple[float, ...]]] = {}
    for name in names:
        if name in study.figures:
            for point in study.values(Outcome(name, False)):
                by_point.setdefault(tuple(point.levels.items()), {})[name] = tuple(point.values)
    return by_point


def life(values: BySeed) -> Life:
    """Returns the drive's lifetime at the write rate of the trace or, if requests have no timestamps, of the replay."""
    return next((Life(rate, values[name]) for rate, name in LIFE.items() if name in values), Life(None, ()))


def repeating(drive: Config, repeat: Overrides) -> Config:
    """Returns the drive's configuration with the settings in `repeat`; unchanged if the user has set `host.repeat`."""
    is_default = next(one.origin for one in drive.settings if one.key == "host.repeat") == "default"
    return drive.with_overrides(repeat) if is_default else drive


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Advice(Finding):
    """Advice based on a sweep over a trace."""

    study: Study

    @property
    def partial(self) -> bool:
        """True if some points of the sweep have not been simulated."""
        return self.study.partial

    @property
    def measured(self) -> str:
        """Describes which requests the metrics refer to, such as "the last replay"."""
        table = self.study.table
        columns = table.column_names
        if "repeat.replays" not in columns:
            warmup = self.study.plan["configuration"].get("host.warmup")
            return "the requests after the warm-up" if warmup and warmup["value"] else "all requests"
        steady = table["repeat.steady"].to_pylist() if "repeat.steady" in columns else []
        known = [one for one in steady if one is not None]
        if not known:
            return "the last replay"
        if all(known):
            return "the last replay (in steady state)"
        return f"the last replay (in steady state in {text.count(sum(known))} of {text.counted(len(known), 'runs')})"

    def _source(self) -> Mapping[str, Any] | None:
        return self.study._source()

    def _configuration(self) -> dict[str, Any]:
        return self.study._configuration()
