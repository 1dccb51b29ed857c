"""Shows an FTL step by step on the requests of a scene.

A scene is a TOML file with requests and settings of one or two small drives; `scenes/` holds the scenes that ship with
ssdlab. The simulation is in Rust; `ssdlab.view.stepper` makes the animated page and the pictures.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, Sets, layered, set_by
from ssdlab.model.files import naming, replacing
from ssdlab.model.result import Result
from ssdlab.model.several import several
from ssdlab.model.source import Source
from ssdlab.model.toml_file import read_toml

SCENES = Path(__file__).parent / "scenes"
SMALL_PAGES = 32
MOST_DRAWN = 40_000
"""Maximum number of flash pages drawn at once, summed over all pictures."""
_SMALL = (
    "time=serial", f"device.capacity={SMALL_PAGES * 4}KiB", "device.op=100%", "device.reserve=extra",
    "nand.page_size=4KiB", "nand.pages_per_block=4", "nand.order=any", "nand.channels=1", "nand.ways=1",
    "nand.dies=1", "nand.planes=1", "precondition.overwrite=none",
)  # fmt: skip
"""Settings of a drive that is small enough to draw: one plane with 32 pages, 100 % spare space and the reserve."""
_SMALL_SBFAST = "ftl.sbfast.sub_block=2"
"""Half a block, because the default sub-block is larger than a block of the small drive."""
_SLIDES = ("nand.read=25us", "nand.program=200us", "nand.erase=2ms", "nand.transfer_per_kib=0ns")
"""Flash operation latencies from the SBFAST and FASTer slides, the default of scenes."""
SMALL_DRIVE = "tlc-chip"
"""Preset of the small drive."""
_DEFAULT = "default (the small drive of ssdlab explain)"
"""Origin of the small drive's settings, as shown in messages."""
_TEXTS = ("title", "text", "before", "requests")
"""Keys of a scene file, and fields of `Scene`, that are strings."""
_OPERATIONS = {0: "r", 1: "", 2: "t"}
"""Letter that precedes the pages of a request in a scene, by operation. Flushes have no pages and are not shown."""


def small(*layers: Sets) -> list[Sets]:
    """Returns `layers`, preceded by a layer of settings that makes the drive small enough to draw."""
    below = [set_by(_DEFAULT, _SMALL), *layers]
    for at, layer in enumerate(layers, 1):
        if any(setting.startswith("ftl") and "sbfast" in setting for _, setting in layer):
            # Any earlier, a layer in between that selects another FTL would discard the SBFAST settings.
            below.insert(at, set_by(_DEFAULT, _SMALL_SBFAST))
            break
    return below


@dataclass(frozen=True)
class Scene:
    """An example scene: one or two small drives, and requests for them."""

    title: str
    text: str
    """Explanation of the scene; empty lines separate paragraphs."""
    drives: tuple[Mapping[str, Any], ...]
    """Drives of the scene, each described in the format of the crate `ssdlab-explain`."""
    requests: str
    """Requests of the scene: pages to write, such as `5` or `4-7`; the prefix `r` reads pages, `t` trims pages."""
    before: str = ""
    """Requests executed before the first step that is shown."""
    file: str = ""
    """Name of the scene's TOML file, for messages."""


class Explanation:
    """Step-by-step recordings of one or two FTLs while they execute a few requests."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.recordings = [_answered(drive, scene)["recording"] for drive in scene.drives]
        """One recording for each FTL: initial state, steps with sentences, and spans of steps, such as requests."""

    def __repr__(self) -> str:
        return f"<ssdlab.Explanation: {self.scene.title}>"

    def to_dict(self) -> dict[str, Any]:
        """Returns title, text and requests of the scene, and the recordings, ready for JSON."""
        return {**{key: getattr(self.scene, key) for key in _TEXTS}, "recordings": self.recordings}

    def to_html(self) -> str:
        """Returns the animated page as one self-contained file. Identical scenes give identical pages."""
        html: str = room("view.stepper").render(self)
        return html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file atomically.

        Raises:
            OSError: If the page cannot be written.
        """
        _save(Path(path), self.to_html())

    def clock(self) -> list[tuple[int, ...]]:
        """Returns how many steps each drive has taken at each step of the page. Drives start each request together."""
        requests = ((span for span in lane["spans"] if span["span"] == "request") for lane in self.recordings)
        clock = [(0,) * len(self.recordings)]
        for spans in zip(*requests, strict=True):
            longest = max(span["to"] - span["from"] for span in spans) + 1
            clock += (tuple(min(span["from"] + at, span["to"] + 1) for span in spans) for at in range(1, longest + 1))
        return clock

    def frames(self, drive: int, first: int, last: int) -> list[dict[str, Any]]:
        """Returns the blocks and pages of a drive after each of its steps from `first` to `last`."""
        frames: list[dict[str, Any]] = _answered(self.scene.drives[drive], self.scene, frames=(first, last))["frames"]
        return frames

    def save_svg(self, directory: str | os.PathLike[str], first: int = 0, last: int | None = None) -> list[Path]:
        """Writes an SVG file for each step to a directory, and returns the paths. Steps count from 0, as on the page.

        Raises:
            ConfigError: If a step does not exist, or the number of pictures is too large.
            OSError: If a file cannot be written.
        """
        first, last = self._drawable(first, last)
        paths = [Path(directory) / f"step-{number:04}.svg" for number in range(first, last + 1)]
        with naming(directory):
            Path(directory).mkdir(parents=True, exist_ok=True)
        for path, picture in zip(paths, room("view.stepper.picture").pictures(self, first, last), strict=True):
            _save(path, picture)
        return paths

    def save_animation(self, path: str | os.PathLike[str], first: int = 0, last: int | None = None) -> None:
        """Writes one animated SVG file that shows each step for two seconds, in browsers and on web pages.

        Raises:
            ConfigError: If a step does not exist, or the number of pictures is too large.
            OSError: If the file cannot be written.
        """
        _save(Path(path), room("view.stepper.picture").animation(self, *self._drawable(first, last)))

    def _drawable(self, first: int, last: int | None) -> tuple[int, int]:
        """Checks that the steps exist and are few enough to draw; None stands for the last step."""
        end = len(self.clock()) - 1
        last = end if last is None else last
        for name, number, least in (("from", first, 0), ("to", last, first)):
            if not least <= number <= end:
                raise ConfigError(f"step {number} does not exist; --{name} must be from {least} to {end}")
        pages = sum(len(recording["start"]["pages"]) for recording in self.recordings)
        most = max(1, MOST_DRAWN // pages)
        if last - first >= most:
            drawn = f"{last - first + 1} steps of {pages} flash pages"
            raise ConfigError(f"{drawn} are too many to draw; set --to {first + most - 1}")
        return first, last

    def _repr_html_(self) -> str:
        """Returns the animated page in an HTML frame, for notebooks."""
        return (
            f'<iframe title="{escape(self.scene.title)}" srcdoc="{escape(self.to_html())}" '
            'style="width: 100%; height: 46rem; border: 0"></iframe>'
        )


def _save(path: Path, content: str) -> None:
    with naming(path), replacing(path) as hidden:
        hidden.write_text(content, encoding="utf-8")


def _answered(drive: Mapping[str, Any], scene: Scene, **more: object) -> dict[str, Any]:
    question = {"drive": drive, "before": scene.before, "requests": scene.requests, **more}
    answer: dict[str, Any] = json.loads(_ssdlab.record_steps(json.dumps(question)))
    if "error" in answer:
        raise ConfigError(f"{scene.file}: {answer['error']}" if scene.file else answer["error"])
    return answer


def scenes() -> list[str]:
    """Returns the names of the scenes that ship with ssdlab."""
    return sorted(path.stem for path in SCENES.glob("*.toml"))


def scene(name: str | os.PathLike[str]) -> Scene:
    """Reads an example scene, given its name or the path of its TOML file."""
    if str(name) in scenes():
        return _read(SCENES / f"{name}.toml")
    if Path(name).suffix == ".toml":
        return _read(Path(name))
    known = f"; choose one of {', '.join(scenes())}, or use the path of a TOML file"
    raise ConfigError(f"unknown scene {name}{text.suggestion(str(name), scenes()) or known}")


def _read(path: Path) -> Scene:
    file = text.path(path)
    _, document = read_toml(path, file)
    try:
        return replace(_of_document(document), file=file)
    except ConfigError as error:
        raise ConfigError("\n".join(f"{file}: {fault}" for fault in str(error).splitlines())) from None


def _of_document(document: Mapping[str, Any]) -> Scene:
    for key, value in document.items():
        if key not in (*_TEXTS, "set", "case"):
            known = f"; use {', '.join(_TEXTS)}, [set] or [[case]]; for a configuration file, use --config"
            raise ConfigError(f"{key}: unknown key{text.suggestion(key, _TEXTS) or known}")
        if key in _TEXTS and not isinstance(value, str):
            raise ConfigError(f'{key}: {value!r} is not a string; set {key} = "..."')
    shared, cases = document.get("set", {}), document.get("case", [{}])
    tables = [shared, *cases] if isinstance(cases, list) else []
    if not (2 <= len(tables) <= 3 and all(isinstance(table, dict) for table in tables)):
        raise ConfigError("a scene file needs one [set] table and one or two [[case]] tables with settings")
    below = [set_by(_DEFAULT, _SLIDES), set_by("[set]", shared)]
    drawn = (small(*below, set_by(f"[[case]] {number}", case)) for number, case in enumerate(cases, 1))
    texts = {key: document[key] for key in _TEXTS if key in document}
    return replace(of_configs([layered(SMALL_DRIVE, [], layers) for layers in drawn], ""), **texts)


class Excerpt(NamedTuple):
    """Requests taken from a trace, in the notation of example scenes: `5 4-7 r5`."""

    requests: str
    """Requests as text, in the notation of scene files; pages are renumbered from 0 in the order of their addresses."""
    pages: int
    """Number of pages that the excerpt touches."""
    device: str | None = None
    """Device of the requests if the trace has several devices; None otherwise."""


def excerpt(trace: Source, page_bytes: int, skip: int = 0, count: int = 100) -> Excerpt:
    """Takes up to `count` requests from a trace, after the first `skip` requests."""
    reader, batches, left = trace.open_addresses(), list[_ssdlab.Requests](), skip + count
    while left > 0 and len(batch := reader.read(left)):
        batches.append(batch)
        left -= len(batch)
    requests = _ssdlab.Requests.concatenate(batches)
    columns = (requests.column(name)[skip : skip + count].tolist() for name in ("op", "offset", "bytes"))
    spans = [
        (_OPERATIONS[op], first, last)
        for op, offset, size in zip(*columns, strict=True)
        if op in _OPERATIONS and size
        for first, last in [_pages(offset, size, page_bytes, whole=op == 2)]
        if first <= last
    ]
    if not spans:
        raise ConfigError(_without_pages(skip, count, whole=left > 0))
    touched = sorted({page for _, first, last in spans for page in range(first, last + 1)})
    number = {page: at for at, page in enumerate(touched)}
    written = " ".join(f"{letter}{number[first]}-{number[last]}" for letter, first, last in spans)
    report = trace.report_of(reader)
    others = report is not None and any(name == "other_device" and value for name, _, _, value in report["counts"])
    return Excerpt(written, len(touched), report["device"] if report is not None and others else None)


def _pages(offset: int, size: int, page_bytes: int, *, whole: bool) -> tuple[int, int]:
    """Returns the first and last page that a request touches or, for a trim, covers completely."""
    if whole:
        return -(-offset // page_bytes), (offset + size) // page_bytes - 1
    return offset // page_bytes, (offset + size - 1) // page_bytes


def _without_pages(skip: int, count: int, *, whole: bool) -> str:
    if skip:
        return f"no request after the first {skip} reads, writes or trims a page; lower --skip"
    if whole:
        return "the trace has no reads, writes or trims of pages"
    return f"none of the first {count} requests reads, writes or trims a page; raise --skip or --most"


@takes(requests="0 4 8-11 r5")
def explain(
    what: "str | os.PathLike[str] | Config | Overrides | Iterable[Config | Mapping[str, object]]", requests: str = ""
) -> Explanation:
    """Runs an FTL step by step and returns an animated page.

    Args:
        what: Name or path of a scene; or one configuration of a small drive, or two configurations to compare. Settings
            such as `{"ftl": "fast"}` are applied to a drive of 32 pages. The drive is filled as configured, but not
            overwritten.
        requests: Requests for the configured drives: pages to write, such as `"5 4-7"`; `r5` reads and `t5` trims.

    Raises:
        ConfigError: If the scene does not exist, or a drive is too large to draw.

    Example:
        >>> ssdlab.explain("fast-thrashing").save("thrashing.html")  # doctest: +SKIP
    """
    if isinstance(what, str | os.PathLike):
        if requests:
            raise ConfigError("a scene has its own requests; omit requests, or use a configuration instead of a scene")
        return Explanation(scene(what))
    each: list[Any] = [what] if isinstance(what, Config | Mapping) else several(what)
    configs = [_drawn(each)] if each and isinstance(each[0], str) else [_drawn(given) for given in each]
    return Explanation(of_configs(configs, requests))


def _drawn(given: "Config | Overrides") -> Config:
    """Applies settings that are not a `Config` to the small drive."""
    return given if isinstance(given, Config) else layered(SMALL_DRIVE, [], small(set_by("config", given)))


def of_result(result: Result, requests: str) -> Explanation:
    """Runs the FTL of a result's configuration step by step on a small drive."""
    own = [setting for setting in result.config.settings if setting.key.partition(".")[0] == "ftl"]
    return explain({key: value for key, value, origin in own if origin != "default"}, requests)


def of_configs(configs: Sequence[Config], requests: str, about: str = "") -> Scene:
    """Returns an example scene with the configured drives; `about` describes the requests."""
    drives = tuple(json.loads(_ssdlab.steps_drive(config._inner)) for config in configs)
    if not 1 <= len(drives) <= 2:
        raise ConfigError(f"cannot show {len(drives)} configurations; use one or two")
    filled = drives[0]["filled"]
    drive = f"The drive has {drives[0]['logical_pages']} pages; {filled} were written once, in address order."
    ftls = " beside ".join(config["ftl"] for config in configs)
    return Scene(f"FTL {ftls}, step by step", f"{drive} {about}".rstrip(), drives, requests)
