"""`ssdlab config`."""

import json as json_module

import typer

from ssdlab import config_schema
from ssdlab.cli import options

app = typer.Typer(help="Look at and check configurations.", no_args_is_help=True)


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab config schema > ssdlab.schema.json")
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    print(config_schema(), end="")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab config check --config mine.toml")
def check(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
) -> None:
    """Check a configuration; every fault is named with its place and remedy."""
    options.configuration(preset, config, set, []).check()
    print("the configuration is sound")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab config show --preset tlc-nvme --set device.op=7%")
def show(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    json: options.Json = False,
) -> None:
    """Print the resolved configuration as TOML, each setting with its origin."""
    resolved = options.configuration(preset, config, set, [])
    if json:
        settings = {key: {"value": resolved[key], "origin": origin} for key, _, origin in resolved.settings}
        print(json_module.dumps(settings, indent=2))
    else:
        print(resolved.to_toml(origins=True), end="")
