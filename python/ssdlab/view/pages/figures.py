"""Figures of results as people read them, by the units in their names."""

from collections.abc import Callable

from ssdlab import text
from ssdlab.study.survey.outcome import Estimate
from ssdlab.view.chart import FORMS, Form

BY_END: tuple[tuple[str, Form], ...] = (
    ("_ns", "duration"),
    ("bytes_read_per_s", "bandwidth"),
    ("bytes_written_per_s", "bandwidth"),
    ("_bytes", "size"),
    ("write_amplification", "ratio"),
    ("iops", "short count"),
    ("utilisation", "percent"),
    ("_share", "percent"),
)


def form_name(figure: str) -> Form:
    """How an axis writes values of a figure."""
    return next((name for end, name in BY_END if figure.endswith(end)), "number")


def form(figure: str) -> Callable[[float], str]:
    """How values of a figure are written."""
    name = form_name(figure)
    return _plain if name == "number" else FORMS[name]


def _plain(value: float) -> str:
    if float(value).is_integer():
        return text.count(value)
    return f"-{text.significant(-value)}" if value < 0 else text.significant(value)


def signed(figure: str, value: float) -> str:
    """A change of a figure."""
    return f"{'-' if value < 0 else '+'}{form(figure)(abs(value))}"


def of_seeds(seeds: int, asked: int) -> str:
    """On how many seeds a mean rests, where that is not as many as were asked for."""
    return f" (of {text.counted(seeds, 'seeds')})" if seeds < asked else ""


def estimated(figure: str, found: Estimate | None) -> str:
    """A mean with its confidence interval."""
    if found is None:
        return text.MISSING
    write = form(figure)
    return f"{write(found.mean)} ± {write(found.half_width)}" if found.half_width else write(found.mean)
