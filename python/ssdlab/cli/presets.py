"""The command `ssdlab presets`."""

import re

from ssdlab import _ssdlab, text
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument
from ssdlab.cli.output import named, print_json, print_lines
from ssdlab.model.config import Config
from ssdlab.model.config import presets as all_presets

app = App()


@app.command("list", examples="ssdlab presets list")
def list_presets(json: bool = options.JSON) -> None:
    """List the presets."""
    presets = options.presets()
    if json:
        print_json("presets", [{"name": name, "title": title} for name, title in presets])
    else:
        print_lines(named(presets))


@app.command(examples="ssdlab presets show tlc-nvme --all > mine.toml")
def show(
    name: str = argument("NAME", "Name of the preset.", choices=options.presets),
    json: bool = options.JSON,
) -> None:
    """Print a preset as TOML, with the sources of its numbers, as a starting point for a file of your own."""
    known = {preset.name: preset for preset in all_presets()}
    name = _ssdlab.named(name, list(known)) or name
    # Rejects an unknown preset.
    config = Config(name)
    preset = known[name]
    if json:
        print_json("preset", preset._asdict(), configuration=config.to_dict())
    else:
        print_lines(_as_file(name, preset.text).splitlines())


def _as_file(name: str, written: str) -> str:
    """Returns a file with a preset's settings. Without its key `preset`, the file would extend the default drive."""
    paragraphs = re.compile(r"^# .*(?:\n# (?!source:).*)*", re.MULTILINE)
    written = paragraphs.sub(lambda found: text.folded(found[0].replace("\n# ", " "), hang="# "), written)
    title, _, rest = written.partition("\n\n")
    own = re.sub(r"^extends = .*\n+", "", rest)
    return f'{title}\n\npreset = "{name}"\n\n{own}'
