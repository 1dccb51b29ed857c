"""`ssdlab config`."""

import json as json_module

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.model.config import config_schema

app = App()


@app.command(examples="ssdlab config schema > ssdlab.schema.json")
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    print(config_schema(), end="")


@app.command(examples="ssdlab config check --config mine.toml")
def check(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
) -> None:
    """Check a configuration; every fault is named with its place and remedy."""
    options.configuration(preset, config, set, []).check()
    print("the configuration is sound")


@app.command(examples="ssdlab config show --preset tlc-nvme --set device.op=7%")
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
