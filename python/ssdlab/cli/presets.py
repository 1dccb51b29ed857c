"""`ssdlab presets`."""

from typing import Annotated

import typer

from ssdlab._ssdlab import ConfigError
from ssdlab.cli.command import App
from ssdlab.cli.options import _complete_preset
from ssdlab.model.config import presets as all_presets

app = App()


@app.command("list", examples="ssdlab presets list")
def list_presets() -> None:
    """List the presets."""
    width = max(len(preset.name) for preset in all_presets())
    for preset in all_presets():
        print(f"{preset.name:<{width}}  {preset.title}")


@app.command(examples="ssdlab presets show tlc-nvme > mine.toml")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the preset.", autocompletion=_complete_preset)],
) -> None:
    """Print a preset as TOML, with the sources of its numbers: a starting point for a file of your own."""
    for preset in all_presets():
        if preset.name == name:
            print(preset.text, end="")
            return
    raise ConfigError(f"no preset is called {name!r}; see 'ssdlab presets list'")
