"""Charts that the reader of a page explores: zoom, values under the pointer, series on and off, logarithms, files.

`options.js` turns charts into options of ECharts, which a page carries packed: `echarts.min.js.gz` is
`dist/echarts.min.js` of version 6.1.0 of the npm package, unchanged but for `gzip -9n`.
"""

import base64
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ssdlab.lazy import np
from ssdlab.view.chart import Chart
from ssdlab.view.colours import VARIABLES
from ssdlab.view.island import island

HERE = Path(__file__).parent
SCRIPTS = ("options.js", "requests.js", "percentiles.js", "tables.js", "charts.js")
ECHARTS_SHA256 = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
"""Of the file as npm has it."""


def library() -> str:
    """ECharts as a page carries it."""
    return base64.b64encode((HERE / "echarts.min.js.gz").read_bytes()).decode()


def script() -> str:
    """What draws the charts."""
    return "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)


def data(charts: list[Chart]) -> str:
    """Charts as `options.js` reads them, to stand in a script of a page."""
    return island([_plain(chart) for chart in charts])


def _plain(value: Any) -> Any:
    """As JSON has it: numbers of six digits, which no screen can tell from more; none where there is no number."""
    # Most of a chart are numbers.
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    if isinstance(value, str):
        return VARIABLES.get(value, value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return named | {"kind": type(value).__name__}
    return _plain(value.tolist()) if isinstance(value, np.ndarray) else value
