"""Draws steps as SVG for slides and documents: a picture of each step, or one animation.

The simulator (crate `ssdlab-explain`) supplies the data of each picture: names, uses and pages of the blocks. Pictures
have the same colours as the page.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any

from ssdlab import text
from ssdlab.analyse.steps import Explanation
from ssdlab.view.stepper import HERE

SECONDS = 2
"""Time in seconds for which an animation shows each step."""
_WIDTHS = {1: 640, 2: 480}
"""Width of each drive in pixels, by the number of drives."""
_MARGIN, _LINE, _GAP = 12, 17, 8
_CELL_WIDTH, _CELL_HEIGHT = 46, 19
_HEAD = 44
"""Height of the names above the pages of a block."""
_MOST_ROWS = 16
_LETTER = 7.4
"""Average width of a caption letter in pixels, for wide fonts."""
_SMALL = 'font-size="9.5"'
_LIGHT, _, _ = (HERE / "page.css").read_text("utf-8").partition("@media")
_COLOURS: dict[str, str] = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", _LIGHT))

Parts = dict[str, str]
"""Parts of a picture by name. An animation redraws a part only at the steps that change it."""


def pictures(explanation: Explanation, first: int, last: int) -> Iterator[str]:
    """Yields the pictures of the steps from `first` to `last`."""
    drawing = _Drawing(explanation, first, last)
    for parts in drawing.steps:
        yield drawing.file(parts.values())


def animation(explanation: Explanation, first: int, last: int) -> str:
    """Returns a picture that shows the steps from `first` to `last` in an endless loop, without a script."""
    drawing = _Drawing(explanation, first, last)
    count = len(drawing.steps)
    pieces = [f'<animate id="clock" attributeName="x" begin="0s;clock.end" dur="{count * SECONDS}s"/>']
    for name in dict.fromkeys(name for parts in drawing.steps for name in parts):
        end = 0
        for piece, run in groupby(parts.get(name, "") for parts in drawing.steps):
            begin, end = end, end + len([*run])
            if piece:
                pieces.append(_shown(piece, begin, end, count))
    return drawing.file(pieces)


def _shown(piece: str, begin: int, end: int, count: int) -> str:
    """Makes a piece visible from step `begin` until step `end` begins. Without animation, the first step is shown."""
    if end - begin == count:
        return piece
    if begin == 0:
        base, change, at, steps = "visible", "hidden", end, count - end
    else:
        base, change, at, steps = "hidden", "visible", begin, end - begin
    timing = f'begin="clock.begin+{at * SECONDS}s" dur="{steps * SECONDS}s"'
    return f'<g visibility="{base}"><set attributeName="visibility" to="{change}" {timing}/>{piece}</g>'


class _Drawing:
    """Pictures of successive steps, all of the same size."""

    def __init__(self, explanation: Explanation, first: int, last: int) -> None:
        self._title = explanation.scene.title
        clock = explanation.clock()
        width = _WIDTHS[len(explanation.recordings)]
        shown = clock[first : last + 1]
        lanes = [
            _Lane(recording, explanation.frames(at, shown[0][at], shown[-1][at]), shown[0][at], at * width + _MARGIN,
                  width - 2 * _MARGIN)
            for at, recording in enumerate(explanation.recordings)
        ]  # fmt: skip
        lines = max(len(lane.caption(after)) for steps in shown for lane, after in zip(lanes, steps, strict=True))
        top = _MARGIN + 3 * _LINE
        self.steps = [
            {
                "title": _text(_MARGIN, _MARGIN + 12, self._title, "ink", 'font-size="16" font-weight="600"'),
                "request": _text(_MARGIN, _MARGIN + 2 * _LINE, lanes[0].request(steps[0]), "soft"),
            }
            | {
                f"{at} {name}": piece
                for at, (lane, after) in enumerate(zip(lanes, steps, strict=True))
                for name, piece in lane.parts(after, top, lines).items()
            }
            for steps in shown
        ]
        self._size = width * len(lanes), top + max(lane.height(lines) for lane in lanes)

    def file(self, pieces: Iterable[str]) -> str:
        width, height = self._size
        body = "\n".join(pieces)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">\n'
            f"<title>{escape(self._title)}</title>\n"
            '<defs><pattern id="old" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<path d="M0 0V5" stroke="{_COLOURS["grid"]}" stroke-width="2"/></pattern></defs>\n'
            f'<rect width="{width}" height="{height}" fill="{_COLOURS["page"]}"/>\n{body}\n</svg>\n'
        )


class _Lane:
    """Pictures of one drive."""

    def __init__(
        self, recording: dict[str, Any], frames: list[dict[str, Any]], first: int, left: int, width: int
    ) -> None:
        self._recording, self._frames, self._first, self._left, self._width = recording, frames, first, left, width
        self._is_log = "log" in recording["drive"]["ftl"]
        self._pages = int(recording["drive"]["pages_per_block"])
        columns = math.ceil(self._pages / _MOST_ROWS)
        self._rows = math.ceil(self._pages / columns)
        self._block = columns * (_CELL_WIDTH + 2) + 6, _HEAD + self._rows * (_CELL_HEIGHT + 2) + 4
        self._across = max(1, (width + _GAP) // (self._block[0] + _GAP))

    def request(self, after: int) -> str:
        """Describes the request that is being served after the given number of steps."""
        requests = [step for step in self._recording["steps"] if step["step"] == "request"]
        begun = sum(step["step"] == "request" for step in self._recording["steps"][:after])
        if not begun:
            return f"{len(requests)} requests"
        op, page, count = (requests[begun - 1][key] for key in ("op", "page", "count"))
        return f"Request {begun} of {len(requests)}: {op} {page}{f'–{page + count - 1}' if count > 1 else ''}"

    def _around(self, after: int) -> list[int]:
        """Returns the indices of the spans that contain the latest step, longer spans first, except requests."""
        spans = enumerate(self._recording["spans"])
        return [at for at, span in spans if span["from"] < after <= span["to"] + 1 and span["span"] != "request"]

    def caption(self, after: int) -> list[tuple[str, str]]:
        """Returns lines with their font weights: the spans that contain the step, then the step itself."""
        told = [(self._recording["summaries"][at], "600") for at in self._around(after)]
        told.append((self._recording["sentences"][after - 1] if after else "Before the first request.", "400"))
        return [(line, weight) for words, weight in told for line in textwrap.wrap(words, int(self._width / _LETTER))]

    def height(self, lines: int) -> int:
        down = math.ceil(len(self._frames[0]["blocks"]) / self._across)
        return (lines + 3) * _LINE + down * (self._block[1] + _GAP) + _MARGIN

    def parts(self, after: int, top: int, lines: int) -> Parts:
        """Draws the drive after the given number of steps."""
        frame = self._frames[after - self._first]
        step = self._recording["steps"][after - 1] if after else {"step": ""}
        marks = {step.get("ppn"): step["step"], step.get("from"): "read", step.get("to"): "program"}
        blocks = top + (lines + 2) * _LINE
        captions = (
            _text(self._left, top + at * _LINE, line, "ink", f'font-weight="{weight}"')
            for at, (line, weight) in enumerate(self.caption(after), 1)
        )
        parts = {
            "name": _text(self._left, top, self._recording["title"], "ink", 'font-weight="600"'),
            "caption": "".join(captions),
            "counts": _text(self._left, blocks - 10, _counted(frame), "soft"),
        }
        for number, block in enumerate(frame["blocks"]):
            erased = step["step"] == "erase" and step["block"] == number
            parts[f"block {number}"] = self._box(block, number, blocks, erased=erased)
            is_relocated = not self._is_log and block["use"] == "data" and block["frontier"] == 1
            use = "relocated" if is_relocated else block["use"]
            for ppn, page in enumerate(block["pages"], number * self._pages):
                parts[f"page {ppn}"] = _page(*self._cell(ppn, blocks), page, use, marks.get(ppn, ""))
        parts["arrows"] = "".join(self._arrows(after, blocks))
        return parts

    def _place(self, number: int, top: int) -> tuple[int, int]:
        """Returns the upper left corner of a block."""
        down, across = divmod(number, self._across)
        width, height = self._block
        return self._left + across * (width + _GAP), top + down * (height + _GAP)

    def _cell(self, ppn: int, top: int) -> tuple[int, int]:
        """Returns the upper left corner of a page."""
        number, offset = divmod(ppn, self._pages)
        column, row = divmod(offset, self._rows)
        left, top = self._place(number, top)
        return left + 4 + column * (_CELL_WIDTH + 2), top + _HEAD + row * (_CELL_HEIGHT + 2)

    def _box(self, block: dict[str, Any], number: int, top: int, *, erased: bool) -> str:
        """Draws a block without its pages."""
        (left, above), (width, height) = self._place(number, top), self._block
        stroke = f'stroke="{_COLOURS["write"]}" stroke-width="3"' if erased else f'stroke="{_COLOURS["line"]}"'
        box = f'x="{left}" y="{above}" width="{width}" height="{height}" rx="5" fill="{_COLOURS["card"]}"'
        use, of, owner = block["text"].partition(" of ")
        detail = f"{of}{owner} PBN {number}" if self._is_log else text.counted(block["erases"], "erases")
        words = (
            (14, block["name"], "ink", 'font-weight="700"'),
            (26, use, "soft", _SMALL),
            (38, detail, "soft", _SMALL),
        )
        return f"<rect {box} {stroke}/>" + "".join(_text(left + 5, above + down, *more) for down, *more in words)

    def _arrows(self, after: int, top: int) -> Iterator[str]:
        """Draws an arrow for each copy so far in the current merge or collection; a copy in the last step is bold."""
        spans = self._around(after)
        begin = self._recording["spans"][spans[-1]]["from"] if spans else max(0, after - 1)
        for at, step in enumerate(self._recording["steps"][begin:after], begin + 1):
            if step["step"] == "copy":
                (x, y), (to_x, to_y) = (
                    (left + _CELL_WIDTH / 2, above + _CELL_HEIGHT / 2)
                    for left, above in (self._cell(step[end], top) for end in ("from", "to"))
                )
                yield _arrow(x, y, to_x, to_y, "2.2" if at == after else '1.3" stroke-dasharray="3 4" opacity="0.6')


def _counted(frame: Mapping[str, int]) -> str:
    amplification = f"{frame['programs'] / frame['host']:.2f}" if frame["host"] else "–"
    return (
        f"host pages {frame['host']} · flash programs {frame['programs']} · erases {frame['erases']} · "
        f"write amplification {amplification}"
    )


def _text(x: float, y: float, words: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{_COLOURS[colour]}" {more}>{escape(words)}</text>'


def _page(x: int, y: int, page: Mapping[str, Any], use: str, mark: str) -> str:
    """Draws a flash page: empty if erased, hatched if outdated, else in the colour of its block's use."""
    style = f'fill="{_COLOURS["soft"]}" text-decoration="line-through"'
    if not page["text"]:
        fill, line = "none", f'stroke="{_COLOURS["grid"]}" stroke-dasharray="2 2"'
    elif page["valid"]:
        fill, line = _COLOURS[use], f'stroke="{_COLOURS["line"]}"'
        style = f'fill="{_COLOURS["ink"]}" font-weight="600"'
    else:
        fill, line = "url(#old)", ""
    if mark == "read":
        line = f'stroke="{_COLOURS["read"]}" stroke-width="2" stroke-dasharray="4 2"'
    elif mark == "program":
        line = f'stroke="{_COLOURS["write"]}" stroke-width="3"'
    drawn = f'<rect x="{x}" y="{y}" width="{_CELL_WIDTH}" height="{_CELL_HEIGHT}" rx="3" fill="{fill}" {line}/>'
    if not page["text"]:
        return drawn
    words = page["text"] + ("²" if page["second"] else "")
    middle = f'x="{x + _CELL_WIDTH / 2:g}" y="{y + 14}" text-anchor="middle" font-size="12"'
    return f"{drawn}<text {middle} {style}>{words}</text>"


def _arrow(x: float, y: float, to_x: float, to_y: float, width: str) -> str:
    """Draws a bent arrow between two points."""
    length = math.hypot(to_x - x, to_y - y) or 1
    bend = min(40, length / 5) / length
    over_x, over_y = (x + to_x) / 2 + (to_y - y) * bend, (y + to_y) / 2 - (to_x - x) * bend
    angle = math.atan2(to_y - over_y, to_x - over_x)
    tips = [f"{to_x - 7 * math.cos(angle + turn):.1f} {to_y - 7 * math.sin(angle + turn):.1f}" for turn in (0.5, -0.5)]
    path = f"M{x:g} {y:g}Q{over_x:.1f} {over_y:.1f} {to_x:g} {to_y:g}M{tips[0]}L{to_x:g} {to_y:g}L{tips[1]}"
    return f'<path d="{path}" fill="none" stroke="{_COLOURS["write"]}" stroke-linecap="round" stroke-width="{width}"/>'
