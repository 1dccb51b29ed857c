"""Shows an FTL step by step on the requests of a scene.

A scene is a TOML file with a small drive, one or two FTLs and requests; `scenes/` holds the scenes that ship with
ssdlab. The simulation is in Rust; `ssdlab.view.stepper` is the page that plays it.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, as_written, config_of
from ssdlab.model.files import naming, replacing
from ssdlab.model.result import Result
from ssdlab.model.several import several
from ssdlab.model.source import Source

SCENES = Path(__file__).parent / "scenes"
SMALL_PAGES = 32
SMALL = (
    "time=serial", f"device.capacity={SMALL_PAGES * 4}KiB", "device.op=100%", "nand.page_size=4KiB",
    "nand.pages_per_block=4", "nand.order=any", "nand.channels=1", "nand.ways=1", "nand.dies=1", "nand.planes=1",
)  # fmt: skip
"""A drive small enough to draw: one plane with 32 pages, 100 % spare space, and the FTL's reserve."""
_SMALL_SBFAST = "ftl.sbfast.sub_block=2"
"""Sets the sub-block to half a block of the small drive; the default sub-block is larger than its blocks."""
_OPERATIONS = {0: "r", 1: "", 2: "t"}
"""Letters of the operations in requests. Flushes have no pages and are not shown."""


def small(settings: Iterable[str]) -> list[str]:
    """Returns defaults that make a drive small enough to draw; `settings` override them."""
    return [*SMALL, *small_ftl(settings)]


def small_ftl(settings: Iterable[str]) -> list[str]:
    """Returns the part of `small` that depends on the FTL."""
    sbfast = any(setting.startswith("ftl") and "sbfast" in setting for setting in settings)
    return [_SMALL_SBFAST] if sbfast else []


@dataclass(frozen=True)
class Scene:
    """A small drive with one or two FTLs, and requests for it."""

    title: str
    text: str
    """Description of the scene; empty lines separate paragraphs."""
    drives: tuple[Mapping[str, Any], ...]
    """The drive with each FTL, in the format of the crate `ssdlab-explain`."""
    requests: str
    """Pages to write, such as `5` or `4-7`; the prefix `r` reads them, `t` trims them."""
    before: str = ""
    """Requests before the first step."""
    file: str = ""
    """File of the scene, for messages."""


class Explanation:
    """One or two FTLs on a few requests, step by step."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.recordings = [_recorded(drive, scene) for drive in scene.drives]
        """For each FTL: the initial state of the drive, every step, and the grouping of steps."""

    def __repr__(self) -> str:
        return f"<ssdlab.Explanation: {self.scene.title}>"

    def to_dict(self) -> dict[str, Any]:
        """Returns title, text, requests and recordings, ready for JSON."""
        scene = self.scene
        return {
            "title": scene.title, "text": scene.text, "before": scene.before, "requests": scene.requests,
            "recordings": self.recordings,
        }  # fmt: skip

    def to_html(self) -> str:
        """Returns the animated page as one self-contained file. Equal scenes give equal pages."""
        html: str = room("view.stepper").render(self)
        return html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file atomically.

        Raises:
            OSError: If the page cannot be written.
        """
        with naming(path), replacing(Path(path)) as hidden:
            hidden.write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Returns the page in a frame, for notebooks."""
        return (
            f'<iframe title="{escape(self.scene.title)}" srcdoc="{escape(self.to_html())}" '
            'style="width: 100%; height: 46rem; border: 0"></iframe>'
        )


def _recorded(drive: Mapping[str, Any], scene: Scene) -> dict[str, Any]:
    question = {"drive": drive, "before": scene.before, "requests": scene.requests}
    answer = json.loads(_ssdlab.record_steps(json.dumps(question)))
    if "error" in answer:
        raise ConfigError(f"{scene.file}: {answer['error']}" if scene.file else answer["error"])
    recording: dict[str, Any] = answer["recording"]
    return recording


def scenes() -> list[str]:
    """Returns the names of the scenes that ship with ssdlab."""
    return sorted(path.stem for path in SCENES.glob("*.toml"))


def scene(name: str | os.PathLike[str]) -> Scene:
    """Returns the scene with this name, or in this TOML file."""
    if str(name) in scenes():
        return _read(SCENES / f"{name}.toml")
    if Path(name).suffix == ".toml":
        return _read(Path(name))
    raise ConfigError(f"unknown scene {name}{_meant(str(name), scenes())}, or give the path of a TOML file")


def _meant(word: str, known: Iterable[str]) -> str:
    known = [*known]
    return text.suggestion(word, known) or f"; known are {', '.join(known)}"


def _read(path: Path) -> Scene:
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{text.path(path)}: {error.strerror}; give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{text.path(path)}: {error}; a scene is a TOML file") from None
    if found and found.keys() <= {key.partition(".")[0] for key, *_ in _ssdlab.options()}:
        raise ConfigError(f"{text.path(path)}: is a configuration, not a scene; give it with --config")
    try:
        return replace(_of_document(found), file=text.path(path))
    except ConfigError as error:
        raise ConfigError(f"{text.path(path)}: {error}") from None


class _Kind(NamedTuple):
    """The type of a key's value."""

    words: str
    fits: Callable[[Any], bool]


def _is_whole(value: object) -> bool:
    # Excludes bool, which is a subclass of int.
    return type(value) is int and 0 <= value < 1 << 32


_TEXT = _Kind('text in quotes, such as "0 4-7"', lambda value: isinstance(value, str))
_WHOLE = _Kind("a whole number, 0 or more", _is_whole)
_SWITCH = _Kind("true or false", lambda value: isinstance(value, bool))
_MICROSECONDS = _Kind("microseconds", lambda value: type(value) in (int, float) and 0 <= value < float("inf"))
_VALUE = _Kind("one value", lambda value: isinstance(value, str | int | float))
_NAMED = _Kind(
    'a name, or { name = "..." } with parameters',
    lambda value: (
        isinstance(value, str)
        or (isinstance(value, dict) and "name" in value and all(map(_VALUE.fits, value.values())))
    ),
)
_PAIR = _Kind(
    "two whole numbers, such as [2, 4]",
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value)),
)
_HEADED = _Kind("one table, headed [drive]", lambda value: isinstance(value, dict))
_TAKEN = _Kind("{ read_us = 25, program_us = 200, erase_us = 2000 }", lambda value: isinstance(value, dict))
_TABLES = _Kind(
    "one or two tables [[ftl]]",
    lambda value: isinstance(value, list) and 1 <= len(value) <= 2 and all(isinstance(table, dict) for table in value),
)
_SCENE = {"title": _TEXT, "requests": _TEXT, "drive": _HEADED, "ftl": _TABLES, "text": _TEXT, "before": _TEXT}
_TIMES = dict.fromkeys(("read_us", "program_us", "erase_us"), _MICROSECONDS)
_BY_TYPE = ("read_us", "program_us")  # Pages of a scene are of one type.
_DRIVE = {
    **dict.fromkeys(("logical_pages", "blocks", "pages_per_block", "page_bytes", "planes", "filled", "seed"), _WHOLE),
    "ascending": _SWITCH,
    "times": _TAKEN,
}
_PAGE = {
    "name": _TEXT, "gc": _NAMED, "survivors": _TEXT, "batch": _PAIR, "partial": _PAIR, "least_worn": _SWITCH,
    "map": _NAMED,
}  # fmt: skip


def _check(what: str, table: Mapping[str, Any], kinds: Mapping[str, _Kind], required: Iterable[str] = ()) -> None:
    """Raises an error if a table has unknown keys or values of a wrong type, or lacks a required key."""
    for key, value in table.items():
        if key not in kinds:
            raise ConfigError(f"{key}: no such key in {what}{_meant(key, kinds)}")
        if not kinds[key].fits(value):
            raise ConfigError(f"{key} in {what}: invalid value {value!r}; write {kinds[key].words}")
    for key in required:
        if table.get(key) in (None, "", {}):
            raise ConfigError(f"{key} is missing in {what}; give {kinds[key].words}")


def _of_document(document: Mapping[str, Any]) -> Scene:
    _check("a scene", document, _SCENE, ("title", "requests", "drive", "ftl"))
    drive = document["drive"]
    _check("[drive]", drive, _DRIVE, ("logical_pages", "blocks", "pages_per_block"))
    if "times" in drive:
        _check("times", drive["times"], _TIMES, _TIMES)
        times = {key: [us] if key in _BY_TYPE else us for key, us in drive["times"].items()}
        drive = {**drive, "times": times}
    drives = tuple({**drive, "ftl": _ftl(ftl)} for ftl in document["ftl"])
    words = (document.get(key, "") for key in ("text", "requests", "before"))
    return Scene(document["title"], next(words), drives, next(words), next(words))


def _ftl(ftl: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an FTL of a scene in the format of the crate."""
    options, ftls = dict(ftl), [name for name, _ in _ssdlab.variants("ftl")]
    name = options.get("name")
    if name is None:
        raise ConfigError(f"name is missing in [[ftl]]; known are {', '.join(ftls)}")
    if name not in ftls:
        raise ConfigError(f"name in [[ftl]]: unknown FTL {name}{_meant(str(name), ftls)}")
    if name != "page":
        below = f"ftl.{name}."
        own = (key.removeprefix(below) for key, *_ in _ssdlab.options() if key.startswith(below))
        _check(f"[[ftl]] {name}", options, {"name": _TEXT, **dict.fromkeys(own, _VALUE), "log": _WHOLE})
        log = options.pop("log", 1)
        return {"log": {"scheme": _named(options), "log": log}}
    _check("[[ftl]] page", options, _PAGE, ("gc",))
    del options["name"]
    for key in ("gc", "map"):
        if key in options:
            named = options.pop(key)
            options["victims" if key == "gc" else key] = _named(named if isinstance(named, dict) else {"name": named})
    return {"page": options}


def _named(table: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {key: _written(value) for key, value in table.items() if key != "name"}
    return {"name": table["name"], "parameters": parameters}


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Excerpt(NamedTuple):
    """Requests of a trace."""

    requests: str
    """Requests for pages that are renumbered from 0, in the order of their addresses."""
    pages: int
    """Number of pages touched."""
    device: str | None = None
    """Device of the requests if the trace has several devices; None otherwise."""


def excerpt(trace: Source, page_bytes: int, skip: int = 0, count: int = 100) -> Excerpt:
    """Takes some requests from a trace."""
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
        for first, last in [_whole(offset, size, page_bytes) if op == 2 else _touched(offset, size, page_bytes)]
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


def _touched(offset: int, size: int, page_bytes: int) -> tuple[int, int]:
    return offset // page_bytes, (offset + size - 1) // page_bytes


def _whole(offset: int, size: int, page_bytes: int) -> tuple[int, int]:
    """Returns the range of pages that a trim frees, which are only whole pages."""
    return -(-offset // page_bytes), (offset + size) // page_bytes - 1


def _without_pages(skip: int, count: int, *, whole: bool) -> str:
    """Returns the message for an excerpt without page accesses."""
    if skip:
        return f"the trace has no requests with pages after the first {skip}; lower --skip"
    if whole:
        return "the trace has no reads, writes or trims of pages"
    return f"the first {count} requests of the trace read, write and trim no pages; raise --skip or --most"


@takes(requests="0 4 8-11 r5")
def explain(
    what: "str | os.PathLike[str] | Config | Overrides | Iterable[Config | Mapping[str, object]]", requests: str = ""
) -> Explanation:
    """Runs an FTL step by step and returns an animated page.

    Args:
        what: Name or path of a scene; or a configuration of a small drive, or two for comparison. Settings such as
            `{"ftl": "fast"}` are applied to a drive of 32 pages. The drive is filled as configured, but not
            overwritten.
        requests: Requests for configurations: pages to write such as `"5 4-7"`; `r5` reads and `t5` trims.

    Raises:
        ConfigError: If there is no such scene, or a drive is too large to draw.

    Example:
        >>> ssdlab.explain("fast-thrashing").save("thrashing.html")  # doctest: +SKIP
    """
    if isinstance(what, str | os.PathLike):
        if requests:
            raise ConfigError("a scene has its own requests; leave out requests, or give a configuration")
        return Explanation(scene(what))
    each: list[Any] = [what] if isinstance(what, Config | Mapping) else several(what)
    configs = [_drawn(each)] if each and isinstance(each[0], str) else [_drawn(given) for given in each]
    return Explanation(of_configs(configs, requests))


def _drawn(given: "Config | Overrides") -> Config:
    """Returns a configuration unchanged; applies settings to the small drive."""
    config = config_of(given)
    if config is given:
        return config
    settings = as_written(given)
    return config_of([*small(settings), "precondition.overwrite=none", *settings])


def of_result(result: Result, requests: str) -> Explanation:
    """Runs the FTL of a result step by step on a small drive."""
    own = [setting for setting in result.config.settings if setting.key.partition(".")[0] == "ftl"]
    ftl = [f"{key}={value}" for key, value, origin in own if origin != "default"]
    return explain(Config(overrides=[*small(ftl), *ftl]), requests)


def of_configs(configs: Sequence[Config], requests: str, about: str = "") -> Scene:
    """Returns a scene of configured drives; `about` describes the requests."""
    drives = tuple(json.loads(_ssdlab.steps_drive(config._inner)) for config in configs)
    if not 1 <= len(drives) <= 2:
        raise ConfigError(f"{len(drives)} configurations cannot be compared; give one or two")
    if not requests.split():
        raise ConfigError("no requests given; give pages to write, such as 0 4 8-11")
    filled = drives[0]["filled"]
    drive = f"The drive has {drives[0]['logical_pages']} pages; {filled} of them were written once, in order."
    ftls = " beside ".join(config["ftl"] for config in configs)
    return Scene(f"FTL {ftls}, step by step", f"{drive} {about}".rstrip(), drives, requests)
