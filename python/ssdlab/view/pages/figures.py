"""Formats metrics as text, by their entry in `model.metrics` or, without an entry, by the unit in their name."""

from collections.abc import Callable

from ssdlab import text
from ssdlab.model.metrics import BY_NAME, Metric
from ssdlab.study.store.study import Study
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
"""Formats by the suffix of a metric's name, for metrics that `model.metrics` does not list, such as fleet metrics."""

_FORM_NAMES: dict[object, Form] = {write: name for name, write in FORMS.items()}


def form_of(metric: Metric) -> Form:
    """Returns the axis format for values of a metric."""
    return "number" if metric.format is text.count else _FORM_NAMES.get(metric.format, "number")


def form_name(figure: str) -> Form:
    """Returns the axis format for values of a metric, which `model.metrics` need not list."""
    if figure in BY_NAME:
        return form_of(BY_NAME[figure])
    return next((name for end, name in BY_END if figure.endswith(end)), "number")


def form(figure: str) -> Callable[[float], str]:
    """Returns the function that formats values of a metric as text."""
    name = form_name(figure)
    return _plain if name == "number" else FORMS[name]


def _plain(value: float) -> str:
    if float(value).is_integer():
        return text.count(value)
    return f"-{text.significant(-value)}" if value < 0 else text.significant(value)


def signed(figure: str, value: float) -> str:
    """Formats a change of a metric with its sign."""
    return f"{'-' if value < 0 else '+'}{form(figure)(abs(value))}"


def of_seeds(seeds: int, asked: int) -> str:
    """States how many seeds a mean covers, if fewer seeds than requested have a value."""
    return f" (of {text.counted(seeds, 'seeds')})" if seeds < asked else ""


def estimated(figure: str, estimate: Estimate | None) -> str:
    """Formats a metric's mean with its confidence interval."""
    if estimate is None:
        return text.MISSING
    write = form(figure)
    return f"{write(estimate.mean)} ± {write(estimate.half_width)}" if estimate.half_width else write(estimate.mean)


def left_to_do(study: Study) -> str:
    """States the number of missing runs of a study; empty if the study is complete."""
    left, asked = text.count(study.asked - study.finished), text.count(study.asked)
    return f"{left} of {asked} runs remain" if study.partial else ""


INTERVALS = "mean ± half the width of its 95 % confidence interval over seeds"
"""Legend for means with confidence intervals."""
