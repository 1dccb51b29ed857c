"""The command `ssdlab explain`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError, size
from ssdlab.analyse import steps
from ssdlab.cli import options, traces
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, group, option
from ssdlab.cli.options import Settings
from ssdlab.cli.output import print_json
from ssdlab.lazy import room
from ssdlab.model.config import Config, layered, set_by
from ssdlab.model.source import source_text
from ssdlab.model.trace_file import TraceFile

app = App()

MOST = 100
"""Default number of requests taken from a trace."""

EXAMPLES = """
ssdlab explain
ssdlab explain fast-thrashing
ssdlab explain dftl-miss --out miss.html
ssdlab explain why-gc --svg pictures --from 10 --to 20
ssdlab explain why-gc --animate why-gc.svg
ssdlab explain --set ftl=bast --requests '0 4 8 12' --beside ftl=fast
ssdlab explain --set ftl=fast --trace trace.csv --skip 1000 --most 50
"""


def _scene(
    configs: Callable[[list[str]], list[Config]],
    requests: str | None,
    source: TraceFile | None,
    skip: int,
    most: int,
) -> steps.Scene:
    """Returns a scene with the user's requests or trace. `configs` returns configurations for default settings."""
    if bool(requests) == bool(source):
        raise ConfigError("a custom scene needs requests; add either --requests or --trace")
    if source is None:
        return steps.of_configs(configs([]), requests or "")
    page_bytes = size(configs([])[0]["device.unit"])
    requests, pages, device = steps.excerpt(source, page_bytes, skip, most)
    whose = "" if device is None else f", device {device}"
    another = "" if device is None or source.device is not None else " Choose another device with --device NAME."
    count = text.counted(len(requests.split()), "requests")
    about = (
        f"The trace is {source_text(source.about)}{whose}: {count}, after skipping {text.count(skip)}. The "
        f"{text.count(pages)} accessed pages are renumbered from 0 in address order.{another}"
    )
    return steps.of_configs(
        configs([f"device.capacity={max(pages, steps.SMALL_PAGES) * page_bytes}B"]), requests, about
    )


@app.command(examples=EXAMPLES)
def explain(
    scene: str | None = argument(
        "SCENE", "Name of a scene, or a TOML file; without it, lists the scenes.", default=None, choices=steps.scenes
    ),
    settings: Settings = group(),
    requests: str | None = option(
        "--requests PAGES", "Your own requests: pages to write, such as '5 4-7'; r5 reads, t5 trims."
    ),
    beside: list[str] = option(
        "--beside KEY=VALUE", "Show a second drive with this setting next to the first; may be repeated."
    ),
    trace: list[Path] = option("--trace FILE", "Trace file with the requests; may be repeated for parts of one trace."),
    format: str | None = traces.FORMAT,
    columns: str | None = traces.COLUMNS,
    device: str | None = traces.DEVICE,
    skip_bad: bool = traces.SKIP_BAD,
    skip: int = option("--skip INTEGER", "Number of trace requests to skip.", default=0, min=0),
    most: int = option("--most INTEGER", "Maximum number of trace requests to show.", default=MOST, min=1),
    out: Path | None = option("--out -o FILE", "HTML file to write; explain-SCENE.html by default.", options.OUTPUT),
    svg: Path | None = option("--svg DIR", "Write an SVG picture of each step to this directory.", options.OUTPUT),
    animate: Path | None = option(
        "--animate FILE.svg", "Write one animated SVG picture, for web pages and slides in a browser.", options.OUTPUT
    ),
    first: int | None = option("--from STEP", "First step to draw; 0 is the start.", options.OUTPUT, min=0),
    last: int | None = option("--to STEP", "Last step to draw; the end by default.", options.OUTPUT, min=0),
    json: bool = options.JSON,
) -> int:
    """Writes a self-contained HTML page that shows blocks with their pages, the map, and a sentence for each decision.
    Its controls play the animation, step forward and back, and jump to the next merge, garbage collection or miss.

    A custom scene has a small drive: 32 pages in blocks of 4, or as many pages as a trace needs, unless a preset or a
    file sets the size. Touched pages of a trace are renumbered from 0. A drive may have up to 4096 flash pages.
    """
    own = bool(requests or trace or settings.are_given or beside)
    if scene is None and not own:
        room("cli.list").listing("scenes", json=json)
        return 0
    if animate is not None and animate.suffix != ".svg":
        raise ConfigError(f"--animate writes an SVG picture; use the name {text.path(animate.with_suffix('.svg'))}")
    if not (svg or animate) and (first, last) != (None, None):
        raise ConfigError("--from and --to select pictures; add --svg DIR or --animate FILE.svg")
    if scene is not None and own:
        raise ConfigError(
            "a scene has its own drive and requests; omit the scene, or all options for drive and requests"
        )

    def configs(below: list[str]) -> list[Config]:
        def drawn(other: list[str]) -> Config:
            layers = [set_by("--set", settings.set), set_by("--beside", other)]
            if settings.preset or settings.config:
                # The scene starts on an empty drive, so preconditioning must not overwrite the drive.
                layers.insert(0, set_by("default", "precondition.overwrite=none"))
            else:
                layers = steps.small(set_by("--trace", below), *layers)
                return layered(steps.SMALL_DRIVE, [], layers)
            return layered(settings.preset, settings.config, layers, "--preset")

        return [drawn(other) for other in ([[], beside] if beside else [[]])]

    reading: dict[str, Any] = {"format": format, "columns": columns, "device": device, "skip_bad": skip_bad}
    if not trace:
        traces.reads_none(reading)
        if (skip, most) != (0, MOST):
            raise ConfigError("--skip and --most need a trace; add --trace FILE")
    source = TraceFile(*trace, **reading) if trace else None
    chosen = steps.scene(scene) if scene else _scene(configs, requests, source, skip, most)
    found = steps.Explanation(chosen)
    written = []
    if svg:
        paths = found.save_svg(svg, first or 0, last)
        written.append(f"{text.counted(len(paths), 'pictures')} written to {text.path(svg)}")
    if animate:
        found.save_animation(animate, first or 0, last)
        written.append(f"written to {text.path(animate)}: open it in a browser")
    if out or not (json or svg or animate):
        path = out or Path(f"explain-{Path(scene).stem if scene else 'own'}.html")
        found.save(path)
        written.append(f"written to {text.path(path)}: open it in a browser")
    if json:
        print_json("steps", found.to_dict())
        return 0
    if trace:
        print(text.folded(chosen.text))
    print("\n".join(written))
    return 0
