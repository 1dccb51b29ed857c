"""Builds the report page of a plan for a compressed cache."""

from ssdlab import text
from ssdlab.analyse.cache.planning.model import IN_PLACE
from ssdlab.analyse.cache.planning.result import RATIOS, SKEWS, CachePlan, Choice
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table

COMPRESSORS = ("compressor", "ratio", "compress, us", "restore, us", "pages that shrink", "mean of files")
CHOICES = (
    "model", "compressor", "compress", "hits", "us per page", "p99, us", "pages/s", "gains from", "device from, us",
)  # fmt: skip
DEVICES = ("ratio", *SKEWS)
COMPARISON = (
    "compress", "compressor", "hits: model", "measured", "us: document", "model", "measured", "difference", "by hits",
    "by device", "unexplained", "p99: model", "measured",
)  # fmt: skip
CORRECTIONS = ("correction", "us per page", "of Harper's")

CORRECTION_WORDS = {
    "none": "none: Harper's model",
    "empty-pool-is-free": "no compression in caches without compressed pool",
    "hot-pages-raw": "the most popular pages stay uncompressed",
    "incompressible": "incompressible pages stay uncompressed; ratio by bytes",
    "all": "all of these corrections",
    IN_PLACE: "all of these, and hit pages stay compressed",
}


def page(plan: CachePlan) -> Page:
    """Returns the report page of a plan for a compressed cache."""
    best = plan.best.compressor.name
    chosen = "Best share of compressed memory" if plan.share is None else "Requested share of compressed memory"
    mended = f"Harper's model, corrected: {best} with {100 * plan.best.share:.0f} % compressed"
    slow = f"Device read time per page (us) above which {best} pays off, by compression ratio and distribution"
    rows = zip(RATIOS, plan.device_break_evens, strict=True)
    break_evens = [(f"{ratio:g}", *map(_microseconds, row)) for ratio, row in rows]
    return Page(
        title=f"{text.size(plan.memory_bytes)} of memory for {text.size(plan.data_bytes)} of data",
        lead=[Paragraph(_how(plan), "soft")],
        partial="stopped while measuring the real cache" if plan.partial else "",
        remarks=plan.remarks,
        sections=[
            Section("", [Paragraph(_verdict(plan), "strong"), Figure(plan.plot.chart)]),
            Section("Compressors", [Table(COMPRESSORS, _compressors(plan))]),
            Section("Choices", [Table(CHOICES, _choices(plan), chosen, left=2)]),
            Section("Corrections", [Table(CORRECTIONS, _corrections(plan), mended)]),
            Section("Devices", [Table(DEVICES, break_evens, slow)]),
            *(Section("Model and real cache", [table]) for table in _comparison(plan)),
        ],
        footer="Model: Harper, Viability of Time-Memory Trade-Offs in Large Data Sets, 2018.",
    )


def _how(plan: CachePlan) -> str:
    distribution = plan.distribution if isinstance(plan.distribution, str) else "from a miss-ratio curve"
    source = "Harper 2018" if plan.paper else "given" if plan.device is None else plan.device.how
    return (
        f"pages of {text.size(plan.page_bytes)}, distribution {distribution}, "
        f"{plan.device_us:.1f} us to read a page ({source})"
    )


def _verdict(plan: CachePlan) -> str:
    """Returns sentences that state whether, and how, to compress the cache."""
    best, raw = plan.best, plan.raw_us
    if not plan.compress and plan.share is None:
        return f"Do not compress: no compressed share is faster than a raw cache ({raw:.1f} us per page)."
    if not plan.compress:
        gains = "no share is faster"
        if best.break_even is not None:
            gains = f"shares from {100 * best.break_even:.1f} % are faster"
        return (
            f"Do not compress {100 * best.share:g} % of the memory: this is not faster than a raw cache ({raw:.1f} us "
            f"per page); with {best.compressor.name}, {gains}."
        )
    return (
        f"Compress {100 * best.share:.0f} % of the memory with {best.compressor.name}: an access takes {best.us:.1f} "
        f"us on average instead of {raw:.1f} us, so the cache serves {best.gain:.2f} times as many pages per second."
    )


def _compressors(plan: CachePlan) -> list[tuple[str, ...]]:
    return [
        (
            compressor.name, f"{compressor.ratio:.2f}", f"{compressor.compress_us:.1f}",
            f"{compressor.decompress_us:.1f}", f"{100 * compressor.shrinking:.0f} %",
            f"{compressor.mean_ratio or compressor.ratio:.2f}",
        )
        for compressor in plan.compressors
    ]  # fmt: skip


def _choices(plan: CachePlan) -> list[tuple[str, ...]]:
    """Returns a table row for the cache without compression, and one for each compressor with each model."""
    hits = f"{100 * plan.raw_hit_ratio:.1f} %"
    raw = ("", "raw", "0.0 %", hits, f"{plan.raw_us:.1f}", f"{plan.raw_p99_us:.1f}", "1.00x", "", "")
    return [raw, *map(_choice, plan.choices)]


def _choice(choice: Choice) -> tuple[str, ...]:
    gains_from = "never" if choice.break_even is None else f"{100 * choice.break_even:.1f} %"
    return (
        choice.model, choice.compressor.name, f"{100 * choice.share:.1f} %", f"{100 * choice.hit_ratio:.1f} %",
        f"{choice.us:.1f}", f"{choice.p99_us:.1f}", f"{choice.gain:.2f}x", gains_from,
        _microseconds(choice.device_break_even_us),
    )  # fmt: skip


def _corrections(plan: CachePlan) -> list[tuple[str, ...]]:
    document = plan.corrections["none"]
    return [
        (CORRECTION_WORDS[name], f"{us:.1f}", f"{100 * us / document:.1f} %" if document else text.MISSING)
        for name, us in plan.corrections.items()
    ]


def _microseconds(us: float | None) -> str:
    return "never" if us is None else f"{us:.1f}"


def _comparison(plan: CachePlan) -> list[Table]:
    """Returns a table with a row for each measured cache."""
    measured = plan.comparison
    if measured is None:
        return []
    rows = [
        (
            f"{100 * row.share:.0f} %", row.compressor or "raw", f"{100 * row.model_hit_ratio:.1f} %",
            f"{100 * row.measured_hit_ratio:.1f} %", f"{row.document_us:.1f}", f"{row.model_us:.1f}",
            f"{row.measured_us:.1f} [{row.measured_low_us:.1f}-{row.measured_high_us:.1f}]",
            f"{100 * (row.measured_us / row.model_us - 1):+.1f} %" if row.model_us else text.MISSING,
            f"{row.by_hits_us:+.1f}", f"{row.by_device_us:+.1f}", f"{row.left_us:+.1f}", f"{row.model_p99_us:.1f}",
            f"{row.measured_p99_us:.1f}",
        )
        for row in measured.rows
    ]  # fmt: skip
    heading = (
        f"Measured: {text.size(measured.memory_bytes)} for {text.count(measured.pages)} pages, one thread, "
        f"{text.count(measured.accesses)} accesses, {measured.runs} runs"
    )
    return [Table(COMPARISON, rows, heading, left=2)]
