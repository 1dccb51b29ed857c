"""Advice on the spare space of a drive: a small sweep, and the least flash that lasts and answers in time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.numbers import above_zero
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.trace_file import Given
from ssdlab.study.store.study import Study
from ssdlab.study.survey.outcome import Estimate, Outcome, estimate
from ssdlab.study.sweep.axes import axis, of
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import plan, refuse_many
from ssdlab.study.sweep.running import question, run

OP = "device.op"
SPARE_AXIS = "op"
"""What varies it, as faults say it."""
SPARE = ("7%", "10%", "14%", "20%", "28%", "40%")
"""Over-provisioning that is tried unless other is asked for: steps of a factor of about 1.4."""

YEARS = 5.0
"""How long a drive is to last unless that is said: the usual warranty."""

FLASH, WAF, P99 = "device.physical_bytes", "write_amplification", "latency.all.p99_ns"
TBW, DWPD = "lifetime.host_tbw_bytes", "lifetime.dwpd_5_years"
LIFE = {"trace": "lifetime.trace_years", "replay": "lifetime.years"}
"""By the rate at which the host writes: what the trace does by its times, else what the replay did."""
DWPD_YEARS = 5.0
"""That `DWPD` is for."""


class DriveChoice(NamedTuple):
    """A drive that was tried."""

    levels: Mapping[str, str]
    """What it sets."""
    flash_bytes: float
    write_amplification: Estimate
    p99_ns: Estimate | None
    """None where time is not modelled."""
    tbw_bytes: float | None
    """What the host can write until it is worn out; None where it is never worn."""
    years: Estimate | None
    """Of life; None where nobody knows how much is written in a day."""
    p99_by_seed_ns: tuple[float, ...] = ()
    years_by_seed: tuple[float, ...] = ()
    rate: str | None = None
    """At which the host writes for so long: `asked` for, of the `trace`, or of the `replay` as its requests have no
    times; None without a life."""


class DriveAdvice(Finding):
    """The trade between spare space, write amplification, tail and life.

    Saved are `report.html`, `drive-advice.json` and `drive-advice.csv`, a line for each drive.
    """

    _page = "drive_advice"
    _json = "drive-advice.json"
    saved = "report.html, drive-advice.json and drive-advice.csv"

    def __init__(
        self, *, study: Study, choices: Sequence[DriveChoice], dwpd: float | None, years: float, p99_ns: float | None
    ) -> None:
        self.study = study
        """The sweep behind it."""
        self.choices = tuple(choices)
        """Least flash first."""
        self.dwpd = dwpd
        """Capacities that the host writes in a day; None for the rate of the requests."""
        self.years = years
        """That a drive is to last."""
        self.p99_ns = p99_ns
        """Response time that 99 % of the requests are to keep; None if none was named."""

    @property
    def partial(self) -> bool:
        """Whether drives are still to be tried."""
        return self.study.partial

    @property
    def rates(self) -> list[str]:
        """At which rates the host writes in the lives of the drives."""
        return list(dict.fromkeys(one.rate for one in self.choices if one.rate is not None))

    @property
    def measured(self) -> str:
        """Of which stretch all figures of a drive are."""
        columns = self.study.table.column_names
        if "repeat.replays" not in columns:
            warmup = self.study.plan["configuration"].get("host.warmup")
            return "the requests behind the warm-up" if warmup and warmup["value"] else "all requests"
        steady = self.study.table["repeat.steady"].to_pylist() if "repeat.steady" in columns else []
        known = [one for one in steady if one is not None]
        if not known:
            return "the last replay"
        if all(known):
            return "the last replay, steady by then"
        return f"the last replay, steady by then in {text.count(sum(known))} of {text.counted(len(known), 'runs')}"

    def lasts(self, one: DriveChoice) -> bool | None:
        """Whether a drive lives as long as it is to; None where that is not known."""
        return None if one.years is None else one.years.mean >= self.years

    def in_time(self, one: DriveChoice) -> bool:
        """Whether a drive answers in time, if that is asked for."""
        return self.p99_ns is None or (one.p99_ns is not None and one.p99_ns.mean <= self.p99_ns)

    def meeting(self, one: DriveChoice) -> int:
        """With how many of its seeds a drive does what is wanted, as far as that is known."""
        seeds = one.write_amplification.seeds
        fit = [True] * seeds
        if self.p99_ns is not None:
            fit = [one <= self.p99_ns for one in one.p99_by_seed_ns]
        if one.years is not None:
            fit = [so_far and its >= self.years for so_far, its in zip(fit, one.years_by_seed, strict=False)]
        return sum(fit)

    @property
    def best(self) -> DriveChoice | None:
        """The least flash that answers in time, and lasts or may last; of equal ones the faster."""
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
        """Everything, ready for JSON."""
        best = self.best
        return {
            "dwpd": self.dwpd,
            "years": self.years,
            "p99_ns": self.p99_ns,
            "measured": self.measured,
            "drives": self._rows(),
            "best": None if best is None else dict(best.levels),
        }

    def _source(self) -> Mapping[str, Any] | None:
        return self.study._source()

    def _configuration(self) -> dict[str, Any]:
        return self.study._configuration()

    def _tables(self) -> Contents:
        rows = self._rows()
        cells = [["" if cell is None else cell for cell in row.values()] for row in rows]
        return {"drive-advice.csv": [[*rows[0]], *cells]}

    plot = Plot("drive_advice.trade")

    def __repr__(self) -> str:
        return f"<ssdlab.DriveAdvice on {len(self.choices)} drives>"


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
    """Tries drives with more and less spare space on a trace.

    A trace is replayed until write amplification is steady, unless the configuration says how often: its first replay
    tells of the state before it.

    Args:
        trace: What they replay, a file; the workload of the configuration if None.
        config: The drive, and `host.repeat`; the default drive if left out.
        op: Over-provisioning to try.
        axes: What else to vary, as for `sweep`: `["ftl.page.gc=greedy,cost_benefit", "preset=tlc-nvme,sata-mlc"]`.
        dwpd: Capacities that the host writes each day; if left out, what the trace writes in a day by its times, or
            what the replay writes if it has none.
        years: How long the drive is to last.
        p99_ns: Response time that 99 % of the requests are to keep, if any.
        seeds: Runs of each drive.
        jobs: Worker processes at a time; one per processor if None.
        reading: Options of `TraceFile` for traces of an axis.
        monitor: Told how many runs are finished; something true ends them.

    Raises:
        ConfigError: If settings are wrong, or no drive can be run.
        TraceError: If the trace is no file that can be read.
    """
    years = above_zero("years", years)
    dwpd, p99_ns = (
        None if value is None else above_zero(name, value) for name, value in (("dwpd", dwpd), ("p99_ns", p99_ns))
    )
    drive = config_of(config)
    if trace is not None and next(one.origin for one in drive.settings if one.key == "host.repeat") == "default":
        drive = drive.with_overrides({"host.repeat": "until-steady"})
    others = several(axes)
    if any(OP in axis(one).keys for one in others):
        raise ConfigError(f"axis {OP}: {SPARE_AXIS} varies it already; give its values there")
    if p99_ns is not None and drive["time"] == "count" and not any("time" in axis(one).keys for one in others):
        raise ConfigError(
            'time: "count" takes no time, and p99 is one; set it to "serial" or "event", or leave p99 out'
        )
    asked = question(
        [_spare(op), *others], drive, trace, design=Design(), without=(), seeds=seeds, outcomes=(), reading=reading
    )
    refuse_many(asked, "try fewer drives, or fewer seeds of each")
    study = run(plan(replace(asked, written={OP: SPARE_AXIS})), None, jobs=jobs, cluster=None, monitor=monitor)
    choices = _choices(study, dwpd)
    if not choices and not study.partial:
        if not study.failures:
            raise ConfigError(
                "no request that was measured writes, so that spare space changes nothing; give some that write"
            )
        _, _, why = next(iter(study.failures)).partition(": ")
        raise ConfigError(f"no drive can be run: {why}")
    return DriveAdvice(study=study, choices=choices, dwpd=dwpd, years=years, p99_ns=p99_ns)


def _spare(op: Sequence[str]) -> dict[str, str]:
    """The axis of over-provisioning.

    Raises:
        ConfigError: If it is none.
    """
    written = ",".join(several(op))
    try:
        found = of({OP: written})
    except ConfigError as error:
        raise ConfigError(f"{SPARE_AXIS}: {str(error).removeprefix(f'axis {OP}: ')}") from None
    if found.range is not None:
        raise ConfigError(f"{SPARE_AXIS}: {text.path(written)} is a range; say how many of it, as in 7%..28%:4")
    return {OP: written}


def _choices(study: Study, dwpd: float | None) -> list[DriveChoice]:
    found = {
        name: {tuple(point.levels.items()): point.values for point in study.values(Outcome(name, False))}
        for name in (FLASH, WAF, P99, TBW, DWPD, *LIFE.values())
        if name in study.figures
    }
    choices: dict[Any, DriveChoice] = {}
    for key in found.get(WAF, {}):
        its = {name: estimate(values[key]) for name, values in found.items() if key in values}
        rate, lives = next(
            ((rate, found[name][key]) for rate, name in LIFE.items() if key in found.get(name, {})), (None, ())
        )
        if dwpd is not None and key in found.get(DWPD, {}):
            rate, lives = "asked", tuple(DWPD_YEARS * value / dwpd for value in found[DWPD][key])
        years = estimate(lives) if lives else None
        tbw = its[TBW].mean if TBW in its else None
        levels, flash_bytes = dict(key), its[FLASH].mean
        others = tuple(level for level in key if level[0] != OP)
        # Blocks are whole, so that more over-provisioning may be the same drive.
        tails = found.get(P99, {}).get(key, ())
        one = DriveChoice(levels, flash_bytes, its[WAF], its.get(P99), tbw, years, tails, lives, rate)
        choices.setdefault((flash_bytes, others), one)
    return sorted(choices.values(), key=lambda one: one.flash_bytes)
