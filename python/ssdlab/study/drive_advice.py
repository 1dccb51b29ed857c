"""Advice on spare space: finds the smallest drive of a sweep that lasts long enough and meets a latency target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.finding import Contents, Plot
from ssdlab.model.numbers import above_zero
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.trace_file import Given
from ssdlab.study.advising import DWPD, LIFE, TBW, Advice, life, repeating, values_by_point
from ssdlab.study.store.study import Study
from ssdlab.study.store.table import csv_rows
from ssdlab.study.survey.outcome import Estimate, estimate
from ssdlab.study.sweep.axes import axis, of
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import plan, refuse_many
from ssdlab.study.sweep.running import question, run

OP = "device.op"
SPARE_AXIS = "op"
"""Name that messages use for the option that varies over-provisioning."""
SPARE = ("7%", "10%", "14%", "20%", "28%", "40%")
"""Default values of over-provisioning to try; each is about 1.4 times the previous value."""

YEARS = 5.0
"""Default number of years of service: the usual warranty."""

FLASH, WAF, P99 = "device.physical_bytes", "write_amplification", "latency.all.p99_ns"
DWPD_YEARS = 5.0
"""Number of years for which a rating in drive writes per day (DWPD) applies."""


class DriveChoice(NamedTuple):
    """A simulated drive and its metrics."""

    levels: Mapping[str, str]
    flash_bytes: float
    write_amplification: Estimate
    p99_ns: Estimate | None
    """p99 latency in nanoseconds; None if time is not simulated."""
    tbw_bytes: float | None
    """Bytes that the host can write until the drive wears out; None if the drive does not wear out."""
    years: Estimate | None
    """Years until the drive wears out; None if the daily writes are unknown."""
    p99_by_seed_ns: tuple[float, ...] = ()
    years_by_seed: tuple[float, ...] = ()
    rate: str | None = None
    """Write rate of the lifetime: `asked` (by the user), `trace`, or `replay` if requests have no times, if any."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DriveAdvice(Advice):
    """The trade-off between spare space, write amplification, tail latency and lifetime.

    Files: `report.html`, `drive-advice.json`, and `drive-advice.csv` with a line per drive.
    """

    _page = "drive_advice"
    _json = "drive-advice.json"
    saved = "report.html, drive-advice.json and drive-advice.csv"

    choices: Sequence[DriveChoice]
    """Simulated drives, in ascending order of flash capacity."""
    dwpd: float | None
    """Drive writes per day set by the user; None to use the write rate of the requests."""
    years: float
    """Required number of years of service."""
    p99_ns: float | None
    """Required p99 latency in nanoseconds, if any."""

    @property
    def rates(self) -> list[str]:
        """Write rates from which the lifetimes were computed."""
        return list(dict.fromkeys(one.rate for one in self.choices if one.rate is not None))

    def lasts(self, one: DriveChoice) -> bool | None:
        """True if a drive lasts for the required number of years; None if unknown."""
        return None if one.years is None else one.years.mean >= self.years

    def in_time(self, one: DriveChoice) -> bool:
        """True if a drive meets the required latency, or if no latency is required."""
        return self.p99_ns is None or (one.p99_ns is not None and one.p99_ns.mean <= self.p99_ns)

    def meeting(self, one: DriveChoice) -> int:
        """Returns the number of seeds that meet the required latency and, if the lifetime is known, the years."""
        fit = [True] * one.write_amplification.seeds
        if self.p99_ns is not None:
            fit = [value <= self.p99_ns for value in one.p99_by_seed_ns]
        if one.years is not None:
            fit = [so_far and years >= self.years for so_far, years in zip(fit, one.years_by_seed, strict=False)]
        return sum(fit)

    @property
    def best(self) -> DriveChoice | None:
        """The smallest drive that meets the latency target and is not known to wear out before the required number of
        years. Among equally small drives, the drive with the lowest latency.
        """
        fit = [one for one in self.choices if self.lasts(one) is not False and self.in_time(one)]
        return min(fit, key=lambda one: (one.flash_bytes, one.p99_ns.mean if one.p99_ns else 0.0), default=None)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                **one.levels,
                "flash_bytes": one.flash_bytes,
                "write_amplification": one.write_amplification.mean,
                "p99_ns": one.p99_ns.mean if one.p99_ns else None,
                "tbw_bytes": one.tbw_bytes,
                "years": one.years.mean if one.years else None,
                "rate": one.rate,
                "lasts": self.lasts(one),
                "in_time": self.in_time(one),
                "meeting": self.meeting(one),
                "seeds": one.write_amplification.seeds,
            }
            for one in self.choices
        ]

    def to_dict(self) -> dict[str, Any]:
        """Returns the requirements, the best drive and all simulated drives, ready for JSON."""
        best = self.best
        return {
            "dwpd": self.dwpd,
            "years": self.years,
            "p99_ns": self.p99_ns,
            "measured": self.measured,
            "drives": self._rows(),
            "best": None if best is None else dict(best.levels),
        }

    def _tables(self) -> Contents:
        return {"drive-advice.csv": csv_rows(self._rows())}

    plot = Plot("advice.trade")

    def __repr__(self) -> str:
        return f"<ssdlab.DriveAdvice: {len(self.choices)} drives>"


@takes(axes=["ftl.page.gc=greedy,fifo"])
def advise_drive(
    trace: Given | None,
    config: Config | Overrides | None = None,
    *,
    op: Sequence[str] = SPARE,
    axes: Sequence[str] = (),
    dwpd: float | None = None,
    years: float = YEARS,
    p99_ns: float | None = None,
    seeds: int = 1,
    jobs: int | None = None,
    reading: Mapping[str, Any] | None = None,
    monitor: Monitor | None = None,
) -> DriveAdvice:
    """Simulates drives with different over-provisioning on a trace.

    A trace is replayed until write amplification is steady, unless the configuration sets `host.repeat`. One replay is
    not enough, because its results still depend on the initial state.

    Args:
        trace: Trace file to replay; the configuration's workload if None.
        config: The drive, and `host.repeat`; the default drive if None.
        op: Values of over-provisioning to simulate.
        axes: Further axes, as for `sweep`: `["ftl.page.gc=greedy,cost_benefit", "preset=tlc-nvme,sata-mlc"]`.
        dwpd: Drive writes per day; by default the write rate according to the trace's timestamps, or the rate of the
            replay if the trace has no timestamps.
        years: Required years of service.
        p99_ns: Required p99 latency, if any.
        seeds: Number of runs per drive.
        jobs: Number of worker processes; one per processor if None.
        reading: `TraceFile` options for traces on an axis.
        monitor: Called with the number of finished runs; a true return value stops the sweep.

    Raises:
        ConfigError: If settings are invalid, or no drive can be simulated.
        TraceError: If the trace is not a readable file.
    """
    years = above_zero("years", years)
    dwpd, p99_ns = (
        None if value is None else above_zero(name, value) for name, value in (("dwpd", dwpd), ("p99_ns", p99_ns))
    )
    drive = config_of(config)
    if trace is not None:
        drive = repeating(drive, {"host.repeat": "until-steady"})
    others = several(axes)
    if any(OP in axis(one).keys for one in others):
        raise ConfigError(f"axis {OP}: already varied by {SPARE_AXIS}; set its values with {SPARE_AXIS}")
    if p99_ns is not None and drive["time"] == "count" and not any("time" in axis(one).keys for one in others):
        raise ConfigError(
            'time: "count" does not simulate latency, which p99 requires; set time to "serial" or "event"'
        )
    asked = question(
        [_spare(op), *others], drive, trace, design=Design(), without=(), seeds=seeds, outcomes=(), reading=reading
    )
    refuse_many(asked, "try fewer drives, or fewer seeds for each drive")
    study = run(plan(replace(asked, written={OP: SPARE_AXIS})), None, jobs=jobs, cluster=None, monitor=monitor)
    choices = _choices(study, dwpd)
    if not choices and not study.partial:
        if not study.failures:
            raise ConfigError(
                "no measured request is a write, so spare space has no effect; use a workload with writes"
            )
        _, _, why = next(iter(study.failures)).partition(": ")
        raise ConfigError(f"all simulations of drives failed: {why}")
    return DriveAdvice(study=study, choices=choices, dwpd=dwpd, years=years, p99_ns=p99_ns)


def _spare(op: Sequence[str]) -> dict[str, str]:
    written = ",".join(several(op))
    try:
        spare = of({OP: written})
    except ConfigError as error:
        raise ConfigError(f"{SPARE_AXIS}: {str(error).removeprefix(f'axis {OP}: ')}") from None
    if spare.range is not None:
        raise ConfigError(f"{SPARE_AXIS}: {text.path(written)} is a range without steps; write 7%..28%:4")
    return {OP: written}


def _choices(study: Study, dwpd: float | None) -> list[DriveChoice]:
    names = (FLASH, WAF, P99, TBW, DWPD, *LIFE.values())
    choices: dict[Any, DriveChoice] = {}
    for key, values in values_by_point(study, names).items():
        if WAF not in values:
            continue
        means = {name: estimate(by_seed) for name, by_seed in values.items()}
        rate, lives = life(values)
        if dwpd is not None and DWPD in values:
            rate, lives = "asked", tuple(DWPD_YEARS * value / dwpd for value in values[DWPD])
        choice = DriveChoice(
            levels=dict(key),
            flash_bytes=means[FLASH].mean,
            write_amplification=means[WAF],
            p99_ns=means.get(P99),
            tbw_bytes=means[TBW].mean if TBW in means else None,
            years=estimate(lives) if lives else None,
            p99_by_seed_ns=values.get(P99, ()),
            years_by_seed=lives,
            rate=rate,
        )
        # Drives consist of whole blocks, so different over-provisioning values can produce identical drives.
        others = tuple(level for level in key if level[0] != OP)
        choices.setdefault((choice.flash_bytes, others), choice)
    return sorted(choices.values(), key=lambda one: one.flash_bytes)
