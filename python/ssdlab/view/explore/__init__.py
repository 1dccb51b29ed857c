"""Interactive charts for pages: readers can zoom, see tooltips, hide series, switch to logarithmic axes, and export.

`options.js` turns charts into options of ECharts. Each page contains ECharts in compressed form: `echarts.min.js.gz` is
`dist/echarts.min.js` of version 6.1.0 of the npm package, unchanged except for `gzip -9n`.
"""

import base64
import json
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ssdlab.lazy import np
from ssdlab.view.chart import Chart
from ssdlab.view.colours import VARIABLES

HERE = Path(__file__).parent
SCRIPTS = ("options.js", "requests.js", "percentiles.js", "tables.js", "charts.js")
ECHARTS_SHA256 = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
"""SHA-256 checksum of the file from npm."""


def library() -> str:
    """Returns the compressed ECharts library as base64 text."""
    return base64.b64encode((HERE / "echarts.min.js.gz").read_bytes()).decode()


def script() -> str:
    """Returns the scripts with which a page draws its charts."""
    return "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)


def island(data: object) -> str:
    """Returns data as JSON for a script of a page. Escapes `<`, because a tag or comment would end the script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def data(charts: list[Chart]) -> str:
    """Returns charts as JSON for `options.js`."""
    return island([_plain(chart) for chart in charts])


def _plain(value: Any) -> Any:
    """Converts a value of a chart for JSON: numbers are rounded to six significant digits, and NaN becomes null."""
    # Tests the most frequent type first, for speed.
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    if isinstance(value, str):
        return VARIABLES.get(value, value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return named | {"kind": type(value).__name__}
    return _plain(value.tolist()) if isinstance(value, np.ndarray) else value
