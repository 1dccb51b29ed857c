"""Result of planning a compressed part of a page cache."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ssdlab import _ssdlab
from ssdlab.analyse.cache.planning.comparison import Comparison
from ssdlab.analyse.cache.planning.compressors import Compressor
from ssdlab.analyse.cache.planning.model import IN_PLACE, MODELS, corrections
from ssdlab.analyse.compress import machine
from ssdlab.analyse.drive.reads import Device
from ssdlab.model.finding import Contents, Finding, Plot

SHARES = tuple(range(101))
"""Points at which the plan's curve is computed: percentages of the memory that hold compressed pages."""

RATIOS = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
SKEWS = ("even", "zipf:0.6", "80/20", "zipf:0.9", "pareto")
"""Access distributions that form the columns of the table of break-even read times."""


@dataclass(frozen=True)
class Choice:
    """Prediction of one model for one compressor and one fraction of compressed memory."""

    model: str
    compressor: Compressor
    share: float
    """Share of the memory for compressed pages: the share with the best time, or the share that the user set."""
    hit_ratio: float
    us: float
    """Mean time per page access, in microseconds."""
    p99_us: float
    """99th percentile of the time per page access, in microseconds."""
    gain: float
    """Pages per second, relative to the cache without compression."""
    break_even: float | None
    """Smallest compressed share of the memory that is faster than no compression; None if there is none."""
    device_break_even_us: float | None
    """Microseconds to read a page on the fastest device for which compression can pay off; None if there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields of the prediction, ready for JSON."""
        return {**asdict(self), "compressor": self.compressor.name}


@dataclass(frozen=True)
class CachePlan(Finding):
    """Advice on compressing part of a page cache; see `plan`.

    Saves `report.html`, `cache-plan.json` and `plan.csv`. The CSV has the columns `model`, `compressor`, `percent` and
    `us`, and one line for each model, compressor and percentage from 0 to 100.
    """

    _page = "plan"
    _json = "cache-plan.json"
    saved = "report.html, cache-plan.json and plan.csv"

    memory_bytes: int
    data_bytes: int
    page_bytes: int
    distribution: str | Sequence[tuple[float, float]]
    device_us: float
    """Time to read a page from the device, in microseconds."""
    compressors: tuple[Compressor, ...]
    paper: bool
    """True if compressors and read time come from Harper 2018; False if they were measured or set by the user."""
    device: Device | None
    """The measured device; None if no device was measured."""
    remarks: tuple[str, ...]
    """Remarks to show together with the result."""
    share: float | None = None
    """Fraction of the memory to use for compressed pages; None for the best fraction."""
    comparison: Comparison | None = None
    """Comparison of the model with a measured cache, if any."""
    partial: bool = False
    """True if the comparison with a measured cache was stopped early."""

    def _plan(self, compressor: Compressor, model: str, **other: Any) -> _ssdlab.Plan:
        if model == "document":
            ratio, shrinking = compressor.mean_ratio or compressor.ratio, 1.0
        else:
            ratio, shrinking = compressor.ratio, compressor.shrinking
        return _ssdlab.Plan(
            (self.memory_bytes, self.data_bytes, self.page_bytes),
            self.device_us,
            other.get("distribution", self.distribution),
            (other.get("ratio", ratio), compressor.compress_us, compressor.decompress_us, shrinking),
        )

    def point(self, compressor: Compressor, share: float, model: str) -> dict[str, float]:
        """Returns hit ratio and time per page that one of the `MODELS` predicts for a share of compressed memory."""
        return self._plan(compressor, model).point(share, corrections(model))

    @property
    def raw_hit_ratio(self) -> float:
        """Hit ratio of the cache without compression."""
        return self._plan(self.compressors[0], "document").raw_hit_ratio()

    @property
    def raw_us(self) -> float:
        """Mean time per page without compression, in microseconds."""
        return self._plan(self.compressors[0], "document").raw_us()

    @property
    def raw_p99_us(self) -> float:
        """99th percentile of the time per page without compression, in microseconds."""
        return self._plan(self.compressors[0], "corrected").point(0.0, corrections("corrected"))["p99_us"]

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """Predictions for every compressor: first from Harper's model (2018), then from the corrected model."""
        return tuple(self._choice(model, compressor) for model in MODELS for compressor in self.compressors)

    def _choice(self, model: str, compressor: Compressor) -> Choice:
        plan, names = self._plan(compressor, model), corrections(model)
        best = plan.best(names) if self.share is None else plan.point(self.share, names)
        return Choice(
            model=model,
            compressor=compressor,
            share=best["share"],
            hit_ratio=best["hit_ratio"],
            us=best["us"],
            p99_us=best["p99_us"],
            gain=plan.raw_us() / best["us"] if best["us"] else 1.0,
            break_even=plan.break_even(names),
            device_break_even_us=plan.device_break_even_us(names),
        )

    @property
    def best(self) -> Choice:
        """Prediction of the corrected model for the fastest compressor."""
        return min((choice for choice in self.choices if choice.model == "corrected"), key=lambda choice: choice.us)

    @property
    def compress(self) -> bool:
        """True if the best prediction is faster than a cache without compression."""
        return self.best.us < self.raw_us and self.best.share > 0

    def curve(self, compressor: str, model: str = "corrected") -> list[float]:
        """Returns the predicted microseconds per page for each compressed share of the memory from 0 to 100 %.

        Args:
            compressor: Name of the compressor.
            model: `document` or `corrected`.
        """
        figures = next(known for known in self.compressors if known.name == compressor)
        return [self.point(figures, share / 100, model)["us"] for share in SHARES]

    @cached_property
    def corrections(self) -> dict[str, float]:
        """Predicted time per page, in microseconds, at the best compressed share of the memory, keyed by model: Harper
        2018 as published, the same with one correction (an entry for each), with all corrections, and with all
        corrections plus restoring in place.
        """
        best, names = self.best, corrections("corrected")

        def us(model: str, made: list[str]) -> float:
            return self._plan(best.compressor, model).point(best.share, made)["us"]

        return {
            "none": us("document", []),
            **{name: us("corrected" if name == "incompressible" else "document", [name]) for name in names},
            "all": best.us,
            IN_PLACE: us("corrected", [*names, IN_PLACE]),
        }

    @cached_property
    def device_break_evens(self) -> list[list[float | None]]:
        """Microseconds to read a page below which the best compressor does not pay off, by ratio and distribution."""
        names = corrections("corrected")

        def break_even(ratio: float, skew: str) -> float | None:
            plan = self._plan(self.best.compressor, "corrected", ratio=ratio, distribution=skew)
            return plan.device_break_even_us(names)

        return [[break_even(ratio, skew) for skew in SKEWS] for ratio in RATIOS]

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole plan with all predictions, ready for JSON."""
        return {
            "memory_bytes": self.memory_bytes,
            "data_bytes": self.data_bytes,
            "page_bytes": self.page_bytes,
            "distribution": self.distribution,
            "device_us": self.device_us,
            "share": self.share,
            "paper": self.paper,
            "device": None if self.device is None else asdict(self.device),
            "compressors": [asdict(compressor) for compressor in self.compressors],
            "raw_hit_ratio": self.raw_hit_ratio,
            "raw_us": self.raw_us,
            "raw_p99_us": self.raw_p99_us,
            "compress": self.compress,
            "best": self.best.to_dict(),
            "choices": [choice.to_dict() for choice in self.choices],
            "curves": {
                model: {known.name: self.curve(known.name, model) for known in self.compressors} for model in MODELS
            },
            "corrections": self.corrections,
            "device_break_evens": {"ratios": RATIOS, "distributions": SKEWS, "us": self.device_break_evens},
            "comparison": None if self.comparison is None else asdict(self.comparison),
        }

    def _source(self) -> dict[str, Any]:
        return {"kind": "document", "name": "Harper 2018"} if self.paper else {"kind": "machine", "name": machine()}

    def _tables(self) -> Contents:
        rows: list[Sequence[object]] = [("model", "compressor", "percent", "us")]
        for model in MODELS:
            for compressor in self.compressors:
                curve = self.curve(compressor.name, model)
                rows += [(model, compressor.name, share, us) for share, us in zip(SHARES, curve, strict=True)]
        return {"plan.csv": rows}

    plot = Plot("plan.curves")

    def __repr__(self) -> str:
        return f"<ssdlab.CachePlan: {', '.join(known.name for known in self.compressors)}; best {self.best.us:.1f} us>"
