"""`ssdlab presets`."""

import re
from typing import Annotated

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument
from ssdlab.cli.output import print_json
from ssdlab.model.config import Config
from ssdlab.model.config import presets as all_presets
from ssdlab.text import suggestion

app = App()


@app.command("list", examples="ssdlab presets list")
def list_presets(json: options.Json = False) -> None:
    """List the presets."""
    if json:
        print_json("presets", [{"name": one.name, "title": one.title} for one in all_presets()])
        return
    width = max(len(preset.name) for preset in all_presets())
    for preset in all_presets():
        print(f"{preset.name:<{width}}  {preset.title}")


@app.command(examples="ssdlab presets show tlc-nvme > mine.toml")
def show(
    name: Annotated[str, argument("NAME", "Name of the preset.", complete=options._complete_preset)],
    json: options.Json = False,
) -> None:
    """Print a preset as TOML, with the sources of its numbers: a starting point for a file of your own."""
    known = {preset.name: preset for preset in all_presets()}
    name = _ssdlab.named(name, list(known)) or name
    if name not in known:
        raise ConfigError(f"no preset is called {name!r}{suggestion(name, known)}; see 'ssdlab presets list'")
    preset = known[name]
    if json:
        print_json("preset", preset._asdict(), configuration=Config(name).to_dict())
    else:
        print(_as_file(name, preset.text), end="")


def _as_file(name: str, written: str) -> str:
    """A preset as a file that builds on it: a file by itself builds on the default drive."""
    title, _, rest = written.partition("\n\n")
    own = re.sub(r"^extends = .*\n+", "", rest)
    return f'{title}\n\npreset = "{name}"\n\n{own}'
