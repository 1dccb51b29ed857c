"""`ssdlab config`."""

from typing import Annotated

from ssdlab import _ssdlab
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument
from ssdlab.cli.output import print_json
from ssdlab.cli.output import show as show_page
from ssdlab.lazy import room
from ssdlab.model.config import config_schema
from ssdlab.study.explain import explain as explained

app = App()


def _complete_key(incomplete: str) -> list[tuple[str, str]]:
    return [(key, help_text) for key, help_text, _, _ in _ssdlab.options() if key.startswith(incomplete)]


@app.command(examples="ssdlab config schema > ssdlab.schema.json")
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    print(config_schema(), end="")


@app.command(examples="ssdlab config check --config mine.toml")
def check(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    json: options.Json = False,
) -> None:
    """Check a configuration; every fault is named with its place and remedy."""
    resolved = options.configuration(preset, config, set, [])
    resolved.check()
    if json:
        print_json("check", {"sound": True}, configuration=resolved.to_dict())
    else:
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
        print_json("configuration", {"toml": resolved.to_toml()}, configuration=resolved.to_dict())
    else:
        print(resolved.to_toml(origins=True), end="")


@app.command(examples="ssdlab config explain nand.read\nssdlab config explain ftl.page")
def explain(
    key: Annotated[
        str,
        argument("KEY", "A setting, such as nand.read, or a table of settings.", complete=_complete_key),
    ],
    json: options.Json = False,
) -> None:
    """Tell what a setting means: range, units, default, when it counts, and the presets' values with their sources."""
    found = explained(key)
    if json:
        print_json("explanation", [one.to_dict() for one in found])
    else:
        show_page(room("view.pages.explanation").page(key, found))
