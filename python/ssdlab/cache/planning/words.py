"""A plan in words and cells, for the terminal and the report."""

from typing import TYPE_CHECKING

from ssdlab import text
from ssdlab.cache.planning.model import IN_PLACE
from ssdlab.cache.planning.result import RATIOS, SKEWS

if TYPE_CHECKING:
    from ssdlab.cache.planning import CachePlan, Choice

COMPRESSORS = ("compressor", "ratio", "compress, us", "restore, us", "pages that shrink", "mean of files")
CHOICES = ("model", "compressor", "compress", "hits", "us a page", "pages/s", "gains from", "device from, us")
DEVICES = ("ratio", *SKEWS)
COMPARISON = (
    "compress", "compressor", "hits: model", "measured", "us: document", "model", "measured", "difference", "by hits",
    "by device", "left",
)  # fmt: skip
CORRECTIONS = ("correction", "us a page", "of the document's")

CORRECTION_WORDS = {
    "none": "none: the document's model",
    "empty-pool-is-free": "nothing compressed costs nothing",
    "hot-pages-raw": "the most popular pages are the raw ones",
    "incompressible": "pages that do not shrink, ratio by bytes",
    "all": "all of these: the corrected model",
    IN_PLACE: "another cache: pages that are hit stay compressed",
}


def title(plan: "CachePlan") -> str:
    """What the plan is for."""
    return f"{text.size(plan.memory_bytes)} of memory for {text.size(plan.data_bytes)} of data"


def how(plan: "CachePlan") -> str:
    """What it rests on."""
    distribution = plan.distribution if isinstance(plan.distribution, str) else "from a miss-ratio curve"
    source = "Harper 2018" if plan.paper else "given" if plan.device is None else plan.device.how
    return (
        f"pages of {text.size(plan.page_bytes)}, distribution {distribution}, "
        f"{plan.device_us:.1f} us to read a page ({source})"
    )


def verdict(plan: "CachePlan") -> str:
    """The advice."""
    best, raw = plan.best, plan.raw_us
    if not plan.compress and plan.share is None:
        return f"Do not compress: no share of the memory beats a raw cache, whose pages take {raw:.1f} us."
    if not plan.compress:
        gains = "no share does" if best.break_even is None else f"{100 * best.break_even:.1f} % and more do"
        return (
            f"Do not compress {100 * best.share:g} % of the memory: that does not beat a raw cache, whose pages take "
            f"{raw:.1f} us; with {best.compressor.name} {gains}."
        )
    return (
        f"Compress {100 * best.share:.0f} % of the memory with {best.compressor.name}: a page takes {best.us:.1f} us "
        f"instead of {raw:.1f}, {best.gain:.2f} times as many pages a second."
    )


def compressors(plan: "CachePlan") -> list[tuple[str, ...]]:
    """A row for each compressor."""
    return [
        (
            one.name, f"{one.ratio:.2f}", f"{one.compress_us:.1f}", f"{one.decompress_us:.1f}",
            f"{100 * one.shrinking:.0f} %", f"{one.mean_ratio or one.ratio:.2f}",
        )
        for one in plan.compressors
    ]  # fmt: skip


def choices(plan: "CachePlan") -> list[tuple[str, ...]]:
    """A row for the raw cache and for each compressor under each model."""
    raw = ("", "raw", "0.0 %", f"{100 * plan.raw_hit_ratio:.1f} %", f"{plan.raw_us:.1f}", "1.00x", "", "")
    return [raw, *map(_choice, plan.choices)]


def _choice(one: "Choice") -> tuple[str, ...]:
    return (
        one.model, one.compressor.name, f"{100 * one.share:.1f} %", f"{100 * one.hit_ratio:.1f} %", f"{one.us:.1f}",
        f"{one.gain:.2f}x", "never" if one.break_even is None else f"{100 * one.break_even:.1f} %",
        microseconds(one.device_break_even_us),
    )  # fmt: skip


def corrections(plan: "CachePlan") -> list[tuple[str, ...]]:
    """A row for each correction."""
    document = plan.corrections["none"]
    return [
        (CORRECTION_WORDS[name], f"{us:.1f}", f"{100 * us / document:.1f} %" if document else text.MISSING)
        for name, us in plan.corrections.items()
    ]


def devices(plan: "CachePlan") -> list[tuple[str, ...]]:
    """A row for each ratio."""
    return [(f"{ratio:g}", *map(microseconds, row)) for ratio, row in zip(RATIOS, plan.device_break_evens, strict=True)]


def microseconds(us: float | None) -> str:
    """A break-even of the device."""
    return "never" if us is None else f"{us:.1f}"


def comparison(plan: "CachePlan") -> list[tuple[str, ...]]:
    """A row for each cache that was measured beside the model."""
    if plan.comparison is None:
        return []
    return [
        (
            f"{100 * one.share:.0f} %", one.compressor or "raw", f"{100 * one.model_hit_ratio:.1f} %",
            f"{100 * one.measured_hit_ratio:.1f} %", f"{one.document_us:.1f}", f"{one.model_us:.1f}",
            f"{one.measured_us:.1f} [{one.measured_low_us:.1f}-{one.measured_high_us:.1f}]",
            f"{100 * (one.measured_us / one.model_us - 1):+.1f} %" if one.model_us else text.MISSING,
            f"{one.by_hits_us:+.1f}", f"{one.by_device_us:+.1f}", f"{one.left_us:+.1f}",
        )
        for one in plan.comparison.rows
    ]  # fmt: skip


def comparison_heading(plan: "CachePlan") -> str:
    """What was measured beside the model."""
    if plan.comparison is None:
        return ""
    found = plan.comparison
    return (
        f"Measured: {text.size(found.memory_bytes)} for {text.count(found.pages)} pages, one thread, "
        f"{text.count(found.accesses)} accesses, {found.runs} runs"
    )


def tables(plan: "CachePlan") -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]], int]]:
    """Heading, headers, rows and columns of text of every table."""
    found = [
        ("Compressors", COMPRESSORS, compressors(plan), 1),
        (choices_heading(plan), CHOICES, choices(plan), 2),
        (corrections_heading(plan), CORRECTIONS, corrections(plan), 1),
        (devices_heading(plan), DEVICES, devices(plan), 1),
    ]
    if plan.comparison is not None:
        found.append((comparison_heading(plan), COMPARISON, comparison(plan), 2))
    return found


def devices_heading(plan: "CachePlan") -> str:
    """What the break-evens of devices are."""
    return (
        f"Slowness of the device from which {plan.best.compressor.name} gains, in us a page, by ratio and distribution"
    )


def choices_heading(plan: "CachePlan") -> str:
    """Which share of the memory the choices have."""
    return "Best share of the memory" if plan.share is None else "The share of the memory that was asked for"


def corrections_heading(plan: "CachePlan") -> str:
    """What the corrections are applied to."""
    return f"The document's model mended, {plan.best.compressor.name} with {100 * plan.best.share:.0f} % compressed"
