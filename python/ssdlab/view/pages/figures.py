"""Figures of results as people read them, by the units in their names."""

from collections.abc import Callable

from ssdlab import text
from ssdlab.study.survey.outcome import Estimate

FORMS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_ns", text.duration),
    ("bytes_read_per_s", text.bandwidth),
    ("bytes_written_per_s", text.bandwidth),
    ("_bytes", text.size),
    ("write_amplification", text.ratio),
    ("iops", text.short_count),
    ("utilisation", text.percent),
    ("_share", text.percent),
)


def form(figure: str) -> Callable[[float], str]:
    """How values of a figure are written."""
    return next((form for end, form in FORMS if figure.endswith(end)), _plain)


def _plain(value: float) -> str:
    if float(value).is_integer():
        return text.count(value)
    return f"-{text.significant(-value)}" if value < 0 else text.significant(value)


def signed(figure: str, value: float) -> str:
    """A change of a figure."""
    return f"{'-' if value < 0 else '+'}{form(figure)(abs(value))}"


def estimated(figure: str, found: Estimate | None) -> str:
    """A mean with its confidence interval."""
    if found is None:
        return text.MISSING
    write = form(figure)
    return f"{write(found.mean)} ± {write(found.half_width)}" if found.half_width else write(found.mean)
