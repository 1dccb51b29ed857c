"""`ssdlab presets`."""

from typing import Annotated

import typer

from ssdlab import ConfigError
from ssdlab import presets as all_presets
from ssdlab.cli.options import _complete_preset

app = typer.Typer(help="Configurations that ship with ssdlab, each number with its source.", no_args_is_help=True)


@app.command("list", epilog="[bold]Example[/bold]\n\n  ssdlab presets list")
def list_presets() -> None:
    """List the presets."""
    width = max(len(preset.name) for preset in all_presets())
    for preset in all_presets():
        print(f"{preset.name:<{width}}  {preset.title}")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab presets show tlc-nvme > mine.toml")
def show(
    name: Annotated[str, typer.Argument(help="Name of the preset.", autocompletion=_complete_preset)],
) -> None:
    """Print a preset as TOML, with the sources of its numbers: a starting point for a file of your own."""
    for preset in all_presets():
        if preset.name == name:
            print(preset.text, end="")
            return
    raise ConfigError(f"no preset is called {name!r}; see 'ssdlab presets list'")
