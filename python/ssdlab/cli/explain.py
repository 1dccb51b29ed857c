"""`ssdlab explain`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError, size
from ssdlab.analyse import steps
from ssdlab.cli import options, traces
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import print_json
from ssdlab.lazy import room
from ssdlab.model.config import Config, layered, set_by
from ssdlab.model.source import source_text
from ssdlab.model.trace_file import TraceFile

app = App()

MOST = 100
"""Requests of a trace that are taken unless told otherwise."""

EXAMPLES = """
ssdlab explain
ssdlab explain fast-thrashing
ssdlab explain dftl-miss --out miss.html
ssdlab explain --set ftl=bast --requests '0 4 8 12' --beside ftl=fast
ssdlab explain --set ftl=fast --trace trace.csv --skip 1000 --most 50
"""


def _complete_scene(incomplete: str) -> list[str]:
    return [name for name in steps.scenes() if name.startswith(incomplete)]


def _scene(
    configs: Callable[[list[str]], list[Config]],
    requests: str | None,
    source: TraceFile | None,
    skip: int,
    most: int,
) -> steps.Scene:
    """The scene of the drives that `configs` makes with settings below those that were typed."""
    if bool(requests) == bool(source):
        raise ConfigError("an own scene takes its requests from --requests or from --trace; give one of them")
    if source is None:
        return steps.of_configs(configs([]), requests or "")
    page_bytes = size(configs([])[0]["nand.page_size"])
    requests, pages, device = steps.excerpt(source, page_bytes, skip, most)
    whose = "" if device is None else f"device {device} of "
    another = "" if device is None or source.device is not None else " Another device is taken by --device NAME."
    about = (
        f"Of {whose}{source_text(source.about)} these are {text.counted(len(requests.split()), 'requests')} that have "
        f"pages, behind the first {text.count(skip)}; the {text.count(pages)} pages that they touch are numbered anew, "
        f"from 0 in the order of their addresses.{another}"
    )
    return steps.of_configs(
        configs([f"device.capacity={max(pages, steps.SMALL_PAGES) * page_bytes}B"]), requests, about
    )


@app.command(examples=EXAMPLES)
def explain(
    scene: Annotated[
        str | None,
        argument("SCENE", "Name of a scene, or a TOML file; none lists the scenes.", complete=_complete_scene),
    ] = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    requests: Annotated[
        str | None,
        option("--requests PAGES", "Requests of your own: pages to write, such as '5 4-7', r5 to read, t5 to trim."),
    ] = None,
    beside: Annotated[
        list[str],
        option("--beside KEY=VALUE", "A second drive beside the first, with this setting; may be repeated."),
    ] = [],
    trace: Annotated[list[Path], option("--trace FILE", "Requests from files of one trace; may be repeated.")] = [],
    format: traces.Format = None,
    columns: traces.Columns = None,
    device: traces.Device = None,
    skip_bad: traces.SkipBad = False,
    skip: Annotated[int, option("--skip INTEGER", "Requests of the trace to leave out.", min=0)] = 0,
    most: Annotated[int, option("--most INTEGER", "Requests of the trace to take.", min=1)] = MOST,
    out: Annotated[
        Path | None, option("--out -o FILE", "The page; by default explain-SCENE.html.", options.OUTPUT)
    ] = None,
    json: options.Json = False,
) -> int:
    """Writes one page that needs no network: blocks and their pages, the map beside them, and each decision in a
    sentence. It plays, steps forward and back, and jumps to the next merge, collection or miss.

    The drive of a scene of your own is small: 32 pages in blocks of 4, or as many as a trace needs, unless a preset or
    a file says otherwise. Pages of a trace are numbered anew, those touched from 0. A drive of more than 4096 flash
    pages is not drawn.
    """
    own = bool(requests or trace or set or config or preset or beside)
    if scene is None and not own:
        room("cli.list").listing("scenes", json=json)
        return 0
    if scene is not None and own:
        raise ConfigError("a scene has its own drive and requests; leave out the other options, or the scene")

    def configs(below: list[str]) -> list[Config]:
        def drawn(other: list[str]) -> Config:
            sized = bool(preset or config)
            small = [] if sized else [*steps.SMALL, *below]
            # No drive that is drawn is overwritten, and one that is to be may not be empty.
            sets = [[*small, "precondition.overwrite=none"], set]
            # Right below the choice of the FTL: that of another one in between would drop it.
            sets.insert(1 if steps.small_ftl(set) else 2, [] if sized else steps.small_ftl([*set, *other]))
            made = [*(set_by("--set", one) for one in sets), set_by("--beside", other)]
            return layered(preset, config, made, "--preset")

        return [drawn(other) for other in ([[], beside] if beside else [[]])]

    reading: dict[str, Any] = {"format": format, "columns": columns, "device": device, "skip_bad": skip_bad}
    if not trace:
        traces.reads_none(reading)
        if (skip, most) != (0, MOST):
            raise ConfigError("--skip and --most are for a trace; name one with --trace, or leave them out")
    source = TraceFile(*trace, **reading) if trace else None
    chosen = steps.scene(scene) if scene else _scene(configs, requests, source, skip, most)
    found = steps.Explanation(chosen)
    if json:
        print_json("steps", found.to_dict())
        if out is None:
            return 0
    path = out or Path(f"explain-{Path(scene).stem if scene else 'own'}.html")
    found.save(path)
    if not json:
        if trace:
            print(chosen.text)
        print(f"written to {text.path(path)}: open it in a browser")
    return 0
