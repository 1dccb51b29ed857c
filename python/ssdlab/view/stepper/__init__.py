"""Builds the page that plays the steps of an FTL forwards and backwards, offline in one file.

`state.js` applies steps, `names.js` names blocks, `draw.js` draws the state, `player.js` moves between steps, and
`own.js` simulates the reader's own requests with `simulator.wasm` (crate `ssdlab-explain`, built by `make wasm`).
Without `simulator.wasm`, the page only plays the recording. The simulator describes the steps in words.
"""

import base64
import gzip
from pathlib import Path

from markupsafe import Markup

from ssdlab import _ssdlab
from ssdlab.analyse.steps import Explanation
from ssdlab.view.explore import island
from ssdlab.view.html import template

HERE = Path(__file__).parent
SIMULATOR = HERE / "simulator.wasm"
_SCRIPTS = ("state.js", "names.js", "draw.js", "player.js", "own.js")
_LEGEND = {
    "log": {
        "use-data": "data block", "use-log": "log", "use-sequential": "sequential log", "use-isolation": "isolation",
        "second": "page on its second chance",
    },
    "page": {"use-data": "host pages", "stream-1 use-data": "GC copies", "use-map": "map pages"},
    "slc": {"use-slc": "SLC cache"},
}  # fmt: skip


def render(explanation: Explanation) -> str:
    """Returns the page as HTML. Identical explanations give byte-identical HTML."""
    scene = explanation.scene
    lanes = [{"recording": recording, "before": scene.before} for recording in explanation.recordings]
    ftls = [recording["drive"]["ftl"] for recording in explanation.recordings]
    families = {family for ftl in ftls for family in (*ftl, *("slc" for page in ftl.values() if "slc" in page))}
    return template("stepper/page.html.jinja").render(
        title=scene.title,
        text=[" ".join(part.split()) for part in scene.text.split("\n\n") if part.strip()],
        version=_ssdlab.__version__,
        css=Markup(_text("page.css")),
        script=Markup("\n".join(map(_text, _SCRIPTS))),
        scene=Markup(island({"lanes": lanes})),
        wasm=_packed(),
        legend=[(use, words) for family in sorted(families) for use, words in _LEGEND[family].items()],
    )


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _packed() -> str:
    """Returns the WebAssembly simulator as text; empty if it was not built."""
    if not SIMULATOR.exists():
        return ""
    return base64.b64encode(gzip.compress(SIMULATOR.read_bytes(), 9, mtime=0)).decode()
