"""Validates drive fits against simulated drives with known parameters and against real drives.

A black box is a simulated drive whose parameters are drawn at random. The fit must find the parameters that the
measurements determine.

Real drives are fitted to measurements at a third of their write rate at saturation, and to the sequential write
bandwidth of their data sheets. The fitted drive must predict the write rate at saturation, which was not used for the
fit. `fit_reference.csv` has measurements of SSD-iq (Haas and others, "SSD-iq: Uncovering the Hidden Side of SSD
Performance", VLDB 2025): a probe of 10,000 requests per second, half of them reads, with six background writers.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab.model.config import Config
from ssdlab.model.finding import Finding
from ssdlab.model.requests import Monitor
from ssdlab.study.fitting import sheet, table
from ssdlab.study.fitting.fit import Drive, fitted
from ssdlab.study.fitting.job import BACKGROUND_READS, DEPTH, DEPTHS, PROBE_IOPS, SHARES, WRITERS
from ssdlab.study.fitting.load import RATE, Figure, Load, Measured, Queue
from ssdlab.study.fitting.parameters import CATALOGUE, settings_of
from ssdlab.study.fitting.result import Fitted
from ssdlab.study.store.folder import Store

REFERENCE = "fit_reference.csv"

RUNS = "runs"
"""Folder in the output directory for finished simulations."""

TOLERANCE = 0.1
"""Maximum relative error of an identifiable parameter, whose uncertainty is at most half of this."""

HELD_OUT_TOLERANCE = 0.05
"""Maximum accepted relative error of a predicted write rate at saturation."""

BOXES = 10

BASE = "client-nvme"

DRIVE = {"device.capacity": "960197124096B", "device.op": "13.6%", "device.reserve": "extra"}
"""Capacity and over-provisioning of the real drives. With 1,024 GiB of flash, the over-provisioning is 14.5 %, less the
space for metadata. Such drives have a write amplification of 4.27, which is 1.036 times the closed form for 14.5 %. A
simulated drive with 13.6 % has the same write amplification.
"""

DRAWN = {
    "page_read": (20e3, 70e3),
    "read_work": (0.7e3, 2.5e3),
    "program": (1e6, 3e6),
    "spare": (0.08, 0.25),
    "slots": (40, 350),
    "suspend_time": (25e3, 120e3),
    "suspend_slice": (120e3, 400e3),
}
"""Parameters drawn at random for each black box, with their ranges; times are in nanoseconds."""


class Sheet(NamedTuple):
    """A real drive: its sequential write bandwidth from the data sheet, and its measured write rate at saturation."""

    sequential_write: str
    capacity: float
    """Random writes per second at saturation."""


SHEETS = {
    "PE8110": Sheet("1700MB/s", 79_400),
    "PM9A3": Sheet("1500MB/s", 76_600),
    "7450 PRO": Sheet("1400MB/s", 67_800),
}


class Found(NamedTuple):
    """A parameter of a black box: its true value, and the result of the fit."""

    name: str
    true: float
    fitted: float
    deviation: float | None
    """Relative uncertainty according to the fit; None if the fit does not determine the parameter."""
    tied: tuple[str, ...] = ()
    """Parameters with an effect on the metrics that cannot be separated from this parameter's effect. If this parameter
    is determined, they keep the base drive's values; otherwise, their fitted values include its effect.
    """
    drift: float = 0.0
    """Expected shift of the fitted value's logarithm, which compensates for the errors of the tied parameters."""

    @property
    def identifiable(self) -> bool:
        """True if the uncertainty is at most half the tolerance."""
        return self.deviation is not None and self.deviation <= TOLERANCE / 2

    @property
    def error(self) -> float:
        """Relative error of the fitted value or, with tied parameters, of the combination that metrics determine."""
        return self.fitted / (self.true * math.exp(self.drift)) - 1

    @property
    def passed(self) -> bool:
        """True if an identifiable parameter is within the tolerance."""
        return not self.identifiable or abs(self.error) <= TOLERANCE


@dataclass(frozen=True)
class Box:
    """A black box: its true parameters, and the results of the fit."""

    number: int
    parameters: tuple[Found, ...]

    @property
    def passed(self) -> bool:
        """True if all parameters passed."""
        return all(one.passed for one in self.parameters)


@dataclass(frozen=True)
class HeldOut:
    """A real drive: its measured write rate at saturation, and the rate predicted by a fit to other loads."""

    name: str
    measured: float
    predicted: float

    @property
    def difference(self) -> float:
        """Relative error of the prediction."""
        return self.predicted / self.measured - 1

    @property
    def passed(self) -> bool:
        """True if the error of the prediction is within the tolerance."""
        return abs(self.difference) <= HELD_OUT_TOLERANCE


class FitValidation(Finding):
    """Results of fitting black boxes and real drives."""

    _page = "fit_validation"
    _json = "fit-validation.json"
    saved = "report.html, fit-validation.json and finished simulations"

    def __init__(self, boxes: Sequence[Box], held_out: Sequence[HeldOut]) -> None:
        self.boxes, self.held_out = tuple(boxes), tuple(held_out)

    @property
    def passed(self) -> bool:
        """True if every parameter and every prediction is within its tolerance."""
        return all(box.passed for box in self.boxes) and all(one.passed for one in self.held_out)

    def to_dict(self) -> dict[str, Any]:
        """Returns parameters and predictions, ready for JSON."""
        return {
            "passed": self.passed,
            "boxes": [
                {
                    "number": box.number,
                    "parameters": [
                        {**one._asdict(), "error": one.error, "identifiable": one.identifiable}
                        for one in box.parameters
                    ],
                }
                for box in self.boxes
            ],
            "held_out": [
                {"drive": one.name, "measured": one.measured, "predicted": one.predicted, "difference": one.difference}
                for one in self.held_out
            ],
        }

    def _source(self) -> dict[str, Any]:
        return {"kind": "reference", "name": REFERENCE}


def base() -> Config:
    """Returns the drive from which all fits start."""
    return Config(BASE, overrides=DRIVE)


def loads_of(capacity: float) -> list[Measured]:
    """Returns the loads and metrics of the measurement job for a drive that serves `capacity` writes per second."""
    latencies = ("mean", "p50", "p90", "p99", "p99.9")
    reads = [Figure("read", name) for name in (RATE, "mean", "p10", "p50", "p90", "p99")]
    loads = [
        Measured(Load(f"reads, depth {depth}", (Queue(1, 1.0, depth),)), dict.fromkeys(reads, 1.0)) for depth in DEPTHS
    ]
    entries = [sheet.ENTRIES[key] for key in ("sequential_read", "sequential_write")]
    loads += [Measured(one.load, {one.figure: 1.0}) for one in entries]
    for share in SHARES:
        loads.append(
            Measured(
                probe(capacity * share / 100),
                {
                    Figure("write", RATE): 1.0,
                    **{Figure(op, name): 1.0 for op in ("read", "write") for name in latencies},
                },
            )
        )
    return loads


def probe(writes: float) -> Load:
    """Returns a load with a probe queue and background writers that issue about `writes` writes per second in total."""
    background = max(writes - PROBE_IOPS / 2, 600.0)
    return Load(
        f"probe with {background:,.0f}/s background",
        (
            Queue(1, 0.5, DEPTH, "fixed", PROBE_IOPS),
            Queue(WRITERS, BACKGROUND_READS / 100, DEPTH, "poisson", background / WRITERS),
        ),
    )


def measured(drive: Drive, config: Config, loads: Sequence[Measured]) -> list[Measured]:
    """Returns each load with its metrics simulated on a drive."""
    (found,) = drive.figures("black box", [config], loads)
    return [Measured(one.load, found[one.load]) for one in loads]


def box(number: int, drive: Callable[[Config], Drive]) -> Box:
    """Measures and fits a black box with random parameters; `drive` simulates a configuration."""
    start = base()
    draw = random.Random(number)
    truth = {name: low * (high / low) ** draw.random() for name, (low, high) in DRAWN.items()}
    # The measurement of the black box and the fit use different random numbers.
    real = drive(start.changed({**settings_of(start, truth), "seed": str(1000 + number)}))
    flooded = Measured(probe(400_000), {Figure("write", RATE): 1.0})
    capacity = measured(real, real.small, [flooded])[0].figures[Figure("write", RATE)]
    loads = measured(real, real.small, loads_of(capacity))
    return Box(number, judged(truth, fitted(drive(start), loads, [f"black box {number}"]).fitted))


def judged(truth: Mapping[str, float], outcomes: Sequence[Fitted]) -> tuple[Found, ...]:
    """Compares the drawn parameters of a black box with the results of a fit.

    A parameter q that the metrics do not determine keeps the base drive's value, and the determined parameters
    compensate for its error: the metrics determine only log p + share x log q, where share is the effect of q relative
    to the effect of p.
    """
    kept = {one.name: one for one in outcomes if one.deviation is None and one.name in truth}

    def found(one: Fitted) -> Found:
        true = truth[one.name]
        if one.deviation is None:
            return Found(one.name, true, one.value, None, one.tied)
        tied = tuple(name for name, other in kept.items() if one.name in other.tied)
        drift = sum(
            other.shares.get(one.name, 0.0) * (_log(name, truth[name]) - _log(name, other.value))
            for name, other in kept.items()
        )
        # The fit works with the logarithm of (value + shift).
        shift = CATALOGUE[one.name].shift
        return Found(one.name, true, one.value, one.deviation, tied, drift * (true + shift) / true)

    by_name = {one.name: one for one in outcomes}
    return tuple(found(by_name[name]) for name in truth)


def _log(name: str, value: float) -> float:
    return math.log(value + CATALOGUE[name].shift)


def held_out(name: str, drive: Callable[[Config], Drive]) -> HeldOut:
    """Fits a real drive to its data sheet and to measurements with few writes; predicts its saturated write rate."""
    path = Path(__file__).with_name(REFERENCE)
    loads = table.read(path, path.read_text(encoding="utf-8"), name)
    numbers, _ = sheet.read([f"sequential_write={SHEETS[name].sequential_write}"])
    model = drive(base())
    found = fitted(model, [*loads, *numbers], [name])
    above = Measured(probe(SHEETS[name].capacity * 1.2), {Figure("write", RATE): 1.0})
    predicted = measured(model, found.small, [above])[0].figures[Figure("write", RATE)]
    return HeldOut(name, SHEETS[name].capacity, predicted)


def run(
    count: int = BOXES, *, jobs: int | None = None, monitor: Monitor | None = None, out: Path | None = None
) -> FitValidation:
    """Fits real drives, then the first `count` black boxes; resumes from the finished simulations in `out`."""
    with ExitStack() as stack:
        store = None if out is None else stack.enter_context(Store(out / RUNS))

        def drive(about: str) -> Callable[[Config], Drive]:
            def named(phase: str, done: int, total: int | None, requests: int) -> object:
                return monitor is not None and monitor(phase.replace(", ", f", {about}, ", 1), done, total, requests)

            return partial(Drive, jobs=jobs, monitor=named, store=store)

        kept = [held_out(name, drive(name)) for name in SHEETS]
        boxes = [box(number, drive(f"black box {number} of {count}")) for number in range(1, count + 1)]
    return FitValidation(boxes, kept)
